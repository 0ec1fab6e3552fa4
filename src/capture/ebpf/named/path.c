/* SPDX-License-Identifier: Apache-2.0 */
/* path.c: builds the path of a file from the names in the kernel's record. */
#include <stdio.h>
#include <string.h>

#include "capture/ebpf/internal.h"

#define MAGIC_PIPEFS	 0x50495045
#define MAGIC_SOCKFS	 0x534f434b
#define MAGIC_ANON_INODE 0x09041934

size_t path_of_names(const uint8_t *names, size_t len, char *buf, size_t size)
{
	size_t at = size, from = 0;

	while (from < len) {
		size_t n = strnlen((const char *)names + from, len - from);

		if (n + 1 > at)
			break;
		at -= n;
		memcpy(buf + at, names + from, n);
		buf[--at] = '/';
		from += n + 1;
	}
	if (at == size)
		buf[--at] = '/';
	memmove(buf, buf + at, size - at);
	return size - at;
}

/* Files outside any tree have names made by the kernel, spelled as in /proc/PID/fd. */
static size_t path_special(const struct wire_file *w, const char *name, char *buf, size_t size)
{
	int n;

	if (w->magic == MAGIC_PIPEFS)
		n = snprintf(buf, size, "pipe:[%llu]", (unsigned long long)w->ino);
	else if (w->magic == MAGIC_SOCKFS)
		n = snprintf(buf, size, "socket:[%llu]", (unsigned long long)w->ino);
	else if (w->magic == MAGIC_ANON_INODE)
		n = snprintf(buf, size, "anon_inode:%s", name);
	else if (!name[0] || !strcmp(name, "/")) /* pidfs, nsfs */
		n = snprintf(buf, size, "%.*s:[%llu]", (int)strnlen(w->fs, sizeof(w->fs)),
			     strncmp(w->fs, "pidfs", sizeof(w->fs)) ? w->fs : "pidfd",
			     (unsigned long long)w->ino);
	else
		n = snprintf(buf, size, "/%s", name);
	return MIN((size_t)n, size - 1);
}

size_t file_inside(const struct wire_file *w, char *buf, size_t size)
{
	const uint8_t *names = (const uint8_t *)(w + 1);
	size_t len;

	if (!w->fs_known || w->mount_at > w->path_len)
		return 0;
	len = w->fs_len ? path_of_names(names + w->path_len, w->fs_len, buf, size) : 0;
	if (w->mount_at || !len)
		len += path_of_names(names, w->mount_at, buf + len, size - len - 1);
	buf[len] = 0;
	return len;
}

void file_paths(const struct wire_file *w, uint32_t mnt_ns, struct file_paths *ret)
{
	const uint8_t *names = (const uint8_t *)(w + 1);

	ret->host_len = 0;
	if (w->flags & WIRE_FILE_UNREACHED && w->path_len &&
	    strnlen((const char *)names, w->path_len) + 1 >= w->path_len) {
		char name[256] = "";

		snprintf(name, sizeof(name), "%.*s", (int)MIN(w->path_len, 255u),
			 (const char *)names);
		ret->len = path_special(w, name, ret->path, sizeof(ret->path));
		return;
	}
	if (w->flags & WIRE_FILE_UNREACHED && !w->path_len) {
		ret->len = path_special(w, "", ret->path, sizeof(ret->path));
		return;
	}
	ret->len = path_of_names(names, MIN(w->root_at, w->path_len), ret->path, sizeof(ret->path));
	if (w->mnt_ns == mnt_ns && !(w->flags & WIRE_FILE_UNREACHED))
		ret->host_len = path_of_names(names, w->path_len, ret->host, sizeof(ret->host));
}
