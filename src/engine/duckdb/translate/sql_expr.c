// SPDX-License-Identifier: Apache-2.0
/*
 * sql_expr.c: expressions of the language as SQL. The functions weir_... are sql_functions.c's. Errors stick in the buffer that is
 * written to.
 */
#include "engine/duckdb/translate/sql_expr.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"
#include "query/eval/pattern.h"

struct writer {
	sql_leaf_t leaf;
	void *arg;
	struct buf *out;
};

static int sql_expr_write_expr(struct writer *w, const struct expr *e);

static int puts_to(struct writer *w, const char *text)
{
	return buf_append(w->out, text, strlen(text));
}

static int sql_expr_quoted(const char *text, size_t len, char quote, struct buf *out)
{
	buf_append(out, &quote, 1);
	for (size_t i = 0; i < len; i++) {
		buf_append(out, text + i, 1);
		if (text[i] == quote)
			buf_append(out, &quote, 1);
	}
	return buf_append(out, &quote, 1);
}

int sql_string(const char *text, size_t len, struct buf *out)
{
	return sql_expr_quoted(text, len, '\'', out);
}

int sql_name(const char *name, struct buf *out)
{
	return sql_expr_quoted(name, strlen(name), '"', out);
}

static int sql_string_escaped(struct bytes text, struct buf *out)
{
	_cleanup_buf_ struct buf escaped = {0};

	buf_fail(out, engine_escape(text.data, text.len, &escaped));
	return sql_string(buf_str(&escaped), escaped.len, out);
}

/* ---- constants ---- */

static int sql_expr_write_value(struct writer *w, struct query_kind type, const struct value *v)
{
	_cleanup_buf_ struct buf word = {0};

	if (v->null || type.type == QUERY_NULL)
		return puts_to(w, "NULL");
	switch (type.type) {
	case QUERY_BOOL:
		return puts_to(w, v->i ? "true" : "false");
	case QUERY_UINT:
		return buf_printf(w->out, "%" PRIu64 "::UBIGINT", (uint64_t)v->i);
	case QUERY_FLOAT:
		return buf_printf(w->out, "'%.17g'::DOUBLE", v->f);
	case QUERY_TEXT:
		return sql_string_escaped(v->t, w->out);
	case QUERY_CODE:
		buf_fail(w->out, query_code_text(type.vocab, v->i, &word));
		return sql_string(buf_str(&word), word.len, w->out);
	default:
		/* in -9223372036854775808 the number is too large before the sign applies */
		if (v->i == INT64_MIN)
			return puts_to(w, "(-9223372036854775807::BIGINT - 1)");
		return buf_printf(w->out, "%s%" PRId64 "::BIGINT%s", v->i < 0 ? "(" : "", v->i,
				  v->i < 0 ? ")" : "");
	}
}

/* ---- operand conversions ---- */

/* Expands % to the expression; other text is copied. */
static int write_with(struct writer *w, const char *format, const struct expr *e)
{
	const char *at = strchr(format, '%');

	assert(at && !strchr(at + 1, '%'));
	buf_append(w->out, format, (size_t)(at - format));
	sql_expr_write_expr(w, e);
	return puts_to(w, at + 1);
}

/* weir_thread_name(id) */
static int write_entity(struct writer *w, const struct expr *e, const char *form)
{
	assert(schema_is_dimension(e->type.entity));
	buf_printf(w->out, "weir_%s_%s(", schema_table(e->type.entity)->name, form);
	sql_expr_write_expr(w, e);
	return puts_to(w, ")");
}

static int write_text(struct writer *w, const struct expr *e)
{
	switch (e->type.type) {
	case QUERY_ENTITY:
		return write_entity(w, e, "name");
	case QUERY_NULL:
		return puts_to(w, "NULL::VARCHAR");
	default:
		return write_with(w, "(%)::VARCHAR", e);
	}
}

static bool is_uint(const struct expr *e)
{
	return e->type.type == QUERY_UINT;
}

