// SPDX-License-Identifier: Apache-2.0
#include "load/opensearch/documents.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"
#include "query/eval/pattern.h"
#include "schema/vocab.h"

#define LINE_MAX_FIXED 512 /* bytes of the members that are not fields of the table */
#define NUMBER_MAX     24

static_assert(BATCH_ROWS_MAX == 1 << SEARCH_ROW_BITS, "a row's number fits");

void documents_free(struct documents *d)
{
	for (size_t i = 0; i < SCHEMA_COLUMNS_MAX; i++) {
		map_free(&d->names[i].at);
		buf_free(&d->names[i].text);
	}
	buf_free(&d->scratch);
	buf_free(&d->escaped);
	buf_free(&d->omitted);
}

void documents_forget(struct documents *d)
{
	for (size_t i = 0; i < SCHEMA_COLUMNS_MAX; i++) {
		map_clear(&d->names[i].at);
		buf_clear(&d->names[i].text);
	}
}

int64_t documents_n(uint64_t seq, bool long_calls, bool second)
{
	return (int64_t)(seq << SEARCH_ROW_BITS) | (long_calls ? SEARCH_LONG_BIT : 0) |
	       (second ? SEARCH_SECOND_BIT : 0);
}

/* ---- JSON, into a buffer with enough room ---- */

static void doc_put(struct buf *out, const char *text, size_t len)
{
	memcpy(out->data + out->len, text, len);
	out->len += len;
}

#define PUT(out, text) doc_put(out, text, sizeof(text) - 1)

static void doc_put_number(struct buf *out, int64_t value)
{
	char digits[NUMBER_MAX], *at = digits + sizeof(digits);
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

	do {
		*--at = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest);
	if (value < 0)
		*--at = '-';
	doc_put(out, at, (size_t)(digits + sizeof(digits) - at));
}

static void doc_put_key(struct buf *out, const char *name)
{
	PUT(out, ",\"");
	doc_put(out, name, strlen(name));
	PUT(out, "\":");
}

static int doc_put_field_number(struct buf *out, const char *name, int64_t value)
{
	if (buf_reserve(out, strlen(name) + NUMBER_MAX + 8) < 0)
		return -ENOMEM;
	doc_put_key(out, name);
	doc_put_number(out, value);
	return 0;
}

