/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file/write/alive.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/records.h"
#include "base/varint.h"

#define RUNS_MAX 2	      /* runs of RECORDS_RUN rows in memory, per table */
#define IDS_MAX	 (1ull << 36) /* ids are dense: no recording has more */

struct bits {
	uint64_t *words;
	size_t count, cap; /* words */
};

struct alive {
	struct alive_table {
		struct records rows; /* the last row of each id */
		struct bits present; /* ids in the current file */
		struct bits running; /* ids that have not ended */
	} tables[TABLE_COUNT];
	struct alive_sink to;
	struct batch_set rows; /* rows on their way to the file */
	bool resolving;	       /* the rows that those refer to are being added */
	struct buf row;
};

/* ---- sets of ids ---- */

static bool bits_has(const struct bits *b, uint64_t id)
{
	return id / 64 < b->count && b->words[id / 64] >> (id % 64) & 1;
}

static int bits_set(struct bits *b, uint64_t id, bool value)
{
	int r = id / 64 < b->count
			? 0
			: grow((void **)&b->words, &b->cap, id / 64 + 1, sizeof(*b->words));

	assert(id < IDS_MAX);
	if (r < 0)
		return r;
	while (b->count <= id / 64)
		b->words[b->count++] = 0;
	b->words[id / 64] = (b->words[id / 64] & ~(1ull << (id % 64))) | (uint64_t)value
										 << (id % 64);
	return 0;
}

/* ---- life ---- */

void alive_free(struct alive *a)
{
	if (!a)
		return;
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		records_free(&a->tables[i].rows);
		free(a->tables[i].present.words);
		free(a->tables[i].running.words);
	}
	batch_set_free(&a->rows);
	buf_free(&a->row);
	free(a);
}

int alive_new(struct alive **ret, const struct alive_sink *to)
{
	assert(to->take);
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->to = *to;
	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		records_init(&(*ret)->tables[i].rows, RUNS_MAX);
	return 0;
}

/* ---- a row as bytes: which columns are not null, then their values ---- */

static int alive_pack_column(struct buf *to, const struct batch *b, unsigned int column, size_t row)
{
	struct bytes text;
	int r;

	if (b->columns[column].val)
		return buf_varint(to, zigzag(b->columns[column].val[row]));
	text = batch_get_bytes(b, column, row);
	r = buf_varint(to, text.len);
	return r < 0 || !text.len ? r : buf_append(to, text.data, text.len);
}

static int alive_pack(struct buf *to, const struct batch *b, size_t row)
{
	uint64_t set = 0;
	int r;

	assert(row < b->rows && b->def->column_count <= 64);
	for (unsigned int i = 0; i < b->def->column_count; i++)
		set |= (uint64_t)!batch_is_null(b, i, row) << i;
	buf_clear(to);
	r = buf_varint(to, set);
	for (unsigned int i = 0; i < b->def->column_count && r >= 0; i++) {
		if (set >> i & 1)
			r = alive_pack_column(to, b, i, row);
	}
	return r;
}

static int alive_unpack(struct batch *b, const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;
	uint64_t set = varint_known(&p, end), v;
	ssize_t row = batch_add_row(b);
	int r = row < 0 ? (int)row : 0;

	for (unsigned int i = 0; i < b->def->column_count && r >= 0; i++) {
		if (!(set >> i & 1))
			continue;
		v = varint_known(&p, end);
		if (!column_is_bytes(b->def->columns[i].type)) {
			r = batch_set(b, i, (size_t)row, unzigzag(v));
			continue;
		}
		r = batch_set_bytes(b, i, (size_t)row, p, v);
		p += v;
		assert(p <= end);
	}
	assert(r < 0 || p == end);
	return r;
}

/* ---- rows ---- */

/* True if the end of what a row describes is set. Files never end: any thread may still have one open. */
static bool row_ended(const struct batch *b, size_t row)
{
	if (b->table == TABLE_PROCESS)
		return !batch_is_null(b, PROCESS_STOPPED, row);
	return b->table == TABLE_THREAD && !batch_is_null(b, THREAD_STOPPED, row);
}

