/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/named/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/util.h"

#define DEV_MINOR_BITS 20 /* of the kernel's dev_t */

struct mount {
	int id, parent;
	uint32_t dev;
	char *root;  /* the mounted part of the file system, */
	char *point; /* and the mount point; both within mounts.text */
};

/* "\040" is a space: the kernel's form of blanks and backslashes. */
static void mounts_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		unsigned int code;

		if (*from == '\\' && sscanf(from + 1, "%3o", &code) == 1 && strlen(from) >= 4) {
			*to = (char)code;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime ..." */
static int mounts_take_line(struct mounts *m, char *line)
{
	struct mount mount;
	unsigned int major, minor;
	int root = 0, point = 0, end = 0;

	if (sscanf(line, "%d %d %u:%u %n%*s %n%*s%n", &mount.id, &mount.parent, &major, &minor,
		   &root, &point, &end) != 4 ||
	    !end)
		return 0;
	mount.dev = major << DEV_MINOR_BITS | minor;
	mount.root = line + root;
	mount.point = line + point;
	line[point - 1] = line[end] = 0;
	mounts_unescape(mount.root);
	mounts_unescape(mount.point);
	return array_add(m->list, m->count, m->cap, mount);
}

/* The root of the namespace is the mount whose parent is not listed. */
static void mounts_find_top(struct mounts *m)
{
	for (m->top = 0; m->top < m->count; m->top++) {
		bool child = strcmp(m->list[m->top].point, "/") != 0;

		for (size_t i = 0; i < m->count && !child; i++)
			child = i != m->top && m->list[i].id == m->list[m->top].parent;
		if (!child)
			return;
	}
}

static int mounts_read_lines(struct mounts *m)
{
	char *line, *rest;
	ssize_t n;
	int r;

	m->count = 0;
	buf_clear(&m->text);
	if (lseek(m->fd, 0, SEEK_SET) < 0)
		return -errno;
	do {
		r = buf_reserve(&m->text, 4096);
		if (r < 0)
			return r;
		n = read(m->fd, m->text.data + m->text.len, 4096);
		if (n < 0)
			return -errno;
		m->text.len += (size_t)n;
	} while (n > 0);
	r = buf_append(&m->text, "", 1);
	rest = (char *)m->text.data;
	while (r >= 0 && (line = strsep(&rest, "\n")))
		r = mounts_take_line(m, line);
	mounts_find_top(m);
	return r;
}

/* Reads the table if that was not done or it has changed. */
static int mounts_refresh(struct mounts *m)
{
	struct pollfd changed = {.fd = m->fd, .events = POLLPRI};

	if (m->fd)
		return poll(&changed, 1, 0) > 0 ? mounts_read_lines(m) : 0;
	m->fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (m->fd < 0) {
		m->fd = 0;
		return -errno;
	}
	return mounts_read_lines(m);
}

/* The length of `folder` if `path` is equal or below it, 0 for "/"; -1: it is neither. */
static ssize_t mounts_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	if (len == 1)
		return 0;
	return !strncmp(path, folder, len) && (!path[len] || path[len] == '/') ? (ssize_t)len : -1;
}

/* The first mount on top of `at` on the way to `path`; NULL: there is none. */
static const struct mount *mounts_next(const struct mounts *m, const struct mount *at,
				       const char *path)
{
	const struct mount *next = NULL;

	for (size_t i = 0; i < m->count; i++) {
		const struct mount *c = &m->list[i];

		if (c->parent != at->id || c->id == at->id || mounts_below(path, c->point) < 0)
			continue;
		if (!next || strlen(c->point) < strlen(next->point))
			next = c;
	}
	return next;
}

/* The mount that contains the end of a path; NULL if the root of the namespace is not this process's. */
static const struct mount *mounts_of(const struct mounts *m, const char *path)
{
	const struct mount *at = m->top < m->count ? &m->list[m->top] : NULL;

	for (size_t steps = 0; at && steps <= m->count; steps++) {
		const struct mount *next = mounts_next(m, at, path);

		if (!next)
			return at;
		at = next;
	}
	return NULL;
}

/* Joins a folder and a path below it, "" or "/x"; either may be "/". Returns the length; 0: it does not fit. */
static size_t mounts_join(const char *folder, const char *rest, char *buf, size_t size)
{
	int n = snprintf(buf, size, "%s%s", folder[1] ? folder : "",
			 rest[0] && rest[1] ? rest : "");

	if (!n)
		n = snprintf(buf, size, "/");
	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

size_t mounts_path(struct mounts *m, uint32_t dev, const char *inside, char *buf, size_t size)
{
	if (mounts_refresh(m) < 0)
		return 0;
	for (size_t i = 0; i < m->count; i++) {
		const struct mount *mount = &m->list[i];
		ssize_t below = mount->dev == dev ? mounts_below(inside, mount->root) : -1;
		size_t len;

		if (below < 0)
			continue;
		len = mounts_join(mount->point, inside + below, buf, size);
		if (len && mounts_of(m, buf) == mount)
			return len;
	}
	return 0;
}

void mounts_free(struct mounts *m)
{
	if (m->fd)
		close(m->fd);
	buf_free(&m->text);
	free(m->list);
}
