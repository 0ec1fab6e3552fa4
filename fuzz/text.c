/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is given as text: sets of calls (-e), paths (-P), globs and escaped names. The first byte chooses; the rest is
 * text, for globs cut in two at the first newline.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/call_text.h"
#include "schema/select.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A set that is taken can be asked; one that is not says why, in one line. */
static void check_ops(const char *text)
{
	struct select s = {0};
	struct error err = {0};

	if (select_ops(&s, text, &err) < 0 && !err.message[0])
		abort();
	select_op(&s, 0);
	select_free(&s);
}

/* The prefix that the kernel tests is a superset: what the glob takes, begins with it. */
static void check_path(const char *text, const char *path)
{
	struct select s = {0};
	struct error err = {0};

	if (select_path_add(&s, text, &err) < 0) {
		if (!err.message[0])
			abort();
		select_free(&s);
		return;
	}
	for (size_t i = 0; i < s.path_count; i++) {
		const struct select_path *p = &s.paths[i];

		if (!memchr(p->prefix, '\0', sizeof(p->prefix)))
			abort();
		if (path[0] == '/' && glob_match(p->glob, path, strlen(path)) &&
		    strncmp(path, p->prefix, strlen(p->prefix)))
			abort();
	}
	select_path_match(&s, path, strlen(path));
	select_free(&s);
}

/* Nothing that a terminal obeys is left. */
static void check_escape(const uint8_t *data, size_t len, const char *also)
{
	struct buf to = {0};

	if (call_text_escape(&to, (struct bytes){data, len}, also) < 0)
		abort();
	for (size_t i = 0; i < to.len; i++) {
		if (to.data[i] < 0x20 || to.data[i] == 0x7f)
			abort();
	}
	buf_free(&to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *second;
	char *text;

	if (size < 1 || size > 8192)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	if (!text)
		return 0;
	second = strchr(text, '\n');
	if (second)
		text[second++ - text] = '\0';
	switch (data[0] % 5) {
	case 0:
		check_ops(text);
		break;
	case 1:
		check_path(text, second ? second : "/");
		break;
	case 2:
		if (second)
			glob_match(text, second, strlen(second));
		break;
	case 3:
		check_escape(data + 1, size - 1, "<>");
		break;
	default:
		check_escape(data + 1, size - 1, "\"");
		break;
	}
	free(text);
	return 0;
}
