/* SPDX-License-Identifier: Apache-2.0 */
/* periods_follow.c: matches of a growing trace, as they end. */
#include "analysis/periods/periods.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int periods_follow_begin(const struct analysis_input *in, struct analysis_result *out,
				struct error *err)
{
	const struct periods_flags *flags = in->options;
	const struct analysis_run *run = &in->runs[0];
	struct periods_found *f = calloc(1, sizeof(*f));
	int r = periods_begin(f, in, out, err);

	if (r < 0)
		return r;
	if (flags->keep || flags->aggregate_by || flags->group_by || flags->order_by)
		return error_set(
			err, -EINVAL,
			"--follow prints matches as they end: --keep, --aggregate-by, --group-by "
			"and --order-by are for a trace that has ended");
	if (store_trace_count(run->store) != 1)
		return error_set(err, -EINVAL, "--follow works on one trace");
	f->matches.live = true;
	return period_follow_new(&f->follow, &f->set, in, run, &f->matches, err);
}

static void periods_find_late(const struct periods_found *f, struct analysis_result *out)
{
	char text[160];

	if (!f->pass.late)
		return;
	snprintf(text, sizeof(text),
		 "%llu of the events arrived out of order: calls took longer than %.1f s, and "
		 "their beginnings were not known before",
		 (unsigned long long)f->pass.late, (double)FOLLOW_HOLD_NS / 1e9);
	analysis_find(out,
		      &(struct analysis_finding){
			      .severity = ANALYSIS_NOTE,
			      .rule = "late",
			      .text = text,
			      .advice = "without --follow the recorded trace is matched in order",
			      .share = NAN});
}

int periods_follow(const struct analysis_input *in, struct analysis_result *out, struct error *err)
{
	int r = out->own ? 0 : periods_follow_begin(in, out, err), more, row = 0;
	struct periods_found *f = out->own;
	struct period_matches *m = r < 0 ? NULL : &f->matches;
	struct answer_list *t = r < 0 ? NULL : &out->tables[0].rows;

	if (r < 0)
		return r;
	answer_list_cut(t, 0);
	more = period_follow_next(f->follow, &f->pass, err);
	for (size_t i = 0; i < m->ended_count && more >= 0 && row >= 0; i++) {
		const struct period_match *one = &m->items[m->ended[i]];

		periods_count(f, one);
		if (f->shown[one->period])
			row = periods_put_row(f, store_dims(in->runs[0].store), t, one);
	}
	if (!more)
		periods_find_late(f, out);
	if (more >= 0 && row >= 0)
		row = t->error < 0 ? t->error : period_matches_forget(m);
	return row < 0 ? error_errno(err, row, "matching periods") : more;
}
