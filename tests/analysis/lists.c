// SPDX-License-Identifier: Apache-2.0
/* lists.c: in place of engine/engines.c and analysis/analyses.c: a weir with an engine and two analyses more. */
#include "../engine/counts.h"
#include "analysis/diff/compare_runs.h"
#include "engine/duckdb/duckdb.h"
#include "gaps.h"

const struct engine_ops *const engines[] = {&duckdb_engine, &counts_engine, NULL};
const struct analysis *const analyses[] = {&analysis_diff, &analysis_gaps, &analysis_totals, NULL};
