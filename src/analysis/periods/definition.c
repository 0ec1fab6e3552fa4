/* SPDX-License-Identifier: Apache-2.0 */
/* definition.c: parses the text of a definition: its parts, and what each may contain. */
#include "analysis/periods/definition.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 4

/* Bytes [at, at + len) of a definition's text. */
struct period_part {
	size_t at, len;
};

static void role_free(struct period_role *r)
{
	for (size_t i = 0; i < r->take_count; i++)
		buf_free(&r->takes[i].text);
}

static void period_free(struct period *p)
{
	if (!p)
		return;
	role_free(&p->begin);
	role_free(&p->end);
	for (size_t i = 0; i < p->capture_count; i++)
		free(p->captures[i].name);
	for (size_t i = 0; i < p->plan_count; i++)
		plan_free(p->plans[i]);
	free(p->name);
	free(p);
}
DEFINE_CLEANUP(struct period *, period_free)

void period_set_free(struct period_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		period_free(s->items[i]);
	for (size_t i = 0; i < s->memory_count; i++)
		free(s->memory[i]);
	free(s->memory);
	*s = (struct period_set){0};
}

int period_find(const struct period_set *s, const char *name, size_t len)
{
	for (size_t i = 0; i < s->count; i++) {
		if (strlen(s->items[i]->name) == len && !memcmp(s->items[i]->name, name, len))
			return (int)i;
	}
	return -1;
}

/* ---- parts ---- */

int period_fail(struct error *err, const char *text, size_t at, const char *fmt, ...)
{
	char why[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return error_set(err, -EINVAL, "period '%.200s%s', character %zu: %s", text,
			 strlen(text) > 200 ? "..." : "", at + 1, why);
}

static struct period_part part_trim(const char *text, size_t from, size_t to)
{
	while (from < to && isspace((unsigned char)text[from]))
		from++;
	while (to > from && isspace((unsigned char)text[to - 1]))
		to--;
	return (struct period_part){from, to - from};
}

/* The position of the next `mark` in [at, to) outside of quotes and brackets, else `to`. */
static size_t part_find(const char *text, size_t at, size_t to, char mark)
{
	int depth = 0;
	char quote = 0;

	for (; at < to; at++) {
		char c = text[at];

		if (quote) {
			at += c == '\\' && at + 1 < to;
			quote = c == quote ? 0 : quote;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == mark && depth == 0) {
			return at;
		} else if (c == '(') {
			depth++;
		} else if (c == ')' && depth) {
			depth--;
		}
	}
	return to;
}

/* Returns the number of parts; PARTS_MAX + 1: too many. */
static size_t definition_split(const char *text, struct period_part *parts, size_t *ret_end)
{
	size_t len = strlen(text), at = 0;

	for (size_t n = 0; n < PARTS_MAX; n++) {
		size_t stop = part_find(text, at, len, ':');

		parts[n] = part_trim(text, at, stop);
		if (stop == len)
			return n + 1;
		at = stop + 1;
	}
	*ret_end = at - 1;
	return PARTS_MAX + 1;
}

/* ---- names ---- */

static bool name_ok(const char *text, size_t len)
{
	if (!len || len > PERIOD_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr("_-.", text[i]))
			return false;
	}
	return true;
}

/* Recognizes and removes the word in `last PARENT`. */
static struct period_part definition_last(struct period *p, const char *text,
					  struct period_part parent)
{
	p->last = parent.len > 5 && !strncmp(text + parent.at, "last", 4) &&
		  isspace((unsigned char)text[parent.at + 4]);
	return p->last ? part_trim(text, parent.at + 4, parent.at + parent.len) : parent;
}

/* NAME, NAME(PARENT) or NAME(last PARENT). */
static int definition_name(const struct period_set *s, struct period *p, const char *text,
			   struct period_part part, struct error *err)
{
	size_t end = part.at + part.len, open = part_find(text, part.at, end, '(');
	struct period_part name = part_trim(text, part.at, open), parent = {0};