/* Writes a text that engine_escape() has converted to UTF-8. */
static int doc_put_text(struct buf *out, const uint8_t *text, size_t len)
{
	static const char hex[] = "0123456789abcdef";

	if (buf_reserve(out, len * 6 + 2) < 0)
		return -ENOMEM;
	PUT(out, "\"");
	for (size_t i = 0; i < len; i++) {
		uint8_t c = text[i];

		if (c == '"' || c == '\\') {
			const char pair[] = {'\\', (char)c};

			doc_put(out, pair, 2);
		} else if (c < 0x20) {
			const char code[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

			doc_put(out, code, 6);
		} else {
			out->data[out->len++] = c;
		}
	}
	PUT(out, "\"");
	return 0;
}

static int doc_put_field_text(struct documents *d, struct buf *out, const char *name,
			      struct bytes text)
{
	int r;

	buf_clear(&d->escaped);
	r = engine_escape(text.data, text.len, &d->escaped);
	if (r < 0)
		return r;
	if (d->escaped.len > SEARCH_TEXT_MAX)
		return buf_printf(&d->omitted, "%s\"%s\"", d->omitted.len ? "," : "", name);
	if (buf_reserve(out, strlen(name) + 8) < 0)
		return -ENOMEM;
	doc_put_key(out, name);
	return doc_put_text(out, d->escaped.data, d->escaped.len);
}

static int doc_put_field_code(struct documents *d, struct buf *out, const struct search_field *f,
			      int64_t code)
{
	const char *word = vocab_word(f->vocab, code);
	int r;

	if (word && buf_reserve(out, strlen(f->name) + strlen(word) + 8) >= 0) {
		doc_put_key(out, f->name);
		PUT(out, "\"");
		doc_put(out, word, strlen(word));
		PUT(out, "\"");
		return 0;
	}
	buf_clear(&d->scratch);
	r = query_code_text(f->vocab, code, &d->scratch);
	return r < 0 ? r
		     : doc_put_field_text(d, out, f->name,
					  (struct bytes){d->scratch.data, d->scratch.len});
}

/* ---- rows ---- */

static int doc_put_value(struct documents *d, struct buf *out, const struct search_field *f,
			 const struct value *v)
{
	if (v->null)
		return 0;
	switch (f->kind) {
	case SEARCH_NUMBER:
		return doc_put_field_number(out, f->name, v->i);
	case SEARCH_WORD:
		return doc_put_field_code(d, out, f, v->i);
	case SEARCH_TEXT:
		return doc_put_field_text(d, out, f->name, v->t);
	}
	return -EINVAL;
}

static int doc_put_column(struct documents *d, struct buf *out, const struct search_field *f,
			  const struct batch *b, size_t row)
{
	struct value v = {.null = batch_is_null(b, f->column, row)};

	if (v.null)
		return 0;
	if (f->kind == SEARCH_TEXT)
		v.t = batch_get_bytes(b, f->column, row);
	else
		v.i = b->columns[f->column].val[row];
	return doc_put_value(d, out, f, &v);
}

/* Makes all names for an id, as a piece of the cache. */
static int doc_make_names(struct documents *d, unsigned int column, int64_t id,
			  const struct dims *dims)
{
	struct documents_names *n = &d->names[column];
	size_t at = n->text.len;
	uint32_t len = 0;
	int r = buf_append(&n->text, &len, sizeof(len));

	for (size_t i = 0; r >= 0 && i < d->fields.count; i++) {
		const struct search_field *f = &d->fields.list[i];
		struct value v = {.null = true};

		if (!f->is_name || f->column != column || f->of == QNAME_PEER)
			continue;
		buf_clear(&d->scratch);
		r = query_name_value(f->of, dims, id, &d->scratch, &v);
		if (r >= 0)
			r = doc_put_value(d, &n->text, f, &v);
	}
	if (r < 0)
		return r;
	len = (uint32_t)(n->text.len - at - sizeof(len));
	memcpy(n->text.data + at, &len, sizeof(len));
	return map_set(&n->at, (uint64_t)id, at);
}

static int doc_put_names(struct documents *d, struct buf *out, unsigned int column, int64_t id,
			 const struct dims *dims)
{
	struct documents_names *n = &d->names[column];
	uint64_t at;
	uint32_t len;
	int r = 0;

	if (!map_get(&n->at, (uint64_t)id, &at))
		r = doc_make_names(d, column, id, dims);
	if (r < 0 || !map_get(&n->at, (uint64_t)id, &at))
		return MIN(r, 0);
	memcpy(&len, n->text.data + at, sizeof(len));
	return buf_append(out, n->text.data + at + sizeof(len), len);
}

/* The address given to the call, else the socket's. */
static int doc_put_peer(struct documents *d, struct buf *out, const struct search_field *f,
			const struct batch *b, size_t row, const struct dims *dims)
{
	struct value v = {.null = true};
	int r;

	buf_clear(&d->scratch);
	r = query_name_value(QNAME_PEER, dims, batch_get(b, f->column, row, -1), &d->scratch, &v);
	if (r >= 0 && v.null && b->table == TABLE_OP && !batch_is_null(b, OP_FILE_ID, row)) {
		buf_clear(&d->scratch);
		r = query_name_value(QNAME_PEER, dims, b->columns[OP_FILE_ID].val[row], &d->scratch,
				     &v);
	}
	return r < 0 ? r : doc_put_value(d, out, f, &v);
}

/* 1700000000123.456789: milliseconds, with the rest as a fraction */
static void doc_put_instant(struct buf *out, int64_t ns)
{
	char below[16];

	ns = MAX(ns, 0); /* the least value of the type */
	doc_put_number(out, ns / 1000000);
	doc_put(out, below, (size_t)snprintf(below, sizeof(below), ".%06d", (int)(ns % 1000000)));
}

/* True if the row has an end time. */
static bool doc_has_end(const struct batch *b, size_t row)
{
	const struct table_def *t = b->def;

	if (t->stop != NO_COLUMN)
		return !batch_is_null(b, t->stop, row);
	return (t->start == NO_COLUMN || !batch_is_null(b, t->start, row)) &&
	       (t->dur == NO_COLUMN || !batch_is_null(b, t->dur, row)) &&
	       (b->table != TABLE_OP || !(batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED));
}

static int doc_put_head(const struct documents_place *at, int64_t n, int64_t end, bool ended,
			struct buf *out)
{
	char id[64];
	int len = snprintf(id, sizeof(id), "%.20s-%llx-%llx", at->rec, (unsigned long long)at->part,
			   (unsigned long long)n);

	if (buf_reserve(out, LINE_MAX_FIXED) < 0)
		return -ENOMEM;
	PUT(out, "{\"create\":{\"_id\":\"");
	doc_put(out, id, (size_t)len);
	PUT(out, "\"}}\n{\"@timestamp\":\"");
	doc_put_instant(out, end);
	PUT(out, "\",\"end\":");
	doc_put_number(out, end);
	PUT(out, ",\"rec\":\"");
	doc_put(out, at->rec, strlen(at->rec));
	PUT(out, "\",\"part\":");
	doc_put_number(out, (int64_t)at->part);
	PUT(out, ",\"n\":");
	doc_put_number(out, n);
	if (!ended)
		PUT(out, ",\"unended\":true");
	if (at->second)
		PUT(out, ",\"second\":true");
	return 0;
}

static int doc_put_row(struct documents *d, const struct batch *b, size_t row,
		       const struct dims *dims, struct buf *out)
{
	uint64_t named = 0;
	int r = 0;

	buf_clear(&d->omitted);
	for (size_t i = 0; r >= 0 && i < d->fields.count; i++) {
		const struct search_field *f = &d->fields.list[i];

		if (!f->is_name) {
			r = doc_put_column(d, out, f, b, row);
		} else if (f->of == QNAME_PEER) {
			r = doc_put_peer(d, out, f, b, row, dims);
		} else if (!(named >> f->column & 1)) {
			named |= 1ull << f->column;
			if (!batch_is_null(b, f->column, row))
				r = doc_put_names(d, out, f->column, b->columns[f->column].val[row],
						  dims);
		}
	}
	if (r >= 0 && d->omitted.len)
		r = buf_printf(out, ",\"omitted\":[%s]", buf_str(&d->omitted));
	return r < 0 ? r : buf_append(out, "}\n", 2);
}

int documents_write(struct documents *d, const struct batch *b, const struct dims *dims,
		    const struct documents_place *at, size_t most, size_t *row, struct buf *out)
{
	int r = 0;

	for (; r >= 0 && *row < b->rows && out->len < most; ++*row) {
		size_t number = b->numbers && at->second ? b->numbers[*row] : *row;
		int64_t n = at->n | (int64_t)number;

		if (at->there && map_get(at->there, (uint64_t)n, NULL))
			continue;
		r = doc_put_head(at, n, at->ends[number], doc_has_end(b, *row), out);
		if (r >= 0)
			r = doc_put_row(d, b, *row, dims, out);
	}
	return r;
}
