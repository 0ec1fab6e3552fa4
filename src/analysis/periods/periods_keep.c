/* SPDX-License-Identifier: Apache-2.0 */
/* periods_keep.c: stores matches in table `period` of their trace. */
#include "analysis/periods/periods.h"
#include "store/made/made.h"

#define KEEP_ORIGIN  "weir.periods"
#define KEEP_VERSION 1

static int keep_match(const struct periods_found *f, const struct period_match *m,
		      struct batch_row *row)
{
	_cleanup_buf_ struct buf attributes = {0};
	char id[PERIODS_ID_TEXT];
	int r = periods_attributes(f, m, &attributes);

	if (r < 0)
		return r;
	row_set(row, PERIOD_START, m->start);
	row_set_if(row, m->dur != PERIOD_NO_DUR, PERIOD_DUR, m->dur);
	row_set(row, PERIOD_NUMBER, m->number);
	if (m->parent != PERIOD_NO_PARENT) {
		row_set(row, PERIOD_PARENT, periods_parent_number(f, m));
		row_set_str(row, PERIOD_PARENT_ID, periods_id(periods_parent_number(f, m), id));
	}
	row_set(row, PERIOD_SPAN_KIND, SPAN_KIND_INTERNAL);
	row_set(row, PERIOD_SPAN_STATUS, m->status);
	row_set(row, PERIOD_SOURCE, SPAN_SOURCE_PERIOD);
	row_set_if(row, m->thread >= 0, PERIOD_THREAD_ID, m->thread);
	row_set_str(row, PERIOD_SPAN_ID, periods_id(m->number, id));
	row_set_str(row, PERIOD_NAME, f->set.items[m->period]->name);
	row_set_text(row, PERIOD_ATTRIBUTES, buf_bytes(&attributes));
	return row->r;
}

static int periods_keep_rows(void *arg, struct store_writer *w, struct error *err)
{
	const struct periods_found *f = arg;

	for (size_t i = 0; i < f->matches.count; i++) {
		struct batch_row row = store_made_row(w, err);
		int r = row.r < 0 ? row.r : keep_match(f, &f->matches.items[i], &row);

		if (r < 0)
			return error_errno(err, r, "cannot store the periods");
	}
	return 0;
}

int periods_keep(struct store *s, struct periods_found *f, bool part, struct error *err)
{
	const struct store_making what = {.table = TABLE_PERIOD,
					  .origin = KEEP_ORIGIN,
					  .options = f->made_by,
					  .version = KEEP_VERSION};

	return store_made_table(s, true, &what, part, "periods", periods_keep_rows, f, err);
}
