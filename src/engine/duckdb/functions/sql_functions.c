// SPDX-License-Identifier: Apache-2.0
/*
 * sql_functions.c: functions used by translated expressions (sql_expr.c). Functions of texts call the query module's
 * code on their bytes; the others are macros.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/duckdb/functions/aggregate.h"
#include "hist/tally.h"
#include "query/eval/pattern.h"

/* Arithmetic that returns null where the language does. */
static const char *const macros[] = {
	"weir_finite(x) AS CASE WHEN isfinite(x) THEN x + 0 END",
	"weir_bits(x) AS CAST((x::HUGEINT + 18446744073709551616) % 18446744073709551616 AS "
	"UBIGINT)",
	"weir_signed(x) AS CAST(CASE WHEN x > 9223372036854775807 THEN x::HUGEINT - "
	"18446744073709551616 ELSE x::HUGEINT END AS BIGINT)",
	"weir_bucket(x, w) AS CASE WHEN w > 0 THEN TRY(CAST(x::HUGEINT - ((x::HUGEINT % "
	"w::HUGEINT) "
	"+ w::HUGEINT) % w::HUGEINT AS BIGINT)) END",
	"weir_bucket_float(x, w) AS CASE WHEN w > 0 THEN weir_finite(floor(x / w) * w) END",
	"weir_log2_float(x) AS CASE WHEN x > 0 THEN pow(2, floor(log2(x))) WHEN x = 0 THEN 0 END",
	"weir_hour(t) AS CAST(((t::HUGEINT % 86400000000000) + 86400000000000) % 86400000000000 // "
	"3600000000000 AS BIGINT)",
	"weir_minute(t) AS CAST(((t::HUGEINT % 3600000000000) + 3600000000000) % 3600000000000 // "
	"60000000000 AS BIGINT)",
};

/* ---- arguments of a call ---- */

/* The bytes represented by an escaped text. */
static int plain(struct argument t, size_t i, struct buf *out, struct bytes *ret)
{
	struct bytes text = vector_string(t.texts, i);
	int r;

	*ret = text;
	if (!memchr(text.data, '\\', text.len))
		return 0;
	buf_clear(out);
	r = engine_unescape((const char *)text.data, text.len, out);
	*ret = buf_bytes(out);
	return r;
}

/* ---- patterns ---- */

/* The pattern of a row, usually the same as in the row before. */
struct matcher {
	enum expr_kind kind;
	struct query_pattern *pattern;
	struct buf text;
};

static void matcher_free(struct matcher *m)
{
	query_pattern_free(m->pattern);
	buf_free(&m->text);
}

static int matcher_take(struct matcher *m, struct bytes text, struct error *err)
{
	struct query_pattern *pattern;
	int r;

	if (m->pattern && m->text.len == text.len && !memcmp(m->text.data, text.data, text.len))
		return 0;
	r = query_pattern_new(&pattern, m->kind, text, err);
	if (r < 0)
		return r;
	query_pattern_free(m->pattern);
	m->pattern = pattern;
	buf_clear(&m->text);
	/* reserved so that the pointer is never NULL, for the comparison */
	r = buf_reserve(&m->text, text.len + 1);
	return r < 0 || !text.len ? r : buf_append(&m->text, text.data, text.len);
}

static int match_row(struct matcher *m, struct argument text, struct argument pattern, size_t i,
		     struct error *err)
{
	_cleanup_buf_ struct buf a = {0}, b = {0};
	struct bytes t, p;
	int r = plain(text, i, &a, &t);

	if (r >= 0)
		r = plain(pattern, i, &b, &p);
	if (r >= 0)
		r = matcher_take(m, p, err);
	if (r >= 0)
		r = query_pattern_match(m->pattern, t);
	if (r == -EOVERFLOW)
		error_set(err, r, "the pattern takes too many steps on '%.*s': simplify it",
			  (int)MIN(t.len, (size_t)100), (const char *)t.data);
	return r < 0 ? error_errno(err, r, "cannot match a pattern") : r;
}

