// SPDX-License-Identifier: Apache-2.0
/* analysis_named.c: separate from the code for implementations, which is also linked by programs without a list of analyses. */
#include "analysis/analysis.h"

#include <string.h>

const struct analysis *analysis_named(const char *name)
{
	for (size_t i = 0; analyses[i]; i++) {
		if (strcmp(analyses[i]->name, name) == 0)
			return analyses[i];
	}
	return NULL;
}
