// SPDX-License-Identifier: Apache-2.0
/* analyses.c: the list of analyses in this binary. A separate file, so that a test can link another list. */
#include "analysis/analysis.h"

/* Each analysis is a folder and two lines here. */
extern const struct analysis analysis_diagnose;
extern const struct analysis analysis_diff;
extern const struct analysis analysis_stacks;
extern const struct analysis analysis_disks;
extern const struct analysis analysis_periods;
extern const struct analysis analysis_requests;
extern const struct analysis analysis_flow;

const struct analysis *const analyses[] = {
	&analysis_diagnose, &analysis_diff,	&analysis_stacks, &analysis_disks,
	&analysis_periods,  &analysis_requests, &analysis_flow,	  NULL,
};
