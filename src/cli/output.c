/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "privilege/privilege.h"

/* A trace into which somebody writes keeps its name. */
static bool is_written(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && store_fd_is_written(fd);
}

/* Moves an existing trace aside. Anything but a plain file is left alone. */
static int move_old(struct output *o, struct error *err)
{
	struct stat st;

	if (lstat(o->path, &st) < 0)
		return errno == ENOENT ? 0 : error_errno(err, -errno, "-o %s", o->path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL,
				 "-o %s: exists and is not a plain file; name another", o->path);
	if (is_written(o->path))
		return error_set(err, -EBUSY,
				 "-o %s: is being recorded right now by another weir; name another "
				 "with -o",
				 o->path);
	if (asprintf(&o->old, "%s.old", o->path) < 0) {
		o->old = NULL;
		return error_set(err, -ENOMEM, "out of memory");
	}
	if (rename(o->path, o->old) < 0) {
		int r = error_errno(err, -errno, "cannot move %s to %s", o->path, o->old);

		free(TAKE_PTR(o->old)); /* it did not go there */
		return r;
	}
	return 0;
}

int output_open(struct output *o, const char *path, const struct store_options *opt,
		struct error *err)
{
	int r;

	o->path = path;
	if (!*path)
		return error_set(err, -EINVAL, "-o: the name of the trace is empty");
	if (strcmp(path, "-") == 0)
		return error_set(
			err, -EINVAL,
			"-o -: a trace is a file, with an index behind its blocks; name one, "
			"or use weir trace for lines on standard output");
	r = move_old(o, err);
	if (r < 0)
		return r;
	r = store_create(&o->writer, path, opt, err);
	if (r < 0 && o->old)
		rename(o->old, o->path);
	return r;
}

void output_undo(struct output *o)
{
	_privileged_(privilege_files());
	struct store_place place;
	struct error err = {0};

	store_writer_place(o->writer, &place);
	(void)!store_close(TAKE_PTR(o->writer), &err);
	if (place.fate != STORE_KEPT) /* what has the name now is another's */
		return;
	unlink(o->path);
	if (o->old)
		rename(o->old, o->path);
}

void output_free(struct output *o)
{
	struct error err = {0};

	if (o->writer)
		(void)!store_close(o->writer, &err);
	free(o->old);
}
