// SPDX-License-Identifier: Apache-2.0
/* rows_fill.c: copies values of the language to vectors of DuckDB. */
#include <errno.h>
#include <string.h>

#include "engine/duckdb/rows/weir_rows.h"
#include "sums/order.h"
#include "hist/sparse.h"

static uint64_t *writable(const struct duckdb_api *d, duckdb_vector out)
{
	d->vector_ensure_validity_writable(out);
	return d->vector_get_validity(out);
}

static inline bool bit(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static void all_null(const struct duckdb_api *d, size_t count, duckdb_vector out)
{
	memset(writable(d, out), 0, (count + 63) / 64 * sizeof(uint64_t));
}

/* Copies null bits of an eval vector. */
static void rows_fill_put_nulls(const struct duckdb_api *d, const uint64_t *nulls, size_t count,
				duckdb_vector out)
{
	uint64_t *validity;

	if (!nulls)
		return;
	validity = writable(d, out);
	for (size_t i = 0; i < (count + 63) / 64; i++)
		validity[i] &= ~nulls[i];
}

/* Copies null bits of a batch column, for the rows of the slice. */
static void put_column_nulls(const struct duckdb_api *d, const uint64_t *nulls,
			     const struct rows_slice *s, duckdb_vector out)
{
	uint64_t *validity;

	if (!nulls)
		return;
	validity = writable(d, out);
	for (size_t i = 0; i < s->count; i++) {
		if (bit(nulls, s->rows[i]))
			validity[i / 64] &= ~(1ull << (i % 64));
	}
}

static bool is_run(const struct rows_slice *s)
{
	return s->rows[s->count - 1] - s->rows[0] == s->count - 1;
}

static void fill_column(const struct duckdb_api *d, const struct column *c,
			const struct rows_slice *s, duckdb_vector out)
{
	int64_t *to = d->vector_get_data(out);

	if (!c->val) {
		all_null(d, s->count, out);
		return;
	}
	if (is_run(s)) {
		memcpy(to, c->val + s->rows[0], s->count * sizeof(*to));
	} else {
		for (size_t i = 0; i < s->count; i++)
			to[i] = c->val[s->rows[i]];
	}
	put_column_nulls(d, c->nulls, s, out);
}

static void fill_direct(const struct duckdb_api *d, unsigned int column, const struct rows_slice *s,
			duckdb_vector out)
{
	fill_column(d, &s->batch->columns[column], s, out);
}

/* The number of calls that each row represents. */
static void fill_calls(const struct duckdb_api *d, const struct rows_slice *s, duckdb_vector out)
{
	int64_t *to = d->vector_get_data(out);

	for (size_t i = 0; i < s->count; i++)
		to[i] = s->sums ? s->sums->columns[SUMMARY_CALLS].val[s->rows[i]] : 1;
}

/* The histogram of a row's times; for a single call, made from its time. */
static int fill_hist(const struct duckdb_api *d, const struct rows_slice *s, duckdb_vector out)
{
	const struct batch *b = s->sums ? s->sums : s->batch;
	unsigned int column = s->sums ? SUMMARY_HIST : OP_DUR;
	uint64_t *validity = NULL;

	for (size_t i = 0; i < s->count; i++) {
		_cleanup_(hist_free) struct hist one = {0};
		uint8_t packed[64]; /* one bucket takes at most 12 bytes */
		struct bytes text = {packed, 0};

		if (batch_is_null(b, column, s->rows[i])) {
			if (!validity)
				validity = writable(d, out);
			validity[i / 64] &= ~(1ull << (i % 64));
			continue;
		}
		if (s->sums) {
			text = batch_get_bytes(b, column, s->rows[i]);
		} else {
			int64_t dur = b->columns[column].val[s->rows[i]];

			if (hist_add(&one, (uint64_t)MAX(dur, (int64_t)0), 1) < 0)
				return -ENOMEM;
			text.len = hist_pack(&one, packed);
		}
		d->vector_assign_string_element_len(
			out, i, text.data ? (const char *)text.data : "", text.len);
	}
	return 0;
}

/* The sums that rows represent: those of a summary, or a call's own values. */
static int fill_sums(const struct duckdb_api *d, enum rows_cell cell, const struct rows_slice *s,
		     duckdb_vector out)
{
	const struct column *sums = s->sums ? s->sums->columns : NULL, *op = s->batch->columns;

	switch (cell) {
	case ROWS_BYTES:
		fill_column(d, sums ? &sums[SUMMARY_BYTES] : &op[OP_BYTES], s, out);
		return 0;
	case ROWS_TIME:
		fill_column(d, sums ? &sums[SUMMARY_TIME] : &op[OP_DUR], s, out);
		return 0;
	case ROWS_MAX:
		fill_column(d, sums ? &sums[SUMMARY_MAX] : &op[OP_DUR], s, out);
		return 0;
	case ROWS_HIST:
		return fill_hist(d, s, out);
	default:
		fill_calls(d, s, out);
		return 0;
	}
}

/*
 * Maps numbers (codes, words) to ordinals. The value of a null row must also be a valid member: some operators read it
 * before they test for null.
 */
#define PUT_ORDINALS(type)                                             \
	do {                                                           \
		type *to_ = data;                                      \
		for (size_t i = 0; i < count; i++) {                   \
			uint64_t v = (uint64_t)values[i];              \
			uint32_t o = v < limit ? table[v] : WORD_NULL; \
			unknown |= o == WORD_NULL;                     \
			to_[i] = (type)(o == WORD_NULL ? 0 : o);       \
		}                                                      \
	} while (0)

static void rows_fill_put_ordinals(const struct duckdb_api *d, const struct words *w,
				   const int64_t *values, size_t count, duckdb_vector out)
{
	const uint32_t *table = w->ordinals;
	size_t limit = w->ordinal_count;
	void *data = d->vector_get_data(out);
	bool unknown = false;
	uint64_t *validity;

	switch (w->internal) {
	case DUCKDB_TYPE_UTINYINT:
		PUT_ORDINALS(uint8_t);
		break;
	case DUCKDB_TYPE_USMALLINT:
		PUT_ORDINALS(uint16_t);
		break;
	default:
		PUT_ORDINALS(uint32_t);
		break;
	}
	if (likely(!unknown))
		return;
	validity = writable(d, out);
	for (size_t i = 0; i < count; i++) {
		uint64_t v = (uint64_t)values[i];

		if (v >= limit || table[v] == WORD_NULL)
			validity[i / 64] &= ~(1ull << (i % 64));
	}
}

static void fill_direct_code(const struct duckdb_api *d, const struct rows_column *col,
			     const struct rows_slice *s, duckdb_vector out)
{
	const struct column *c = &s->batch->columns[col->direct];
	int64_t values[VECTOR_ROWS];

	if (!c->val) {
		memset(values, 0, s->count * sizeof(*values));
		rows_fill_put_ordinals(d, col->words, values, s->count, out);
		all_null(d, s->count, out);
		return;
	}
	if (is_run(s)) {
		rows_fill_put_ordinals(d, col->words, c->val + s->rows[0], s->count, out);
	} else {
		for (size_t i = 0; i < s->count; i++)
			values[i] = c->val[s->rows[i]];
		rows_fill_put_ordinals(d, col->words, values, s->count, out);
	}
	put_column_nulls(d, c->nulls, s, out);
}

/* `words` maps numbers to texts if the vector has numbers. */
static int fill_text(const struct duckdb_api *d, const struct vector *v, const struct bytes *words,
		     duckdb_vector out, struct buf *text)
{
	uint64_t *validity = NULL;

	for (size_t i = 0; i < v->rows; i++) {
		struct bytes one;

		if (v->nulls && bit(v->nulls, i)) {
			if (!validity)
				validity = writable(d, out);
			validity[i / 64] &= ~(1ull << (i % 64));
			continue;
		}
		one = v->words ? words[v->i[i]] : v->t[i];
		buf_clear(text);
		if (engine_escape(one.data, one.len, text) < 0)
			return -ENOMEM;
		d->vector_assign_string_element_len(out, i, text->data ? (char *)text->data : "",
						    text->len);
	}
	return 0;
}

static int fill_evaluated(const struct rows_exprs *x, const struct rows_column *c,
			  struct eval_scratch *scratch, const struct rows_slice *s,
			  duckdb_vector out, struct buf *text)
{
	const struct duckdb_api *d = x->e->api;
	void *to = d->vector_get_data(out);
	const struct bytes *words = NULL;
	struct vector v;
	int r = eval_rows(x->eval, scratch, c->k, s->batch, s->rows, s->count, &v);

	if (r < 0)
		return r;
	switch (c->cell) {
	case ROWS_FLOAT:
		memcpy(to, v.f, s->count * sizeof(double));
		break;
	case ROWS_BOOL:
		for (size_t i = 0; i < s->count; i++)
			((bool *)to)[i] = v.i[i] != 0;
		break;
	case ROWS_CODE:
	case ROWS_WORDS:
		rows_fill_put_ordinals(d, c->words, v.i, s->count, out);
		break;
	case ROWS_PACKED:
		for (size_t i = 0; i < s->count; i++)
			d->vector_assign_string_element_len(out, i, (const char *)v.t[i].data,
							    v.t[i].len);
		break;
	case ROWS_TEXT:
		if (v.words)
			eval_words(x->eval, c->k, &words);
		return fill_text(d, &v, words, out, text);
	default:
		memcpy(to, v.i, s->count * sizeof(int64_t));
		break;
	}
	rows_fill_put_nulls(d, v.nulls, s->count, out);
	return 0;
}

static int fill_names(const struct duckdb_api *d, const struct rows_column *c,
		      const struct rows_slice *s, duckdb_vector out, struct buf *text)
{
	int64_t values[VECTOR_ROWS];

	for (size_t i = 0; i < s->count; i++) {
		struct bytes v = batch_get_bytes(s->batch, (unsigned int)c->direct, s->rows[i]);
		uint32_t id = WORD_NULL;

		buf_clear(text);
		if (engine_escape(v.data, v.len, text) < 0)
			return -ENOMEM;
		if (!batch_is_null(s->batch, (unsigned int)c->direct, s->rows[i]))
			(void)intern_find(c->texts, buf_str(text), text->len, &id);
		values[i] = id;
	}
	rows_fill_put_ordinals(d, c->words, values, s->count, out);
	return 0;
}

/* Copies a batch column of numbers as booleans. */
static void fill_truths(const struct duckdb_api *d, const struct column *c,
			const struct rows_slice *s, duckdb_vector out)
{
	bool *to = d->vector_get_data(out);

	if (!c->val) {
		all_null(d, s->count, out);
		return;
	}
	for (size_t i = 0; i < s->count; i++)
		to[i] = c->val[s->rows[i]] != 0;
	put_column_nulls(d, c->nulls, s, out);
}

static void fill_inodes(const struct duckdb_api *d, const struct dims *dims, unsigned int column,
			const struct rows_slice *s, duckdb_vector out)
{
	int64_t *to = d->vector_get_data(out);
	uint64_t *validity = writable(d, out);

	for (size_t i = 0; i < s->count; i++) {
		int64_t id = batch_get(s->batch, column, s->rows[i], -1);

		to[i] = id < 0 ? -1 : dims_file_inode(dims, id);
		if (to[i] < 0)
			validity[i / 64] &= ~(1ull << (i % 64));
	}
}

/* The number of a block in its file never changes, nor do the rows in it. */
static void fill_row_ids(const struct duckdb_api *d, const struct rows_slice *s, duckdb_vector out)
{
	int64_t base = id_compose((int64_t)(s->block->seq << 16) & ID_OWN_MASK, s->block->trace);
	int64_t *to = d->vector_get_data(out);

	for (size_t i = 0; i < s->count; i++)
		to[i] = base | (int64_t)s->rows[i];
}

int rows_fill(const struct rows_exprs *x, const struct rows_column *c, struct eval_scratch *scratch,
	      const struct rows_slice *s, duckdb_vector out, struct buf *text)
{
	const struct duckdb_api *d = x->e->api;
	int64_t *to = d->vector_get_data(out);

	assert(s->count > 0 && s->count <= VECTOR_ROWS);
	switch (c->cell) {
	case ROWS_NUMBER:
		for (size_t i = 0; i < s->count; i++)
			to[i] = order_number(s->block, s->block_number,
					     s->batch->numbers ? s->batch->numbers[s->rows[i]]
							       : s->rows[i]);
		return 0;
	case ROWS_END:
		for (size_t i = 0; i < s->count; i++)
			to[i] = s->ends[s->rows[i]];
		return 0;
	case ROWS_CALLS:
	case ROWS_BYTES:
	case ROWS_TIME:
	case ROWS_MAX:
	case ROWS_HIST:
		return fill_sums(d, c->cell, s, out);
	case ROWS_STORED:
	case ROWS_ARGV:
	case ROWS_BLOB:
	case ROWS_SQL:
		if (batch_has(s->batch, (unsigned int)c->direct))
			return rows_bytes(d, c, s, out, text);
		all_null(d, s->count, out);
		return 0;
	case ROWS_NAME:
		return fill_names(d, c, s, out, text);
	case ROWS_TRUTH:
		fill_truths(d, &s->batch->columns[c->direct], s, out);
		return 0;
	case ROWS_INODE:
		fill_inodes(d, store_dims_few(x->e->store), (unsigned int)c->direct, s, out);
		return 0;
	case ROWS_ID:
		fill_row_ids(d, s, out);
		return 0;
	default:
		break;
	}
	if (c->direct >= 0 && c->cell == ROWS_INT)
		fill_direct(d, (unsigned int)c->direct, s, out);
	else if (c->direct >= 0 && c->cell == ROWS_CODE)
		fill_direct_code(d, c, s, out);
	else
		return fill_evaluated(x, c, scratch, s, out, text);
	return 0;
}
