/* SPDX-License-Identifier: Apache-2.0 */
/* complete_values.c: completion of values, from the names in a trace. */
#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "query/query.h"

/* The names that have values to list, and the table whose ids they depend on. */
static const struct {
	const char *name, *id;
	enum query_name code;
	bool is_text;
} names[] = {
#define IS_TEXT				   true
#define IS_INT				   false
#define IS_UINT				   false
#define IS_CODE				   false
#define IS_ENTITY			   false
#define N(NAME, name, id, type, more, doc) {#name, id, QNAME_##NAME, IS_##type},
	QUERY_NAMES(N)
#undef N
};

struct values {
	const char *typed; /* after the quote */
	size_t typed_len;
	char quote;
	bool open;	    /* the opening quote was typed */
	bool folders;	    /* paths: up to the next slash */
	struct intern seen; /* values already offered */
	void (*offer)(void *arg, const char *word);
	void *arg;
};

/* Writes the value in quotes, as the language reads it; without the closing one if more may follow. */
static int complete_values_put_value(struct buf *out, const struct values *v, struct bytes t,
				     bool open)
{
	int r = v->open ? 0 : buf_printf(out, "%c", v->quote);

	for (size_t i = 0; i < t.len && r >= 0; i++) {
		if (t.data[i] == (uint8_t)v->quote || t.data[i] == '\\')
			r = buf_printf(out, "\\%c", t.data[i]);
		else if (t.data[i] < 0x20 || t.data[i] == 0x7f)
			r = buf_printf(out, "\\x%02x", t.data[i]);
		else
			r = buf_append(out, &t.data[i], 1);
	}
	return r < 0 || open ? r : buf_printf(out, "%c", v->quote);
}

static int complete_values_take_value(struct values *v, struct bytes t)
{
	_cleanup_buf_ struct buf word = {0};
	const uint8_t *slash = NULL;
	size_t before = v->seen.count;
	uint32_t id;
	int r;

	if (t.len < v->typed_len || (v->typed_len && memcmp(t.data, v->typed, v->typed_len)))
		return 0;
	if (v->folders && t.len > v->typed_len)
		slash = memchr(t.data + v->typed_len, '/', t.len - v->typed_len);
	/* the root alone is not a useful completion */
	if (slash == t.data && t.len > 1)
		slash = memchr(slash + 1, '/', t.len - 1);
	if (slash)
		t.len = (size_t)(slash - t.data) + 1;
	r = intern_add(&v->seen, t.data, t.len, &id);
	if (r < 0 || v->seen.count == before)
		return r;
	r = complete_values_put_value(&word, v, t, slash != NULL);
	if (r < 0)
		return r;
	v->offer(v->arg, buf_str(&word));
	return r;
}

static int complete_values_offer(const struct dims *d, size_t n, size_t max, size_t rows,
				 struct values *v)
{
	enum table_id table = query_name_table(names[n].code);
	_cleanup_buf_ struct buf scratch = {0};
	int r = 0;

	rows = MIN(dims_rows(d, table), rows);
	for (size_t i = 0; i < rows && v->seen.count < max && r >= 0; i++) {
		struct value value = {0};

		buf_clear(&scratch);
		r = query_name_value(names[n].code, d, dims_id_at(d, table, i), &scratch, &value);
		if (r >= 0 && !value.null && value.t.len)
			r = complete_values_take_value(v, value.t);
	}
	return r;
}

int query_complete_values(const struct dims *d, const char *name, const char *text, size_t start,
			  size_t pos, size_t max, size_t rows,
			  void (*offer)(void *arg, const char *word), void *arg)
{
	struct values v = {
		.typed = text + start, .typed_len = pos - start, .offer = offer, .arg = arg};
	int r;

	for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
		if (!names[n].is_text || strcmp(names[n].name, name) != 0)
			continue;
		v.open = start && (text[start - 1] == '"' || text[start - 1] == '\'');
		v.quote = v.open ? text[start - 1] : '"';
		v.folders = strstr(name, "path") != NULL || strcmp(name, "exe") == 0;
		r = complete_values_offer(d, n, max, rows, &v);
		intern_free(&v.seen);
		return r;
	}
	return 0;
}
