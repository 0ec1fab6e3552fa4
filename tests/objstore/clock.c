/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock FROM TO AT SKEW DRIFT [SLEW BEGIN END]: copies a trace as if its host had another clock, which shows SKEW ns more at
 * time AT (ns since 1970), and DRIFT millionths of what passed since; from BEGIN to END (ns after AT) it runs SLEW millionths
 * faster besides. The namespaces of one kernel share a clock, so hosts that differ in it come about afterwards. AT is the same
 * for all traces of a run.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../common/copy_trace.h"

struct shift {
	int64_t at, skew, begin, end;
	double drift, slew;
};

static int64_t shifted(const struct shift *s, int64_t t)
{
	int64_t passed = t - s->at, until = MIN(passed, s->end),
		slewed = MAX(until - s->begin, (int64_t)0);

	return t + s->skew +
	       (int64_t)(((double)passed * s->drift + (double)slewed * s->slew) / 1e6);
}

/* Wall minus monotonic time, as measured at a time; the monotonic clock stays. */
static int shift_offset(const struct shift *s, struct batch *b, size_t row, unsigned int offset,
			unsigned int measured)
{
	int64_t at = batch_get(b, measured, row, 0);

	if (batch_is_null(b, offset, row) || batch_is_null(b, measured, row))
		return 0;
	return batch_set(b, offset, row, batch_get(b, offset, row, 0) + shifted(s, at) - at);
}

static int shift_row(const struct shift *s, struct batch *b, size_t row)
{
	const struct table_def *def = b->def;
	int r = 0;

	if (def->start != NO_COLUMN && def->dur != NO_COLUMN && !batch_is_null(b, def->dur, row)) {
		int64_t start = batch_get(b, def->start, row, 0),
			stop = start + batch_get(b, def->dur, row, 0);

		r = batch_set(b, def->dur, row, shifted(s, stop) - shifted(s, start));
	}
	if (r >= 0 && b->table == TABLE_HOST)
		r = shift_offset(s, b, row, HOST_CLOCK_OFFSET, HOST_CLOCK_AT);
	if (r >= 0 && b->table == TABLE_HOST)
		r = shift_offset(s, b, row, HOST_END_OFFSET, HOST_END_AT);
	for (unsigned int i = 0; i < def->column_count && r >= 0; i++) {
		if (def->columns[i].type == COLUMN_TIME && !batch_is_null(b, i, row))
			r = batch_set(b, i, row, shifted(s, batch_get(b, i, row, 0)));
	}
	return r;
}

static int shift_block(void *arg, const struct batch *b, struct store_writer *to, struct error *err)
{
	_cleanup_(batch_freep) struct batch *copy = NULL;
	int r = batch_new(&copy, b->table);

	if (r >= 0)
		r = batch_append(copy, b, 0, b->rows);
	for (size_t row = 0; r >= 0 && row < copy->rows; row++)
		r = shift_row(arg, copy, row);
	return r < 0 ? r : store_append(to, copy, err);
}

int main(int argc, char **argv)
{
	struct shift s = {0};
	struct error err = {0};
	int r;

	if (argc != 6 && argc != 9) {
		fprintf(stderr, "usage: clock FROM TO AT SKEW DRIFT [SLEW BEGIN END]\n");
		return 2;
	}
	s.at = strtoll(argv[3], NULL, 10);
	s.skew = strtoll(argv[4], NULL, 10);
	s.drift = strtod(argv[5], NULL);
	if (argc == 9) {
		s.slew = strtod(argv[6], NULL);
		s.begin = strtoll(argv[7], NULL, 10);
		s.end = strtoll(argv[8], NULL, 10);
	}
	r = copy_trace(argv[1], argv[2], shift_block, &s, &err);
	if (r < 0)
		fprintf(stderr, "clock: %d %s\n", r, err.message);
	return r < 0;
}
