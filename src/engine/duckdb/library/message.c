// SPDX-License-Identifier: Apache-2.0
/* message.c: converts DuckDB's error message to one line with the position and similar names. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "engine/duckdb/internal.h"

static int code_of_type(const char *type, const char *text)
{
	if (!strcmp(type, "Interrupt") || !strcmp(type, "INTERRUPT"))
		return -EINTR;
	if (!strcmp(type, "Out of Memory") || strstr(text, "Out of Memory Error"))
		return -ENOMEM;
	if (!strcmp(type, "IO") || !strcmp(type, "Internal") || !strcmp(type, "FATAL"))
		return -EIO;
	return -EINVAL;
}

/* Appends text up to the blank line before DuckDB's copy of the statement; line breaks become spaces. */
static int append_line(struct buf *out, const char *text)
{
	const char *end = strstr(text, "\n\nLINE ");
	size_t len = end ? (size_t)(end - text) : strlen(text);

	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n' && i > 0 && text[i - 1] == '\n')
			continue;
		if (text[i] == '\n')
			buf_append(out, " ", 1);
		else
			buf_append(out, text + i, 1);
	}
	return buf_status(out);
}

/* Appends the names that DuckDB suggests instead; 1 or negative. */
static int append_near(struct buf *out, const char *text)
{
	static const char *const words[][2] = {{" Candidate bindings: ", " near it are "},
					       {" Candidate tables: ", " near it are "},
					       {" Did you mean ", " did you mean "}};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t len = strlen(words[i][0]);

		while (text[0] == '\n' && text[1])
			text++;
		if (strncmp(text, words[i][0], len) != 0 &&
		    strncmp(text, words[i][0] + 1, len - 1) != 0)
			continue;
		text += strncmp(text, words[i][0], len) == 0 ? len : len - 1;
		buf_printf(out, "%s", words[i][1]);
		r = append_line(out, text);
		return r < 0 ? r : 1;
	}
	r = append_line(out, text);
	return r < 0 ? r : 1;
}

/* Messages that mention internals of DuckDB or of a grammar, and their replacements in terms of a trace. */
static const struct {
	const char *before, *after; /* text around the name, which is kept */
	const char *said;	    /* replacement for the text before the name */
	const char *end; /* replacement for the text after it; NULL: similar names follow */
} plain[] = {
	{"Referenced column ", " not found in FROM clause!", "unknown column ", NULL},
	{"Referenced table ", " not found!", "unknown table ", NULL},
	{"Table with name ", " does not exist!", "unknown table ", NULL},
	{"Scalar Function with name ", " does not exist!", "unknown function ", NULL},
	{"Aggregate Function with name ", " does not exist!", "unknown function ", NULL},
	{"Table Function with name ", " does not exist!", "unknown function ", NULL},
	{"No function matches the given name and argument types '", "'.",
	 "no function accepts these arguments: ", "; CAST(x AS ...) changes a type"},
};

/* Types whose values are listed, ENUM('a', 'b', ...), are shown as text. */
static int append_types(struct buf *out, const char *text, size_t len)
{
	const char *end = text + len;
	int r = 0;

	while (text < end && r >= 0) {
		const char *list = memmem(text, (size_t)(end - text), "ENUM(", 5);
		const char *close = list;

		r = buf_append(out, text, (size_t)((list ? list : end) - text));
		if (!list || r < 0)
			return r;
		while (close < end && !(close[0] == '\'' && close[1] == ')'))
			close++;
		r = buf_append(out, "text", 4);
		text = close < end ? close + 2 : end;
	}
	return r;
}

/* 1 if the message was replaced, 0 if it has no replacement, or negative. */
static int append_other_words(struct buf *out, const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		size_t before = strlen(plain[i].before);
		const char *after = strstr(text, plain[i].after);
		_cleanup_buf_ struct buf name = {0};
		int r;

		if (strncmp(text, plain[i].before, before) != 0 || !after || after < text + before)
			continue;
		r = append_types(&name, text + before, (size_t)(after - text) - before);
		if (r >= 0)
			r = buf_printf(out, "%s%s%s", plain[i].said, buf_str(&name),
				       plain[i].end ? plain[i].end : "");
		after += strlen(plain[i].after);
		if (r < 0 || plain[i].end || !*after)
			return r < 0 ? r : 1;
		r = buf_append(out, ";", 1);
		return r < 0 ? r : append_near(out, after);
	}
	return 0;
}

void message_place(const char *sql, size_t offset, char *out, size_t size)
{
	size_t line = 1, column = 1;

	*out = '\0';
	if (!sql || offset > strlen(sql))
		return;
	for (size_t i = 0; i < offset; i++) {
		if (sql[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)sql[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	if (line > 1)
		snprintf(out, size, " (line %zu, character %zu)", line, column);
	else
		snprintf(out, size, " (character %zu)", column);
}

/* The offset of an error, -1 if DuckDB reports none. */
static long position_of(const json_t *doc)
{
	const json_t *p = json_object_get(doc, "position");

	if (json_is_integer(p))
		return (long)json_integer_value(p);
	if (json_is_string(p) && *json_string_value(p))
		return strtol(json_string_value(p), NULL, 10);
	return -1;
}

/* Names the limit that was exceeded, and weir's options that change it. */
static int put_memory(struct buf *line, const char *text, const char *advice)
{
	_cleanup_free_ char *what = strndup(text, (size_t)(advice - text));
	int r = what ? append_line(line, what) : -ENOMEM;

	return r < 0 ? r : buf_printf(line, ": raise --memory or --spill, or take fewer --threads");
}

int message_from_duckdb(const char *message, const char *sql, struct error *err)
{
	_cleanup_buf_ struct buf line = {0};
	/* the parser prefixes the JSON with its name */
	const char *json = message ? strchr(message, '{') : NULL;
	json_t *doc = json ? json_loads(json, 0, NULL) : NULL;
	const char *type = json_string_value(json_object_get(doc, "exception_type"));
	const char *text = json_string_value(json_object_get(doc, "exception_message"));
	long position = doc ? position_of(doc) : -1;
	const char *advice;
	char place[64] = "";
	int code;

	if (!text) {
		type = "";
		text = message ? message : "DuckDB reports no reason";
	}
	if (!type)
		type = "";
	code = code_of_type(type, text);
	if (code == -EINTR) {
		json_decref(doc);
		return error_set(err, code, "interrupted");
	}
	/* DuckDB recommends settings of its own, which weir's users cannot change */
	advice = code == -ENOMEM ? strstr(text, "Possible solutions:") : NULL;
	if (code == -ENOMEM && !advice)
		advice = strstr(text, "This limit was set by");
	if (advice)
		(void)put_memory(&line, text, advice);
	else if (append_other_words(&line, text) == 0)
		(void)append_line(&line, text);
	if (position >= 0)
		message_place(sql, (size_t)position, place, sizeof(place));
	json_decref(doc);
	return error_set(err, code, "%.900s%s", buf_str(&line), place);
}
