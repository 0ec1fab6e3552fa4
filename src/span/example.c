/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example.c: a program that marks its spans. Build and record it:
 *
 *	cc example.c $(pkg-config --cflags --libs weir-span) -o example
 *	weir record -- ./example
 *	weir query 'from span | by name | count(), p99(dur)'
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir-span.h"

static int save_text(const char *path, const char *text)
{
	struct weir_span s;
	int fd, error = 0;

	weir_span_begin(&s, "save");
	weir_span_note(&s, "path", path);
	weir_span_note_int(&s, "size", (int64_t)strlen(text));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) < 0 || fsync(fd))
		error = errno;
	if (error)
		weir_span_error(&s, strerror(error));
	if (fd >= 0)
		close(fd);
	weir_span_end(&s);
	return error;
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/tmp/weir-span-example";
	struct weir_span s;

	weir_span_service("example");
	for (int i = 0; i < 10; i++) {
		weir_span_begin(&s, "edit");
		weir_span_note_int(&s, "turn", i);
		if (save_text(path, "a line of text\n"))
			weir_span_error(&s, "not saved");
		weir_span_end(&s);
	}
	return unlink(path) != 0;
}
