/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c: rows of event tables that weir itself does not have (SCHEMA_EXTRA), made from the declaration of their
 * columns: one for every SYNTH_EVENT_EVERY calls, with that call's times, thread and file. This allows readers of a
 * table to be tested before anything records it.
 */
#include "schema/vocab.h"

#include "capture/synth/stream.h"

#define SYNTH_EVENT_EVERY 16

#define SYNTH_ONE(...) +1
enum { SYNTH_OWN_TABLES = SCHEMA_OWN_TABLES(SYNTH_ONE) };

/* The column of op from which a column of another table is filled, or NO_COLUMN. */
static unsigned int event_from(const struct table_def *t, unsigned int column)
{
	int to = schema_refers(t, column);

	if (column == t->start)
		return OP_START;
	if (to == TABLE_THREAD)
		return OP_THREAD_ID;
	if (to == TABLE_FILE)
		return OP_FILE_ID;
	switch (t->columns[column].type) {
	case COLUMN_DUR:
		return OP_DUR;
	case COLUMN_SIZE:
		return OP_SIZE;
	case COLUMN_INT:
	case COLUMN_UINT:
		return OP_TID;
	default:
		return NO_COLUMN;
	}
}

static int event_column(struct batch *b, unsigned int column, size_t row, const struct batch *op,
			size_t call)
{
	unsigned int from = event_from(b->def, column);
	int64_t start = batch_get(op, OP_START, call, INT64_MIN);

	if (column == b->def->stop)
		return start == INT64_MIN
			       ? 0
			       : batch_set(b, column, row, start + batch_get(op, OP_DUR, call, 0));
	if (b->def->columns[column].type == COLUMN_BYTES)
		return batch_set_str(b, column, row, b->def->name);
	if (from == NO_COLUMN || batch_is_null(op, from, call))
		return 0;
	return batch_set(b, column, row, op->columns[from].val[call]);
}

static int event_rows(struct batch_set *out, enum table_id table, const struct batch *op,
		      size_t first)
{
	for (size_t call = first; call < op->rows; call += SYNTH_EVENT_EVERY) {
		struct batch *b;
		size_t row;
		int r = batch_set_add_row(out, table, &b, &row);

		for (unsigned int i = 0; r >= 0 && i < b->def->column_count; i++)
			r = event_column(b, i, row, op, call);
		if (r < 0)
			return r;
	}
	return 0;
}

int synth_events(struct batch_set *out, const struct batch *op, size_t first)
{
	for (enum table_id t = (enum table_id)SYNTH_OWN_TABLES; t < TABLE_COUNT; t++) {
		int r;

		if (schema_table(t)->kind != TABLE_IS_EVENTS)
			continue;
		r = event_rows(out, t, op, first);
		if (r < 0)
			return r;
	}
	return 0;
}