	p->parent = -1;
	if (!name_ok(text + name.at, name.len))
		return period_fail(err, text, name.at,
				   "expected a name of letters, digits, '_', '-' and '.'");
	if (open < end) {
		if (text[end - 1] != ')')
			return period_fail(err, text, end, "')' expected: NAME(PARENT)");
		parent = definition_last(p, text, part_trim(text, open + 1, end - 1));
		p->parent = period_find(s, text + parent.at, parent.len);
	}
	if (open < end && p->parent < 0)
		return period_fail(err, text, parent.at,
				   "no period of this name is defined before it");
	if (period_find(s, text + name.at, name.len) >= 0)
		return period_fail(err, text, name.at, "a period of this name is defined already");
	p->depth = p->parent < 0 ? 0 : s->items[p->parent]->depth + 1;
	if (p->depth >= PERIOD_DEPTH_MAX)
		return period_fail(err, text, parent.at, "periods are nested too deep");
	p->name = strndup(text + name.at, name.len);
	return p->name ? 0 : error_set(err, -ENOMEM, "out of memory");
}

/* ---- expressions over several rows ---- */

struct row_names {
	struct query_row all[3 + 2 * (PERIOD_DEPTH_MAX + 1)];
	struct query_rows_named named;
};

/* One per level, of which a suffix is used; one more level than there can be. */
#define PARENTS "parent.parent.parent.parent.parent.parent.parent.parent.parent."

static_assert(sizeof(PARENTS) == (PERIOD_DEPTH_MAX + 1) * sizeof("parent") + 1, "one each");

static void names_add(struct row_names *n, const char *prefix, unsigned int row, const char *why)
{
	n->all[n->named.count++] = (struct query_row){prefix, row, why};
}

static void row_names(struct row_names *n, const struct period *p, bool end)
{
	n->named = (struct query_rows_named){.all = n->all};
	/*
	 * longest first: parent.parent.begin., parent.parent., ...; one level beyond the existing ones, to report an
	 * error for it
	 */
	for (unsigned int up = p->depth + 1; up >= 1; up--) {
		const char *why = up <= p->depth ? NULL
				  : p->depth	 ? "the outermost period has no parent"
						 : "the period has no parent: NAME(PARENT) : ...";
		size_t skip = (PERIOD_DEPTH_MAX + 1 - up) * strlen("parent.");
		const char *begin = &PARENTS "begin."[skip], *bare = &PARENTS[skip];

		names_add(n, begin, LEVEL_PARENT + up - 1, why);
		names_add(n, bare, LEVEL_PARENT + up - 1, why);
	}
	names_add(n, "begin.", end ? LEVEL_BEGIN : LEVEL_EVENT, NULL);
	names_add(
		n, "end.", LEVEL_EVENT,
		end ? NULL
		    : "BEGIN describes the call that begins the period: the period has no end yet");
}

/* Parses a part. Leading blanks make its positions those in the whole text. */
static int definition_parse(struct period *p, const char *text, struct period_part part,
			    const struct row_names *names, bool filter, struct plan **ret,
			    struct error *err)
{
	size_t len = part.at + part.len;
	_cleanup_free_ char *copy = malloc(len + 1);
	struct query_error why = {0};
	int r;

	if (!copy)
		return error_set(err, -ENOMEM, "out of memory");
	memset(copy, ' ', part.at);
	memcpy(copy + part.at, text + part.at, part.len);
	copy[len] = '\0';
	assert(p->plan_count < ARRAY_SIZE(p->plans));
	r = query_parse_expr_rows(copy, len, TABLE_OP, filter, &names->named, ret, &why);
	if (r == -EINVAL)
		return period_fail(err, text, why.pos, "%s", why.err.message);
	if (r < 0)
		return error_errno(err, r, "period '%.200s'", text);
	p->plans[p->plan_count++] = *ret;
	return 0;
}

/* Recognizes and removes the word in `enter COND`, `exit COND`, which selects the event of the call. */
static struct period_part definition_event(const char *text, struct period_part part,
					   bool *ret_enter)
{
	static const char *const words[] = {"exit", "enter"};

	*ret_enter = false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t len = strlen(words[i]);

		if (part.len > len && !strncmp(text + part.at, words[i], len) &&
		    isspace((unsigned char)text[part.at + len])) {
			*ret_enter = i;
			return part_trim(text, part.at + len, part.at + part.len);
		}
	}
	return part;
}

static int definition_role(struct period_set *s, struct period *p, const char *text,
			   struct period_part part, bool end, struct error *err)
{
	struct period_role *role = end ? &p->end : &p->begin;
	struct row_names names;
	struct plan *plan;
	int r;