static bool is_float(const struct expr *e)
{
	return e->type.type == QUERY_FLOAT;
}

/* All 64 bits, also of a negative number. */
static int write_bits(struct writer *w, const struct expr *e)
{
	return is_uint(e) ? sql_expr_write_expr(w, e) : write_with(w, "weir_bits(%)", e);
}

/* A number wide enough for arithmetic without overflow. */
static int write_wide(struct writer *w, const struct expr *e)
{
	return write_with(w, "(%)::HUGEINT", e);
}

static const char *sql_expr_type_of(const struct expr *e)
{
	return is_uint(e) ? "UBIGINT" : "BIGINT";
}

/* ---- operators ---- */

static int write_joined(struct writer *w, const struct expr *e, const char *between)
{
	puts_to(w, "(");
	sql_expr_write_expr(w, e->arg[0]);
	puts_to(w, between);
	sql_expr_write_expr(w, e->arg[1]);
	return puts_to(w, ")");
}

static bool sql_expr_is_named(const struct expr *e)
{
	return e->type.type == QUERY_CODE || e->type.type == QUERY_ENTITY;
}

/* One side of a comparison. The parser only allows equality for codes. */
static int write_side(struct writer *w, const struct expr *e, bool as_text)
{
	return as_text ? write_text(w, e) : sql_expr_write_expr(w, e);
}

/* Compare as text if both sides are texts, or one is a text and the other an entity with a name. */
static bool compare_as_text(const struct expr *a, const struct expr *b)
{
	bool texts = a->type.type == QUERY_TEXT || b->type.type == QUERY_TEXT;

	return texts && (a->type.type == QUERY_TEXT || sql_expr_is_named(a)) &&
	       (b->type.type == QUERY_TEXT || sql_expr_is_named(b));
}

static int write_compare(struct writer *w, const struct expr *e)
{
	static const char *const signs[] = {" = ", " <> ", " < ", " <= ", " > ", " >= "};
	const struct expr *a = e->arg[0], *b = e->arg[1];
	bool text = compare_as_text(a, b);

	puts_to(w, "(");
	write_side(w, a, text);
	puts_to(w, signs[e->cmp]);
	write_side(w, b, text);
	return puts_to(w, ")");
}

/* The constants of a list have the first argument's type, or are texts. */
static int write_in(struct writer *w, const struct expr *e)
{
	const struct expr *a = e->arg[0];
	bool texts = e->count && e->list[0].t.data && a->type.type != QUERY_TEXT;
	struct query_kind type = texts ? (struct query_kind){.type = QUERY_TEXT} : a->type;

	puts_to(w, "(");
	write_side(w, a, texts || a->type.type == QUERY_TEXT);
	puts_to(w, " IN (");
	for (size_t i = 0; i < e->count; i++) {
		if (i)
			puts_to(w, ", ");
		sql_expr_write_value(w, type, &e->list[i]);
	}
	return puts_to(w, "))");
}

static int sql_expr_write_range(struct writer *w, const struct expr *e)
{
	bool text = compare_as_text(e->arg[0], e->arg[1]);

	puts_to(w, "(");
	for (unsigned int i = 0; i < 3; i++) {
		write_side(w, e->arg[i], text);
		puts_to(w, i == 0 ? " BETWEEN " : i == 1 ? " AND " : ")");
	}
	return buf_status(w->out);
}

static int write_pattern(struct writer *w, const struct expr *e)
{
	const char *name = e->kind == EXPR_GLOB	   ? "weir_glob"
			   : e->kind == EXPR_REGEX ? "weir_regex"
						   : "weir_like";

	buf_printf(w->out, "%s(", name);
	write_text(w, e->arg[0]);
	puts_to(w, ", ");
	sql_string_escaped(e->pattern, w->out);
	return puts_to(w, ")");
}

static int sql_expr_write_has(struct writer *w, const struct expr *e)
{
	puts_to(w, "((");
	write_bits(w, e->arg[0]);
	return buf_printf(w->out, " & %" PRIu64 "::UBIGINT) = %" PRIu64 "::UBIGINT)", e->mask,
			  e->bits);
}

