// SPDX-License-Identifier: Apache-2.0
/* table_fill.c: from columns of a batch to vectors. */
#include <errno.h>
#include <string.h>

#include "base/shell.h"
#include "engine/duckdb/tables/table_scan.h"

/* Where the rows of a vector come from. */
struct rows {
	const struct batch *b;
	const uint32_t *sel;
	size_t from, count;
};

static inline size_t row_of(const struct rows *r, size_t i)
{
	return r->sel ? r->sel[r->from + i] : r->from + i;
}

static uint64_t *writable_validity(const struct duckdb_api *d, duckdb_vector out)
{
	d->vector_ensure_validity_writable(out);
	return d->vector_get_validity(out);
}

static inline void table_fill_set_null(uint64_t *validity, size_t i)
{
	validity[i / 64] &= ~(1ull << (i % 64));
}

static void fill_null(const struct duckdb_api *d, const struct rows *r, duckdb_vector out)
{
	uint64_t *validity = writable_validity(d, out);

	memset(validity, 0, (r->count + 63) / 64 * sizeof(*validity));
}

static void fill_int64(const struct duckdb_api *d, const struct rows *r, unsigned int column,
		       duckdb_vector out)
{
	const struct column *c = &r->b->columns[column];
	int64_t *to = d->vector_get_data(out);

	if (r->sel) {
		for (size_t i = 0; i < r->count; i++)
			to[i] = c->val[r->sel[r->from + i]];
	} else {
		memcpy(to, c->val + r->from, r->count * sizeof(*to));
	}
	if (c->nulls) {
		uint64_t *validity = writable_validity(d, out);

		for (size_t i = 0; i < r->count; i++) {
			size_t row = row_of(r, i);

			if (c->nulls[row / 64] >> (row % 64) & 1)
				table_fill_set_null(validity, i);
		}
	}
}

static void fill_bool(const struct duckdb_api *d, const struct rows *r, unsigned int column,
		      duckdb_vector out)
{
	uint64_t *validity = r->b->columns[column].nulls ? writable_validity(d, out) : NULL;
	uint8_t *to = d->vector_get_data(out);

	for (size_t i = 0; i < r->count; i++) {
		size_t row = row_of(r, i);

		to[i] = r->b->columns[column].val[row] != 0;
		if (batch_is_null(r->b, column, row))
			table_fill_set_null(validity, i);
	}
}

/* Writes ENUM ordinals; WORD_NULL is null. */
static void table_fill_put_ordinals(const struct duckdb_api *d, const struct words *w,
				    const uint32_t *ordinals, size_t count, duckdb_vector out)
{
	void *to = d->vector_get_data(out);
	uint64_t *validity = NULL;

	for (size_t i = 0; i < count; i++) {
		if (unlikely(ordinals[i] == WORD_NULL)) {
			if (!validity)
				validity = writable_validity(d, out);
			table_fill_set_null(validity, i);
		}
	}
	switch (w->internal) {
	case DUCKDB_TYPE_UTINYINT:
		for (size_t i = 0; i < count; i++)
			((uint8_t *)to)[i] = (uint8_t)ordinals[i];
		break;
	case DUCKDB_TYPE_USMALLINT:
		for (size_t i = 0; i < count; i++)
			((uint16_t *)to)[i] = (uint16_t)ordinals[i];
		break;
	default:
		memcpy(to, ordinals, count * sizeof(*ordinals));
		break;
	}
	/* The value under a null must be a member all the same: some operators look before they
	 * test. */
	if (validity) {
		size_t width = w->internal == DUCKDB_TYPE_UTINYINT    ? 1
			       : w->internal == DUCKDB_TYPE_USMALLINT ? 2
								      : 4;

		for (size_t i = 0; i < count; i++) {
			if (ordinals[i] == WORD_NULL)
				memset((uint8_t *)to + i * width, 0, width);
		}
	}
}

static void fill_code(const struct duckdb_api *d, const struct scan_column *c, const struct rows *r,
		      duckdb_vector out)
{
	uint32_t ordinals[VECTOR_ROWS];

	for (size_t i = 0; i < r->count; i++) {
		size_t row = row_of(r, i);

		ordinals[i] = batch_is_null(r->b, c->column, row)
				      ? WORD_NULL
				      : words_ordinal(c->words, 0,
						      (uint64_t)r->b->columns[c->column].val[row]);
	}
	table_fill_put_ordinals(d, c->words, ordinals, r->count, out);
}

