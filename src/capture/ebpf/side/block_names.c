/* SPDX-License-Identifier: Apache-2.0 */
/* block_names.c: the files and owners of block requests as rows of the dimension tables. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/ebpf/side/block.h"
#include "capture/ebpf/calls/decode.h"

#define LATEST_MAX  450000 /* files with a known last version, as decode_limits.inodes */
#define MINOR_BITS  20	   /* of the kernel's dev_t */
#define DISK_OF_DEV "/sys/dev/block/%u:%u"

int block_new(struct block **ret, const struct decode_limits *limits)
{
	struct block *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->latest.max = LATEST_MAX;
	b->own.max = limits->asked;
	records_init(&b->inodes, limits->runs);
	records_init(&b->owners, limits->runs);
	*ret = b;
	return 0;
}

void block_free(struct block *b)
{
	if (!b)
		return;
	records_free(&b->inodes);
	records_free(&b->owners);
	kept_free(&b->more);
	recent_free(&b->own);
	recent_free(&b->latest);
	map_free(&b->disks);
	intern_free(&b->disk_names);
	free(b);
}

int block_file(struct block *b, uint64_t hash, uint64_t file)
{
	return recent_set(&b->latest, hash, file);
}

int block_disk(struct block *b, uint32_t dev, struct bytes *ret)
{
	char link[64], target[512];
	uint64_t id;
	uint32_t added;
	ssize_t len;
	int r;

	if (!map_get(&b->disks, dev, &id)) {
		const char *name = link;

		snprintf(link, sizeof(link), DISK_OF_DEV, dev >> MINOR_BITS,
			 dev & ((1u << MINOR_BITS) - 1));
		len = readlink(link, target, sizeof(target) - 1);
		if (len > 0) {
			target[len] = 0;
			name = strrchr(target, '/');
			name = name ? name + 1 : target;
		} else { /* it was removed: use its number */
			name += strlen("/sys/dev/block/");
		}
		r = intern_add(&b->disk_names, name, strlen(name), &added);
		r = r ? r : map_set(&b->disks, dev, added);
		if (r < 0)
			return r;
		id = added;
	}
	*ret = intern_get(&b->disk_names, (uint32_t)id);
	return 0;
}

/* Its path in its file system, or the name of the device. */
static int inode_path(struct decode *d, const struct wire_block_inode *w, char *buf, size_t size)
{
	struct bytes disk;
	int r;

	if (S_ISBLK(w->mode) && !w->names_len) {
		r = block_disk(d->block, w->rdev, &disk);
		return r < 0 ? r
			     : snprintf(buf, size, "/dev/%.*s", (int)disk.len,
					(const char *)disk.data);
	}
	return w->names_len ? (int)path_of_names((const void *)(w + 1), w->names_len, buf, size)
			    : 0;
}

/* Adds a row for a file that no recorded call referred to. */
static int inode_row(struct decode *d, const struct wire_block_inode *w, uint64_t hash,
		     uint64_t time, struct batch_set *out)
{
	char path[WIRE_BLOCK_NAMES + 256], host[WIRE_WALK_MAX + 256];
	int len = inode_path(d, w, path, sizeof(path) - 1), r;
	int64_t key = KEY_BLOCK_BASE + w->inode;
	size_t host_len = 0;
	struct batch_row row;

	if (len < 0)
		return len;
	path[len] = 0;
	if (S_ISBLK(w->mode) && !w->names_len)
		host_len = (size_t)snprintf(host, sizeof(host), "%s", path);
	else if (len && !(w->flags & WIRE_FILE_CUT))
		host_len = mounts_path(&d->mounts, w->fs_dev, path, host, sizeof(host));
	r = recent_set(&d->inodes, hash, (uint64_t)key);
	if (r < 0)
		return r;
	row = batch_set_row(out, TABLE_FILE);
	row_set(&row, FILE_ID, key);
	row_set(&row, FILE_INODE, key);
	row_set(&row, FILE_DEV, w->dev);
	row_set(&row, FILE_INO, (int64_t)w->ino);
	row_set(&row, FILE_GENERATION, w->generation);
	row_set(&row, FILE_TYPE, file_type_of(w->mode));
	row_set_if(&row, S_ISREG(w->mode), FILE_SIZE, (int64_t)w->size);
	row_set_bytes(&row, FILE_FS, w->fs, strnlen(w->fs, sizeof(w->fs)));
	row_set_if(&row, w->flags & WIRE_FILE_DELETED, FILE_DELETED,
		   (int64_t)time + d->opt.clock_offset);
	if (host_len) {
		row_set_bytes(&row, FILE_PATH, host, host_len);
		row_set_bytes(&row, FILE_HOSTPATH, host, host_len);
	} else if (len) {
		row_set_bytes(&row, FILE_PATH, path, (size_t)len);
	}
	row_set(&row, FILE_SINCE, (int64_t)time + d->opt.clock_offset);
	return row.r ? row.r : recent_set(&d->block->own, w->inode, 1);
}

int block_file_key(struct decode *d, uint32_t inode, uint64_t time, struct batch_set *out,
		   int64_t *ret)
{
	const struct wire_block_inode *w =
		inode ? records_get(&d->block->inodes, inode, NULL) : NULL;
	uint64_t hash, file;

	*ret = -1;
	if (!w)
		return 0;
	hash = decode_inode_hash(w->ino, w->dev, w->generation, 0, 0);
	if (w->file)
		*ret = decode_file_key(d, w->file);
	else if (recent_get(&d->block->latest, hash, &file))
		*ret = (int64_t)file;
	else
		*ret = KEY_BLOCK_BASE + inode;
	return *ret < KEY_BLOCK_BASE || recent_get(&d->block->own, inode, NULL)
		       ? 0
		       : inode_row(d, w, hash, time, out);
}

int block_decode_inode(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	const struct wire_block_inode *w = (const void *)h;

	if (!d->block || h->size < sizeof(*w) || w->names_len > h->size - sizeof(*w))
		return -EBADMSG;
	return records_put(&d->block->inodes, w->inode, w, sizeof(*w) + w->names_len);
}

int block_decode_owner(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	const struct wire_block_owner *w = (const void *)h;
	struct wire_thread thread;
	uint64_t key;

	if (!d->block || h->size < sizeof(*w))
		return -EBADMSG;
	thread = w->thread;
	thread.head.size = sizeof(thread); /* the owner's number is not part of the arguments */
	if (thread.thread & WIRE_OWNER_THREADS) {
		int r = decode_owner(d, &thread, out, &thread.thread);

		if (r < 0)
			return r;
	}
	key = thread.thread | (thread.reason == WIRE_THREAD_KERNEL ? OWNER_IS_KERNEL : 0);
	return records_put(&d->block->owners, w->owner, &key, sizeof(key));
}
