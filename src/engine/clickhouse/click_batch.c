// SPDX-License-Identifier: Apache-2.0
/* click_batch.c: converts rows from the server to batches. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "batch/ids.h"
#include "engine/clickhouse/internal.h"

/* recording, end, row number and file of the row, then the columns of the set in order. */
int click_columns(const struct table_def *t, uint64_t columns, struct buf *out)
{
	buf_printf(out, "recording, ended, %s",
		   t == schema_table(TABLE_OP) || clickhouse_is_own(t)
			   ? "bitShiftLeft(bitShiftRight(block_no, 33), 40) + row_no"
			   : "row_no");
	for (unsigned int i = 0; i < t->column_count; i++) {
		if (!(columns >> i & 1))
			continue;
		buf_printf(out, ", ");
		clickhouse_column_of(t, i, out);
	}
	return buf_status(out);
}

enum click_ids {
	CLICK_IDS_NONE,
	CLICK_IDS_COMPOSED, /* composed with their recording */
	CLICK_IDS_OF_CALLS, /* in a user's table: composed with their file, like row_id */
};

static enum click_ids click_ids_of(const struct table_def *t, unsigned int column)
{
	int to = schema_refers(t, column);

	return to >= 0 && schema_is_dimension((enum table_id)to) ? CLICK_IDS_COMPOSED
	       : to == TABLE_OP && clickhouse_is_own(t)		 ? CLICK_IDS_OF_CALLS
								 : CLICK_IDS_NONE;
}

/*
 * As recordings_replace() (store/file/read/recordings.h) does: ids of versions stay, ids of what they are versions of
 * are unified.
 */
int click_same_table(const struct click_engine *e, const struct table_def *t, unsigned int column)
{
	int to = e->dims && e->recording_count > 1 ? schema_refers(t, column) : -1;

	if (to == TABLE_THREAD)
		return strcasecmp(t->columns[column].name, "task") ? -1 : to;
	if (to == TABLE_FILE)
		return strcasecmp(t->columns[column].name, "inode") ? -1 : to;
	return to >= 0 && schema_is_dimension((enum table_id)to) ? to : -1;
}

int64_t click_compose(const struct click_engine *e, int same, ssize_t recording, int64_t own)
{
	int64_t id = own < 0 ? own : id_compose(own, (uint64_t)recording);

	return same >= 0 ? dims_same(e->dims, (enum table_id)same, id) : id;
}

/* A requested column of the batch. */
struct click_column {
	unsigned int column;
	const struct native_column *from;
	bool bytes;
	enum click_ids ids;
	int same; /* click_same_table() */
};

/* The id of a call as if trace files were read together: its file, and its row in it (batch/ids.h). */
static int64_t click_batch_call(const struct click_engine *e, ssize_t recording, uint64_t part,
				int64_t own)
{
	const struct click_recording *rec = &e->recordings[recording];

	return own < 0 ? own : id_compose(own, rec->first_file + part - rec->first_part);
}

/* Numbers of rows [from, to). */
static int put_numbers(const struct click_engine *e, const struct native_reader *in,
		       const struct click_column *c, size_t from, size_t to,
		       const ssize_t *recordings, struct batch *b)
{
	int r = 0;

	for (size_t i = from; i < to && r >= 0; i++) {
		int64_t v;

		if (native_is_null(c->from, i))
			continue;
		v = native_int(c->from, i);
		if (c->ids == CLICK_IDS_COMPOSED)
			v = click_compose(e, c->same, recordings[i - from], v);
		if (c->ids == CLICK_IDS_OF_CALLS)
			v = click_batch_call(e, recordings[i - from],
					     (uint64_t)native_int(&in->columns[2], i) >> ID_SHIFT,
					     v);
		r = batch_set(b, c->column, i - from, v);
	}
	return r;
}

static int click_batch_put_texts(const struct click_column *c, size_t from, size_t to,
				 struct batch *b)
{
	struct column *to_column = &b->columns[c->column];
	int r = batch_make_column(b, c->column, true);

	for (size_t i = from; i < to && r >= 0; i++) {
		struct bytes t = native_is_null(c->from, i) ? (struct bytes){0} : c->from->texts[i];
		size_t row = i - from;

		if (to_column->data_len + t.len > UINT32_MAX)
			return -ENOSPC;
		r = grow((void **)&to_column->data, &to_column->data_cap,
			 to_column->data_len + t.len + 1, 1);
		if (r < 0)
			break;
		memcpy(to_column->data + to_column->data_len, t.data ? t.data : (const void *)"",
		       t.len);
		to_column->data_len += t.len;
		to_column->ends[row] = (uint32_t)to_column->data_len;
		if (!native_is_null(c->from, i))
			to_column->nulls[row / 64] &= ~(1ull << (row % 64));
	}
	return r;
}

