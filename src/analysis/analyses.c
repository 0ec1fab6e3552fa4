// SPDX-License-Identifier: Apache-2.0
/* analyses.c: every analysis of this binary. Alone in its file, so that a test can link another list. */
#include "analysis/analysis.h"

/* A folder and two lines each. */
extern const struct analysis analysis_diff;

const struct analysis *const analyses[] = {
	&analysis_diff,
	NULL,
};
