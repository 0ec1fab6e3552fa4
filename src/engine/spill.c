// SPDX-License-Identifier: Apache-2.0
#include "engine/spill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fd.h"

#define NAME_PREFIX  "weir-spill-"
#define NAME_RANDOM  "XXXXXX"
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define DEPTH_MAX    8	 /* DuckDB makes no folders below; a user's COPY may */
#define TRIES_MAX    16	 /* an attempt fails if a sweep runs between mkdtemp() and flock() */
#define STAT_BLOCK   512 /* unit of st_blocks */

/* Opens a new file description, independent of the position of `folder`. */
static DIR *spill_list(int folder)
{
	_cleanup_close_ int fd = openat(folder, ".", FOLDER_FLAGS);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (d)
		(void)TAKE_FD(fd);
	return d;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Works with descriptors: a link is removed, never followed. */
static void clear(int folder, unsigned int depth)
{
	DIR *d = spill_list(folder);

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		_cleanup_close_ int below = -1;

		if (is_dots(e->d_name) || unlinkat(folder, e->d_name, 0) == 0 || !depth)
			continue;
		below = openat(folder, e->d_name, FOLDER_FLAGS);
		if (below < 0)
			continue;
		clear(below, depth - 1);
		unlinkat(folder, e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
}

/* Removes `name` in `folder` if it is a spill folder of this user that no process has locked. */
static void sweep_one(int folder, const char *name)
{
	_cleanup_close_ int fd = openat(folder, name, FOLDER_FLAGS);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
	    flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	clear(fd, DEPTH_MAX);
	unlinkat(folder, name, AT_REMOVEDIR);
}

void spill_sweep(void)
{
	DIR *d = opendir(temporary_folder());

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		if (strlen(e->d_name) == strlen(NAME_PREFIX NAME_RANDOM) &&
		    strncmp(e->d_name, NAME_PREFIX, strlen(NAME_PREFIX)) == 0)
			sweep_one(dirfd(d), e->d_name);
	}
	if (d)
		closedir(d);
}

/* 1: created and locked; 0: another process's sweep removed it. On a file system without locks no sweep can lock it either. */
static int try_make(struct spill *ret)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (asprintf(&path, "%s/" NAME_PREFIX NAME_RANDOM, temporary_folder()) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (!mkdtemp(path))
		return -errno;
	fd = open(path, FOLDER_FLAGS);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!st.st_nlink)
		return 0;
	*ret = (struct spill){TAKE_PTR(path), TAKE_FD(fd)};
	return 1;
}

int spill_make(struct spill *ret, struct error *err)
{
	int r = 0;

	assert(!ret->path);
	spill_sweep();
	for (unsigned int i = 0; i < TRIES_MAX && r == 0; i++)
		r = try_make(ret);
	if (r > 0)
		return 0;
	return error_errno(err, r < 0 ? r : -EEXIST,
			   "cannot create a temporary folder in %.500s (TMPDIR)",
			   temporary_folder());
}

void spill_remove(const struct spill *s)
{
	if (!s->path)
		return;
	clear(s->fd, DEPTH_MAX);
	rmdir(s->path);
}

void spill_free(struct spill *s)
{
	if (!s->path)
		return;
	spill_remove(s);
	close(s->fd);
	free(s->path);
	*s = SPILL_NONE;
}

uint64_t spill_bytes(int folder)
{
	DIR *d = spill_list(folder);
	uint64_t sum = 0;

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		struct stat st;

		if (fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_blocks * STAT_BLOCK;
	}
	if (d)
		closedir(d);
	return sum;
}