static uint32_t ordinal_of_id(const struct words *w, const struct batch *b, unsigned int column,
			      size_t row)
{
	int64_t id = batch_get(b, column, row, -1);

	return id < 0 ? WORD_NULL : words_ordinal(w, id_recording(id), id_own(id));
}

static void fill_name(const struct duckdb_api *d, const struct scan_column *c, const struct rows *r,
		      duckdb_vector out)
{
	uint32_t ordinals[VECTOR_ROWS];

	for (size_t i = 0; i < r->count; i++) {
		size_t row = row_of(r, i);

		ordinals[i] = ordinal_of_id(c->words, r->b, c->column, row);
		if (c->cell == CELL_PEER && ordinals[i] == WORD_NULL)
			ordinals[i] = ordinal_of_id(c->words, r->b, c->column2, row);
	}
	table_fill_put_ordinals(d, c->words, ordinals, r->count, out);
}

/* The text of the id in a column of the row. */
static struct bytes text_of_id(struct duck *e, enum name name, const struct batch *b,
			       unsigned int column, size_t row)
{
	int64_t id = batch_get(b, column, row, -1);

	return id < 0 ? (struct bytes){NULL, 0} : names_text(e, name, id);
}

static int fill_name_text(struct duck *e, const struct scan_column *c, const struct rows *r,
			  duckdb_vector out, struct buf *scratch)
{
	const struct duckdb_api *d = e->api;
	uint64_t *validity = NULL;

	for (size_t i = 0; i < r->count; i++) {
		struct bytes text = text_of_id(e, c->source, r->b, c->column, row_of(r, i));

		if (c->cell == CELL_PEER_TEXT && !text.data)
			text = text_of_id(e, c->source, r->b, c->column2, row_of(r, i));
		if (!text.data) {
			if (!validity)
				validity = writable_validity(d, out);
			table_fill_set_null(validity, i);
			continue;
		}
		buf_clear(scratch);
		if (engine_escape(text.data, text.len, scratch) < 0)
			return -ENOMEM;
		d->vector_assign_string_element_len(out, i, buf_str(scratch), scratch->len);
	}
	return 0;
}

static int64_t number_of_id(const struct numbers *n, const struct batch *b, unsigned int column,
			    size_t row)
{
	int64_t id = batch_get(b, column, row, -1);
	uint64_t trace = id_recording(id), at = id_own(id);

	if (id < 0 || trace >= n->traces || at >= n->counts[trace])
		return INT64_MIN;
	return n->values[trace][at];
}

static void fill_number(const struct duckdb_api *d, const struct scan_column *c,
			const struct rows *r, duckdb_vector out)
{
	uint64_t *validity = NULL;
	int64_t *to = d->vector_get_data(out);

	for (size_t i = 0; i < r->count; i++) {
		to[i] = number_of_id(c->numbers, r->b, c->column, row_of(r, i));
		if (to[i] == INT64_MIN) {
			if (!validity)
				validity = writable_validity(d, out);
			table_fill_set_null(validity, i);
		}
	}
}

static void fill_number_code(const struct duckdb_api *d, const struct scan_column *c,
			     const struct rows *r, duckdb_vector out)
{
	uint32_t ordinals[VECTOR_ROWS];

	for (size_t i = 0; i < r->count; i++) {
		int64_t code = number_of_id(c->numbers, r->b, c->column, row_of(r, i));

		ordinals[i] = code < 0 ? WORD_NULL : words_ordinal(c->words, 0, (uint64_t)code);
	}
	table_fill_put_ordinals(d, c->words, ordinals, r->count, out);
}

/* One argument as a shell would take it, escaped as all texts are. */
static int append_argument(const uint8_t *data, size_t len, struct buf *out)
{
	_cleanup_buf_ struct buf text = {0};
	int r = engine_escape(data, len, &text);

	return r < 0 ? r : shell_word(out, text.data, text.len);
}