int alive_take(struct alive *a, const struct batch *rows)
{
	struct alive_table *t = &a->tables[rows->table];

	assert(schema_is_dimension(rows->table));
	for (size_t i = 0; i < rows->rows; i++) {
		uint64_t id = (uint64_t)batch_get(rows, 0, i, -1);
		int r;

		if (id >= IDS_MAX)
			return -EINVAL;
		r = alive_pack(&a->row, rows, i);
		if (r < 0)
			return r;
		r = records_put(&t->rows, id, a->row.data, a->row.len);
		if (r < 0)
			return r;
		r = bits_set(&t->present, id, true);
		if (r >= 0 && rows->table != TABLE_FILE)
			r = bits_set(&t->running, id, !row_ended(rows, i));
		if (r < 0)
			return r;
	}
	return 0;
}

static int alive_drain(struct alive *a);

/* Adds the row of an id to those on their way; does nothing if there is none. */
static int alive_give(struct alive *a, enum table_id table, uint64_t id)
{
	struct alive_table *t = &a->tables[table];
	size_t len;
	const uint8_t *packed = records_get(&t->rows, id, &len);
	struct batch *b;
	int r;

	assert(schema_is_dimension(table));
	if (!packed)
		return 0;
	r = batch_set_table(&a->rows, table, &b);
	if (r < 0)
		return r;
	r = alive_unpack(b, packed, len);
	if (r < 0)
		return r;
	r = bits_set(&t->present, id, true);
	return r >= 0 && b->rows == BATCH_ROWS_MAX && !a->resolving ? alive_drain(a) : r;
}

/* Adds the rows that a batch refers to. */
static int alive_need_of(struct alive *a, const struct batch *b)
{
	int r = 0;

	for (unsigned int i = 0; i < b->def->column_count; i++) {
		int to = b->columns[i].val ? schema_refers(b->def, i) : -1;

		if (to < 0 || to == (int)b->table) /* its own id, of the first version */
			continue;
		assert(schema_is_dimension((enum table_id)to));
		for (size_t row = 0; row < b->rows && r >= 0; row++) {
			uint64_t id = (uint64_t)batch_get(b, i, row, 0);

			if (!bits_has(&a->tables[to].present, id) && !batch_is_null(b, i, row))
				r = alive_give(a, (enum table_id)to, id);
		}
	}
	return r;
}

/*
 * Hands over the gathered rows and the rows that they refer to: threads to processes, those to hosts. So a batch of
 * one table never needs more rows than a batch of the other can hold. A thread may still be marked running when its
 * process has ended.
 */
static int alive_drain(struct alive *a)
{
	int r = 0;

	assert(!a->resolving);
	a->resolving = true;
	for (size_t i = SCHEMA_DIMENSION_COUNT; i-- > 0 && r >= 0;) {
		const struct batch *b = a->rows.tables[schema_dimensions[i]];

		if (b && b->rows)
			r = alive_need_of(a, b);
	}
	a->resolving = false;
	for (size_t i = 0; i < SCHEMA_DIMENSION_COUNT && r >= 0; i++) {
		const struct batch *b = a->rows.tables[schema_dimensions[i]];

		if (b && b->rows)
			r = a->to.take(a->to.arg, b);
	}
	batch_set_clear(&a->rows);
	return r;
}

int alive_need(struct alive *a, const struct batch *b)
{
	int r = alive_need_of(a, b);

	return r < 0 ? r : alive_drain(a);
}

int alive_begin(struct alive *a)
{
	int r = 0;

	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		a->tables[i].present.count = 0;
	for (size_t i = 0; i < SCHEMA_DIMENSION_COUNT && r >= 0; i++) {
		enum table_id table = schema_dimensions[i];
		const struct bits *b = &a->tables[table].running;

		for (uint64_t id = 0; id < b->count * 64 && r >= 0; id++) {
			if (bits_has(b, id))
				r = alive_give(a, table, id);
		}
		if (r >= 0)
			r = alive_drain(a);
	}
	return r;
}