/* Finds the columns of the set in the answer. */
static int click_batch_find_columns(const struct click_engine *e, const struct native_reader *in,
				    const struct batch *b, uint64_t columns,
				    struct click_column *ret, size_t *ret_count)
{
	size_t at = 3;

	*ret_count = 0;
	for (unsigned int i = 0; i < b->def->column_count; i++) {
		struct click_column *c = &ret[*ret_count];

		if (!(columns >> i & 1))
			continue;
		*c = (struct click_column){.column = i,
					   .from = &in->columns[at++],
					   .bytes = column_is_bytes(b->def->columns[i].type),
					   .ids = click_ids_of(b->def, i),
					   .same = click_same_table(e, b->def, i)};
		if (c->bytes != (c->from->width == 0) ||
		    c->from->is_float != (b->def->columns[i].type == COLUMN_FLOAT))
			return -EBADMSG;
		(*ret_count)++;
	}
	return 0;
}

static int put_columns(const struct click_engine *e, const struct native_reader *in,
		       const struct click_column *columns, size_t count, size_t from, size_t to,
		       const ssize_t *recordings, struct batch *b)
{
	int r = 0;

	batch_resize(b, to - from);
	for (const struct click_column *c = columns; c < columns + count && r >= 0; c++) {
		/* most columns of a dimension are null in all rows */
		if (c->from->nulls && !memchr(c->from->nulls + from, 0, to - from))
			continue;
		r = c->bytes ? click_batch_put_texts(c, from, to, b)
			     : put_numbers(e, in, c, from, to, recordings, b);
	}
	return r;
}

static int put_row_ids(const struct click_engine *e, const struct native_reader *in, size_t from,
		       size_t to, const ssize_t *recordings, struct batch *b)
{
	free(b->row_ids);
	b->row_ids = calloc(to - from + 1, sizeof(*b->row_ids));
	if (!b->row_ids)
		return -ENOMEM;
	for (size_t i = from; i < to; i++) {
		uint64_t no = (uint64_t)native_int(&in->columns[2], i);

		b->row_ids[i - from] = click_batch_call(e, recordings[i - from], no >> ID_SHIFT,
							(int64_t)id_own((int64_t)no));
	}
	b->row_id = 0;
	return 0;
}

int click_batch(const struct click_engine *e, const struct native_reader *in, size_t from,
		size_t to, uint64_t columns, struct batch *b, int64_t *ends)
{
	_cleanup_free_ ssize_t *recordings = calloc(to - from + 1, sizeof(*recordings));
	struct click_column found[SCHEMA_COLUMNS_MAX];
	size_t count;
	int r;

	if (!recordings)
		return -ENOMEM;
	if (in->count != 3 + (size_t)__builtin_popcountll(columns))
		return -EBADMSG;
	batch_clear(b);
	b->row_id = -1;
	r = click_batch_find_columns(e, in, b, columns, found, &count);
	if (r < 0)
		return r;
	for (size_t i = from; i < to; i++) {
		recordings[i - from] =
			click_recording_at(e, (uint32_t)native_int(&in->columns[0], i));
		/* its recording was loaded after the list of recordings was read: its ids would have no names */
		if (recordings[i - from] < 0)
			return -ESTALE;
		if (ends)
			ends[i - from] = native_int(&in->columns[1], i);
	}
	r = put_columns(e, in, found, count, from, to, recordings, b);
	return r < 0 || b->table != TABLE_OP ? r : put_row_ids(e, in, from, to, recordings, b);
}

int click_each_batch(struct click_engine *e, const char *sql, const struct table_def *t,
		     enum table_id table, uint64_t columns, annotations_take *take, void *arg,
		     struct error *err)
{
	_cleanup_(native_reader_free) struct native_reader in = {.client = e->server.client};
	_cleanup_(batch_freep) struct batch *b = NULL;
	int r = batch_new_of(&b, table, t);

	if (r >= 0)
		r = click_begin_query(e, &e->server, sql, NULL, err);
	while (r >= 0 && (r = click_read(&e->server, &in, err)) > 0) {
		for (size_t at = 0; at < in.rows && r >= 0; at += BATCH_ROWS_MAX) {
			r = click_batch(e, &in, at, MIN(at + BATCH_ROWS_MAX, in.rows), columns, b,
					NULL);
			if (r >= 0)
				r = take(arg, b, err);
		}
	}
	return r < 0 ? error_errno(err, r, "the rows of %s", t->name) : 0;
}

struct value click_value(const struct native_column *c, size_t row)
{
	struct value v = {.null = native_is_null(c, row)};

	if (v.null)
		return v;
	if (!c->width)
		v.t = c->texts[row];
	else if (c->is_float)
		memcpy(&v.f, c->data + row * 8, 8);
	else
		v.i = native_int(c, row);
	return v;
}
