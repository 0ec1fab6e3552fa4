/* SPDX-License-Identifier: Apache-2.0 */
/* side.c: records of the side ring become rows: a row of the table below for each type. */
#include <errno.h>

#include "capture/ebpf/block.h"
#include "capture/ebpf/decode.h"

static const struct side_type {
	int (*decode)(struct decode *d, const struct wire_head *h, struct batch_set *out);
	bool is_call; /* its rows are of op */
} side_types[WIRE_SIDE_TYPES] = {
	[WIRE_BLOCK - WIRE_SIDE_FIRST] = {block_decode},
	[WIRE_BLOCK_MORE - WIRE_SIDE_FIRST] = {block_decode_more},
	[WIRE_BLOCK_INODE - WIRE_SIDE_FIRST] = {block_decode_inode},
	[WIRE_BLOCK_OWNER - WIRE_SIDE_FIRST] = {block_decode_owner},
	[WIRE_NET - WIRE_SIDE_FIRST] = {decode_net},
	[WIRE_NET_SAMPLE - WIRE_SIDE_FIRST] = {decode_net_sample},
	[WIRE_SCHED - WIRE_SIDE_FIRST] = {decode_sched},
	[WIRE_IRQ - WIRE_SIDE_FIRST] = {decode_irq},
	[WIRE_MEM - WIRE_SIDE_FIRST] = {decode_mem},
};

static const struct side_type *side_type_of(int type)
{
	if (type < WIRE_SIDE_FIRST || type >= WIRE_SIDE_END)
		return NULL;
	return &side_types[type - WIRE_SIDE_FIRST];
}

int decode_side_all(struct decode *d, const struct buf *records, struct batch_set *out,
		    uint64_t *malformed)
{
	const struct wire_head *h;
	int r = 0;

	for (size_t at = 0; at + sizeof(*h) <= records->len && r >= 0; at += h->size) {
		h = (const void *)(records->data + at);
		if (h->size < sizeof(*h) || h->size > records->len - at) {
			(*malformed)++; /* where the next one begins is not known */
			break;
		}
		r = decode_side(d, h, out);
		if (r == -EBADMSG) {
			(*malformed)++;
			r = 0;
		}
	}
	return r < 0 ? r : 0;
}

bool decode_side_is_call(int type)
{
	const struct side_type *t = side_type_of(type);

	return t && t->is_call;
}

int decode_side(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	const struct side_type *t = side_type_of(h->type);

	return t && t->decode ? t->decode(d, h, out) : -EBADMSG;
}
