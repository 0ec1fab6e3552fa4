/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/announce.h"
#include "capture/ebpf/contexts.h"

#include <errno.h>

/* By kind: takes an announcement, 0 or negative. NULL: nobody wants it. Another reader of programs' memory is another row. */
static int (*const takers[WIRE_ANNOUNCE_KINDS])(struct decode *d, const struct announcement *a,
						struct batch_set *out) = {
	[WIRE_ANNOUNCE_OTEL] = contexts_announced,
	[WIRE_ANNOUNCE_SPAN] = NULL,
};

static uint64_t announcer_hash(int32_t pid, uint64_t process_start)
{
	const uint64_t ident[2] = {(uint32_t)pid, process_start};

	return hash_bytes(ident, sizeof(ident));
}

int decode_announce(struct decode *d, const struct wire_announce *w, struct batch_set *out)
{
	const struct announcement a = {
		.kind = w->kind,
		.event = ANNOUNCE_MADE,
		.pid = w->tgid,
		.process_start = w->process_start,
		.thread = w->thread,
		.addr = w->addr,
		.len = w->len,
		.time = (int64_t)w->head.time,
	};
	uint64_t hash, kinds = 0;
	int r;

	if (w->head.size != sizeof(*w) || w->kind >= WIRE_ANNOUNCE_KINDS)
		return -EBADMSG;
	if (!takers[w->kind])
		return 0;
	hash = announcer_hash(w->tgid, w->process_start);
	map_get(&d->announcers, hash, &kinds);
	r = map_set(&d->announcers, hash, kinds | 1u << w->kind);
	return r ? r : takers[w->kind](d, &a, out);
}

static int announcer_ends(struct decode *d, struct announcement *a, struct batch_set *out)
{
	uint64_t hash = announcer_hash(a->pid, a->process_start), kinds = 0;
	int r = 0;

	if (!map_get(&d->announcers, hash, &kinds))
		return 0;
	map_del(&d->announcers, hash);
	for (unsigned int kind = 0; kind < WIRE_ANNOUNCE_KINDS && !r; kind++) {
		a->kind = kind;
		r = kinds >> kind & 1 ? takers[kind](d, a, out) : 0;
	}
	return r;
}

int decode_announcer_exec(struct decode *d, const struct wire_thread *w, struct batch_set *out)
{
	struct announcement a = {.event = ANNOUNCE_EXEC,
				 .pid = w->tgid,
				 .process_start = w->process_start,
				 .thread = w->thread,
				 .time = (int64_t)w->head.time};

	return announcer_ends(d, &a, out);
}

int decode_announcer_end(struct decode *d, const struct wire_thread_end *w, struct batch_set *out)
{
	struct announcement a = {.event = ANNOUNCE_EXIT,
				 .pid = w->tgid,
				 .process_start = w->process_start,
				 .thread = w->thread,
				 .time = (int64_t)w->head.time};

	return announcer_ends(d, &a, out);
}
