// SPDX-License-Identifier: Apache-2.0
/* rows_bytes.c: copies stored byte strings to vectors of DuckDB. */
#include <errno.h>
#include <string.h>

#include "base/shell.h"
#include "engine/duckdb/rows/weir_rows.h"

/* Appends one argument with shell quoting, escaped like all texts. */
static int append_argument(const uint8_t *data, size_t len, struct buf *out)
{
	_cleanup_buf_ struct buf text = {0};
	int r = engine_escape(data, len, &text);

	return r < 0 ? r : shell_word(out, text.data, text.len);
}

static int rows_bytes_argv(struct bytes v, struct buf *out)
{
	size_t at = 0;
	int r = 0;

	/* a trailing NUL does not start another word */
	if (v.len && v.data[v.len - 1] == '\0')
		v.len--;
	while (at <= v.len && v.len && r >= 0) {
		const uint8_t *nul = memchr(v.data + at, 0, v.len - at);
		size_t len = nul ? (size_t)(nul - v.data) - at : v.len - at;

		if (at)
			buf_append(out, " ", 1);
		r = append_argument(v.data + at, len, out);
		at += len + 1;
	}
	return r < 0 ? r : 0;
}

/* Writes the text of one cell. 0 or -ENOMEM. */
static int rows_bytes_text(const struct duckdb_api *d, const struct rows_column *c, struct bytes v,
			   size_t i, duckdb_vector out, struct buf *scratch)
{
	bool raw = c->cell == ROWS_BLOB || (c->cell == ROWS_SQL && engine_is_utf8(v.data, v.len));
	int r = 0;

	buf_clear(scratch);
	if (c->cell == ROWS_ARGV)
		r = rows_bytes_argv(v, scratch);
	else if (!raw)
		r = engine_escape(v.data, v.len, scratch);
	if (!raw)
		v = (struct bytes){scratch->data, scratch->len};
	if (r < 0)
		return r;
	d->vector_assign_string_element_len(out, i, v.data ? (const char *)v.data : "", v.len);
	return r;
}

int rows_bytes(const struct duckdb_api *d, const struct rows_column *c, const struct rows_slice *s,
	       duckdb_vector out, struct buf *scratch)
{
	duckdb_string_t *texts = d->vector_get_data(out);
	struct bytes before = {NULL, 0};
	uint64_t *validity = NULL;
	int error = 0;

	for (size_t i = 0; i < s->count && error >= 0; i++) {
		struct bytes v = batch_get_bytes(s->batch, (unsigned int)c->direct, s->rows[i]);

		if (batch_is_null(s->batch, (unsigned int)c->direct, s->rows[i])) {
			if (!validity) {
				d->vector_ensure_validity_writable(out);
				validity = d->vector_get_validity(out);
			}
			validity[i / 64] &= ~(1ull << (i % 64));
			before.len = 0;
			continue;
		}
		/* points to the same text */
		if (v.len && v.len == before.len && !memcmp(v.data, before.data, v.len))
			texts[i] = texts[i - 1];
		else if (c->cell != ROWS_ARGV && engine_is_plain(v.data, v.len))
			d->unsafe_vector_assign_string_element_len(
				out, i, v.len ? (const char *)v.data : "", v.len);
		else
			error = rows_bytes_text(d, c, v, i, out, scratch);
		before = v;
	}
	return error;
}
