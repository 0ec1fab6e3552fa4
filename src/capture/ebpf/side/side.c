/* SPDX-License-Identifier: Apache-2.0 */
/* side.c: turns records of the side ring into rows: a row of the table below for each type. */
#include <errno.h>

#include "capture/ebpf/side/block.h"
#include "capture/ebpf/calls/decode.h"
#include "capture/ebpf/calls/details.h"
#include "capture/ebpf/load/objects.h"
#include "capture/ebpf/probes/probe_rows.h"

static const struct side_type {
	int (*decode)(struct decode *d, const struct wire_head *h, struct batch_set *out);
	enum table_id table; /* table whose rows are missing without it */
} side_types[WIRE_SIDE_TYPES] = {
	[WIRE_BLOCK - WIRE_SIDE_FIRST] = {block_decode, TABLE_REQUEST},
	[WIRE_BLOCK_MORE - WIRE_SIDE_FIRST] = {block_decode_more, TABLE_REQUEST_PART},
	[WIRE_BLOCK_INODE - WIRE_SIDE_FIRST] = {block_decode_inode, TABLE_REQUEST_PART},
	[WIRE_BLOCK_OWNER - WIRE_SIDE_FIRST] = {block_decode_owner, TABLE_REQUEST_PART},
	[WIRE_NET - WIRE_SIDE_FIRST] = {decode_net, TABLE_NET},
	[WIRE_NET_SAMPLE - WIRE_SIDE_FIRST] = {decode_net_sample, TABLE_NET_SAMPLE},
	[WIRE_SCHED - WIRE_SIDE_FIRST] = {decode_sched, TABLE_SCHED},
	[WIRE_IRQ - WIRE_SIDE_FIRST] = {decode_irq, TABLE_IRQ},
	[WIRE_MEM - WIRE_SIDE_FIRST] = {decode_mem, TABLE_MEM},
	[WIRE_PROBE - WIRE_SIDE_FIRST] = {decode_probe, TABLE_SPAN},
	[WIRE_SIGNAL - WIRE_SIDE_FIRST] = {decode_signal, TABLE_SIGNAL},
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
			(*malformed)++; /* the start of the next record is unknown */
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

void side_add(struct source_beside list[SOURCE_BESIDE_MAX], size_t *count, enum loss_cause cause,
	      enum table_id table, uint64_t n)
{
	size_t i = 0;

	if (!n)
		return;
	while (i < *count && (list[i].cause != cause || list[i].table != table))
		i++;
	assert(i < SOURCE_BESIDE_MAX);
	if (i == *count)
		list[(*count)++] = (struct source_beside){cause, table, 0};
	list[i].count += n;
}

size_t side_missing(const volatile uint64_t lost[WIRE_SIDE_LOSSES][WIRE_SIDE_TYPES],
		    const struct objects *o, struct source_beside list[SOURCE_BESIDE_MAX])
{
	static const enum loss_cause causes[WIRE_SIDE_LOSSES] = {
		[WIRE_SIDE_FULL] = CAUSE_SIDE_FULL,
		[WIRE_SIDE_UNSEEN] = CAUSE_SIDE_UNSEEN,
		[WIRE_SIDE_STORAGE] = CAUSE_SIDE_STORAGE,
	};
	static const struct {
		enum object_id object;
		enum table_id table;
	} skipped[] = {{OBJECT_BLOCK, TABLE_REQUEST}, {OBJECT_NET, TABLE_NET},
		       {OBJECT_SCHED, TABLE_SCHED},   {OBJECT_IRQ, TABLE_IRQ},
		       {OBJECT_MEM, TABLE_MEM},	      {OBJECT_STACKS, TABLE_STACK},
		       {OBJECT_PHASES, TABLE_OP},     {OBJECT_URING, TABLE_OP}};
	size_t count = 0;

	for (int i = 0; i < WIRE_SIDE_TYPES; i++) {
		for (int why = 0; why < WIRE_SIDE_LOSSES && side_types[i].decode; why++)
			side_add(list, &count, causes[why], side_types[i].table, lost[why][i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(skipped); i++)
		side_add(list, &count, CAUSE_SIDE_SKIPPED, skipped[i].table,
			 object_misses(o, skipped[i].object));
	return count;
}

void side_unroomed(const struct wire_shared *s, struct source_beside list[SOURCE_BESIDE_MAX],
		   size_t *count)
{
	side_add(list, count, CAUSE_SIDE_FULL, TABLE_CHUNK,
		 __atomic_load_n(&s->content_lost, __ATOMIC_RELAXED));
	side_add(list, count, CAUSE_SIDE_FULL, TABLE_DETAIL,
		 __atomic_load_n(&s->details_lost, __ATOMIC_RELAXED));
}

int decode_side(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	const struct side_type *t = side_type_of(h->type);

	return t && t->decode ? t->decode(d, h, out) : -EBADMSG;
}
