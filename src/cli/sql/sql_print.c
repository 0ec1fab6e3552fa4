// SPDX-License-Identifier: Apache-2.0
/* sql_print.c: the rows of a statement on standard output. */
#include "cli/sql/sql_print.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/terminal/csv_out.h"
#include "cli/terminal/format.h"
#include "cli/terminal/json_text.h"
#include "schema/vocab.h"

#define TABLE_PIECE   20000 /* rows that are aligned together; a longer list is printed in pieces */
#define TYPE_WORDS    4	    /* of an ENUM that are shown; CSV and JSON have all */
#define TEXT_CELL_MAX 60    /* columns of a text on a terminal; longer ones are cut in the middle */

static int no_memory(struct error *err)
{
	return error_errno(err, -ENOMEM, "cannot print the result");
}

/* ---- table ---- */

static bool sql_print_is_number(enum engine_type type)
{
	return type == ENGINE_INT || type == ENGINE_FLOAT;
}

/* DESCRIBE and its like: the names of types. */
static bool has_types(const char *column)
{
	return !strcmp(column, "column_type") || !strcmp(column, "column_types") ||
	       !strcmp(column, "data_type");
}

/* Where the quoted word ends that begins at `at` ('it''s'); `end` where it does not. */
static size_t word_end(const char *s, size_t at, size_t end)
{
	for (at++; at < end; at++) {
		if (s[at] == '\'' && (at + 1 >= end || s[at + 1] != '\''))
			return at + 1;
		at += s[at] == '\'';
	}
	return end;
}

/* An ENUM of hundreds of words in few: ENUM('fault', 'io_uring', ... 256 words). */
static int put_types(struct buf *out, const char *s, size_t len)
{
	static const char begin[] = "ENUM(";
	const size_t begin_len = sizeof(begin) - 1;
	int r = 0;

	for (size_t at = 0; at < len && r >= 0;) {
		size_t words = 0, shown = 0, end;

		if (len - at <= begin_len || memcmp(s + at, begin, begin_len) != 0) {
			r = buf_append(out, s + at++, 1);
			continue;
		}
		for (end = at + begin_len; end < len && s[end] == '\''; words++) {
			end = word_end(s, end, len);
			shown = words + 1 == TYPE_WORDS ? end : shown;
			if (end + 1 < len && s[end] == ',')
				end += 2;
		}
		if (words > TYPE_WORDS) {
			r = buf_append(out, s + at, shown - at);
			if (r >= 0)
				r = buf_printf(out, ", ... %zu words", words);
		} else {
			r = buf_append(out, s + at, end - at);
		}
		at = end;
	}
	return r;
}

static int short_types(struct buf *text)
{
	_cleanup_buf_ struct buf all = *text;

	*text = (struct buf){0};
	return put_types(text, all.data ? (const char *)all.data : "", all.len);
}

static int sql_print_add_row(struct engine_result *r, struct table *t, struct buf *text)
{
	for (size_t c = 0; c < t->column_count; c++) {
		if (engine_result_is_null(r, c)) {
			table_cell(t, "NULL");
			continue;
		}
		buf_clear(text);
		if (engine_result_text(r, c, text) < 0 ||
		    (has_types(t->columns[c].title) && short_types(text) < 0))
			return -ENOMEM;
		table_cell_bytes(t, (struct bytes){text->data ? text->data : (const uint8_t *)"",
						   text->len});
	}
	return t->error;
}

/* Prints up to `rows` further rows with titles; how many there were. */
static ssize_t sql_print_piece(struct engine_result *r, const struct table_column *columns,
			       size_t rows, size_t width, struct buf *text)
{
	_cleanup_table_ struct table t = {.columns = columns,
					  .column_count = engine_result_columns(r)};
	size_t n = 0;

	while (n < rows && engine_result_next(r)) {
		if (sql_print_add_row(r, &t, text) < 0)
			return -ENOMEM;
		n++;
	}
	if (table_print(&t, stdout, n, width) < 0)
		return -ENOMEM;
	return (ssize_t)n;
}