static int write_whole_arith(struct writer *w, const struct expr *e)
{
	static const char *const signs[] = {" + ", " - ", " * ", NULL, " % "};
	bool mod = e->arith == ARITH_MOD;

	puts_to(w, "TRY(CAST(");
	write_wide(w, e->arg[0]);
	buf_printf(w->out, "%s%s", signs[e->arith], mod ? "nullif(" : "");
	write_wide(w, e->arg[1]);
	return buf_printf(w->out, "%s AS %s))", mod ? ", 0)" : "", sql_expr_type_of(e));
}

static int write_float_arith(struct writer *w, const struct expr *e)
{
	static const char *const signs[] = {" + ", " - ", " * ", " / ", " % "};
	bool divides = e->arith == ARITH_DIV || e->arith == ARITH_MOD;

	puts_to(w, "weir_finite(");
	write_with(w, "(%)::DOUBLE", e->arg[0]);
	puts_to(w, signs[e->arith]);
	write_with(w, divides ? "nullif((%)::DOUBLE, 0)" : "(%)::DOUBLE", e->arg[1]);
	return puts_to(w, ")");
}

/* Durations and sizes divided, or combined with a float: computed in floats and rounded. */
static int write_rounded_arith(struct writer *w, const struct expr *e)
{
	puts_to(w, "TRY(CAST(round(");
	write_float_arith(w, e);
	return buf_printf(w->out, ") AS %s))", sql_expr_type_of(e));
}

static int write_arith(struct writer *w, const struct expr *e)
{
	if (is_float(e))
		return write_float_arith(w, e);
	if (e->arith == ARITH_DIV || is_float(e->arg[0]) || is_float(e->arg[1]))
		return write_rounded_arith(w, e);
	return write_whole_arith(w, e);
}

static int write_neg(struct writer *w, const struct expr *e)
{
	if (is_float(e))
		return write_with(w, "(-(%))", e->arg[0]);
	return is_uint(e) ? write_with(w, "TRY(CAST(-((%)::HUGEINT) AS UBIGINT))", e->arg[0])
			  : write_with(w, "TRY(CAST(-((%)::HUGEINT) AS BIGINT))", e->arg[0]);
}

/* ---- functions ---- */

static int write_call2(struct writer *w, const char *name, const struct expr *e, bool text)
{
	buf_printf(w->out, "%s(", name);
	write_side(w, e->arg[0], text);
	puts_to(w, ", ");
	write_side(w, e->arg[1], text);
	return puts_to(w, ")");
}

static int write_text_call(struct writer *w, const char *name, const struct expr *e)
{
	buf_printf(w->out, "%s(", name);
	write_text(w, e->arg[0]);
	return puts_to(w, ")");
}

static int write_bitwise(struct writer *w, const struct expr *e, const char *sign)
{
	puts_to(w, is_uint(e) ? "(" : "weir_signed(");
	write_bits(w, e->arg[0]);
	puts_to(w, sign);
	write_bits(w, e->arg[1]);
	return puts_to(w, ")");
}

static int write_abs(struct writer *w, const struct expr *e)
{
	if (is_float(e))
		return write_with(w, "abs(%)", e->arg[0]);
	return is_uint(e) ? sql_expr_write_expr(w, e->arg[0])
			  : write_with(w, "TRY(CAST(abs((%)::HUGEINT) AS BIGINT))", e->arg[0]);
}

static int write_coalesce(struct writer *w, const struct expr *e)
{
	bool text = e->type.type == QUERY_TEXT || e->type.type == QUERY_CODE;

	return write_call2(w, "coalesce", e, text);
}

