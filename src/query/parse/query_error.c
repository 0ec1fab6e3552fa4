/* SPDX-License-Identifier: Apache-2.0 */
/* query_error.c: the position of an error, and its display: the message, the text, a caret. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "query/internal.h"

#define SHOWN_MAX   76 /* columns of the text to show */
#define SHOWN_AHEAD 48 /* of these before the caret */

/*
 * The character at p: its length in bytes and its width in columns. Invalid UTF-8 and control characters are shown as
 * '?'.
 */
static size_t query_error_character(const char *p, size_t left, int *ret_columns, bool *ret_plain)
{
	uint8_t c = (uint8_t)*p;
	size_t n = c < 0x80		   ? 1
		   : c >= 0xc2 && c < 0xe0 ? 2
		   : c >= 0xe0 && c < 0xf0 ? 3
		   : c >= 0xf0 && c < 0xf5 ? 4
					   : 0;
	uint32_t code = n > 1 ? c & (0xffu >> (n + 1)) : c;

	assert(left > 0);
	*ret_columns = 1;
	*ret_plain = false;
	if (!n || n > left)
		return 1;
	for (size_t i = 1; i < n; i++) {
		if (((uint8_t)p[i] & 0xc0) != 0x80)
			return 1;
		code = code << 6 | ((uint8_t)p[i] & 0x3f);
	}
	/* control characters, and those that change the direction of text */
	if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
	    (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
	    code == 0xfeff)
		return n;
	*ret_plain = true;
	/* independent of the locale: East Asian wide characters and emoji take two columns, combining marks none */
	if ((code >= 0x300 && code < 0x370) || (code >= 0xfe00 && code < 0xfe10))
		*ret_columns = 0;
	else if ((code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0) ||
		 (code >= 0xac00 && code < 0xd7a4) || (code >= 0xf900 && code < 0xfb00) ||
		 (code >= 0xfe30 && code < 0xfe70) || (code >= 0xff00 && code < 0xff61) ||
		 (code >= 0xffe0 && code < 0xffe7) || (code >= 0x1f300 && code < 0x1f650) ||
		 (code >= 0x1f900 && code < 0x1fa00) || (code >= 0x20000 && code < 0x40000))
		*ret_columns = 2;
	return n;
}

/* Messages quote the query, whatever it contains; this keeps them one line of harmless text. */
static void make_plain(char *message)
{
	size_t len = strlen(message), to = 0;

	for (size_t at = 0; at < len;) {
		bool plain;
		int wide;
		size_t n = query_error_character(message + at, len - at, &wide, &plain);

		if (plain) {
			memmove(message + to, message + at, n);
			to += n;
		} else {
			message[to++] = strchr("\n\t\r", message[at]) ? ' ' : '?';
		}
		at += n;
	}
	assert(to <= len); /* it only becomes shorter */
	message[to] = '\0';
}

int query_fail(struct query_source *s, size_t pos, size_t len, const char *fmt, ...)
{
	va_list ap;
	char message[ERROR_MESSAGE_MAX];

	assert(s->error && s->failed <= 0);
	if (s->failed)
		return s->failed;
	s->failed = -EINVAL;
	pos = MIN(pos, s->len);
	s->error->pos = pos;
	s->error->len = MIN(len, s->len - pos);
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	make_plain(message);
	error_set(&s->error->err, -EINVAL, "%s", message);
	return -EINVAL;
}

int query_fail_memory(struct query_source *s)
{
	if (s->failed)
		return s->failed;
	s->failed = -ENOMEM;
	return error_set(&s->error->err, -ENOMEM, "out of memory for the query");
}

void *query_alloc(struct query_source *s, size_t count, size_t size)
{
	void *p = arena_alloc(s->arena, count, size);

	if (!p)
		query_fail_memory(s);
	return p;
}

int query_grow_array(struct query_source *s, void **items, size_t count, size_t *cap, size_t size)
{
	size_t more = *cap ? *cap * 2 : 8;
	void *p;

	if (count < *cap)
		return 0;
	p = query_alloc(s, more, size);
	if (!p)
		return s->failed;
	if (count)
		memcpy(p, *items, count * size);
	*items = p;
	*cap = more;
	return 0;
}

/* ---- as lines ---- */

/* Columns of the bytes [from, to). */
static int query_error_columns(const char *text, size_t from, size_t to)
{
	int sum = 0;

	while (from < to) {
		bool plain;
		int wide;

		from += query_error_character(text + from, to - from, &wide, &plain);
		sum += wide;
	}
	return sum;
}

static size_t step_back(const char *text, size_t at, size_t least)
{
	assert(at > least);
	do
		at--;
	while (at > least && ((uint8_t)text[at] & 0xc0) == 0x80);
	return at;
}

static int query_error_show(struct buf *out, const char *text, size_t from, size_t to)
{
	while (from < to) {
		bool plain;
		int wide;
		size_t n = query_error_character(text + from, to - from, &wide, &plain);

		if (plain)
			buf_append(out, text + from, n);
		else
			buf_append(out, text[from] == '\t' ? " " : "?", 1);
		from += n;
	}
	return buf_status(out);
}

/* The part of the line at `pos` to show: *from .. *to. */
static void window(const char *text, size_t len, size_t pos, size_t *from, size_t *to)
{
	size_t begin = pos, end = pos;
	int ahead = 0, all;

	assert(pos <= len);
	while (begin > 0 && text[begin - 1] != '\n' && ahead < SHOWN_AHEAD) {
		begin = step_back(text, begin, 0);
		ahead = query_error_columns(text, begin, pos);
	}
	all = ahead;
	while (end < len && text[end] != '\n') {
		bool plain;
		int wide;
		size_t n = query_error_character(text + end, len - end, &wide, &plain);

		if (all + wide > SHOWN_MAX)
			break;
		all += wide;
		end += n;
	}
	assert(begin <= pos && pos <= end && end <= len);
	*from = begin;
	*to = end;
}

int query_error_text(const struct query_error *e, const char *text, size_t len, struct buf *out)
{
	size_t pos = MIN(e->pos, len), from, to, marked;
	bool cut_left, cut_right;
	int before, width, r;

	r = buf_printf(out, "%s\n", e->err.message);
	if (r < 0 || !len)
		return r;
	window(text, len, pos, &from, &to);
	cut_left = from > 0 && text[from - 1] != '\n';
	cut_right = to < len && text[to] != '\n';
	buf_printf(out, "  %s", cut_left ? "..." : "");
	query_error_show(out, text, from, to);
	r = buf_printf(out, "%s\n", cut_right ? "..." : "");
	if (r < 0)
		return r;
	marked = MIN(pos + e->len, to);
	before = query_error_columns(text, from, pos) + 2 + (cut_left ? 3 : 0);
	width = marked > pos ? query_error_columns(text, pos, marked) : 1;
	buf_printf(out, "%*s^", before, "");
	for (int i = 1; i < width; i++)
		buf_append(out, "~", 1);
	return buf_append(out, "\n", 1);
}
