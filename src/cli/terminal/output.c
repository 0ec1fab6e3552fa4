/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "privilege/privilege.h"

/* What exists at a path. weir replaces only files that are clearly traces. */
enum kind {
	KIND_NONE,
	KIND_EMPTY, /* an empty file, as made by mktemp */
	KIND_TRACE,
	KIND_WRITTEN, /* a trace that a recorder has open */
	KIND_OTHER,
};

/* enum kind, or negative if it cannot be determined. */
static int find_kind(const char *path)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? KIND_NONE : -errno;
	if (!S_ISREG(st.st_mode))
		return KIND_OTHER;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (store_fd_is_written(fd))
		return KIND_WRITTEN;
	if (st.st_size == 0)
		return KIND_EMPTY;
	return store_fd_is_trace(fd) ? KIND_TRACE : KIND_OTHER;
}

/* enum kind if the file may be replaced or moved; else negative, with a message. */
static int may_take(const char *path, const char *old_of, struct error *err)
{
	int kind = find_kind(path);

	if (kind < 0)
		return error_errno(err, kind, "-o %s", path);
	if (kind == KIND_OTHER && old_of)
		return error_set(
			err, -EINVAL,
			"-o %s: that trace would be moved to %s, which is not a trace and would be "
			"lost: move that file away, or name another trace with -o",
			old_of, path);
	if (kind == KIND_OTHER)
		return error_set(
			err, -EINVAL,
			"-o %s: exists and is not a trace: not overwritten, name another file",
			path);
	if (kind == KIND_WRITTEN)
		return error_set(err, -EBUSY,
				 "-o %s: is being recorded right now by another weir; name another "
				 "with -o",
				 path);
	return kind;
}

/* The name to which an existing trace is moved. 0 or -ENOMEM. */
static int old_name(const char *path, char **ret, struct error *err)
{
	if (asprintf(ret, "%s.old", path) >= 0)
		return 0;
	*ret = NULL;
	return error_set(err, -ENOMEM, "out of memory");
}

/* ---- a recording in several files ---- */

/* Calls `take` for each existing PATH.1, PATH.2, ..., with the matching OLD.1, ...; stops at the first error. */
static int each_part(const char *path, const char *old,
		     int (*take)(const char *part, const char *old, struct error *err),
		     struct error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_free_ char *folder =
		slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	size_t len = strlen(name);
	struct dirent **names = NULL;
	int n = folder ? scandir(folder, &names, NULL, alphasort) : 0, r = folder ? 0 : -ENOMEM;

	for (int i = 0; i < n; i++) {
		const char *number = names[i]->d_name + len + 1;
		_cleanup_free_ char *part = NULL, *to = NULL;
		bool is_part = !strncmp(names[i]->d_name, name, len) &&
			       names[i]->d_name[len] == '.' && *number &&
			       strspn(number, "0123456789") == strlen(number);

		if (is_part && r >= 0 &&
		    (asprintf(&part, "%s.%s", path, number) < 0 ||
		     asprintf(&to, "%s.%s", old, number) < 0))
			r = error_errno(err, -ENOMEM, "-o %s", path);
		else if (is_part && r >= 0)
			r = take(part, to, err);
		free(names[i]);
	}
	free(names);
	return r;
}

static int part_check(const char *part, const char *old _unused_, struct error *err)
{
	return MIN(may_take(part, NULL, err), 0);
}

/* The file that an older trace would replace must itself be a trace. */
static int part_check_old(const char *old, const char *part, struct error *err)
{
	return MIN(may_take(old, part, err), 0);
}

static int part_remove(const char *part, const char *old _unused_, struct error *err)
{
	return unlink(part) < 0 ? error_errno(err, -errno, "cannot remove %s", part) : 0;
}

static int part_move(const char *part, const char *old, struct error *err)
{
	return rename(part, old) < 0 ? error_errno(err, -errno, "cannot move %s to %s", part, old)
				     : 0;
}

/* ---- the trace ---- */

