/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/batch.h"

#include <errno.h>
#include <string.h>

static_assert(BATCH_ROWS_MAX % 64 == 0, "the null bits of a full batch fill whole words");
static_assert(BATCH_ROWS_MAX <= UINT32_MAX, "lists of row numbers are 32 bits");

static bool is_bytes(const struct batch *b, unsigned int column)
{
	assert(column < b->def->column_count);
	return column_is_bytes(b->def->columns[column].type);
}

#define READY_ROWS 256 /* rows prepared at a time */

static size_t null_words(size_t rows)
{
	return (rows + 63) / 64;
}

int batch_new(struct batch **ret, enum table_id table)
{
	return batch_new_of(ret, table, schema_table(table));
}

int batch_new_of(struct batch **ret, enum table_id table, const struct table_def *def)
{
	struct batch *b = calloc(1, sizeof(*b) + def->column_count * sizeof(b->columns[0]));

	if (!b)
		return -ENOMEM;
	b->table = table;
	b->def = def;
	b->row_id = -1;
	*ret = b;
	return 0;
}

static void spare_free(struct column *c)
{
	free(c->spare_val);
	free(c->spare_nulls);
	free(c->spare_ends);
	c->spare_val = NULL;
	c->spare_nulls = NULL;
	c->spare_ends = NULL;
	c->spare_cap = 0;
}

static void column_free(struct column *c)
{
	spare_free(c);
	free(c->val);
	free(c->nulls);
	free(c->ends);
	free(c->data);
	*c = (struct column){0};
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	for (unsigned int i = 0; i < b->def->column_count; i++)
		column_free(&b->columns[i]);
	free(b->numbers);
	free(b->row_ids);
	free(b);
}

void batch_drop_column(struct batch *b, unsigned int column)
{
	struct column *c = &b->columns[column];

	assert(column < b->def->column_count);
	assert(!c->val || !c->ends); /* a column holds integers or bytes, never both */
	if (!c->val && !c->ends)
		return;
	spare_free(c);
	c->spare_val = TAKE_PTR(c->val);
	c->spare_ends = TAKE_PTR(c->ends);
	c->spare_nulls = TAKE_PTR(c->nulls);
	c->spare_cap = MAX(b->cap, (size_t)1);
	c->data_len = 0;
}

void batch_clear(struct batch *b)
{
	for (unsigned int i = 0; i < b->def->column_count; i++)
		batch_drop_column(b, i);
	b->rows = 0;
	b->ready = 0;
	b->row_id = -1;
	b->has_bytes = false;
}

/* Gives every present column capacity for `cap` rows. */
static int batch_reserve(struct batch *b, size_t cap)
{
	assert(cap <= BATCH_ROWS_MAX && b->rows <= BATCH_ROWS_MAX);
	if (cap <= b->cap)
		return 0;
	cap = MAX(cap, b->cap * 2);
	cap = MAX(cap, (size_t)64);
	cap = MIN(cap, (size_t)BATCH_ROWS_MAX);
	for (unsigned int i = 0; i < b->def->column_count; i++) {
		struct column *c = &b->columns[i];
		void *p;

		if (c->val) {
			p = realloc(c->val, cap * sizeof(*c->val));
			if (!p)
				return -ENOMEM;
			c->val = p;
		}
		if (c->ends) {
			p = realloc(c->ends, cap * sizeof(*c->ends));
			if (!p)
				return -ENOMEM;
			c->ends = p;
		}
		if (c->nulls) {
			p = realloc(c->nulls, null_words(cap) * sizeof(*c->nulls));
			if (!p)
				return -ENOMEM;
			c->nulls = p;
			memset(&c->nulls[null_words(b->cap)], 0,
			       (null_words(cap) - null_words(b->cap)) * sizeof(*c->nulls));
		}
	}
	assert(cap > b->cap && cap <= BATCH_ROWS_MAX);
	b->cap = cap;
	return 0;
}

