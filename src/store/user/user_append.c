/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_append.c: puts a user's table behind a closed trace: its blocks, an index of what came since
 * the last one, an end mark. What was recorded is not touched; a failure cuts the file back.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "store/file/file.h"
#include "store/file/block_scan.h"
#include "store/user/user_write.h"

struct append {
	const struct trace *t;
	uint64_t at, seq; /* of the next block */
	struct buf out;	  /* what is written behind t->next */
	struct buf index;
	bool index_broken; /* damage on the way: readers walk */
};

static int user_append_index_note(struct append *a, uint64_t offset, const uint8_t *header,
				  size_t len)
{
	int r = buf_append(&a->index, &offset, sizeof(offset));

	return r < 0 ? r : buf_append(&a->index, header, len);
}

/* Notes the blocks that lie behind the last index, and in no index so far. */
static int index_rest(struct append *a)
{
	const struct trace *t = a->t;
	uint64_t at = t->last_index ? t->last_index : sizeof(struct file_header);

	while (at < t->next && !a->index_broken) {
		struct found_block c = {0};
		int r = scan_look_at(t, at, &c);
		uint64_t next = 0;

		if (r == FOUND_BLOCK) {
			next = at + c.view.head->header_len + c.view.head->payload_len;
			if (c.view.head->kind != BLOCK_INDEX)
				r = user_append_index_note(a, at, c.header,
							   c.view.head->header_len);
		}
		free(c.header);
		if (r < 0)
			return r;
		if (!next || a->index.len > STORE_BLOB_MAX / 2)
			a->index_broken = true;
		at = next;
	}
	return 0;
}

/* Seals a block that lies at `from` of the output. */
static int user_append_place(struct append *a, struct buf *block, bool noted)
{
	struct block_header h;
	int r;

	block_seal(block, a->t->mark, a->seq, a->t->last_index);
	memcpy(&h, block->data, sizeof(h));
	r = buf_append(&a->out, block->data, block->len);
	if (r >= 0 && noted)
		r = user_append_index_note(a, a->at, block->data, h.header_len);
	a->at += block->len;
	a->seq++;
	return r;
}

static int place_table(struct append *a, struct user_writer *w)
{
	int r = 0;

	for (size_t i = 0; i < w->block_count && r >= 0; i++) {
		_cleanup_buf_ struct buf block = {0};
		size_t from = i ? w->ends[i - 1] : 0;
		struct block_header *h;

		r = buf_append(&block, w->blocks.data + from, w->ends[i] - from);
		if (r < 0)
			return r;
		h = (struct block_header *)block.data;
		h->flags = (uint8_t)((i == 0 ? BLOCK_USER_FIRST : 0) |
				     (i + 1 == w->block_count ? BLOCK_USER_LAST : 0));
		r = user_append_place(a, &block, true);
	}
	return r;
}

static int place_end(struct append *a, struct user_writer *w)
{
	uint64_t index_at = a->t->last_index;
	struct buf *block;
	int r = 0;

	if (!a->index_broken && a->index.len <= STORE_BLOB_MAX) {
		index_at = a->at;
		r = encode_blob(w->encoder, BLOCK_INDEX, a->index.data, a->index.len, &block);
		if (r >= 0)
			r = user_append_place(a, block, false);
	}
	if (r >= 0)
		r = encode_blob(w->encoder, BLOCK_END, NULL, 0, &block);
	if (r < 0)
		return r;
	block_seal(block, a->t->mark, a->seq, index_at);
	return buf_append(&a->out, block->data, block->len);
}

/* Locks the file as its recorder did: -EBUSY where somebody has it, or it is not what was read. */
static int user_append_take_file(int fd, const struct trace *t, struct error *err)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct stat here, read;

	if (fcntl(fd, F_OFD_SETLK, &lock) < 0 && (errno == EAGAIN || errno == EACCES))
		return error_set(err, -EBUSY,
				 "the trace %s is being written: annotate it when that has ended",
				 t->path);
	if (fstat(fd, &here) < 0 || fstat(t->fd, &read) < 0)
		return error_errno(err, -errno, "cannot read the trace %s", t->path);
	if (here.st_dev != read.st_dev || here.st_ino != read.st_ino ||
	    (uint64_t)here.st_size != t->size)
		return error_set(err, -EBUSY, "the trace %s changed meanwhile: try again", t->path);
	if (!t->ended)
		return error_set(err, -EINVAL,
				 "the trace %s has no end: it is being recorded, or its recorder "
				 "was killed, or it was cut; only a closed trace can be annotated",
				 t->path);
	return 0;
}

static int user_append_build(struct append *a, struct user_writer *w)
{
	int r = user_writer_finish(w);

	if (r >= 0)
		r = index_rest(a);
	if (r >= 0)
		r = place_table(a, w);
	return r < 0 ? r : place_end(a, w);
}

int user_append(struct user_writer *w, struct store *s, struct error *err)
{
	const struct trace *t = &s->traces[0];
	struct append a = {.t = t, .at = t->next, .seq = t->next_seq};
	_cleanup_close_ int fd = open(t->path, O_RDWR | O_CLOEXEC);
	int r;

	assert(s->trace_count == 1);
	if (fd < 0)
		return error_errno(err, -errno, "cannot write the trace %s", t->path);
	r = user_append_take_file(fd, t, err);
	if (r < 0)
		return r;
	r = user_append_build(&a, w);
	if (r >= 0 && file_beyond_limit(t->next + a.out.len))
		r = -EFBIG;
	/* what an annotation that was killed left behind, which is no block */
	if (r >= 0 && t->size > t->next && ftruncate(fd, (off_t)t->next) < 0)
		r = -errno;
	if (r >= 0) {
		r = file_write(fd, a.out.data, a.out.len, t->next);
		if (r >= 0 && fdatasync(fd) < 0)
			r = -errno;
		if (r < 0 && ftruncate(fd, (off_t)t->next) < 0)
			error_set(err, r,
				  "cannot write the trace %s, nor cut it back: bytes that "
				  "are no block follow byte %llu",
				  t->path, (unsigned long long)t->next);
	}
	buf_free(&a.out);
	buf_free(&a.index);
	return r < 0 ? error_errno(err, r, "cannot write the trace %s, which is as it was", t->path)
		     : 0;
}
