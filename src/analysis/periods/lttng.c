/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lttng.c: converts definitions of periods from the syntax of lttng-analyses.
 *
 *   --period 'req : $evt.$name == "syscall_exit_accept4" && $evt.procname =* "apache*"
 *                 : $evt.$name == "syscall_exit_close" && $evt.fd == $begin.$evt.ret'
 *   req : op == "accept4" && comm =~ "^apache.*$" : op == "close" && fd == begin.ret
 *
 * Fields of its system call events are columns of op. In LTTng a comparison with a field that the event lacks (fd at
 * the exit of a read) is false; here the row has the fields of both ends of the call.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/periods/definition.h"

#define NEST_MAX 100

/* Names of LTTng's events on x86-64 that differ from those of the calls. */
static const char *const calls[][2] = {
	{"newstat", "stat"},	    {"newfstat", "fstat"}, {"newlstat", "lstat"},
	{"sendfile64", "sendfile"}, {"newuname", "uname"}, {"pread", "pread64"},
	{"pwrite", "pwrite64"},
};

static const char *const fields[][2] = {
	{"procname", "comm"},  {"tid", "tid"},	      {"pid", "pid"},	    {"ppid", "ppid"},
	{"vtid", "inner_tid"}, {"vpid", "inner_pid"}, {"cpu_id", "cpu"},    {"hostname", "host"},
	{"ret", "ret"},	       {"fd", "fd"},	      {"fildes", "fd"},	    {"oldfd", "fd"},
	{"fd_in", "fd"},       {"out_fd", "fd"},      {"newfd", "fd2"},	    {"fd_out", "fd2"},
	{"in_fd", "fd2"},      {"filename", "path"},  {"pathname", "path"}, {"oldname", "path"},
	{"newname", "path2"},  {"count", "size"},     {"len", "size"},	    {"size", "size"},
	{"offset", "pos"},     {"pos", "pos"},	      {"flags", "flags"},   {"uid", "uid"},
};

enum event_kind { KIND_OPEN, KIND_ENTRY, KIND_EXIT };

struct lttng {
	const char *text;
	size_t at;
	struct buf *out;
	enum event_kind kind; /* the condition's event */
	bool begins;	      /* captures at the beginning: $evt is begin */
	unsigned int depth;
	struct error *err;
};

#define lttng_fail(l, at, ...) period_fail((l)->err, (l)->text, at, __VA_ARGS__)

static void lttng_blanks(struct lttng *l)
{
	while (isspace((unsigned char)l->text[l->at]))
		l->at++;
}

/* Consumes the text if it comes next. */
static bool lttng_take(struct lttng *l, const char *text)
{
	lttng_blanks(l);
	if (strncmp(l->text + l->at, text, strlen(text)) != 0)
		return false;
	l->at += strlen(text);
	return true;
}

/* The length of the next word. */
static size_t lttng_word(const struct lttng *l)
{
	size_t n = 0;

	while (isalnum((unsigned char)l->text[l->at + n]) || l->text[l->at + n] == '_')
		n++;
	return n;
}

/* ---- operands ---- */

struct lttng_operand {
	enum { OPERAND_NAME, OPERAND_FIELD, OPERAND_TEXT, OPERAND_NUMBER } is;
	size_t at;
	const char *prefix, *column; /* of an event; prefix "": the event itself */
	const char *from;	     /* OPERAND_TEXT: after the quote; OPERAND_NUMBER */
	size_t len;
};

/* Our name for one of LTTng's; NULL: there is none. */
static const char *lttng_ours(const char *const names[][2], size_t count, const char *theirs,
			      size_t len)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes_is((struct bytes){(const uint8_t *)theirs, len}, names[i][0]))
			return names[i][1];
	}
	return NULL;
}

static int lttng_field(struct lttng *l, struct lttng_operand *ret)
{
	static const char *const scopes[] = {"$payload.",    "$ctx.",	  "$header.",
					     "$stream_ctx.", "$pkt_ctx.", "$pkt_header."};
	size_t n;

	if (lttng_take(l, "$name")) {
		ret->is = OPERAND_NAME;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		if (lttng_take(l, scopes[i]))
			break;
	}
	n = lttng_word(l);
	ret->is = OPERAND_FIELD;
	ret->column = lttng_ours(fields, ARRAY_SIZE(fields), l->text + l->at, n);
	if (ret->column) {
		l->at += n;
		return 0;
	}
	return lttng_fail(l, l->at,
			  "calls have no field '%.*s': known are procname, tid, pid, vtid, vpid, "
			  "cpu_id, ret, fd, newfd, filename, count, offset, flags and similar ones",
			  (int)MIN(n, 40u), l->text + l->at);
}

