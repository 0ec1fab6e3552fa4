/* SPDX-License-Identifier: Apache-2.0 */
/* block.c: block headers: their checksum, and the checks that let the rest of the reader trust them. */
#include "store/file/block.h"

#include <errno.h>
#include <xxhash.h>

uint64_t block_checksum(const uint8_t *header, size_t len)
{
	const size_t field = offsetof(struct block_header, checksum);

	assert(len >= sizeof(struct block_header));
	/* Covers all but the field itself: the bytes after it, seeded with the bytes before it. */
	return XXH3_64bits_withSeed(header + sizeof(struct block_header),
				    len - sizeof(struct block_header), XXH3_64bits(header, field));
}

void block_seal(struct buf *block, const uint8_t mark[static STORE_MARK_LEN], uint64_t seq,
		uint64_t last_index)
{
	struct block_header *h = (struct block_header *)block->data;

	assert(h->header_len % 8 == 0 && h->rows <= STORE_ROWS_MAX);
	assert(block->len >= h->header_len && block->len == (size_t)h->header_len + h->payload_len);
	memcpy(h->mark, mark, STORE_MARK_LEN);
	h->seq = seq;
	h->last_index = last_index;
	h->checksum = block_checksum(block->data, h->header_len);
}

static const char *check_entry(const struct block_header *h, const struct block_entry *e)
{
	if (e->offset > h->payload_len || e->len > h->payload_len - e->offset)
		return "a section extends past the payload";
	if (e->nulls > h->rows)
		return "more nulls than rows";
	if (e->null_map > h->entries)
		return "a null map is missing";
	return NULL;
}

static const char *check_extras(const struct block_header *h, const uint8_t *p, const uint8_t *end)
{
	for (unsigned int i = 0; i < h->extras; i++) {
		struct block_extra x;

		if ((size_t)(end - p) < sizeof(x))
			return "an extra extends past the header";
		memcpy(&x, p, sizeof(x));
		p += sizeof(x);
		if (x.len > (size_t)(end - p) || align_up(x.len, 8) > (size_t)(end - p))
			return "an extra extends past the header";
		p += align_up(x.len, 8);
	}
	return NULL;
}

static const char *check_header(const uint8_t *header, size_t len, struct block_view *v)
{
	const struct block_header *h = v->head;
	size_t entries = (size_t)h->entries * sizeof(struct block_entry);
	const char *why = NULL;

	if (block_checksum(header, len) != h->checksum)
		return "header checksum";
	if (h->rows > STORE_ROWS_MAX || h->payload_len > STORE_PAYLOAD_MAX ||
	    h->entries > STORE_ENTRIES_MAX)
		return "a limit of the format is exceeded";
	if (entries > len - sizeof(*h))
		return "entries extend past the header";
	v->entries = (const struct block_entry *)(header + sizeof(*h));
	v->extras = header + sizeof(*h) + entries;
	for (unsigned int i = 0; i < h->entries && !why; i++)
		why = check_entry(h, &v->entries[i]);
	return why ? why : check_extras(h, v->extras, header + len);
}

int block_view(const uint8_t *header, size_t len, struct block_view *ret, const char **ret_why)
{
	struct block_view v = {.head = (const struct block_header *)header};
	const char *why;

	assert(((uintptr_t)header & 7) == 0);
	if (len < sizeof(*v.head) || len % 8 || len > STORE_HEADER_MAX || v.head->header_len != len)
		why = "header length";
	else
		why = check_header(header, len, &v);
	if (why) {
		*ret_why = why;
		return -EBADMSG;
	}
	assert(v.extras <= header + len);
	*ret = v;
	return 0;
}

const struct block_extra *block_extra(const struct block_view *v, const struct block_extra *from)
{
	const uint8_t *p = v->extras;

	for (unsigned int i = 0; i < v->head->extras; i++) {
		const struct block_extra *x = (const struct block_extra *)p;

		if (!from)
			return x;
		if (x == from)
			from = NULL;
		p += sizeof(*x) + align_up(x->len, 8);
	}
	return NULL;
}

bool block_set_has(const struct block_extra *set, uint64_t id)
{
	const uint8_t *p = (const uint8_t *)(set + 1), *end = p + set->len;
	uint64_t at = 0, step;

	assert(set->kind == EXTRA_ID_SET);
	while (p < end && varint_get(&p, end, &step)) {
		at += step;
		if (at >= id)
			return at == id;
	}
	return false;
}
