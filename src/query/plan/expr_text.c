/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expr_text.c: writes an expression as text of the language that parses to the same expression. Chains of && and ||
 * are written flat: the parser builds the same tree from them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/amount.h"
#include "base/clock.h"
#include "query/internal.h"
#include "query/plan/expr_text_internal.h"
#include "schema/vocab.h"

/* Operator precedence; an operand of lower precedence gets brackets. */
enum binding {
	BIND_OR,
	BIND_AND,
	BIND_NOT,
	BIND_COMPARE,
	BIND_SUM,
	BIND_PRODUCT,
	BIND_SIGN,
	BIND_PRIMARY,
};

static const char *const name_names[] = {
#define N(NAME, name, id, type, more, doc) [QNAME_##NAME] = #name,
	QUERY_NAMES(N)
#undef N
};

static const char *const compare_signs[] = {"==", "!=", "<", "<=", ">", ">="};
static const char *const arith_signs[] = {"+", "-", "*", "/", "%"};

static_assert(ARRAY_SIZE(name_names) == QNAME_COUNT, "each name has its text");
static_assert(ARRAY_SIZE(compare_signs) == COMPARE_GE + 1, "each comparison has a sign");
static_assert(ARRAY_SIZE(arith_signs) == ARITH_MOD + 1, "each operator has a sign");

static int expr_text_write_expr(struct text_writer *w, const struct expr *e, enum binding least);

/* ---- constants ---- */

int text_write_quoted(struct buf *out, struct bytes t)
{
	buf_append(out, "\"", 1);
	for (size_t i = 0; i < t.len; i++) {
		uint8_t c = t.data[i];

		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c == '\n')
			buf_append(out, "\\n", 2);
		else if (c == '\t')
			buf_append(out, "\\t", 2);
		else if (c < 0x20 || c >= 0x7f)
			buf_printf(out, "\\x%02x", c);
		else
			buf_append(out, &c, 1);
	}
	return buf_append(out, "\"", 1);
}

/* Uses the largest unit that divides the value. */
static int write_unit(struct buf *out, int64_t value, bool size)
{
	static const struct {
		const char *name;
		int64_t factor;
	} durations[] = {{"h", 3600 * NSEC_PER_SEC}, {"m", 60 * NSEC_PER_SEC}, {"s", NSEC_PER_SEC},
			 {"ms", NSEC_PER_MSEC},	     {"us", NSEC_PER_USEC},    {"ns", 1}},
	  sizes[] = {{"TiB", 1ll << 40}, {"GiB", 1ll << 30}, {"MiB", 1ll << 20},
		     {"KiB", 1ll << 10}, {"B", 1},	     {"B", 1}};

	for (size_t i = 0;; i++) {
		int64_t factor = size ? sizes[i].factor : durations[i].factor;

		if (factor == 1 || (value && value % factor == 0))
			return buf_printf(out, "%" PRId64 "%s", value / factor,
					  !value && !size ? "s"
					  : size	  ? sizes[i].name
							  : durations[i].name);
	}
}

static int write_float(struct buf *out, double f)
{
	struct text t = format_shortest(f, 1, false);
	size_t whole = strcspn(t.s, "e");

	/* with a decimal point it parses as a float */
	if (strchr(t.s, '.'))
		return buf_printf(out, "%s", t.s);
	return buf_printf(out, "%.*s.0%s", (int)whole, t.s, t.s + whole);
}

static int write_time(struct buf *out, int64_t ns)
{
	time_t seconds = ns / NSEC_PER_SEC;
	struct tm tm;
	char text[40];

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	if (ns % NSEC_PER_SEC)
		return buf_printf(out, "\"%s.%09lldZ\"", text, ns % NSEC_PER_SEC);
	return buf_printf(out, "\"%sZ\"", text);
}

