/* SPDX-License-Identifier: Apache-2.0 */
/* committed.c: the committed bytes of a trace, for keeping or sending a copy. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/fd.h"
#include "store/file/read/block_scan.h"
#include "store/file/read/reader.h"

struct store_committed {
	struct trace t; /* .next: start of the next block; .next_seq: its number */
	struct buf out;
};

void store_committed_free(struct store_committed *c)
{
	if (!c)
		return;
	if (c->t.fd >= 0)
		close(c->t.fd);
	buf_free(&c->out);
	free(c->t.path);
	free(c);
}

static int committed_read_error(const struct store_committed *c, int code, struct error *err)
{
	return error_errno(err, code, "cannot read the trace %s", c->t.path);
}

/* Updates the length of the file. */
static int committed_look(struct store_committed *c, struct error *err)
{
	struct stat st;

	if (fstat(c->t.fd, &st) < 0)
		return committed_read_error(c, -errno, err);
	if ((uint64_t)st.st_size < c->t.next)
		return error_set(err, -ESTALE,
				 "another program truncated the trace %s to %llu bytes", c->t.path,
				 (unsigned long long)st.st_size);
	c->t.size = (uint64_t)st.st_size;
	c->t.tail = 0;
	return 0;
}

/* Finds the next block, whose header the caller frees: FOUND_BLOCK, FOUND_END_OF_FILE, or negative. Skips damage. */
static int committed_find(struct store_committed *c, struct found_block *ret, uint64_t *ret_offset)
{
	int r = scan_look_at(&c->t, c->t.next, ret);

	*ret_offset = c->t.next;
	/* an incomplete block has later blocks after it only if it is damaged */
	if (r == FOUND_DAMAGE || (r == FOUND_END_OF_FILE && c->t.size > c->t.next)) {
		c->t.checked = 0;
		r = scan_skip(&c->t, ret, ret_offset);
	}
	return r;
}

static void committed_pass(struct store_committed *c, const struct block_view *b, uint64_t offset)
{
	assert(offset >= c->t.next);
	c->t.next = offset + b->head->header_len + b->head->payload_len;
	c->t.next_seq = b->head->seq + 1;
	if (!block_is_appended(b->head->kind))
		c->t.ended = b->head->kind == BLOCK_END;
}

/* Skips the blocks before `offset`, which must be where one of them ends. */
static int committed_go_to(struct store_committed *c, uint64_t offset, struct error *err)
{
	while (c->t.next < offset) {
		_cleanup_found_ struct found_block b = {0};
		uint64_t at;
		int r = committed_find(c, &b, &at);

		if (r == FOUND_BLOCK)
			committed_pass(c, &b.view, at);
		if (r < 0)
			return committed_read_error(c, r, err);
		if (r != FOUND_BLOCK)
			break;
	}
	return c->t.next == offset
		       ? 0
		       : error_set(err, -EINVAL, "no block of the trace %s begins at byte %llu",
				   c->t.path, (unsigned long long)offset);
}

int store_committed_open(struct store_committed **ret, const char *path, uint64_t offset,
			 struct error *err)
{
	_cleanup_(store_committed_freep) struct store_committed *c = calloc(1, sizeof(*c));
	struct file_header h;
	ssize_t n;
	int r;

	if (!c)
		return error_errno(err, -ENOMEM, "cannot open the trace %s", path);
	c->t.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (c->t.fd < 0)
		return error_errno(err, -errno, "cannot open the trace %s", path);
	c->t.path = strdup(path);
	if (!c->t.path)
		return error_errno(err, -ENOMEM, "cannot open the trace %s", path);
	n = fd_read_at(c->t.fd, &h, sizeof(h), 0);
	if (n < 0)
		return committed_read_error(c, (int)n, err);
	r = reader_check_head(path, &h, n, err);
	if (r < 0)
		return r;
	memcpy(c->t.mark, h.mark, sizeof(c->t.mark));
	if (offset) {
		c->t.next = h.header_len;
		r = committed_look(c, err);
		if (r >= 0)
			r = committed_go_to(c, offset, err);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

/* Appends `len` bytes of the file, fewer at its end. */
static int committed_take(struct store_committed *c, uint64_t offset, size_t len)
{
	ssize_t n;
	int r = buf_reserve(&c->out, len);

	if (r < 0)
		return r;
	n = fd_read_at(c->t.fd, c->out.data + c->out.len, len, offset);
	if (n < 0)
		return (int)n;
	c->out.len += (size_t)n;
	return (size_t)n == len ? 0 : -ESTALE;
}

/* True if the payload is as its writer wrote it. */
static bool committed_holds(const struct block_view *b, const uint8_t *payload)
{
	for (unsigned int i = 0; i < b->head->entries; i++) {
		const struct block_entry *e = &b->entries[i];

		assert((uint64_t)e->offset + e->len <= b->head->payload_len);
		if (XXH3_64bits(payload + e->offset, e->len) != e->checksum)
			return false;
	}
	return true;
}

/* Appends the head of the file, before its first block. */
static int committed_head(struct store_committed *c)
{
	struct file_header h;
	int r = committed_take(c, 0, sizeof(h));

	assert(!c->t.next);
	if (r < 0)
		return r;
	memcpy(&h, c->out.data, sizeof(h));
	if (h.header_len > sizeof(h))
		r = committed_take(c, sizeof(h), h.header_len - sizeof(h));
	c->t.next = h.header_len;
	return r;
}

/* Appends the next block: 1, or 0 if there is none yet. A damaged block is left out, and is missing from the copy. */
static int committed_block(struct store_committed *c)
{
	_cleanup_found_ struct found_block b = {0};
	size_t before = c->out.len;
	uint64_t at;
	int r = committed_find(c, &b, &at);

	assert(c->t.next);
	if (r == FOUND_END_OF_FILE)
		c->t.tail = c->t.size - c->t.next;
	if (r != FOUND_BLOCK)
		return MIN(r, 0);
	r = committed_take(c, at, b.view.head->header_len + b.view.head->payload_len);
	if (r < 0 || !committed_holds(&b.view, c->out.data + before + b.view.head->header_len))
		c->out.len = before;
	if (r < 0)
		return r;
	committed_pass(c, &b.view, at);
	return 1;
}

int store_committed_next(struct store_committed *c, size_t max, struct bytes *ret,
			 struct error *err)
{
	int r = committed_look(c, err);

	buf_clear(&c->out);
	*ret = (struct bytes){NULL, 0};
	if (r < 0)
		return r;
	if (!c->t.next)
		r = committed_head(c);
	else
		r = committed_block(c);
	while (r > 0 && c->out.len < max)
		r = committed_block(c);
	if (r < 0)
		return committed_read_error(c, r, err);
	*ret = buf_bytes(&c->out);
	return 0;
}

uint64_t store_committed_offset(const struct store_committed *c)
{
	return c->t.next;
}

bool store_committed_ended(const struct store_committed *c)
{
	/* the remains of a made table whose writer was killed are never returned */
	bool rest = c->t.tail && !store_fd_is_written(c->t.fd);

	return c->t.ended && (c->t.next == c->t.size || rest);
}
