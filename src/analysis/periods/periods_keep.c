/* SPDX-License-Identifier: Apache-2.0 */
/* periods_keep.c: matches as rows of the table `period` of their trace. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/periods/periods.h"
#include "store/made/made.h"

#define KEEP_ORIGIN  "weir.periods"
#define KEEP_VERSION 1

struct keep {
	const struct periods_found *found;
	bool part; /* of the trace, not all of it */
};

static int keep_id(struct batch *b, enum period_column c, size_t row, int64_t number)
{
	char text[17];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long)number);
	return batch_set_str(b, c, row, text);
}

static int periods_keep_texts(const struct periods_found *f, const struct period_match *m,
			      struct batch *b, size_t row)
{
	_cleanup_buf_ struct buf attributes = {0};
	int r = keep_id(b, PERIOD_SPAN_ID, row, m->number);

	if (r >= 0 && m->parent != PERIOD_NO_PARENT)
		r = keep_id(b, PERIOD_PARENT_ID, row, periods_parent_number(f, m));
	if (r >= 0)
		r = batch_set_str(b, PERIOD_NAME, row, f->set.items[m->period]->name);
	if (r >= 0)
		r = periods_attributes(f, m, &attributes);
	if (r >= 0 && attributes.len)
		r = batch_set_bytes(b, PERIOD_ATTRIBUTES, row, attributes.data, attributes.len);
	return r;
}

static int keep_match(const struct periods_found *f, const struct period_match *m, struct batch *b)
{
	ssize_t added = batch_add_row(b);
	size_t row = (size_t)added;
	int r = added < 0 ? (int)added : batch_set(b, PERIOD_START, row, m->start);

	if (r >= 0 && m->dur != PERIOD_NO_DUR)
		r = batch_set(b, PERIOD_DUR, row, m->dur);
	if (r >= 0)
		r = batch_set(b, PERIOD_NUMBER, row, m->number);
	if (r >= 0 && m->parent != PERIOD_NO_PARENT)
		r = batch_set(b, PERIOD_PARENT, row, periods_parent_number(f, m));
	if (r >= 0)
		r = batch_set(b, PERIOD_SPAN_KIND, row, SPAN_KIND_INTERNAL);
	if (r >= 0)
		r = batch_set(b, PERIOD_SPAN_STATUS, row, m->status);
	if (r >= 0)
		r = batch_set(b, PERIOD_SOURCE, row, SPAN_SOURCE_PERIOD);
	if (r >= 0 && m->thread >= 0)
		r = batch_set(b, PERIOD_THREAD_ID, row, m->thread);
	return r < 0 ? r : periods_keep_texts(f, m, b, row);
}

static int periods_keep_put(void *arg, struct store_writer *w, uint64_t covered, struct error *err)
{
	const struct keep *k = arg;
	const struct periods_found *f = k->found;
	const struct store_making what = {.table = TABLE_PERIOD,
					  .origin = KEEP_ORIGIN,
					  .options = f->made_by,
					  .version = KEEP_VERSION,
					  .covered = covered};
	_cleanup_(batch_freep) struct batch *rows = NULL;
	int r = batch_new(&rows, TABLE_PERIOD);

	if (r >= 0)
		r = store_made_begin(w, &what, err);
	for (size_t i = 0; i < f->matches.count && r >= 0; i++) {
		r = keep_match(f, &f->matches.items[i], rows);
		if (r < 0 || (rows->rows < BATCH_ROWS_MAX && i + 1 < f->matches.count))
			continue;
		r = store_made_rows(w, rows, err);
		batch_clear(rows);
	}
	if (r < 0)
		return error_errno(err, r, "cannot store the periods");
	return store_made_end(w, k->part, err);
}

int periods_keep(struct store *s, struct periods_found *f, bool part, struct error *err)
{
	struct keep k = {f, part};
	int r = store_made_keep(s, true, periods_keep_put, &k, err);

	for (size_t i = 0; i < store_made_count(s) && r >= 0; i++) {
		const struct store_made *m = store_made(s, i);

		if (m && m->table == TABLE_PERIOD && m->trace == TRACE_ASIDE)
			return error_set(
				err, -EROFS,
				"--keep: the periods cannot be stored: the trace is still being "
				"recorded or not writable, or there are several traces");
	}
	return r;
}
