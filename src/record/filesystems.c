/* SPDX-License-Identifier: Apache-2.0 */
#include "record/filesystems.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "privilege/privilege.h"
#include "schema/ops.h"
#include "schema/vocab.h"

#define BEYOND	       (FILESYSTEMS_MAX + 1)
#define DEV_MINOR_BITS 20 /* of the kernel's dev_t */

/* ---- which file systems ---- */

static uint8_t filesystem_index(struct filesystems *f, int64_t dev, struct bytes type)
{
	for (size_t i = 0; i < f->count; i++) {
		if (f->list[i].dev == dev)
			return (uint8_t)(1 + i);
	}
	if (f->count == FILESYSTEMS_MAX)
		return BEYOND;
	f->list[f->count].dev = dev;
	snprintf(f->list[f->count].type, sizeof(f->list[0].type), "%.*s", (int)type.len,
		 (const char *)type.data);
	return (uint8_t)++f->count;
}

static int take_file(struct filesystems *f, const struct batch *b, size_t row)
{
	struct bytes host = batch_get_bytes(b, FILE_HOSTPATH, row);
	int64_t type = batch_get(b, FILE_TYPE, row, -1), id = batch_get(b, FILE_ID, row, -1);
	struct filesystem *fs;
	uint8_t index;
	int r;

	if (batch_get(b, FILE_NAME_ONLY, row, 0) ||
	    (type != FILE_TYPE_REGULAR && type != FILE_TYPE_DIRECTORY))
		return 0;
	r = grow_zeroed((void **)&f->of, &f->of_cap, (size_t)id + 1, 1);
	if (r < 0)
		return r;
	index = filesystem_index(f, batch_get(b, FILE_DEV, row, 0),
				 batch_get_bytes(b, FILE_FS, row));
	f->of[id] = index;
	fs = index == BEYOND ? NULL : &f->list[index - 1];
	if (!fs || fs->hostpath || !host.len || host.data[0] != '/')
		return 0;
	fs->hostpath = strndup((const char *)host.data, host.len);
	return fs->hostpath ? 0 : -ENOMEM;
}

/* The file that a call writes to; -1: none. */
static int64_t written_file(const struct filesystems *f, const struct batch *b, size_t row)
{
	uint32_t op = (uint32_t)batch_get(b, OP_OP, row, OP_CODE_MAX);

	for (size_t i = 0; i < ARRAY_SIZE(f->writes); i++) {
		if (op == f->writes[i])
			return batch_get(b, OP_FILE_ID, row, -1);
	}
	switch (op_copy(op)) {
	case OP_COPY_TO_FIRST:
		return batch_get(b, OP_FILE_ID, row, -1);
	case OP_COPY_TO_SECOND:
		return batch_get(b, OP_FILE2_ID, row, -1);
	default:
		return -1;
	}
}

static void take_call(struct filesystems *f, const struct batch *b, size_t row)
{
	int64_t bytes = batch_get(b, OP_BYTES, row, 0);
	int64_t file = bytes > 0 ? written_file(f, b, row) : -1;
	uint8_t index = file >= 0 && (size_t)file < f->of_cap ? f->of[file] : 0;

	if (!index)
		return;
	if (index == BEYOND)
		f->others += (uint64_t)bytes;
	else
		f->list[index - 1].written += (uint64_t)bytes;
}

void filesystems_init(struct filesystems *f)
{
	static const char *const writes[] = {"write", "pwrite64", "writev", "pwritev", "pwritev2"};

	static_assert(ARRAY_SIZE(writes) == ARRAY_SIZE(f->writes), "a place for each");
	*f = (struct filesystems){0};
	for (size_t i = 0; i < ARRAY_SIZE(writes); i++)
		f->writes[i] = (uint32_t)op_find(writes[i]);
}

int filesystems_take(struct filesystems *f, const struct batch_set *rows)
{
	const struct batch *file = rows->tables[TABLE_FILE], *op = rows->tables[TABLE_OP];
	int r = 0;

	for (size_t i = 0; file && i < file->rows && !r; i++)
		r = take_file(f, file, i);
	for (size_t i = 0; op && i < op->rows && !r; i++)
		take_call(f, op, i);
	return r;
}

/* ---- how full ---- */

/* A file system whose server is down may block forever. */
static bool may_hang(const char *type)
{
	static const char *const remote[] = {"nfs",   "nfs4",	"cifs", "smb3",	 "ceph",
					     "9p",    "afs",	"coda", "fuse",	 "fuseblk",
					     "ncpfs", "lustre", "gfs2", "ocfs2", "virtiofs"};

	for (size_t i = 0; i < ARRAY_SIZE(remote); i++) {
		if (!strcmp(type, remote[i]))
			return true;
	}
	return !strncmp(type, "fuse.", strlen("fuse."));
}

static bool is_of(const char *path, const struct filesystem *fs)
{
	struct stat st;

	return stat(path, &st) == 0 &&
	       fs->dev == (int64_t)(major(st.st_dev) << DEV_MINOR_BITS | minor(st.st_dev));
}

/* Removes the last component; false: there is none. */
static bool cut_name(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !path[1])
		return false;
	slash[slash == path] = '\0';
	return true;
}

/* The topmost folder above a file in the same file system, where that is mounted; false: it is no longer mounted. */
static bool find_root(const struct filesystem *fs, char *path)
{
	_cleanup_free_ char *above = NULL;

	while (!is_of(path, fs)) { /* the file, or its folder, was deleted */
		if (!cut_name(path))
			return false;
	}
	above = strdup(path);
	while (above && cut_name(above) && is_of(above, fs))
		path[strlen(above)] = '\0';
	return true;
}

static int mark_one(const struct filesystem *fs, int64_t now, struct batch_set *out)
{
	_privileged_(privilege_files());
	_cleanup_free_ char *path = fs->hostpath ? strdup(fs->hostpath) : NULL;
	_cleanup_buf_ struct buf text = {0};
	struct statvfs v;
	int r;

	if (fs->hostpath && !path)
		return -ENOMEM;
	r = buf_printf(&text, "written=%llu", (unsigned long long)fs->written);
	if (path && !may_hang(fs->type) && find_root(fs, path) && statvfs(path, &v) == 0)
		r = r ? r
		      : buf_printf(&text, " size=%llu free=%llu available=%llu",
				   (unsigned long long)v.f_blocks * v.f_frsize,
				   (unsigned long long)v.f_bfree * v.f_frsize,
				   (unsigned long long)v.f_bavail * v.f_frsize);
	else
		r = r ? r : buf_printf(&text, " size=? free=? available=?");
	r = r ? r : buf_printf(&text, " type=%s path=%s", fs->type, path ? path : "?");
	return r ? r : batch_set_add_mark(out, now, "weir.filesystem", text.data, text.len);
}

int filesystems_mark(const struct filesystems *f, int64_t now, struct batch_set *out)
{
	char text[64];
	int r = 0, n;

	for (size_t i = 0; i < f->count && !r; i++) {
		if (f->list[i].written)
			r = mark_one(&f->list[i], now, out);
	}
	if (r || !f->others)
		return r;
	n = snprintf(text, sizeof(text), "written=%llu to others", (unsigned long long)f->others);
	return batch_set_add_mark(out, now, "weir.filesystem", text, (size_t)n);
}

void filesystems_free(struct filesystems *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].hostpath);
	free(f->of);
	*f = (struct filesystems){0};
}
