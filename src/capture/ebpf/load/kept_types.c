/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/load/kept_types.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/array.h"

#define KEPT_FOLDER  "/run/weir"
#define KEPT_PREFIX  "types-"
#define KEPT_BOOT    "/proc/sys/kernel/random/boot_id"
#define KEPT_MODULES "/sys/kernel/btf"
#define KEPT_WEIR    "/proc/self/exe"
#define KEPT_MOST \
	16 /* files: one for each set of options in use, and what older builds of weir left */
#define KEPT_BYTES (4u << 20) /* of a file; a recording with everything has 100 KiB */

/* A module that is loaded again has another inode in sysfs. */
struct kept_module {
	uint64_t name, size, inode;
};

static int kept_module_order(const void *a, const void *b)
{
	const struct kept_module *x = a, *y = b;

	return ORDER(x->name, y->name) ?: ORDER(x->size, y->size);
}

/* Appends the modules that have types, in an order of their own. 0 or negative errno. */
static int kept_add_modules(struct buf *b)
{
	DIR *folder = opendir(KEPT_MODULES);
	size_t from = b->len;
	struct dirent *e;
	int r = folder ? 0 : -errno;

	while (r >= 0 && (e = readdir(folder))) {
		struct kept_module m = {.name = XXH3_64bits(e->d_name, strlen(e->d_name))};
		struct stat st;

		if (fstatat(dirfd(folder), e->d_name, &st, 0) || !S_ISREG(st.st_mode))
			continue;
		m.size = (uint64_t)st.st_size;
		m.inode = st.st_ino;
		r = buf_append(b, &m, sizeof(m));
	}
	if (folder)
		closedir(folder);
	if (r < 0)
		return r;
	qsort(b->data + from, (b->len - from) / sizeof(struct kept_module),
	      sizeof(struct kept_module), kept_module_order);
	return 0;
}

uint64_t kept_types_key(uint64_t objects)
{
	_cleanup_close_ int fd = open(KEPT_BOOT, O_RDONLY | O_CLOEXEC);
	_cleanup_buf_ struct buf b = {0};
	char boot[64];
	ssize_t len = fd < 0 ? -1 : read(fd, boot, sizeof(boot));
	struct stat weir;

	if (len <= 0 || stat(KEPT_WEIR, &weir))
		return 0;
	buf_append(&b, boot, (size_t)len);
	buf_append(&b, &objects, sizeof(objects));
	buf_append(&b, &weir.st_size, sizeof(weir.st_size));
	buf_append(&b, &weir.st_mtim, sizeof(weir.st_mtim));
	if (kept_add_modules(&b) < 0)
		return 0;
	return XXH3_64bits(b.data, b.len) ?: 1;
}

/* ---- the folder ---- */

/* Only root can have written it. */
static bool kept_is_roots(const struct stat *st)
{
	return st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* Opens the folder; -1 unless it is root's alone. */
static int kept_folder(void)
{
	_cleanup_close_ int fd = open(KEPT_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !kept_is_roots(&st))
		return -1;
	return TAKE_FD(fd);
}

static void kept_name(char to[static 32], uint64_t key)
{
	snprintf(to, 32, KEPT_PREFIX "%016llx", (unsigned long long)key);
}

bool kept_types_read(uint64_t key, struct buf *ret)
{
	_cleanup_close_ int folder = kept_folder(), fd = -1;
	struct stat st;
	uint64_t sum;
	char name[32];

	kept_name(name, key);
	fd = folder < 0 ? -1 : openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !kept_is_roots(&st) ||
	    st.st_size < (off_t)sizeof(sum) || st.st_size > KEPT_BYTES ||
	    buf_reserve(ret, (size_t)st.st_size) < 0)
		return false;
	if (read(fd, ret->data, (size_t)st.st_size) != st.st_size)
		return false;
	ret->len = (size_t)st.st_size - sizeof(sum);
	memcpy(&sum, ret->data + ret->len, sizeof(sum));
	return sum == XXH3_64bits_withSeed(ret->data, ret->len, key);
}

/* Removes all files if there are many. */
static void kept_trim(int folder)
{
	_cleanup_close_ int copy = dup(folder);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	size_t count = 0;
	struct dirent *e;

	if (!d)
		return;
	copy = -1; /* closedir() closes it */
	while ((e = readdir(d)))
		count += !strncmp(e->d_name, KEPT_PREFIX, strlen(KEPT_PREFIX));
	rewinddir(d);
	while (count >= KEPT_MOST && (e = readdir(d))) {
		if (!strncmp(e->d_name, KEPT_PREFIX, strlen(KEPT_PREFIX)))
			unlinkat(folder, e->d_name, 0);
	}
	closedir(d);
}

void kept_types_write(uint64_t key, const struct buf *data)
{
	uint64_t sum = XXH3_64bits_withSeed(data->data, data->len, key);
	_cleanup_close_ int folder = -1, fd = -1;
	char name[32], part[64];

	if (geteuid() != 0 || data->len + sizeof(sum) > KEPT_BYTES)
		return;
	(void)mkdir(KEPT_FOLDER, 0755);
	folder = kept_folder();
	if (folder < 0)
		return;
	kept_trim(folder);
	kept_name(name, key);
	snprintf(part, sizeof(part), "%s.%d", name, getpid());
	fd = openat(folder, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (write(fd, data->data, data->len) != (ssize_t)data->len ||
	    write(fd, &sum, sizeof(sum)) != (ssize_t)sizeof(sum) ||
	    renameat(folder, part, folder, name))
		unlinkat(folder, part, 0);
}