	role->end = end;
	part = definition_event(text, part, &role->enter);
	row_names(&names, p, end);
	r = definition_parse(p, text, part, &names, true, &plan, err);
	return r < 0 ? r : period_compile(s, p, role, plan->where, err);
}

/* ---- captures ---- */

int period_capture(struct period_set *s, struct period *p, const char *name, const char *text,
		   size_t at, size_t len, struct error *err)
{
	struct period_capture *c = &p->captures[p->capture_count];
	struct row_names names;
	struct plan *plan;
	enum query_type type;
	int r;

	if (p->capture_count == PERIOD_CAPTURES_MAX)
		return period_fail(err, text, at, "a period has at most 16 captures");
	for (size_t i = 0; i < p->capture_count; i++) {
		if (strcmp(p->captures[i].name, name) == 0)
			return period_fail(err, text, at, "a capture of this name exists already");
	}
	row_names(&names, p, true);
	r = definition_parse(p, text, (struct period_part){at, len}, &names, false, &plan, err);
	if (r >= 0)
		r = period_lift(s, p, &p->end, plan->fields[0].expr, &c->value, err);
	if (r < 0)
		return r;
	type = plan->fields[0].type.type;
	if (type == QUERY_HIST || type == QUERY_TALLY)
		return period_fail(err, text, at, "a histogram is not an attribute");
	c->number = type != QUERY_TEXT && type != QUERY_CODE && type != QUERY_ENTITY;
	c->name = strdup(name);
	p->capture_count += c->name != NULL;
	return c->name ? 0 : error_set(err, -ENOMEM, "out of memory");
}

/* NAME = EXPR, or EXPR, which then is also the name. */
static int definition_capture(struct period_set *s, struct period *p, const char *text, size_t at,
			      size_t stop, struct error *err)
{
	size_t equal = part_find(text, at, stop, '=');
	struct period_part name = part_trim(text, at, MIN(equal, stop)), value;
	bool named = equal < stop && (equal + 1 >= stop || text[equal + 1] != '=') &&
		     name_ok(text + name.at, name.len);
	_cleanup_free_ char *copy = NULL;

	value = named ? part_trim(text, equal + 1, stop) : part_trim(text, at, stop);
	if (!named)
		name = value;
	copy = strndup(text + name.at, name.len);
	if (!copy)
		return error_set(err, -ENOMEM, "out of memory");
	return period_capture(s, p, copy, text, value.at, value.len, err);
}

static int definition_captures(struct period_set *s, struct period *p, const char *text,
			       struct period_part part, struct error *err)
{
	size_t at = part.at, end = part.at + part.len;
	int r = 0;

	while (at < end && r >= 0) {
		size_t stop = part_find(text, at, end, ',');

		r = definition_capture(s, p, text, at, stop, err);
		at = stop + 1;
	}
	return r;
}

/* ---- complete definitions ---- */

int period_define(struct period_set *s, const char *text, struct error *err)
{
	_cleanup_(period_freep) struct period *p = calloc(1, sizeof(*p));
	struct period_part parts[PARTS_MAX];
	size_t end = 0, count = definition_split(text, parts, &end);
	int r;

	if (!p)
		return error_set(err, -ENOMEM, "out of memory");
	if (count > PARTS_MAX)
		return period_fail(
			err, text, end,
			"unexpected text after the captures: NAME : BEGIN : END : NAME = "
			"EXPR, ...");
	if (count < 2 || !parts[1].len)
		return period_fail(err, text, count < 2 ? strlen(text) : parts[1].at,
				   "BEGIN is missing: NAME : BEGIN : END (a trace is given by -i)");
	if (s->count == PERIODS_MAX)
		return error_set(err, -EINVAL, "more than %d periods", PERIODS_MAX);
	p->hash = hash_bytes(text, strlen(text));
	r = definition_name(s, p, text, parts[0], err);
	if (r >= 0)
		r = definition_role(s, p, text, parts[1], false, err);
	/* without a condition for the end, the next beginning ends the previous period */
	if (r >= 0)
		r = definition_role(s, p, text, parts[count > 2 && parts[2].len ? 2 : 1], true,
				    err);
	if (r >= 0 && count > 3)
		r = definition_captures(s, p, text, parts[3], err);
	if (r < 0)
		return r;
	s->items[s->count++] = TAKE_PTR(p);
	return 0;
}