void batch_resize(struct batch *b, size_t rows)
{
	assert(b->rows == 0 && rows <= BATCH_ROWS_MAX);
	b->rows = rows;
	b->ready = 0;
	b->cap = b->cap < rows || !b->cap ? MAX(rows, (size_t)1) : b->cap;
}

/* Moves the spare memory of a column into place; false if it is too small for `cap` rows. */
static bool take_spare(struct column *c, size_t cap)
{
	assert(!c->val && !c->ends && !c->nulls);
	if (c->spare_cap < cap) {
		spare_free(c);
		return false;
	}
	c->val = TAKE_PTR(c->spare_val);
	c->ends = TAKE_PTR(c->spare_ends);
	return c->val || c->ends;
}

int batch_make_column_unset(struct batch *b, unsigned int column, bool nulls)
{
	struct column *c = &b->columns[column];
	size_t cap = MAX(b->cap, (size_t)1);

	assert(!batch_has(b, column));
	if (!take_spare(c, cap)) {
		if (is_bytes(b, column))
			c->ends = malloc(cap * sizeof(*c->ends));
		else
			c->val = malloc(cap * sizeof(*c->val));
	}
	if (nulls)
		c->nulls = c->spare_nulls ? TAKE_PTR(c->spare_nulls)
					  : calloc(null_words(cap), sizeof(*c->nulls));
	if (!batch_has(b, column) || (nulls && !c->nulls)) {
		column_free(c);
		return -ENOMEM;
	}
	if (!nulls) {
		free(TAKE_PTR(c->spare_nulls)); /* it would not grow with the column */
		b->ready = b->rows;		/* batch_add_row() must give it null bits */
	}
	assert(is_bytes(b, column) ? c->ends && !c->val : c->val && !c->ends);
	assert(nulls == (c->nulls != NULL));
	b->has_bytes |= c->ends != NULL;
	return 0;
}

int batch_make_column(struct batch *b, unsigned int column, bool nulls)
{
	struct column *c = &b->columns[column];
	size_t rows = MAX(b->rows, b->ready);
	int r = batch_make_column_unset(b, column, nulls);

	if (r < 0)
		return r;
	if (c->val)
		memset(c->val, 0, rows * sizeof(*c->val));
	if (c->ends)
		memset(c->ends, 0, rows * sizeof(*c->ends));
	if (c->nulls)
		memset(c->nulls, 0xff, null_words(rows) * sizeof(*c->nulls));
	return 0;
}

/*
 * Copies n bits, up to 64 at a time, from src at bit `from` to dst at bit `to`. Words of null bits must be zeroed
 * first: compilers turn this into exclusive ors, and a memory checker would take the copied bits for uninitialized.
 */
static void bits_copy(uint64_t *dst, size_t to, const uint64_t *src, size_t from, size_t n)
{
	while (n) {
		size_t room = MIN(64 - to % 64, 64 - from % 64);
		size_t run = MIN(n, room);
		uint64_t mask = (run == 64 ? ~0ull : (1ull << run) - 1) << (to % 64);
		uint64_t bits = src[from / 64] >> (from % 64) << (to % 64);

		dst[to / 64] = (dst[to / 64] & ~mask) | (bits & mask);
		to += run;
		from += run;
		n -= run;
	}
}

static void bits_fill(uint64_t *dst, size_t to, bool value, size_t n)
{
	const uint64_t word = value ? ~0ull : 0;

	for (size_t i = 0; i < n;) {
		size_t run = MIN(n - i, 64 - (to + i) % 64);

		bits_copy(dst, to + i, &word, 0, run);
		i += run;
	}
}

/* Makes rows [rows, to) of a column null. */
static int column_ready(struct batch *b, struct column *c, size_t to)
{
	size_t n = to - b->rows;

	assert(to > b->rows && to <= b->cap);
	if (!c->nulls) {
		c->nulls = c->spare_nulls ? TAKE_PTR(c->spare_nulls)
					  : calloc(null_words(b->cap), sizeof(*c->nulls));
		if (!c->nulls)
			return -ENOMEM;
		memset(c->nulls, 0, null_words(to) * sizeof(*c->nulls));
	}
	bits_fill(c->nulls, b->rows, true, n);
	if (c->val)
		memset(c->val + b->rows, 0, n * sizeof(*c->val));
	return 0;
}