static int sql_expr_write_call(struct writer *w, const struct expr *e)
{
	switch (e->function) {
	case FUNCTION_DIR:
		return write_text_call(w, "weir_dir", e);
	case FUNCTION_BASE:
		return write_text_call(w, "weir_base", e);
	case FUNCTION_EXT:
		return write_text_call(w, "weir_ext", e);
	case FUNCTION_LOWER:
		return write_text_call(w, "weir_lower", e);
	case FUNCTION_LEN:
		return write_text_call(w, "weir_len", e);
	case FUNCTION_BUCKET:
		return write_call2(w, is_float(e) ? "weir_bucket_float" : "weir_bucket", e, false);
	case FUNCTION_LOG2:
		return write_with(w, is_float(e) ? "weir_log2_float(%)" : "weir_log2(%)",
				  e->arg[0]);
	case FUNCTION_HOUR:
		return write_with(w, "weir_hour(%)", e->arg[0]);
	case FUNCTION_MINUTE:
		return write_with(w, "weir_minute(%)", e->arg[0]);
	case FUNCTION_ABS:
		return write_abs(w, e);
	case FUNCTION_BITAND:
		return write_bitwise(w, e, " & ");
	case FUNCTION_BITOR:
		return write_bitwise(w, e, " | ");
	case FUNCTION_COALESCE:
		return write_coalesce(w, e);
	case FUNCTION_TEXT:
		return write_text(w, e->arg[0]);
	case FUNCTION_ID:
		return sql_expr_write_expr(w, e->arg[0]);
	default:
		return buf_fail(w->out, -EINVAL);
	}
}

static int write_case(struct writer *w, const struct expr *e)
{
	bool text = e->type.type == QUERY_TEXT || e->type.type == QUERY_CODE;

	write_with(w, "CASE WHEN % THEN ", e->arg[0]);
	write_side(w, e->arg[1], text);
	puts_to(w, " ELSE ");
	write_side(w, e->arg[2], text);
	return puts_to(w, " END");
}

static int sql_expr_write_expr(struct writer *w, const struct expr *e)
{
	switch (e->kind) {
	case EXPR_CONST:
		return sql_expr_write_value(w, e->type, &e->value);
	case EXPR_COLUMN:
	case EXPR_STOP:
	case EXPR_NAME:
	case EXPR_FIELD:
	case EXPR_ROW:
	case EXPR_USER:
		return buf_fail(w->out, w->leaf(w->arg, e, w->out));
	case EXPR_NOT:
		return write_with(w, "(NOT %)", e->arg[0]);
	case EXPR_NEG:
		return write_neg(w, e);
	case EXPR_IS_NULL:
		return write_with(w, "(% IS NULL)", e->arg[0]);
	case EXPR_AND:
		return write_joined(w, e, " AND ");
	case EXPR_OR:
		return write_joined(w, e, " OR ");
	case EXPR_COMPARE:
		return write_compare(w, e);
	case EXPR_IN:
		return write_in(w, e);
	case EXPR_RANGE:
		return sql_expr_write_range(w, e);
	case EXPR_GLOB:
	case EXPR_REGEX:
	case EXPR_LIKE:
		return write_pattern(w, e);
	case EXPR_HAS:
		return sql_expr_write_has(w, e);
	case EXPR_ARITH:
		return write_arith(w, e);
	case EXPR_CALL:
		return sql_expr_write_call(w, e);
	case EXPR_CASE:
		return write_case(w, e);
	}
	return buf_fail(w->out, -EINVAL);
}

int sql_expr(const struct expr *e, sql_leaf_t leaf, void *arg, struct buf *out)
{
	return sql_expr_write_expr(&(struct writer){leaf, arg, out}, e);
}

int sql_expr_text(const struct expr *e, sql_leaf_t leaf, void *arg, struct buf *out)
{
	return write_text(&(struct writer){leaf, arg, out}, e);
}

int sql_expr_shown(const struct expr *e, sql_leaf_t leaf, void *arg, struct buf *out)
{
	struct writer w = {leaf, arg, out};

	return e->type.type == QUERY_ENTITY ? write_entity(&w, e, "shown") : write_text(&w, e);
}
