/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_index.c: opens a closed file by its index blocks, which hold the headers of all blocks. That avoids a read
 * for each block, and survives damaged headers. At the first inconsistency it stops, and the walk in block_scan.c
 * continues from there.
 */
#include <errno.h>

#include "store/file/read/reader.h"
#include "base/array.h"
#include "store/file/read/block_scan.h"

/* The offset of the last index; 0 if the file does not end with an end mark. */
static uint64_t last_index(const struct trace *t)
{
	_cleanup_found_ struct found_block c = {0};
	uint64_t at = t->size - sizeof(struct block_header);

	if (t->size < t->next + sizeof(struct block_header) ||
	    scan_look_at(t, at, &c) != FOUND_BLOCK)
		return 0;
	return c.view.head->kind == BLOCK_END && !c.view.head->payload_len ? c.view.head->last_index
									   : 0;
}

/*
 * The offset of the index before the one at `at`, which must end before `end`. 0: it is the first. -EBADMSG if it is
 * invalid.
 */
static int index_before(const struct trace *t, uint64_t at, uint64_t end, uint64_t *ret)
{
	_cleanup_found_ struct found_block c = {0};

	if (scan_look_at(t, at, &c) != FOUND_BLOCK || c.view.head->kind != BLOCK_INDEX ||
	    at + c.view.head->header_len + c.view.head->payload_len > end)
		return -EBADMSG;
	*ret = c.view.head->last_index;
	return *ret < at ? 0 : -EBADMSG;
}

/*
 * The offsets of all index blocks, last to first; -EBADMSG if the chain is broken. Each must end at or before the
 * start of the one after it, so that the work is bounded by the file's size whatever lengths the headers claim.
 */
static int index_chain(const struct trace *t, uint64_t **ret, size_t *ret_count)
{
	_cleanup_free_ uint64_t *offsets = NULL;
	uint64_t at = last_index(t), end = t->size;
	size_t count = 0, cap = 0;

	while (at) {
		uint64_t before;
		int r = index_before(t, at, end, &before);

		if (r < 0)
			return r;
		if (array_add(offsets, count, cap, at) < 0)
			return -ENOMEM;
		end = at;
		at = before;
	}
	*ret = TAKE_PTR(offsets);
	*ret_count = count;
	return 0;
}

/* Takes one header from an index; it must be that of the next block. */
static int take_entry(struct store *s, struct trace *t, const uint8_t **p, const uint8_t *end)
{
	_cleanup_found_ struct found_block c = {0};
	struct block_header h;
	const char *why;
	uint64_t offset;

	assert(*p < end);
	if ((size_t)(end - *p) < sizeof(offset) + sizeof(h))
		return -EBADMSG;
	offset = load64(*p);
	*p += sizeof(offset);
	memcpy(&h, *p, sizeof(h));
	if (h.header_len < sizeof(h) || h.header_len > (size_t)(end - *p) ||
	    h.header_len > STORE_HEADER_MAX)
		return -EBADMSG;
	c.header = malloc(h.header_len);
	if (!c.header)
		return -ENOMEM;
	memcpy(c.header, *p, h.header_len);
	*p += h.header_len;
	if (offset != t->next || h.seq != t->next_seq || memcmp(h.mark, t->mark, sizeof(h.mark)) ||
	    h.kind == BLOCK_INDEX || block_view(c.header, h.header_len, &c.view, &why) < 0 ||
	    offset + h.header_len + h.payload_len > t->size)
		return -EBADMSG;
	return scan_take(s, t, offset, &c);
}

/* Returns the number of blocks of rows; -EBADMSG if the index does not fit the file. */
static ssize_t take_index(struct store *s, struct trace *t, uint64_t at)
{
	_cleanup_found_ struct found_block c = {0};
	_cleanup_buf_ struct buf copy = {0};
	struct decode_source src;
	const uint8_t *p, *end;
	const char *why = "";
	struct bytes text;
	ssize_t found = 0;
	int r;

	if (scan_look_at(t, at, &c) != FOUND_BLOCK)
		return -EBADMSG;
	src = (struct decode_source){
		.fd = t->fd, .payload = at + c.view.head->header_len, .view = c.view};
	r = decode_blob(s->decoder, &src, &text, &why);
	if (r < 0)
		return r;
	/* a copy, as reading the index's blocks needs the decoder */
	r = buf_append(&copy, text.data, text.len);
	if (r < 0)
		return r;
	p = copy.data;
	end = copy.len ? p + copy.len : p;
	while (p < end) {
		r = take_entry(s, t, &p, end);
		if (r < 0)
			return r;
		found += r > 0;
	}
	if (at != t->next)
		return -EBADMSG;
	r = scan_take(s, t, at, &c);
	return r < 0 ? r : found;
}

ssize_t index_load(struct store *s, struct trace *t)
{
	_cleanup_free_ uint64_t *offsets = NULL;
	size_t count = 0, before = atomic_load(&s->count);
	ssize_t r = index_chain(t, &offsets, &count);

	assert(!t->next_seq); /* nothing of the file was taken yet */
	while (r >= 0 && count > 0)
		r = take_index(s, t, offsets[--count]);
	return r == -ENOMEM ? r : (ssize_t)(atomic_load(&s->count) - before);
}
