// SPDX-License-Identifier: Apache-2.0
/* flow_table.c: makes table verdict with a run of its own of the analysis. */
#include "analysis/flow/bytes/flow_table.h"

#include "analysis/flow/flow.h"
#include "store/made/made.h"

#define TABLE_ORIGIN  "weir.verdicts"
#define TABLE_VERSION 1

extern const struct analysis analysis_flow;

bool flow_table_has_content(const struct store *s)
{
	for (size_t i = 0; i < store_block_count(s); i++) {
		if (store_block(s, i)->table == TABLE_CHUNK)
			return true;
	}
	return false;
}

bool flow_table_is_current(const struct store *s)
{
	const struct store_made *m = store_made_current(s, TABLE_VERDICT);

	return m && m->version == TABLE_VERSION;
}

static int flow_table_rows(void *arg, struct store_writer *w, struct error *err)
{
	return store_made_rows(w, arg, err);
}

int flow_table_make(const struct analysis_input *in, const struct analysis_run *run,
		    struct error *err)
{
	_cleanup_(batch_freep) struct batch *rows = NULL;
	const struct flow_options o = {.most = 0};
	struct analysis_input own = *in;
	struct analysis_result out = {.count = 0};
	const struct store_making what = {
		.table = TABLE_VERDICT, .origin = TABLE_ORIGIN, .version = TABLE_VERSION};
	bool part = run->where || run->from != INT64_MIN || run->to != INT64_MAX;
	int r = batch_new(&rows, TABLE_VERDICT);

	own.analysis = &analysis_flow;
	own.options = &o;
	if (r >= 0)
		r = flow_tables(&own, run, &o, &out, rows, err);
	if (r >= 0)
		r = store_made_table(run->store, !part, &what, part, NULL, flow_table_rows, rows,
				     err);
	analysis_result_free(&analysis_flow, &out);
	return r < 0 ? error_errno(err, r, "cannot compute the table verdict") : 0;
}