int sql_print_table(struct engine_result *r, size_t rows_max, size_t width, struct error *err)
{
	size_t columns = engine_result_columns(r), more = 0;
	_cleanup_free_ struct table_column *t = calloc(columns + 1, sizeof(*t));
	size_t piece = rows_max ? MIN(rows_max, (size_t)TABLE_PIECE) : (size_t)TABLE_PIECE;
	_cleanup_buf_ struct buf text = {0};
	ssize_t n;

	if (!t)
		return no_memory(err);
	for (size_t c = 0; c < columns; c++) {
		const struct engine_column *column = engine_result_column(r, c);

		t[c] = (struct table_column){column->name, sql_print_is_number(column->type),
					     !sql_print_is_number(column->type),
					     width ? TEXT_CELL_MAX : 0};
	}
	do {
		n = sql_print_piece(r, t, piece, width, &text);
	} while (n == (ssize_t)piece && piece == TABLE_PIECE && !ferror(stdout));
	if (n < 0)
		return no_memory(err);
	while (piece != TABLE_PIECE && engine_result_next(r))
		more++;
	if (more)
		printf("%s more rows: pipe the output, or use --csv, to get them all\n",
		       format_count(more).s);
	return 0;
}

/* ---- CSV ---- */

/* No text: a negative number is no formula. */
static bool sql_print_is_plain(enum engine_type type)
{
	return sql_print_is_number(type) || type == ENGINE_BOOL || type == ENGINE_TIME;
}

int sql_print_csv(struct engine_result *r, struct error *err)
{
	size_t columns = engine_result_columns(r);
	_cleanup_buf_ struct buf text = {0};

	for (size_t c = 0; c < columns; c++) {
		const char *name = engine_result_column(r, c)->name;

		if (c)
			fputc(',', stdout);
		csv_print_text(stdout, name, strlen(name));
	}
	fputs("\n", stdout);
	while (engine_result_next(r) && !ferror(stdout)) {
		for (size_t c = 0; c < columns; c++) {
			if (c)
				fputc(',', stdout);
			if (engine_result_is_null(r, c))
				continue;
			buf_clear(&text);
			if (engine_result_text(r, c, &text) < 0)
				return no_memory(err);
			if (sql_print_is_plain(engine_result_column(r, c)->type))
				csv_print(stdout, buf_str(&text), text.len);
			else
				csv_print_text(stdout, buf_str(&text), text.len);
		}
		fputs("\n", stdout);
	}
	return 0;
}

/* ---- JSON ---- */

static const char *type_word(enum engine_type type)
{
	static const char *const words[] = {
		[ENGINE_BOOL] = "bool",	 [ENGINE_INT] = "int",	 [ENGINE_FLOAT] = "float",
		[ENGINE_TIME] = "time",	 [ENGINE_TEXT] = "text", [ENGINE_BLOB] = "blob",
		[ENGINE_OTHER] = "text",
	};

	return words[type];
}

static void sql_print_put_json(FILE *out, json_t *value)
{
	if (json_put(out, value, JSON_ENCODE_ANY | JSON_COMPACT) < 0)
		fputs("null", out);
	json_decref(value);
}

/* The keys of a row: a name that comes twice gets a number, or the second would hide the first. */
static json_t *make_keys(const struct engine_result *r)
{
	json_t *keys = json_array(), *seen = json_object();

	for (size_t c = 0; c < engine_result_columns(r); c++) {
		const char *name = engine_result_column(r, c)->name;
		char numbered[256];

		snprintf(numbered, sizeof(numbered), "%s", name);
		for (unsigned int n = 2; json_object_get(seen, numbered); n++)
			snprintf(numbered, sizeof(numbered), "%.200s_%u", name, n);
		json_object_set_new(seen, numbered, json_true());
		json_array_append_new(keys, json_string(numbered));
	}
	json_decref(seen);
	return keys;
}

