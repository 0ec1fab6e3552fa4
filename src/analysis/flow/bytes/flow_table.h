/* SPDX-License-Identifier: Apache-2.0 */
/* flow_table.h: table verdict: what `weir flow` finds wrong with bytes, for questions in SQL, those of rules above all. */
#pragma once

#include "analysis/analysis.h"

/* True if content was recorded; verdicts need it. */
bool flow_table_has_content(const struct store *s);
/* True where the table is there, of all calls and content that are recorded by now. */
bool flow_table_is_current(const struct store *s);
/* Makes it anew, of the run's range; kept in the trace where it is of all of it. 0 or negative. */
int flow_table_make(const struct analysis_input *in, const struct analysis_run *run,
		    struct error *err);
