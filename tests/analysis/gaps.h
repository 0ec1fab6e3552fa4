/* SPDX-License-Identifier: Apache-2.0 */
/* gaps.h: two small analyses that use the whole contract: one passes over the stream, one queries the engine. */
#pragma once

#include "analysis/analysis.h"

/* The longest times during which nothing ended. */
extern const struct analysis analysis_gaps;
/* Calls and errors by operation, as two tables. */
extern const struct analysis analysis_totals;