static int table_fill_argv_text(struct bytes v, struct buf *out)
{
	size_t at = 0;
	int r = 0;

	if (v.len && v.data[v.len - 1] == '\0')
		v.len--; /* a closing NUL starts no further word */
	while (at <= v.len && v.len && r >= 0) {
		const uint8_t *nul = memchr(v.data + at, 0, v.len - at);
		size_t len = nul ? (size_t)(nul - v.data) - at : v.len - at;

		if (at)
			r = buf_append(out, " ", 1);
		if (r >= 0)
			r = append_argument(v.data + at, len, out);
		at += len + 1;
	}
	return r < 0 ? r : 0;
}

/* The text of one cell. 0 or -ENOMEM. */
static int table_fill_text(const struct duckdb_api *d, const struct scan_column *c, struct bytes v,
			   size_t i, duckdb_vector out, struct buf *scratch)
{
	bool raw = c->cell == CELL_BLOB || (c->cell == CELL_SQL && engine_is_utf8(v.data, v.len));
	int r = 0;

	buf_clear(scratch);
	if (c->cell == CELL_ARGV)
		r = table_fill_argv_text(v, scratch);
	else if (!raw)
		r = engine_escape(v.data, v.len, scratch);
	if (!raw)
		v = (struct bytes){scratch->data, scratch->len};
	if (r >= 0)
		d->vector_assign_string_element_len(out, i, v.data ? (const char *)v.data : "",
						    v.len);
	return r;
}

static int table_fill_bytes(const struct duckdb_api *d, const struct scan_column *c,
			    const struct rows *r, duckdb_vector out, struct buf *scratch)
{
	duckdb_string_t *texts = d->vector_get_data(out);
	struct bytes before = {NULL, 0};
	uint64_t *validity = NULL;
	int error = 0;

	for (size_t i = 0; i < r->count && error >= 0; i++) {
		size_t row = row_of(r, i);
		struct bytes v = batch_get_bytes(r->b, c->column, row);

		if (batch_is_null(r->b, c->column, row)) {
			if (!validity)
				validity = writable_validity(d, out);
			table_fill_set_null(validity, i);
			before.len = 0;
			continue;
		}
		if (v.len && v.len == before.len && !memcmp(v.data, before.data, v.len))
			texts[i] = texts[i - 1]; /* which points to the same text */
		else if (c->cell != CELL_ARGV && engine_is_plain(v.data, v.len))
			d->unsafe_vector_assign_string_element_len(
				out, i, v.len ? (const char *)v.data : "", v.len);
		else
			error = table_fill_text(d, c, v, i, out, scratch);
		before = v;
	}
	return error;
}

int fill_vector(struct duck *e, const struct scan_column *c, const struct batch *b,
		const uint32_t *sel, size_t from, size_t count, duckdb_vector out,
		struct buf *scratch)
{
	const struct duckdb_api *d = e->api;
	const struct rows r = {b, sel, from, count};
	bool peer = c->cell == CELL_PEER || c->cell == CELL_PEER_TEXT;

	assert(count <= VECTOR_ROWS);
	if (!peer && !batch_has(b, c->column)) {
		fill_null(d, &r, out);
		return 0;
	}
	switch (c->cell) {
	case CELL_INT64:
		fill_int64(d, &r, c->column, out);
		return 0;
	case CELL_BOOL:
		fill_bool(d, &r, c->column, out);
		return 0;
	case CELL_CODE:
		fill_code(d, c, &r, out);
		return 0;
	case CELL_NAME:
	case CELL_PEER:
		fill_name(d, c, &r, out);
		return 0;
	case CELL_NAME_TEXT:
	case CELL_PEER_TEXT:
		return fill_name_text(e, c, &r, out, scratch);
	case CELL_NUMBER:
		fill_number(d, c, &r, out);
		return 0;
	case CELL_NUMBER_CODE:
		fill_number_code(d, c, &r, out);
		return 0;
	case CELL_TEXT:
	case CELL_ARGV:
	case CELL_BLOB:
	case CELL_SQL:
		return table_fill_bytes(d, c, &r, out, scratch);
	case CELL_ROW: /* is not in the batch */
		break;
	}
	return 0;
}
