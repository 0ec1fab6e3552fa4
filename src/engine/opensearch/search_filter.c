// SPDX-License-Identifier: Apache-2.0
/* search_filter.c: translates conditions to OpenSearch's queries. */
#include "engine/opensearch/search_internal.h"

#include <errno.h>
#include <string.h>

#include "query/eval/pattern.h"
#include "schema/vocab.h"

/* -EOPNOTSUPP: "OpenSearch cannot WHAT: EXPRESSION: WHY". Returns NULL. */
static void *search_refuse(const struct search_fields *f, const char *what, const struct expr *e,
			   const char *why, struct error *err)
{
	_cleanup_buf_ struct buf text = {0};

	if (expr_text(e, f->table, &text) < 0)
		error_errno(err, -ENOMEM, "a condition");
	else
		error_set(err, -EOPNOTSUPP, "OpenSearch cannot %s %.300s: %s", what, buf_str(&text),
			  why);
	return NULL;
}

const struct search_field *search_plain(const struct search_fields *f, const char *what,
					const struct expr *e, struct error *err)
{
	const struct search_field *found = NULL;

	if (e->kind == EXPR_COLUMN || e->kind == EXPR_NAME)
		found = search_field_find(f, e);
	if (found)
		return found;
	return search_refuse(f, what, e,
			     e->type.type == QUERY_ENTITY || expr_is_id(e)
				     ? "its documents have names (path, comm, pid), but no weir ids"
			     : e->kind == EXPR_COLUMN || e->kind == EXPR_NAME
				     ? "its documents do not have it"
				     : "it is computed; load into ClickHouse or query the trace",
			     err);
}

static json_t *match_none(void)
{
	return json_pack("{s{}}", "match_none");
}

static json_t *has_field(const char *name)
{
	return json_pack("{s{ss}}", "exists", "field", name);
}

/* ---- one condition on one field ---- */

struct leaf {
	const char *field; /* NULL: the server cannot test it; the error is set */
	bool stop;	   /* for `stop`: the field `end`, in documents that have one */
};

static struct leaf leaf_of(const struct search_fields *f, const struct expr *e, struct error *err)
{
	const struct search_field *found;

	if (e->kind == EXPR_STOP)
		return (struct leaf){"end", true};
	found = search_plain(f, "test", e, err);
	return (struct leaf){found ? found->name : NULL, false};
}

/* Takes ownership of q. True if the field is not null and q is (not) true. NULL: out of memory. */
static json_t *leaf_query(const struct leaf *l, json_t *q, bool negated)
{
	json_t *must = q ? json_array() : NULL, *must_not = q ? json_array() : NULL;

	json_array_append_new(negated ? must_not : must, q);
	if (negated)
		json_array_append_new(must, has_field(l->field));
	if (l->stop)
		json_array_append_new(must_not, json_pack("{s{sb}}", "term", "unended", 1));
	return json_pack("{s{so,so}}", "bool", "filter", must, "must_not", must_not);
}

static int constant_text(const struct expr *c, const struct value *v, struct buf *out)
{
	if (c->type.type == QUERY_CODE)
		return query_code_text(c->type.vocab, v->i, out);
	return engine_escape(v->t.data, v->t.len, out);
}

static bool search_is_text(enum query_type t)
{
	return t == QUERY_TEXT || t == QUERY_CODE;
}

static json_t *constant_json(const struct expr *kind, const struct value *v)
{
	_cleanup_buf_ struct buf text = {0};

	if (kind->type.type == QUERY_FLOAT)
		return json_real(v->f);
	if (!search_is_text(kind->type.type))
		return json_integer(v->i);
	return constant_text(kind, v, &text) < 0
		       ? NULL
		       : json_stringn((char *)text.data ? (char *)text.data : "", text.len);
}

/* Takes ownership of value. Equality of numbers is written as a range, which fields without an index support, too. */
static json_t *equal_query(const char *field, json_t *value)
{
	if (json_is_string(value))
		return json_pack("{s{so}}", "term", field, value);
	return json_pack("{s{s{sO,so}}}", "range", field, "gte", value, "lte", value);
}