static int output_check_parts(const char *path, struct error *err)
{
	_cleanup_free_ char *old = NULL;
	int r = old_name(path, &old, err);

	if (r < 0)
		return r;
	r = each_part(path, old, part_check, err);
	return r < 0 ? r : each_part(old, path, part_check_old, err);
}

int output_check(const char *path, bool parts, struct error *err)
{
	_cleanup_free_ char *old = NULL;
	int kind, r;

	if (!*path)
		return error_set(err, -EINVAL, "-o: the name of the trace is empty");
	if (strcmp(path, "-") == 0)
		return error_set(err, -EINVAL,
				 "-o -: a trace cannot be written to standard output; name a file, "
				 "or use weir trace for lines on standard output");
	kind = may_take(path, NULL, err);
	if (kind < 0)
		return kind;
	r = kind == KIND_TRACE ? old_name(path, &old, err) : 0;
	if (r >= 0 && old)
		r = may_take(old, path, err);
	return r >= 0 && parts ? output_check_parts(path, err) : MIN(r, 0);
}

/* Moves the file at the path away; output_check() found that this is allowed. */
static int move_old(struct output *o, struct error *err)
{
	int kind = find_kind(o->path), r;

	/* an empty file is not worth replacing an older trace */
	if (kind == KIND_EMPTY && unlink(o->path) < 0)
		return error_errno(err, -errno, "cannot replace %s", o->path);
	if (kind != KIND_TRACE)
		return 0;
	r = old_name(o->path, &o->old, err);
	if (r >= 0 && rename(o->path, o->old) < 0) {
		r = error_errno(err, -errno, "cannot move %s to %s", o->path, o->old);
		free(TAKE_PTR(o->old)); /* it was not moved there */
	}
	return r;
}

/* Moves the files of an earlier recording in several; even older ones are deleted. */
static int move_old_parts(struct output *o, struct error *err)
{
	_cleanup_free_ char *old = NULL;
	int r = old_name(o->path, &old, err);

	if (r < 0)
		return r;
	r = each_part(old, o->path, part_remove, err);
	return r < 0 ? r : each_part(o->path, old, part_move, err);
}

/* Restores the file that was there before. */
static void move_back(struct output *o)
{
	_cleanup_free_ char *old = NULL;

	if (o->old)
		rename(o->old, o->path);
	if (o->parts && old_name(o->path, &old, NULL) >= 0)
		(void)each_part(old, o->path, part_move, NULL);
}

int output_open(struct output *o, const char *path, const struct store_options *opt,
		struct error *err)
{
	_cleanup_free_ char *first = NULL;
	int r;

	o->path = path;
	o->parts = opt && opt->parts;
	r = output_check(path, o->parts, err);
	if (r < 0)
		return r;
	r = move_old(o, err);
	if (r >= 0 && o->parts)
		r = move_old_parts(o, err);
	if (r < 0)
		return r;
	if (o->parts && asprintf(&first, "%s.1", path) < 0)
		return error_errno(err, -ENOMEM, "-o %s", path);
	r = store_create(&o->writer, first ? first : path, opt, err);
	if (r < 0)
		move_back(o);
	return r;
}

void output_undo(struct output *o)
{
	_privileged_(privilege_files());
	_cleanup_free_ char *path = strdup(store_writer_path(o->writer));
	struct store_place place;
	struct error err = {0};

	store_writer_place(o->writer, &place);
	(void)!store_close(TAKE_PTR(o->writer), &err);
	if (place.fate != STORE_KEPT || !path) /* the name now belongs to another file */
		return;
	unlink(path);
	move_back(o);
}

void output_free(struct output *o)
{
	struct error err = {0};

	if (o->writer)
		(void)!store_close(o->writer, &err);
	free(o->old);
}

int output_spare_trace(const char *option, const char *path, struct error *err)
{
	if (!store_path_is_trace(path))
		return 0;
	return error_set(err, -EINVAL,
			 "%s %s: is a trace and would be overwritten: name another file", option,
			 path);
}

FILE *output_text(const char *path, struct error *err)
{
	FILE *f = output_spare_trace("-o", path, err) < 0 ? NULL : fopen(path, "we");

	if (!f)
		error_errno(err, -errno, "-o %s", path);
	return f;
}