static int expr_text_write_value(struct buf *out, struct query_kind k, const struct value *v)
{
	const char *word;

	if (v->null)
		return buf_printf(out, "null");
	switch (k.type) {
	case QUERY_BOOL:
		return buf_printf(out, v->i ? "true" : "false");
	case QUERY_UINT:
		return buf_printf(out, "0x%" PRIx64, (uint64_t)v->i);
	case QUERY_FLOAT:
		return write_float(out, v->f);
	case QUERY_DUR:
		return write_unit(out, v->i, false);
	case QUERY_SIZE:
		return write_unit(out, v->i, true);
	case QUERY_TIME:
		return write_time(out, v->i);
	case QUERY_TEXT:
		return text_write_quoted(out, v->t);
	case QUERY_CODE:
		word = vocab_word(k.vocab, v->i);
		return word ? buf_printf(out, "%s", word) : buf_printf(out, "%" PRId64, v->i);
	default:
		return buf_printf(out, "%" PRId64, v->i);
	}
}

/* ---- operators ---- */

static enum binding binding(const struct expr *e)
{
	switch (e->kind) {
	case EXPR_OR:
		return BIND_OR;
	case EXPR_AND:
		return BIND_AND;
	case EXPR_NOT:
		return BIND_NOT;
	case EXPR_IS_NULL:
	case EXPR_COMPARE:
	case EXPR_IN:
	case EXPR_RANGE:
	case EXPR_GLOB:
	case EXPR_REGEX:
	case EXPR_LIKE:
	case EXPR_HAS:
		return BIND_COMPARE;
	case EXPR_ARITH:
		return e->arith == ARITH_ADD || e->arith == ARITH_SUB ? BIND_SUM : BIND_PRODUCT;
	case EXPR_NEG:
		return BIND_SIGN;
	case EXPR_CONST:
		/* preceded by a minus sign */
		return (e->type.type == QUERY_FLOAT
				? e->value.f < 0
				: query_kind_is_int(e->type) && e->type.type != QUERY_UINT &&
					  e->value.i < 0)
			       ? BIND_SIGN
			       : BIND_PRIMARY;
	default:
		return BIND_PRIMARY;
	}
}

static int expr_text_write_binary(struct text_writer *w, const struct expr *e, const char *sign,
				  enum binding left, enum binding right)
{
	expr_text_write_expr(w, e->arg[0], left);
	assert(e->arg_count == 2);
	buf_printf(w->out, " %s ", sign);
	return expr_text_write_expr(w, e->arg[1], right);
}

static int write_list(struct text_writer *w, const struct expr *e)
{
	struct query_kind k = e->arg[0]->type;

	expr_text_write_expr(w, e->arg[0], BIND_SUM);
	assert(e->count > 0);
	for (size_t i = 0; i < e->count; i++) {
		buf_printf(w->out, i ? ", " : " in (");
		expr_text_write_value(w->out, k, &e->list[i]);
	}
	return buf_printf(w->out, ")");
}

static int expr_text_write_range(struct text_writer *w, const struct expr *e)
{
	expr_text_write_expr(w, e->arg[0], BIND_SUM);
	assert(e->arg_count == 3);
	buf_printf(w->out, " in ");
	expr_text_write_expr(w, e->arg[1], BIND_SUM);
	buf_printf(w->out, "..");
	return expr_text_write_expr(w, e->arg[2], BIND_SUM);
}

static int write_match(struct text_writer *w, const struct expr *e)
{
	expr_text_write_expr(w, e->arg[0], BIND_SUM);
	assert(e->kind == EXPR_GLOB || e->kind == EXPR_REGEX || e->kind == EXPR_LIKE);
	buf_printf(w->out, e->kind == EXPR_GLOB	   ? " ~ "
			   : e->kind == EXPR_REGEX ? " =~ "
						   : " like ");
	return text_write_quoted(w->out, e->pattern);
}

static int expr_text_write_has(struct text_writer *w, const struct expr *e)
{
	const struct expr *what = e->arg[0];
	bool status = what->type.vocab && !strcmp(what->type.vocab, "status");
	const char *word = NULL;
	uint64_t bit;

	assert(e->mask == e->bits && e->bits);
	/* coalesce(status, 0), which `has` makes of status, is written as `status` again */
	if (status && what->kind == EXPR_CALL)
		what = what->arg[0];
	expr_text_write_expr(w, what, BIND_SUM);
	/* a single word of status; words of flags depend on the operation */
	for (size_t i = 0; status && (word = query_status_word(i, &bit)) && bit != e->bits; i++)
		;
	buf_printf(w->out, " has ");
	return word ? buf_printf(w->out, "%s", word) : buf_printf(w->out, "0x%" PRIx64, e->bits);
}

