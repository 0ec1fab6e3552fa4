/* SPDX-License-Identifier: Apache-2.0 */
/* beside_disks.c: `weir report disks`: the first table of `weir disks`. */
#include "analysis/disks/disks.h"
#include "cli/report/beside/beside.h"

int beside_disks(struct report *r, struct answer_list *t, struct error *err)
{
	const struct disks_options options = {.width = 1};
	struct analysis_run run = {.name = store_trace_path(r->store, 0),
				   .store = r->store,
				   .from = r->ranged ? r->from : INT64_MIN,
				   .to = r->ranged ? r->to : INT64_MAX,
				   .where = r->choice.expr,
				   .filter = r->filtered ? &r->filter : NULL};
	const struct analysis_input in = {
		.analysis = &analysis_disks, .runs = &run, .count = 1, .options = &options};
	struct analysis_result result = {0};
	int e;

	analysis_run_within(&run, r->first, r->last);
	e = analysis_answer(&in, &result, err);
	if (e >= 0) {
		struct answer_list *rows = &result.tables[DISKS_USE].rows;

		assert(rows->column_count == t->column_count);
		*t = *rows;
		*rows = (struct answer_list){0};
	}
	analysis_result_free(&analysis_disks, &result);
	return e;
}