static void on_match(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	const struct duckdb_api *d = duckdb_loaded();
	const enum expr_kind *kind = d->scalar_function_get_extra_info(info);
	_cleanup_(matcher_free) struct matcher m = {.kind = *kind};
	struct argument text = argument_of(d, input, 0), pattern = argument_of(d, input, 1);
	bool *out = d->vector_get_data(output);

	for (size_t i = 0; i < d->data_chunk_get_size(input); i++) {
		struct error err = {0};
		int r;

		if (!vector_valid(text.validity, i) || !vector_valid(pattern.validity, i)) {
			vector_set_null(d, output, i);
			continue;
		}
		r = match_row(&m, text, pattern, i, &err);
		if (r < 0) {
			d->scalar_function_set_error(info, err.message);
			return;
		}
		out[i] = r;
	}
}

/* ---- texts ---- */

static void on_text(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	const struct duckdb_api *d = duckdb_loaded();
	const enum query_function *f = d->scalar_function_get_extra_info(info);
	_cleanup_buf_ struct buf bytes = {0}, scratch = {0}, escaped = {0};
	struct argument text = argument_of(d, input, 0);

	for (size_t i = 0; i < d->data_chunk_get_size(input); i++) {
		struct value v = {.null = true};
		struct bytes t;
		int r = 0;

		if (vector_valid(text.validity, i)) {
			r = plain(text, i, &bytes, &t);
			if (r >= 0)
				r = query_text_function(*f, t, &scratch, &v);
			buf_clear(&escaped);
			if (r >= 0 && !v.null)
				r = engine_escape(v.t.data, v.t.len, &escaped);
		}
		if (r < 0) {
			d->scalar_function_set_error(info, "Out of Memory Error: no memory for a "
							   "text");
			return;
		}
		if (v.null)
			vector_set_null(d, output, i);
		else
			d->vector_assign_string_element_len(output, i, buf_str(&escaped),
							    escaped.len);
	}
}

static void on_len(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	const struct duckdb_api *d = duckdb_loaded();
	_cleanup_buf_ struct buf bytes = {0};
	struct argument text = argument_of(d, input, 0);
	int64_t *out = d->vector_get_data(output);

	for (size_t i = 0; i < d->data_chunk_get_size(input); i++) {
		struct bytes t;

		if (!vector_valid(text.validity, i)) {
			vector_set_null(d, output, i);
			continue;
		}
		if (plain(text, i, &bytes, &t) < 0) {
			d->scalar_function_set_error(info, "Out of Memory Error: no memory for a "
							   "text");
			return;
		}
		out[i] = (int64_t)t.len;
	}
}

/* ---- names of entities ---- */

struct entity {
	struct duck *e;
	enum table_id table;
	int (*text)(enum table_id entity, const struct dims *d, int64_t id, struct buf *out);
};

static void on_entity(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	const struct duckdb_api *d = duckdb_loaded();
	const struct entity *n = d->scalar_function_get_extra_info(info);
	_cleanup_buf_ struct buf text = {0}, escaped = {0};
	struct argument ids = argument_of(d, input, 0);
	struct error err = {0};

	if (n->table == TABLE_FILE && names_load_files(n->e, &err) < 0) {
		d->scalar_function_set_error(info, err.message);
		return;
	}
	for (size_t i = 0; i < d->data_chunk_get_size(input); i++) {
		int r;

		if (!vector_valid(ids.validity, i)) {
			vector_set_null(d, output, i);
			continue;
		}
		buf_clear(&text);
		buf_clear(&escaped);
		r = n->text(n->table, store_dims_few(n->e->store), ids.numbers[i], &text);
		if (r >= 0)
			r = engine_escape(text.data, text.len, &escaped);
		if (r < 0) {
			d->scalar_function_set_error(info, "Out of Memory Error: no memory for a "
							   "name");
			return;
		}
		d->vector_assign_string_element_len(output, i, buf_str(&escaped), escaped.len);
	}
}

/* ---- numbers ---- */

