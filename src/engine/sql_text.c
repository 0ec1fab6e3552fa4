// SPDX-License-Identifier: Apache-2.0
#include "engine/sql_text.h"

#include <ctype.h>
#include <string.h>

bool sql_is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

const char *sql_after_word(const char *sql, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = sql; (p = strcasestr(p, word)); p += len) {
		if ((p == sql || !sql_is_word_char(p[-1])) && !sql_is_word_char(p[len]))
			return p + len;
	}
	return NULL;
}

const char *sql_skip_quoted(const char *p)
{
	const char *end;

	if (*p == '\'' || *p == '"') {
		for (end = p + 1; (end = strchr(end, *p)) && end[1] == *p;)
			end += 2;
		return end ? end + 1 : NULL;
	}
	if (p[0] == '-' && p[1] == '-') {
		end = strchr(p, '\n');
		return end ? end : NULL;
	}
	if (p[0] == '/' && p[1] == '*') {
		end = strstr(p + 2, "*/");
		return end ? end + 2 : NULL;
	}
	if (p[0] == '$' && p[1] == '$') {
		end = strstr(p + 2, "$$");
		return end ? end + 2 : NULL;
	}
	return p;
}

bool sql_is_complete(const char *text)
{
	bool ended = false;

	if (*text == '\\')
		return true;
	while (*text) {
		const char *next = sql_skip_quoted(text);

		if (!next)
			return ended && text[0] == '-'; /* a comment after the end */
		if (next != text) {
			ended &= text[0] == '-' || text[0] == '/';
			text = next;
			continue;
		}
		if (*text == ';')
			ended = true;
		else if (!strchr(" \t\n\r", *text))
			ended = false;
		text++;
	}
	return ended;
}

/* Where the last of several statements begins: behind the last semicolon that is not quoted and that something follows. */
static const char *sql_last_statement(const char *text)
{
	const char *last = text;
	bool ended = false;

	while (*text) {
		const char *next = sql_skip_quoted(text);

		if (!next)
			break;
		if (next != text) {
			text = next;
			continue;
		}
		if (*text == ';') {
			ended = true;
		} else if (ended && !strchr(" \t\n\r", *text)) {
			last = text;
			ended = false;
		}
		text++;
	}
	return last;
}

int sql_copy_to_parquet(const char *sql, const char *path, struct buf *ret)
{
	const char *last = sql_last_statement(sql);
	size_t len = strlen(last);

	buf_append(ret, sql, (size_t)(last - sql));
	while (len && strchr(" \n;", last[len - 1]))
		len--;
	buf_printf(ret, "COPY (%.*s) TO '", (int)len, last);
	for (; *path; path++)
		buf_printf(ret, *path == '\'' ? "''" : "%c", *path);
	return buf_printf(ret, "' (FORMAT parquet, COMPRESSION zstd)");
}