/* Prepares the next rows of all present columns at once, so that adding a row costs nothing. */
static int batch_make_ready(struct batch *b)
{
	size_t to;
	int r;

	assert(b->rows < BATCH_ROWS_MAX);
	r = batch_reserve(b, b->rows + 1);
	if (r < 0)
		return r;
	to = MIN(b->cap, b->rows + READY_ROWS);
	for (unsigned int i = 0; i < b->def->column_count; i++) {
		if (!batch_has(b, i))
			continue;
		r = column_ready(b, &b->columns[i], to);
		if (r < 0)
			return r;
	}
	assert(to > b->rows); /* batch_add_row() takes the first of them */
	b->ready = to;
	return 0;
}

ssize_t batch_add_row(struct batch *b)
{
	if (b->rows == BATCH_ROWS_MAX)
		return -ENOSPC;
	if (unlikely(b->rows >= b->ready)) {
		int r = batch_make_ready(b);

		if (r < 0)
			return r;
	}
	for (unsigned int i = 0; b->has_bytes && i < b->def->column_count; i++) {
		if (b->columns[i].ends)
			b->columns[i].ends[b->rows] = (uint32_t)b->columns[i].data_len;
	}
	return (ssize_t)b->rows++;
}

static int column_touch(struct batch *b, unsigned int column, size_t row)
{
	struct column *c = &b->columns[column];

	assert(row < b->rows);
	if (!batch_has(b, column)) {
		int r = batch_make_column(b, column, true);

		if (r < 0)
			return r;
	}
	if (c->nulls)
		c->nulls[row / 64] &= ~(1ull << (row % 64));
	return 0;
}

int batch_set_slow(struct batch *b, unsigned int column, size_t row, int64_t value)
{
	int r;

	assert(!is_bytes(b, column));
	r = column_touch(b, column, row);
	if (r < 0)
		return r;
	b->columns[column].val[row] = value;
	return 0;
}

int batch_set_bytes(struct batch *b, unsigned int column, size_t row, const void *data, size_t len)
{
	struct column *c = &b->columns[column];
	int r;

	assert(is_bytes(b, column) && row + 1 == b->rows);
	assert(data || !len);
	if (c->data_len + len > UINT32_MAX)
		return -ENOSPC;
	r = grow((void **)&c->data, &c->data_cap, c->data_len + len + 1, 1);
	if (r < 0)
		return r;
	r = column_touch(b, column, row);
	if (r < 0)
		return r;
	if (len)
		memcpy(c->data + c->data_len, data, len);
	c->data_len += len;
	c->ends[row] = (uint32_t)c->data_len;
	return 0;
}

int batch_replace_bytes(struct batch *b, unsigned int column, size_t row, const void *data,
			size_t len)
{
	struct column *c = &b->columns[column];

	assert(is_bytes(b, column) && row + 1 == b->rows);
	if (c->ends)
		c->data_len = row ? c->ends[row - 1] : 0;
	return batch_set_bytes(b, column, row, data, len);
}

void batch_set_null(struct batch *b, unsigned int column, size_t row)
{
	struct column *c = &b->columns[column];

	assert(row < b->rows && !is_bytes(b, column));
	if (!c->val)
		return;
	if (!c->nulls) {
		c->nulls = calloc(null_words(b->cap), sizeof(*c->nulls));
		if (!c->nulls)
			abort(); /* a few KiB; it cannot continue without them */
		b->ready = b->rows;
	}
	c->val[row] = 0;
	c->nulls[row / 64] |= 1ull << (row % 64);
}