static void on_log2(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct argument a = argument_of(d, input, 0);
	int64_t *out = d->vector_get_data(output);

	for (size_t i = 0; i < d->data_chunk_get_size(input); i++) {
		if (!vector_valid(a.validity, i) || a.numbers[i] < 0)
			vector_set_null(d, output, i);
		else
			out[i] = tally_quantize(a.numbers[i]);
	}
}

static int declare_entities(struct duck *e, struct error *err)
{
	const struct {
		const char *name;
		struct entity entity;
	} names[] = {
		{"weir_file_name", {e, TABLE_FILE, query_entity_text}},
		{"weir_thread_name", {e, TABLE_THREAD, query_entity_text}},
		{"weir_process_name", {e, TABLE_PROCESS, query_entity_text}},
		{"weir_file_shown", {e, TABLE_FILE, query_entity_shown}},
		{"weir_thread_shown", {e, TABLE_THREAD, query_entity_shown}},
		{"weir_process_shown", {e, TABLE_PROCESS, query_entity_shown}},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && r >= 0; i++) {
		struct entity *n = malloc(sizeof(*n));
		const struct scalar_def f = {names[i].name,	   on_entity,		n, free,
					     {DUCKDB_TYPE_BIGINT}, DUCKDB_TYPE_VARCHAR, 1};

		if (!n)
			return error_errno(err, -ENOMEM, "cannot declare %s", names[i].name);
		*n = names[i].entity;
		r = scalar_register(e, &f, err);
	}
	return r;
}

int sql_functions_register(struct duck *e, struct error *err)
{
	static enum expr_kind glob = EXPR_GLOB, regex = EXPR_REGEX, like = EXPR_LIKE;
	static enum query_function dir = FUNCTION_DIR, base = FUNCTION_BASE, ext = FUNCTION_EXT,
				   lower = FUNCTION_LOWER;
#define TEXT   DUCKDB_TYPE_VARCHAR
#define NUMBER DUCKDB_TYPE_BIGINT
	const struct scalar_def functions[] = {
		{"weir_glob", on_match, &glob, NULL, {TEXT, TEXT}, DUCKDB_TYPE_BOOLEAN, 2},
		{"weir_regex", on_match, &regex, NULL, {TEXT, TEXT}, DUCKDB_TYPE_BOOLEAN, 2},
		{"weir_like", on_match, &like, NULL, {TEXT, TEXT}, DUCKDB_TYPE_BOOLEAN, 2},
		{"weir_dir", on_text, &dir, NULL, {TEXT}, TEXT, 1},
		{"weir_base", on_text, &base, NULL, {TEXT}, TEXT, 1},
		{"weir_ext", on_text, &ext, NULL, {TEXT}, TEXT, 1},
		{"weir_lower", on_text, &lower, NULL, {TEXT}, TEXT, 1},
		{"weir_len", on_len, NULL, NULL, {TEXT}, NUMBER, 1},
		{"weir_log2", on_log2, NULL, NULL, {NUMBER}, NUMBER, 1},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(functions) && r >= 0; i++)
		r = scalar_register(e, &functions[i], err);
	return r < 0 ? r : declare_entities(e, err);
}

static bool macros_are_named(const char *sql)
{
	for (size_t i = 0; i < ARRAY_SIZE(macros); i++) {
		char name[32];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(macros[i], "("), macros[i]);
		if (strcasestr(sql, name))
			return true;
	}
	return false;
}

int macros_declare(struct duck *e, const char *sql, struct error *err)
{
	int r = 0;

	if (e->macros_made || (sql && !macros_are_named(sql)))
		return 0;
	e->macros_made = true; /* each statement below declares what it names, too */
	for (size_t i = 0; i < ARRAY_SIZE(macros) && r >= 0; i++) {
		char create[512];

		snprintf(create, sizeof(create), "CREATE OR REPLACE MACRO %s", macros[i]);
		r = duck_run(e, create, err);
	}
	e->macros_made = r >= 0;
	return r;
}