static json_t *compare_filter(const struct search_fields *f, const struct expr *e, bool negated,
			      struct error *err)
{
	static const char *const words[] = {[COMPARE_LT] = "lt",
					    [COMPARE_LE] = "lte",
					    [COMPARE_GT] = "gt",
					    [COMPARE_GE] = "gte"};
	static const enum expr_compare flipped[] = {COMPARE_EQ, COMPARE_NE, COMPARE_GT,
						    COMPARE_GE, COMPARE_LT, COMPARE_LE};
	bool swap = e->arg[0]->kind == EXPR_CONST;
	const struct expr *field = e->arg[swap], *c = e->arg[!swap];
	enum expr_compare cmp = swap ? flipped[e->cmp] : e->cmp;
	struct leaf l;
	json_t *value;

	if (c->kind != EXPR_CONST)
		return search_refuse(f, "test", e, "it compares two values of a document", err);
	l = leaf_of(f, field, err);
	if (!l.field)
		return NULL;
	if (c->value.null || c->type.type == QUERY_NULL)
		return match_none();
	if (field->type.type == QUERY_UINT && cmp != COMPARE_EQ && cmp != COMPARE_NE)
		return search_refuse(f, "test", e, "it cannot order unsigned numbers", err);
	value = constant_json(search_is_text(field->type.type) && c->type.type != QUERY_TEXT ? field
											     : c,
			      &c->value);
	if (cmp == COMPARE_EQ || cmp == COMPARE_NE)
		return leaf_query(&l, equal_query(l.field, value), negated != (cmp == COMPARE_NE));
	return leaf_query(&l, json_pack("{s{s{so}}}", "range", l.field, words[cmp], value),
			  negated);
}

static json_t *in_filter(const struct search_fields *f, const struct expr *e, bool negated,
			 struct error *err)
{
	struct leaf l = leaf_of(f, e->arg[0], err);
	json_t *any;

	if (!l.field)
		return NULL;
	any = json_array();
	for (size_t i = 0; i < e->count; i++)
		json_array_append_new(any,
				      equal_query(l.field, constant_json(e->arg[0], &e->list[i])));
	/* a value that is missing must not become a filter without it */
	if (json_array_size(any) < e->count) {
		json_decref(any);
		return NULL;
	}
	return leaf_query(&l, json_pack("{s{so}}", "bool", "should", any), negated);
}

static json_t *range_filter(const struct search_fields *f, const struct expr *e, bool negated,
			    struct error *err)
{
	struct leaf l;

	if (e->arg[1]->kind != EXPR_CONST || e->arg[2]->kind != EXPR_CONST ||
	    e->arg[0]->type.type == QUERY_UINT)
		return search_refuse(f, "test", e, "its bounds are not plain numbers", err);
	l = leaf_of(f, e->arg[0], err);
	if (!l.field)
		return NULL;
	return leaf_query(&l,
			  json_pack("{s{s{so,so}}}", "range", l.field, "gte",
				    constant_json(e->arg[1], &e->arg[1]->value), "lte",
				    constant_json(e->arg[2], &e->arg[2]->value)),
			  negated);
}

/* ---- patterns, as Lucene's regular expressions, which match the whole text ---- */

static int lucene_plain(struct buf *out, char c)
{
	const char escaped[] = {'\\', c};
	bool special = strchr(".?+*|{}[]()\"\\#@&<>~^$-/", c) != NULL;

	return special ? buf_append(out, escaped, 2) : buf_append(out, &c, 1);
}

