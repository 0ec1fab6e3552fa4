/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/contexts/announce.h"
#include "capture/ebpf/contexts/contexts.h"
#include "capture/ebpf/spans/markers.h"
#include "capture/ebpf/probes/probe_rows.h"
#include "capture/ebpf/contexts/remote_tls.h"
#include "capture/ebpf/spans/spans.h"
#include "privilege/privilege.h"

#include <errno.h>
#include <unistd.h>

#define LOOKED_AT (1u << 31) /* in addition to the bits of kinds */

/* By kind; a further reader of programs' memory is another row. */
static const struct announce_kind {
	/* name of mappings announced before recording; NULL: the reader finds them */
	const char *name;
	/* Handles an announcement, 0 or negative. */
	int (*take)(struct decode *d, const struct announcement *a, struct batch_set *out);
	bool compares; /* also accepts those whose name could not be read */
} announce_kinds[WIRE_ANNOUNCE_KINDS] = {
	[WIRE_ANNOUNCE_OTEL] = {"OTEL_CTX", contexts_announced, true},
	[WIRE_ANNOUNCE_SPAN] = {NULL, spans_announced, false},
};

bool decode_announcer_has(const struct decode *d, enum wire_announce_kind kind, int32_t pid,
			  uint64_t process_start)
{
	uint64_t kinds = 0;

	map_get(&d->announcers, life_key(pid, process_start), &kinds);
	return kinds >> kind & 1;
}

int decode_announcer_add(struct decode *d, enum wire_announce_kind kind, int32_t pid,
			 uint64_t process_start, int64_t time)
{
	uint64_t hash = life_key(pid, process_start), kinds = 0;
	int r;

	map_get(&d->announcers, hash, &kinds);
	r = map_set(&d->announcers, hash, kinds | 1u << kind);
	return r ? r : map_set(&d->announced_at, hash + kind, (uint64_t)time);
}

static int announced(struct decode *d, const struct announcement *a, struct batch_set *out)
{
	int r = decode_announcer_add(d, a->kind, a->pid, a->process_start, a->time);

	return r ? r : announce_kinds[a->kind].take(d, a, out);
}

int decode_announce(struct decode *d, const struct wire_announce *w, struct batch_set *out)
{
	struct announcement a = {
		.kind = w->kind,
		.event = ANNOUNCE_MADE,
		.pid = w->tgid,
		.process_start = w->process_start,
		.thread = w->thread,
		.addr = w->addr,
		.len = w->len,
		.time = (int64_t)w->head.time,
	};
	int r = 0;

	if (w->head.size != sizeof(*w) || w->kind > WIRE_ANNOUNCE_UNREAD)
		return -EBADMSG;
	if (w->kind != WIRE_ANNOUNCE_UNREAD)
		return announced(d, &a, out);
	a.name = w->name;
	for (unsigned int kind = 0; kind < WIRE_ANNOUNCE_KINDS && !r; kind++) {
		a.kind = kind;
		r = announce_kinds[kind].compares ? announced(d, &a, out) : 0;
	}
	return r;
}

int decode_announcer_older(struct decode *d, const struct wire_thread *w, struct batch_set *out)
{
	_privileged_(PRIVILEGE_PROC);
	uint64_t hash = life_key(w->tgid, w->process_start), kinds = 0, end;
	int r = 0;

	/* The command is weir itself until its execve, which may already be over. */
	if (!d->began_boot || w->process_start > d->began_boot || w->ppid == (int32_t)getpid())
		return 0;
	map_get(&d->announcers, hash, &kinds);
	if (kinds & LOOKED_AT)
		return 0;
	r = map_set(&d->announcers, hash, kinds | LOOKED_AT);
	for (unsigned int kind = 0; kind < WIRE_ANNOUNCE_KINDS && !r; kind++) {
		struct announcement a = {.kind = kind,
					 .event = ANNOUNCE_MADE,
					 .pid = w->tgid,
					 .process_start = w->process_start,
					 .thread = w->thread,
					 .time = (int64_t)w->head.time};

		if (!announce_kinds[kind].name ||
		    !remote_mapping(w->tgid, announce_kinds[kind].name, &a.addr, &end))
			continue;
		a.len = end - a.addr;
		r = announced(d, &a, out);
	}
	return r;
}

/* Whether a process announced memory of a kind before it ended; later announcements arrived before the turn of its end. */
static bool announced_before(struct decode *d, uint64_t hash, unsigned int kind, int64_t time)
{
	uint64_t last = 0;

	return map_get(&d->announced_at, hash + kind, &last) && (int64_t)last <= time;
}

static int announcer_ends(struct decode *d, struct announcement *a, struct batch_set *out)
{
	uint64_t hash = life_key(a->pid, a->process_start), kinds = 0;
	int r = markers_gone(d, a->pid, a->process_start, a->time, out);

	r = r ? r : probes_gone(d, a->pid, a->process_start, a->time, out);
	if (r || !map_get(&d->announcers, hash, &kinds))
		return r;
	for (unsigned int kind = 0; kind < WIRE_ANNOUNCE_KINDS && !r; kind++) {
		/* announced by the new program, ahead of the exec's turn */
		bool newer = !announced_before(d, hash, kind, a->time);

		if (!(kinds >> kind & 1) || (newer && a->event == ANNOUNCE_EXIT))
			continue;
		if (!newer) { /* the reader may add it again */
			map_get(&d->announcers, hash, &kinds);
			kinds &= ~(1ull << kind);
			map_del(&d->announced_at, hash + kind);
			r = map_set(&d->announcers, hash, kinds);
		}
		a->kind = kind;
		r = r ? r : announce_kinds[kind].take(d, a, out);
	}
	if (a->event == ANNOUNCE_EXIT)
		map_del(&d->announcers, hash);
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