static int lttng_event(struct lttng *l, struct lttng_operand *ret)
{
	bool parent = lttng_take(l, "$parent."), begin = lttng_take(l, "$begin.");

	if (parent && !begin)
		return lttng_fail(l, l->at, "$begin must follow $parent: $parent.$begin.$evt");
	if (!lttng_take(l, "$evt."))
		return lttng_fail(l, l->at, "$evt.FIELD, a text or a number expected");
	ret->prefix = parent ? "parent." : begin || l->begins ? "begin." : "";
	return lttng_field(l, ret);
}

static int lttng_operand(struct lttng *l, struct lttng_operand *ret)
{
	char *end;

	lttng_blanks(l);
	*ret = (struct lttng_operand){.at = l->at};
	if (l->text[l->at] == '"') {
		ret->is = OPERAND_TEXT;
		ret->from = l->text + ++l->at;
		for (; l->text[l->at] && l->text[l->at] != '"'; l->at++)
			l->at += l->text[l->at] == '\\' && l->text[l->at + 1];
		ret->len = (size_t)(l->text + l->at - ret->from);
		if (!l->text[l->at])
			return lttng_fail(l, ret->at, "the text is not terminated");
		l->at++;
		return 0;
	}
	if (l->text[l->at] == '$')
		return lttng_event(l, ret);
	(void)strtod(l->text + l->at, &end);
	ret->is = OPERAND_NUMBER;
	ret->from = l->text + l->at;
	ret->len = (size_t)(end - ret->from);
	l->at += ret->len;
	return ret->len ? 0 : lttng_fail(l, l->at, "$evt.FIELD, a text or a number expected");
}

/* ---- output ---- */

/* Writes a glob of fnmatch(3), whose * also matches slashes, as a regular expression. */
static int lttng_put_glob(struct lttng *l, const char *from, size_t len)
{
	int r = buf_printf(l->out, " =~ \"^");

	for (size_t i = 0; i < len && r >= 0; i++) {
		char c = from[i];

		if (c == '\\' && i + 1 < len)
			i++, r = buf_printf(l->out, "\\\\%s%c", from[i] == '"' ? "\\" : "",
					    from[i]);
		else if (c == '*')
			r = buf_printf(l->out, ".*");
		else if (c == '?')
			r = buf_printf(l->out, ".");
		else if (c == '[' && i + 1 < len && from[i + 1] == '!')
			r = buf_printf(l->out, "[^"), i++;
		else if (strchr("[]-", c) || isalnum((unsigned char)c) || c == '_' || c == '/')
			r = buf_append(l->out, &c, 1);
		else
			r = buf_printf(l->out, "\\\\%c", c);
	}
	return r < 0 ? r : buf_printf(l->out, "$\"");
}

static int put_operand(struct lttng *l, const struct lttng_operand *o)
{
	switch (o->is) {
	case OPERAND_NAME:
		return buf_printf(l->out, "%sop", o->prefix);
	case OPERAND_FIELD:
		return buf_printf(l->out, "%s%s", o->prefix, o->column);
	case OPERAND_TEXT:
		return buf_printf(l->out, "\"%.*s\"", (int)o->len, o->from);
	default:
		return buf_printf(l->out, "%.*s", (int)o->len, o->from);
	}
}

/* "syscall_exit_read": sets the event of the call; returns the length of the prefix before the call's name. */
static size_t event_prefix(const struct lttng_operand *text, enum event_kind *ret)
{
	static const char *const prefixes[] = {
		[KIND_ENTRY] = "syscall_entry_", [KIND_EXIT] = "syscall_exit_"};

	for (enum event_kind k = KIND_ENTRY; k <= KIND_EXIT; k++) {
		size_t len = strlen(prefixes[k]);

		if (text->len > len && !memcmp(text->from, prefixes[k], len)) {
			*ret = k;
			return len;
		}
	}
	return 0;
}