/* [a-z] and [!a-z], neither of which matches a slash. Returns its length; 0: a literal bracket; negative. */
static ssize_t lucene_set(struct buf *out, const char *p, size_t left)
{
	bool negated = left > 1 && (p[1] == '!' || p[1] == '^');
	size_t first = 1 + negated, i = first;
	int r = buf_printf(out, negated ? "[^/" : "[");

	for (; r >= 0 && i < left && (p[i] != ']' || i == first); i++) {
		bool range = i + 2 < left && p[i + 1] == '-' && p[i + 2] != ']';

		if (p[i] == '\\' && i + 1 < left)
			i++;
		if (!negated && (p[i] == '/' || (range && p[i] < '/' && p[i + 2] > '/')))
			return -EOPNOTSUPP;
		r = lucene_plain(out, p[i]);
		if (r >= 0 && range) {
			i += 2;
			buf_append(out, "-", 1);
			r = lucene_plain(out, p[i]);
		}
	}
	if (r < 0 || i >= left)
		return r;
	r = buf_append(out, "]", 1);
	return r < 0 ? r : (ssize_t)i + 1;
}

/* Translates the stars at p[i]; returns how many. */
static ssize_t lucene_stars(struct buf *out, const char *p, size_t i, size_t len)
{
	bool two = i + 1 < len && p[i + 1] == '*';
	bool folder = two && (!i || p[i - 1] == '/') && i + 2 < len && p[i + 2] == '/';
	int r = buf_printf(out, "%s", folder ? "(.*/)?" : two ? ".*" : "[^/]*");

	return r < 0 ? r : folder ? 3 : 1 + two;
}

static int lucene_glob(struct buf *out, const char *p, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t before = out->len;
		ssize_t n = 1;

		if (p[i] == '*')
			n = lucene_stars(out, p, i, len);
		else if (p[i] == '?')
			n = buf_append(out, "[^/]", 4) < 0 ? -ENOMEM : 1;
		else if (p[i] == '[')
			n = lucene_set(out, p + i, len - i);
		else
			n = lucene_plain(out, p[i] == '\\' && i + 1 < len ? p[++i] : p[i]) < 0
				    ? -ENOMEM
				    : 1;
		if (!n) {
			out->len = before;
			n = buf_append(out, "\\[", 2) < 0 ? -ENOMEM : 1;
		}
		if (n < 0)
			return (int)n;
		i += (size_t)n;
	}
	return 0;
}

static int lucene_like(struct buf *out, const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (p[i] == '%')
			buf_append(out, ".*", 2);
		else if (p[i] == '_')
			buf_append(out, ".", 1);
		else
			lucene_plain(out, p[i]);
	}
	return buf_status(out);
}

/* The whole pattern. 0 or negative. */
static int lucene_pattern(const struct expr *e, struct buf *out)
{
	_cleanup_buf_ struct buf text = {0}, one = {0};
	size_t len;
	int r = engine_escape(e->pattern.data, e->pattern.len, &text);

	if (r < 0 || e->kind == EXPR_LIKE)
		return r < 0 ? r : lucene_like(out, (char *)text.data, text.len);
	len = text.len;
	while (len && text.data[len - 1] == '/')
		len--;
	r = lucene_glob(&one, (char *)text.data, len);
	/* a folder matches what is below it; a pattern without a slash also matches the last part of a path */
	if (r >= 0)
		r = buf_printf(out, "%s(/.*)?", buf_str(&one));
	if (r >= 0 && !memchr(text.data, '/', text.len))
		r = buf_printf(out, "|.*/%s", buf_str(&one));
	return r;
}

static json_t *pattern_filter(const struct search_fields *f, const struct expr *e, bool negated,
			      struct error *err)
{
	_cleanup_buf_ struct buf regex = {0};
	struct leaf l;
	int r;

	if (e->kind == EXPR_REGEX)
		return search_refuse(
			f, "test", e,
			"its regular expressions differ; write a pattern (~ \"*.log\")", err);
	l = leaf_of(f, e->arg[0], err);
	r = l.field ? lucene_pattern(e, &regex) : 0;
	if (r == -EOPNOTSUPP)
		return search_refuse(f, "test", e, "its character sets would also match /", err);
	if (!l.field || r < 0)
		return NULL;
	return leaf_query(&l,
			  json_pack("{s{s{ss,ss}}}", "regexp", l.field, "value", buf_str(&regex),
				    "flags", "NONE"),
			  negated);
}