static int expr_text_write_call(struct text_writer *w, const struct expr *e, const char *name)
{
	buf_printf(w->out, "%s(", name);
	assert(e->arg_count > 0 && e->arg_count <= ARRAY_SIZE(e->arg));
	for (unsigned int i = 0; i < e->arg_count; i++) {
		if (i)
			buf_printf(w->out, ", ");
		expr_text_write_expr(w, e->arg[i], BIND_OR);
	}
	return buf_printf(w->out, ")");
}

static int expr_text_write_field(struct text_writer *w, unsigned int i)
{
	if (i < w->field_count)
		return buf_printf(w->out, "%s", w->fields[i].name);
	return buf_printf(w->out, "field%u", i);
}

static int write_bare(struct text_writer *w, const struct expr *e)
{
	switch (e->kind) {
	case EXPR_CONST:
		return expr_text_write_value(w->out, e->type, &e->value);
	case EXPR_COLUMN:
		return buf_printf(w->out, "%s", schema_table(w->table)->columns[e->column].name);
	case EXPR_STOP:
		return buf_printf(w->out, "stop");
	case EXPR_ROW:
		return buf_printf(w->out, "row_id");
	case EXPR_USER:
		return buf_printf(w->out, "%s.%s", e->user->name,
				  e->user->columns[e->user_column].name);
	case EXPR_NAME:
		return buf_printf(w->out, "%s", name_names[e->name]);
	case EXPR_FIELD:
		return expr_text_write_field(w, e->column);
	case EXPR_NOT:
		buf_printf(w->out, "!");
		return expr_text_write_expr(w, e->arg[0], BIND_PRIMARY);
	case EXPR_NEG:
		buf_printf(w->out, "-");
		return expr_text_write_expr(w, e->arg[0], BIND_PRIMARY);
	case EXPR_IS_NULL:
		expr_text_write_expr(w, e->arg[0], BIND_SUM);
		return buf_printf(w->out, " is null");
	case EXPR_AND:
		return expr_text_write_binary(w, e, "&&", BIND_AND, BIND_AND);
	case EXPR_OR:
		return expr_text_write_binary(w, e, "||", BIND_OR, BIND_OR);
	case EXPR_COMPARE:
		return expr_text_write_binary(w, e, compare_signs[e->cmp], BIND_SUM, BIND_SUM);
	case EXPR_ARITH:
		return binding(e) == BIND_SUM ? expr_text_write_binary(w, e, arith_signs[e->arith],
								       BIND_SUM, BIND_PRODUCT)
					      : expr_text_write_binary(w, e, arith_signs[e->arith],
								       BIND_PRODUCT, BIND_SIGN);
	case EXPR_IN:
		return write_list(w, e);
	case EXPR_RANGE:
		return expr_text_write_range(w, e);
	case EXPR_GLOB:
	case EXPR_REGEX:
	case EXPR_LIKE:
		return write_match(w, e);
	case EXPR_HAS:
		return expr_text_write_has(w, e);
	case EXPR_CALL:
		return expr_text_write_call(w, e, function_name(e->function));
	case EXPR_CASE:
		return expr_text_write_call(w, e, "if");
	}
	return buf_fail(w->out, -EINVAL);
}

static int expr_text_write_expr(struct text_writer *w, const struct expr *e, enum binding least)
{
	bool brackets = binding(e) < least;

	if (brackets)
		buf_append(w->out, "(", 1);
	write_bare(w, e);
	return brackets ? buf_append(w->out, ")", 1) : buf_status(w->out);
}

int text_write(struct text_writer *w, const struct expr *e)
{
	return expr_text_write_expr(w, e, BIND_OR);
}

int expr_text(const struct expr *e, enum table_id table, struct buf *out)
{
	struct text_writer w = {.out = out, .table = table};

	return text_write(&w, e);
}
