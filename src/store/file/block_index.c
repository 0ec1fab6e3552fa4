/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_index.c: opens a closed file by its index blocks: the headers of all blocks without a visit to each, and in spite
 * of headers damaged on the way. Whatever does not fit together ends this; the walk in block_scan.c goes on from there.
 */
#include <errno.h>

#include "store/file/reader.h"
#include "store/file/block_scan.h"

/* The offset of the last index, 0 where the file does not end with an end mark. */
static uint64_t last_index(const struct trace *t)
{
	struct found_block c = {0};
	uint64_t at = t->size - sizeof(struct block_header), index = 0;

	if (t->size < t->next + sizeof(struct block_header))
		return 0;
	if (scan_look_at(t, at, &c) == FOUND_BLOCK && c.view.head->kind == BLOCK_END &&
	    !c.view.head->payload_len)
		index = c.view.head->last_index;
	free(c.header);
	return index;
}

/*
 * The offsets of all index blocks, last to first; -EBADMSG where the chain is broken. Each must end where the one after it
 * begins, or before: the work is that of one file, whatever its headers say of their lengths.
 */
static int index_chain(const struct trace *t, uint64_t **ret, size_t *ret_count)
{
	_cleanup_free_ uint64_t *offsets = NULL;
	uint64_t at = last_index(t), end = t->size;
	size_t count = 0, cap = 0;

	while (at) {
		struct found_block c = {0};
		uint64_t before = 0;
		int r = scan_look_at(t, at, &c);

		if (r == FOUND_BLOCK && c.view.head->kind == BLOCK_INDEX &&
		    at + c.view.head->header_len + c.view.head->payload_len <= end)
			before = c.view.head->last_index;
		else
			r = -EBADMSG;
		free(c.header);
		if (r < 0 || before >= at)
			return -EBADMSG;
		r = grow((void **)&offsets, &cap, count + 1, sizeof(*offsets));
		if (r < 0)
			return r;
		offsets[count++] = at;
		end = at;
		at = before;
	}
	*ret = TAKE_PTR(offsets);
	*ret_count = count;
	return 0;
}

/* Takes one header out of an index; it must be the very next block. */
static int take_entry(struct store *s, struct trace *t, const uint8_t **p, const uint8_t *end)
{
	struct found_block c = {0};
	struct block_header h;
	const char *why;
	uint64_t offset;
	int r = -EBADMSG;

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
	if (offset == t->next && h.seq == t->next_seq && !memcmp(h.mark, t->mark, sizeof(h.mark)) &&
	    h.kind != BLOCK_INDEX && block_view(c.header, h.header_len, &c.view, &why) >= 0 &&
	    offset + h.header_len + h.payload_len <= t->size)
		r = scan_take(s, t, offset, &c);
	free(c.header);
	return r;
}

/* The number of blocks of rows; -EBADMSG where the index does not fit the file. */
static ssize_t take_index(struct store *s, struct trace *t, uint64_t at)
{
	_cleanup_buf_ struct buf copy = {0};
	struct found_block c = {0};
	const uint8_t *p, *end;
	const char *why = "";
	struct bytes text;
	ssize_t found = 0;
	int r = scan_look_at(t, at, &c);

	if (r == FOUND_BLOCK) {
		struct decode_source src = {
			.fd = t->fd, .payload = at + c.view.head->header_len, .view = c.view};

		r = decode_blob(s->decoder, &src, &text, &why);
		if (r >= 0)
			r = buf_append(&copy, text.data,
				       text.len); /* reading its blocks needs the decoder */
	} else {
		r = -EBADMSG;
	}
	p = copy.data;
	end = copy.len ? p + copy.len : p;
	while (r >= 0 && p < end) {
		r = take_entry(s, t, &p, end);
		found += r > 0;
	}
	if (r >= 0)
		r = at == t->next ? scan_take(s, t, at, &c) : -EBADMSG;
	free(c.header);
	return r < 0 ? r : found;
}

ssize_t index_load(struct store *s, struct trace *t)
{
	_cleanup_free_ uint64_t *offsets = NULL;
	size_t count = 0, before = atomic_load(&s->count);
	ssize_t r = index_chain(t, &offsets, &count);

	while (r >= 0 && count > 0)
		r = take_index(s, t, offsets[--count]);
	return r == -ENOMEM ? r : (ssize_t)(atomic_load(&s->count) - before);
}
