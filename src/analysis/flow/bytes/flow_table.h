/* SPDX-License-Identifier: Apache-2.0 */
/* flow_table.h: table verdict: the errors in data that `weir flow` finds, for SQL, in particular that of rules. */
#pragma once

#include "analysis/analysis.h"

/* True if content was recorded; verdicts need it. */
bool flow_table_has_content(const struct store *s);
/* True if the table exists and covers all calls and content recorded so far. */
bool flow_table_is_current(const struct store *s);
/* Makes it for the run's range; stored in the trace if the range covers all of it. 0 or negative. */
int flow_table_make(const struct analysis_input *in, const struct analysis_run *run,
		    struct error *err);