/* $evt.$name == "syscall_exit_read" */
static int lttng_name(struct lttng *l, const struct lttng_operand *name, const char *cmp,
		      const struct lttng_operand *text)
{
	enum event_kind kind = KIND_OPEN;
	struct lttng_operand rest = *text;
	size_t prefix = event_prefix(text, &kind);
	bool own = !*name->prefix;
	const char *ours;

	if (!prefix)
		return lttng_fail(l, text->at,
				  "'%.*s' is not an event of a call: syscall_entry_NAME or "
				  "syscall_exit_NAME expected",
				  (int)MIN(text->len, 60u), text->from);
	if (own && l->kind != KIND_OPEN && l->kind != kind)
		return lttng_fail(l, text->at,
				  "entries and exits of calls in one condition: define a period "
				  "for each");
	if (own)
		l->kind = kind;
	rest.from += prefix;
	rest.len -= prefix;
	ours = lttng_ours(calls, ARRAY_SIZE(calls), rest.from, rest.len);
	if (ours) {
		rest.from = ours;
		rest.len = strlen(ours);
	}
	if (strcmp(cmp, "=*") == 0)
		return buf_printf(l->out, "%sop", name->prefix) < 0
			       ? -ENOMEM
			       : lttng_put_glob(l, rest.from, rest.len);
	return buf_printf(l->out, "%sop %s \"%.*s\"", name->prefix, cmp, (int)rest.len, rest.from);
}

static int lttng_compare(struct lttng *l)
{
	static const char *const all[] = {"==", "!=", "=*", "<=", ">=", "<", ">"};
	struct lttng_operand a, b;
	const char *cmp = NULL;
	size_t at;
	int r = lttng_operand(l, &a);

	if (r < 0)
		return r;
	lttng_blanks(l);
	at = l->at;
	for (size_t i = 0; i < ARRAY_SIZE(all) && !cmp; i++)
		cmp = lttng_take(l, all[i]) ? all[i] : NULL;
	if (!cmp)
		return lttng_fail(l, at, "one of == != =* < <= > >= expected");
	r = lttng_operand(l, &b);
	if (r < 0)
		return r;
	if (a.is == OPERAND_NAME && b.is == OPERAND_TEXT && !strpbrk(cmp, "<>"))
		return lttng_name(l, &a, cmp, &b);
	if (a.is == OPERAND_NAME || b.is == OPERAND_NAME)
		return lttng_fail(l, a.at, "$name is compared with a text by ==, != or =*");
	if (a.is != OPERAND_FIELD)
		return lttng_fail(l, a.at, "a field must come first: $evt.FIELD");
	if (strcmp(cmp, "=*") == 0 && b.is != OPERAND_TEXT)
		return lttng_fail(l, b.at, "a text must follow =*");
	r = put_operand(l, &a);
	if (r >= 0 && strcmp(cmp, "=*") == 0)
		return lttng_put_glob(l, b.from, b.len);
	if (r < 0)
		return r;
	buf_printf(l->out, " %s ", cmp);
	return put_operand(l, &b);
}

/* ---- logic ---- */

static int lttng_or(struct lttng *l);

static int lttng_not(struct lttng *l)
{
	int r;

	if (++l->depth > NEST_MAX)
		return lttng_fail(l, l->at, "nested more than %d deep", NEST_MAX);
	if (lttng_take(l, "!")) {
		r = buf_printf(l->out, "!");
		r = r < 0 ? r : lttng_not(l);
	} else if (lttng_take(l, "(")) {
		r = buf_printf(l->out, "(");
		if (r >= 0)
			r = lttng_or(l);
		if (r >= 0 && !lttng_take(l, ")"))
			r = lttng_fail(l, l->at, "')' expected");
		if (r >= 0)
			r = buf_printf(l->out, ")");
	} else {
		r = lttng_compare(l);
	}
	l->depth--;
	return r;
}

static int lttng_chain(struct lttng *l, const char *word, int (*part)(struct lttng *l))
{
	int r = part(l);

	while (r >= 0 && lttng_take(l, word)) {
		r = buf_printf(l->out, " %s ", word);
		if (r >= 0)
			r = part(l);
	}
	return r;
}

