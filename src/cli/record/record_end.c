/* SPDX-License-Identifier: Apache-2.0 */
/* record_end.c: handles a trace that was deleted, renamed, cut or could not be written: what is left, and where. */
#include "cli/record/record_end.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "cli/terminal/format.h"
#include "store/file/check_trace.h"

#define COPY_BYTES (1u << 20)
#define NAMES_MAX  9 /* TRACE.saved, TRACE.saved.2, ... */

/* ---- during recording ---- */

void record_tell(struct record_told *told, const char *trace, const struct record_totals *t)
{
	_cleanup_buf_ struct buf shown = {0}, now = {0};
	const char *replaced = t->place.replaced ? " and replaced by another file" : "", *path;

	if (t->store.changed == told->changed && t->place.fate == told->fate)
		return;
	if (format_safe(&shown, trace, strlen(trace)) < 0 ||
	    format_safe(&now, t->place.now, strlen(t->place.now)) < 0)
		return;
	path = buf_str(&shown);
	if (t->store.changed && !told->changed)
		fprintf(stderr,
			"weir: another program truncated %s to %s or wrote to it: what was "
			"recorded before may be lost; recording continues\n",
			path, format_size(t->store.changed_size).s);
	told->changed = t->store.changed;
	if (t->place.fate == told->fate)
		return;
	told->fate = t->place.fate;
	switch (t->place.fate) {
	case STORE_KEPT:
		fprintf(stderr, "weir: %s is back at its path\n", path);
		break;
	case STORE_MOVED:
		fprintf(stderr, "weir: %s was renamed%s: recording continues in %s\n", path,
			replaced, buf_str(&now));
		break;
	case STORE_DELETED:
	case STORE_HIDDEN:
		fprintf(stderr,
			"weir: %s was %s%s: recording continues, and the data is copied to another "
			"file at the end if there is room; stop recording now to save it\n",
			path,
			t->place.fate == STORE_DELETED
				? "deleted"
				: "made unreachable (its file system was unmounted)",
			replaced);
		break;
	}
}

/* ---- a copy ---- */

static int copy_by_hand(int from, int to, uint64_t at, uint64_t size)
{
	_cleanup_free_ uint8_t *room = malloc(COPY_BYTES);

	if (!room)
		return -ENOMEM;
	while (at < size) {
		ssize_t n = pread(from, room, MIN((uint64_t)COPY_BYTES, size - at), (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		n = pwrite(to, room, (size_t)n, (off_t)at);
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		at += (uint64_t)n;
	}
	return 0;
}

/* Shares the blocks if the file system supports it. */
static int record_end_copy(int from, int to)
{
	off64_t in = 0, out = 0;
	struct stat st;
	ssize_t n = 1;
	int r;

	if (fstat(from, &st) < 0)
		return -errno;
	while (in < st.st_size && n > 0)
		n = copy_file_range(from, &in, to, &out, (size_t)(st.st_size - in), 0);
	if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO))
		return -errno;
	r = copy_by_hand(from, to, (uint64_t)in, (uint64_t)st.st_size);
	return r >= 0 && fsync(to) < 0 ? -errno : r;
}

/* Creates a new file with that name or a numbered one; negative if none can be created. */
static int create_beside(const char *path, char **ret)
{
	for (unsigned int i = 1; i <= NAMES_MAX; i++) {
		_cleanup_free_ char *name = NULL;
		char number[16] = "";
		int fd;

		if (i > 1)
			snprintf(number, sizeof(number), ".%u", i);
		if (asprintf(&name, "%s.saved%s", path, number) < 0) {
			name = NULL;
			return -ENOMEM;
		}
		fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			*ret = TAKE_PTR(name);
		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? fd : -errno;
	}
	return -EEXIST;
}

static int save_as(int from, const char *path, char **ret)
{
	char *name = NULL;
	_cleanup_close_ int fd = create_beside(path, &name);
	int r = fd < 0 ? fd : record_end_copy(from, fd);

	if (r < 0 && name)
		(void)unlink(name);
	if (r < 0)
		free(name);
	else
		*ret = name;
	return r;
}

/* Copies next to the file; if that folder is gone or full, to the working directory, else to the temporary folder. */
static int save(int from, const char *path, char **ret)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_free_ char *elsewhere = NULL;
	int first = save_as(from, path, ret), r = first;

	if (r < 0 && slash)
		r = save_as(from, name, ret);
	if (r >= 0)
		return 0;
	if (asprintf(&elsewhere, "%s/%s", temporary_folder(), name) < 0) {
		elsewhere = NULL;
		return -ENOMEM;
	}
	r = save_as(from, elsewhere, ret);
	return r < 0 ? first : 0;
}

/* ---- reading back ---- */

/* Determines what can be read of a damaged trace. */
static void read_back(struct record_end *e, int fd)
{
	const struct check_options opt = {.quick = true};
	_cleanup_(store_freep) struct store *s = NULL;
	struct check_result v;

	/* data that the disk refused may be only in the page cache: drop it before reading */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (store_open(&s, &e->found, 1, NULL) < 0 || store_check(s, 0, &opt, &v, NULL) < 0) {
		e->missing = e->calls;
		e->calls = 0;
		e->found = NULL;
		return;
	}
	e->missing = e->calls > v.rows[TABLE_OP] ? e->calls - v.rows[TABLE_OP] : 0;
	e->calls = v.rows[TABLE_OP];
}

static void record_end_find(struct record_end *e, int fd)
{
	const char *what = e->place.fate == STORE_DELETED ? "deleted" : "unmounted";
	int r;

	e->found = e->path;
	if (e->place.fate == STORE_MOVED)
		e->found = e->place.now;
	if (e->place.fate != STORE_DELETED && e->place.fate != STORE_HIDDEN)
		return;
	r = save(fd, e->path, &e->saved);
	e->found = e->saved;
	if (r >= 0) {
		error_set(&e->error, -ESTALE, "%s was %s during recording; a copy was saved as %s",
			  e->path, what, e->saved);
		return;
	}
	error_errno(&e->error, r,
		    "%s was %s during recording, and its %s calls are lost: they could not be "
		    "saved elsewhere",
		    e->path, what, format_count(e->calls).s);
	e->missing = e->calls;
	e->calls = 0;
}

static void record_end_sum_up(struct record_end *e, const struct record_totals *t,
			      const struct error *failed)
{
	e->more = failed->code != 0;
	if (failed->code)
		error_set(&e->error, failed->code == -EINVAL ? -EIO : failed->code,
			  "FAILED after %s: %s", format_dur(t->ran_ns).s, failed->message);
	else if (t->store.changed)
		error_set(&e->error, -EIO,
			  "another program truncated %s to %s or wrote to it: %s of %s calls can "
			  "be read",
			  e->path, format_size(t->store.changed_size).s, format_count(e->calls).s,
			  format_count(t->store.rows[TABLE_OP]).s);
	else if (t->disk_full)
		error_set(&e->error, -ENOSPC, "%s is incomplete", e->path);
}

void record_end(struct record_end *ret, int fd, const char *path, const struct record_totals *t,
		const struct error *failed)
{
	*ret = (struct record_end){.path = path, .calls = t->store.rows[TABLE_OP]};
	store_fd_place(fd, path, &ret->place);
	record_end_find(ret, fd);
	if (ret->found && (failed->code || t->store.changed))
		read_back(ret, fd);
	record_end_sum_up(ret, t, failed);
}

void record_end_free(struct record_end *e)
{
	free(e->saved);
}
