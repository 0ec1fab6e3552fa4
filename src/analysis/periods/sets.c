/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sets.c: definitions from files, and built-in definitions from rules/periods.
 *
 *   # a comment
 *   request : op == accept4 : op == close && end.file == begin.file2
 *   answer(request) : op == recvfrom && file == parent.file2
 *      : op == sendto && end.file == begin.file      a line that begins with a blank continues the previous one
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/periods/definition.h"
#include "base/fd.h"

#define FILE_MAX (256u << 10) /* bytes of a file of definitions */

/* The length of a line without its comment. */
static size_t line_len(const char *line, size_t len)
{
	char quote = 0;

	for (size_t i = 0; i < len; i++) {
		if (quote) {
			i += line[i] == '\\' && i + 1 < len;
			quote = line[i] == quote ? 0 : quote;
		} else if (line[i] == '"' || line[i] == '\'') {
			quote = line[i];
		} else if (line[i] == '#') {
			return i;
		}
	}
	return len;
}

/* Defines the definition collected so far. */
static int set_define(struct period_set *s, struct buf *one, const char *from, size_t line,
		      struct error *err)
{
	struct error why = {0};
	int r;

	if (!one->len)
		return 0;
	r = period_define(s, buf_str(one), &why);
	buf_clear(one);
	return r < 0 ? error_set(err, r, "%.200s, line %zu: %s", from, line, why.message) : 0;
}

static int set_lines(struct period_set *s, const char *text, size_t len, const char *from,
		     struct error *err)
{
	_cleanup_buf_ struct buf one = {0};
	size_t number = 0, began = 0;
	int r = 0;

	for (size_t at = 0; at < len && r >= 0;) {
		const char *line = text + at, *end = memchr(line, '\n', len - at);
		size_t whole = end ? (size_t)(end - line) : len - at, n = line_len(line, whole);

		number++;
		at += whole + 1;
		if (strspn(line, " \t\n\v\f\r") >= n)
			continue;
		if (!isspace((unsigned char)*line)) {
			r = set_define(s, &one, from, began, err);
			began = number;
		}
		if (r >= 0)
			r = buf_append(&one, line, n);
	}
	return r < 0 ? r : set_define(s, &one, from, began, err);
}

int period_use(struct period_set *s, const char *name, struct error *err)
{
	_cleanup_buf_ struct buf names = {0};

	for (const struct period_text *t = period_texts; t->name; t++) {
		if (strcmp(t->name, name) == 0)
			return set_lines(s, t->text, strlen(t->text), name, err);
		buf_printf(&names, "%s%s", names.len ? ", " : "", t->name);
	}
	return error_set(err, -EINVAL, "--use %.80s: use one of %s", name, buf_str(&names));
}

int period_file(struct period_set *s, const char *path, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_buf_ struct buf text = {0};
	int r = fd < 0 ? -errno : fd_read_all(fd, FILE_MAX, &text);

	if (r < 0)
		return error_errno(err, r, "-f %.500s", path);
	if (text.len > FILE_MAX)
		return error_set(err, -EINVAL, "-f %.500s: larger than %u KiB", path,
				 FILE_MAX >> 10);
	if (memchr(text.data ? text.data : (const uint8_t *)"", '\0', text.len))
		return error_set(err, -EINVAL, "-f %.500s: not a text file", path);
	return set_lines(s, buf_str(&text), text.len, path, err);
}