static int lttng_and(struct lttng *l)
{
	return lttng_chain(l, "&&", lttng_not);
}

static int lttng_or(struct lttng *l)
{
	return lttng_chain(l, "||", lttng_and);
}

/* ---- definitions ---- */

bool period_is_lttng(const struct buf *text)
{
	return text->len && memmem(text->data, text->len, "$evt", 4);
}

/* A condition, after ` : `. */
static int lttng_condition(struct lttng *l)
{
	_cleanup_buf_ struct buf one = {0};
	struct buf *out = l->out;
	size_t at = l->at;
	int r;

	l->kind = KIND_OPEN;
	l->out = &one;
	r = lttng_or(l);
	l->out = out;
	lttng_blanks(l);
	if (r >= 0 && l->text[l->at] && l->text[l->at] != ':')
		r = lttng_fail(l, l->at, "&&, ||, ':' or the end expected");
	if (r >= 0 && l->kind == KIND_OPEN)
		r = lttng_fail(l, at, "which event? $evt.$name == \"syscall_exit_...\" is missing");
	return r < 0 ? r
		     : buf_printf(out, " : %s%s", l->kind == KIND_ENTRY ? "enter " : "",
				  buf_str(&one));
}

int period_from_lttng(const char *text, struct buf *ret, struct error *err)
{
	struct lttng l = {.text = text, .out = ret, .err = err};
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	int r;

	if (!colon)
		return lttng_fail(&l, len, "':' expected: NAME : BEGIN : END");
	r = strspn(text, " \t") >= len ? buf_printf(ret, "period") : buf_append(ret, text, len);
	l.at = len + 1;
	if (r >= 0)
		r = lttng_condition(&l);
	if (r >= 0 && lttng_take(&l, ":"))
		r = lttng_condition(&l);
	if (r >= 0 && l.text[l.at])
		r = lttng_fail(&l, l.at,
			       "unexpected text after END; give captures with --period-captures");
	return r;
}

/* [ID =] EVT.FIELD, ... */
static int lttng_caps(struct period_set *s, struct period *p, struct lttng *l)
{
	lttng_blanks(l);
	if (!l->text[l->at] || l->text[l->at] == ':')
		return 0;
	do {
		_cleanup_buf_ struct buf one = {0};
		_cleanup_free_ char *name = NULL;
		struct lttng_operand o;
		size_t at, n;
		int r;

		lttng_blanks(l);
		at = l->at;
		n = lttng_word(l);
		l->at += n;
		if (n && !lttng_take(l, "="))
			return lttng_fail(l, l->at, "'=' expected: NAME = $evt.FIELD");
		lttng_blanks(l);
		if (!n)
			at = l->at;
		r = lttng_operand(l, &o);
		if (r >= 0 && o.is != OPERAND_NAME && o.is != OPERAND_FIELD)
			r = lttng_fail(l, o.at, "$evt.FIELD expected");
		name = strndup(l->text + at, n ? n : l->at - at);
		l->out = &one;
		if (r >= 0)
			r = name ? put_operand(l, &o) : -ENOMEM;
		if (r >= 0)
			r = period_capture(s, p, name, buf_str(&one), 0, one.len, l->err);
		if (r < 0)
			return r;
	} while (lttng_take(l, ","));
	return 0;
}

int period_lttng_captures(struct period_set *s, const char *text, struct error *err)
{
	struct lttng l = {.text = text, .begins = true, .err = err};
	int i, r;

	lttng_blanks(&l);
	i = period_find(s, text + l.at, strcspn(text + l.at, " \t:"));
	if (i < 0)
		return lttng_fail(&l, l.at, "no period of this name is defined");
	l.at += strcspn(text + l.at, " \t:");
	if (!lttng_take(&l, ":"))
		return lttng_fail(&l, l.at, "':' expected: NAME : BEGIN'S : END'S");
	r = lttng_caps(s, s->items[i], &l);
	if (r >= 0 && lttng_take(&l, ":")) {
		l.begins = false;
		r = lttng_caps(s, s->items[i], &l);
	}
	lttng_blanks(&l);
	return r >= 0 && l.text[l.at] ? lttng_fail(&l, l.at, "',', ':' or the end expected") : r;
}