static int append_row(struct batch *dst, const struct batch *src, size_t row)
{
	ssize_t to;

	assert(row < src->rows);
	to = batch_add_row(dst);
	if (to < 0)
		return (int)to;
	for (unsigned int i = 0; i < dst->def->column_count; i++) {
		int r;

		if (batch_is_null(src, i, row))
			continue;
		if (is_bytes(dst, i)) {
			struct bytes v = batch_get_bytes(src, i, row);

			r = batch_set_bytes(dst, i, (size_t)to, v.data, v.len);
		} else {
			r = batch_set(dst, i, (size_t)to, src->columns[i].val[row]);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* Appends the null bits of n rows: those of src, or all null if src lacks the column. */
static int append_nulls(struct batch *dst, struct column *d, const struct column *s, bool present,
			size_t from, size_t n)
{
	assert(dst->rows + n <= dst->cap);
	if (present && !s->nulls && !d->nulls)
		return 0;
	if (!d->nulls) {
		d->nulls = calloc(null_words(dst->cap), sizeof(*d->nulls));
		if (!d->nulls)
			return -ENOMEM;
	}
	if (present && s->nulls)
		bits_copy(d->nulls, dst->rows, s->nulls, from, n);
	else
		bits_fill(d->nulls, dst->rows, !present, n);
	return 0;
}

static int append_data(struct column *d, size_t at, const struct column *s, bool present,
		       size_t from, size_t n)
{
	size_t start, len;
	int r;

	if (!present) {
		for (size_t i = 0; i < n; i++)
			d->ends[at + i] = (uint32_t)d->data_len;
		return 0;
	}
	assert(n > 0);
	start = from ? s->ends[from - 1] : 0;
	assert(s->ends[from + n - 1] >= start && s->ends[from + n - 1] <= s->data_len);
	len = s->ends[from + n - 1] - start;
	if (d->data_len + len > UINT32_MAX)
		return -ENOSPC;
	r = grow((void **)&d->data, &d->data_cap, d->data_len + len + 1, 1);
	if (r < 0)
		return r;
	if (len)
		memcpy(d->data + d->data_len, s->data + start, len);
	for (size_t i = 0; i < n; i++)
		d->ends[at + i] = (uint32_t)(s->ends[from + i] - start + d->data_len);
	d->data_len += len;
	return 0;
}

/* Makes the column present if an appended row has a value. 1; 0: it stays absent. */
static int column_need(struct batch *dst, unsigned int i, bool present)
{
	int r = 0;

	if (!batch_has(dst, i) && present)
		r = batch_make_column(dst, i, dst->rows > 0);
	return r < 0 ? r : batch_has(dst, i);
}

static int append_column(struct batch *dst, unsigned int i, const struct batch *src, size_t from,
			 size_t n)
{
	const struct column *s = &src->columns[i];
	struct column *d = &dst->columns[i];
	bool present = batch_has(src, i);
	int r = column_need(dst, i, present);

	if (r > 0)
		r = append_nulls(dst, d, s, present, from, n);
	if (r < 0 || !batch_has(dst, i))
		return r;
	if (is_bytes(dst, i))
		return append_data(d, dst->rows, s, present, from, n);
	if (present)
		memcpy(d->val + dst->rows, s->val + from, n * sizeof(*d->val));
	else
		memset(d->val + dst->rows, 0, n * sizeof(*d->val));
	return 0;
}

int batch_append(struct batch *dst, const struct batch *src, size_t from, size_t to)
{
	size_t n = to - from;
	int r;

	assert(dst->table == src->table && from <= to && to <= src->rows);
	if (dst->rows + n > BATCH_ROWS_MAX)
		return -ENOSPC;
	if (!n)
		return 0;
	r = batch_reserve(dst, dst->rows + n);
	if (r < 0)
		return r;
	for (unsigned int i = 0; i < dst->def->column_count; i++) {
		r = append_column(dst, i, src, from, n);
		if (r < 0)
			return r;
	}
	dst->rows += n;
	assert(dst->rows <= dst->cap);
	dst->ready = dst->rows; /* rows behind these are not prepared */
	return 0;
}

static int gather_column(struct batch *dst, unsigned int i, const struct batch *src,
			 const uint32_t *rows, size_t n)
{
	const struct column *s = &src->columns[i];
	struct column *d = &dst->columns[i];
	bool present = batch_has(src, i);
	int r = column_need(dst, i, present);

	if (r <= 0)
		return r;
	if ((!present || s->nulls) && !d->nulls) {
		d->nulls = calloc(null_words(dst->cap), sizeof(*d->nulls));
		if (!d->nulls)
			return -ENOMEM;
	}
	if (d->nulls)
		bits_fill(d->nulls, dst->rows, !present, n);
	if (!present) {
		memset(d->val + dst->rows, 0, n * sizeof(*d->val));
		return 0;
	}
	for (size_t k = 0; k < n; k++)
		d->val[dst->rows + k] = s->val[rows[k]];
	for (size_t k = 0; k < n && s->nulls; k++) {
		const size_t to = dst->rows + k;

		d->nulls[to / 64] |= (s->nulls[rows[k] / 64] >> (rows[k] % 64) & 1) << (to % 64);
	}
	return 0;
}

/* batch_append_rows() for batches without byte columns: column by column. */
static int gather_rows(struct batch *dst, const struct batch *src, const uint32_t *rows, size_t n)
{
	int r = batch_reserve(dst, dst->rows + n);

	if (r < 0)
		return r;
	for (unsigned int i = 0; i < dst->def->column_count; i++) {
		r = gather_column(dst, i, src, rows, n);
		if (r < 0)
			return r;
	}
	dst->rows += n;
	dst->ready = dst->rows; /* rows behind these are not prepared */
	return 0;
}

int batch_append_rows(struct batch *dst, const struct batch *src, const uint32_t *rows,
		      size_t count)
{
	assert(dst->table == src->table && dst != src);
	if (dst->rows + count > BATCH_ROWS_MAX)
		return -ENOSPC;
	if (!src->has_bytes && !dst->has_bytes)
		return gather_rows(dst, src, rows, count);
	for (size_t i = 0; i < count; i++) {
		int r = append_row(dst, src, rows[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

int batch_set_table(struct batch_set *s, enum table_id table, struct batch **ret)
{
	assert(table < TABLE_COUNT);
	if (!s->tables[table]) {
		int r = batch_new(&s->tables[table], table);

		if (r < 0)
			return r;
	}
	*ret = s->tables[table];
	assert((*ret)->table == table);
	return 0;
}

int batch_set_add_row(struct batch_set *s, enum table_id table, struct batch **ret_b,
		      size_t *ret_row)
{
	struct batch *b;
	ssize_t row;
	int r;

	*ret_b = NULL;
	*ret_row = 0;
	r = batch_set_table(s, table, &b);
	if (r < 0)
		return r;
	row = batch_add_row(b);
	if (row < 0)
		return (int)row;
	*ret_b = b;
	*ret_row = (size_t)row;
	return 0;
}

struct batch_row batch_row(struct batch *b)
{
	ssize_t row = batch_add_row(b);

	return (struct batch_row){.b = b, .at = row < 0 ? 0 : (size_t)row, .r = MIN((int)row, 0)};
}

struct batch_row batch_set_row(struct batch_set *s, enum table_id table)
{
	struct batch_row row = {0};

	row.r = batch_set_add_row(s, table, &row.b, &row.at);
	return row;
}

int batch_set_add_mark(struct batch_set *s, int64_t at, const char *name, const void *text,
		       size_t len)
{
	struct batch_row row = batch_set_row(s, TABLE_MARK);

	row_set(&row, MARK_AT, at);
	row_set_str(&row, MARK_NAME, name);
	row_set_bytes(&row, MARK_TEXT, text, len);
	return row.r;
}

void batch_set_clear(struct batch_set *s)
{
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		if (s->tables[i])
			batch_clear(s->tables[i]);
	}
}

void batch_set_free(struct batch_set *s)
{
	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		batch_free(s->tables[i]);
	*s = (struct batch_set){0};
}

size_t batch_set_count(const struct batch_set *s)
{
	size_t rows = 0;

	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		rows += s->tables[i] ? s->tables[i]->rows : 0;
	return rows;
}