/* Nanoseconds since the origin; a difference beyond int64_t is cut. */
static json_int_t since(int64_t ns, int64_t origin)
{
	int64_t diff;

	if (__builtin_sub_overflow(ns, origin, &diff))
		return ns < 0 ? INT64_MIN : INT64_MAX;
	return diff;
}

static int sql_print_put_value(FILE *out, struct engine_result *r, size_t c, int64_t origin,
			       struct buf *text)
{
	enum engine_type type = engine_result_column(r, c)->type;

	if (engine_result_is_null(r, c)) {
		fputs("null", out);
		return 0;
	}
	if (type == ENGINE_TIME) {
		fprintf(out, "%" JSON_INTEGER_FORMAT, since(engine_result_time(r, c), origin));
		return 0;
	}
	buf_clear(text);
	if (engine_result_text(r, c, text) < 0)
		return -ENOMEM;
	if (type == ENGINE_BOOL || type == ENGINE_INT)
		fputs(buf_str(text), out);
	else if (type == ENGINE_FLOAT &&
		 !strpbrk(buf_str(text), "ni")) /* JSON has no nan and no inf */
		fputs(buf_str(text), out);
	else
		sql_print_put_json(out, json_stringn(buf_str(text), text->len));
	return 0;
}

static void sql_print_put_columns(FILE *out, const struct engine_result *r, const json_t *keys)
{
	fputs("\"columns\": [", out);
	for (size_t c = 0; c < engine_result_columns(r); c++) {
		const struct engine_column *column = engine_result_column(r, c);

		fputs(c ? ",\n  " : "\n  ", out);
		sql_print_put_json(out, json_pack("{s:O, s:s, s:s}", "name",
						  json_array_get(keys, c), "type",
						  type_word(column->type), "unit", column->unit));
	}
	fputs("],\n", out);
}

/* *ret_more: there are more than `max` rows. */
static int sql_print_put_rows(FILE *out, struct engine_result *r, const json_t *keys,
			      int64_t origin, uint64_t max, bool *ret_more)
{
	uint64_t n = 0;
	_cleanup_buf_ struct buf text = {0};
	bool first = true;
	int e = 0;

	fputs("\"rows\": [", out);
	*ret_more = false;
	while (e >= 0 && engine_result_next(r) && !ferror(out)) {
		*ret_more = max && n++ == max;
		if (*ret_more)
			break;
		fputs(first ? "\n  {" : ",\n  {", out);
		first = false;
		for (size_t c = 0; c < engine_result_columns(r) && e >= 0; c++) {
			if (c)
				fputs(", ", out);
			sql_print_put_json(out, json_incref(json_array_get(keys, c)));
			fputs(": ", out);
			e = sql_print_put_value(out, r, c, origin, &text);
		}
		fputc('}', out);
	}
	fputs("],\n", out);
	return e;
}

int sql_print_json(FILE *out, struct engine_result *r, int64_t origin, const struct store *s,
		   uint64_t rows_max, struct error *err)
{
	struct loss loss;
	bool more;
	json_t *keys = make_keys(r);
	int e;

	fprintf(out, "{\"origin\": \"%" PRId64 "\",\n", origin);
	sql_print_put_columns(out, r, keys);
	e = sql_print_put_rows(out, r, keys, origin, rows_max, &more);
	/* with the damage that was found on the way */
	if (e >= 0 && loss_read(&loss, s, err) < 0)
		e = err->code;
	if (e < 0)
		loss = (struct loss){0};
	fputs("\"loss\": ", out);
	loss_put_json(out, &loss);
	fputs(more ? ", \"truncated\": true}\n" : "}\n", out);
	json_decref(keys);
	return e < 0 ? no_memory(err) : 0;
}