/* Tests bits of a number, with a script that runs for each candidate. */
static json_t *has_filter(const struct search_fields *f, const struct expr *e, bool negated,
			  struct error *err)
{
	struct leaf l = leaf_of(f, e->arg[0], err);

	if (!l.field)
		return NULL;
	return leaf_query(
		&l,
		json_pack("{s{s{ss,s{ss,sI,sI}}}}", "script", "script", "source",
			  "doc[params.f].size() != 0 && (doc[params.f].value & params.m) == "
			  "params.b",
			  "params", "f", l.field, "m", (json_int_t)e->mask, "b",
			  (json_int_t)e->bits),
		negated);
}

/* ---- and, or, not ---- */

static json_t *both_filter(const struct search_fields *f, const struct expr *e, bool negated,
			   struct error *err)
{
	bool all = (e->kind == EXPR_AND) != negated;
	json_t *a = search_filter(f, e->arg[0], negated, err);
	json_t *b = a ? search_filter(f, e->arg[1], negated, err) : NULL;

	return json_pack("{s{s[o,o]}}", "bool", all ? "filter" : "should", a, b);
}

static json_t *null_filter(const struct search_fields *f, const struct expr *e, bool negated,
			   struct error *err)
{
	struct leaf l = leaf_of(f, e->arg[0], err);
	json_t *known;

	if (!l.field)
		return NULL;
	known = l.stop ? json_pack("{s{s[{s{sb}}]}}", "bool", "must_not", "term", "unended", 1)
		       : has_field(l.field);
	return negated ? known : json_pack("{s{s[o]}}", "bool", "must_not", known);
}

json_t *search_filter(const struct search_fields *f, const struct expr *e, bool negated,
		      struct error *err)
{
	switch (e->kind) {
	case EXPR_NOT:
		return search_filter(f, e->arg[0], !negated, err);
	case EXPR_AND:
	case EXPR_OR:
		return both_filter(f, e, negated, err);
	case EXPR_IS_NULL:
		return null_filter(f, e, negated, err);
	case EXPR_COMPARE:
		return compare_filter(f, e, negated, err);
	case EXPR_IN:
		return in_filter(f, e, negated, err);
	case EXPR_RANGE:
		return range_filter(f, e, negated, err);
	case EXPR_GLOB:
	case EXPR_REGEX:
	case EXPR_LIKE:
		return pattern_filter(f, e, negated, err);
	case EXPR_HAS:
		return has_filter(f, e, negated, err);
	case EXPR_CONST:
		return !e->value.null && e->value.i != negated ? json_pack("{s{}}", "match_all")
							       : match_none();
	default:
		return search_refuse(f, "test", e,
				     "it is computed; load into ClickHouse or query the trace",
				     err);
	}
}

json_t *search_plan_filter(const struct search_fields *f, const struct plan *p, struct error *err)
{
	json_t *all = json_array(), *none = json_array(), *query = NULL;
	bool known = !p->where ||
		     json_array_append_new(all, search_filter(f, p->where, false, err)) >= 0;

	if (p->from != INT64_MIN)
		json_array_append_new(
			all, json_pack("{s{s{sI}}}", "range", "end", "gte", (json_int_t)p->from));
	if (p->to != INT64_MAX)
		json_array_append_new(
			all, json_pack("{s{s{sI}}}", "range", "end", "lt", (json_int_t)p->to));
	/* an unfinished row is treated as ended so far */
	if (p->from != INT64_MIN || p->to != INT64_MAX)
		json_array_append_new(none,
				      json_pack("{s{s[{s{sb}}],s[o]}}", "bool", "filter", "term",
						"unended", 1, "must_not", has_field("start")));
	if (!p->each_file)
		json_array_append_new(none, json_pack("{s{sb}}", "term", "second", 1));
	query = json_pack("{s{so,so}}", "bool", "filter", all, "must_not", none);
	if (query && known)
		return query;
	json_decref(query);
	error_errno(err, -ENOMEM, "a query"); /* unless there was another error */
	return NULL;
}
