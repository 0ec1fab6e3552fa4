// SPDX-License-Identifier: Apache-2.0
/* analysis_named.c: apart from what analyses are made with, which programs without a list of them link, too. */
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
