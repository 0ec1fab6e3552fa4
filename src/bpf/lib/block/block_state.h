/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * block_state.h: requests in flight. A request is identified by its first bio, because the tracepoints of a bio that
 * becomes or joins one do not name the request; by its own address if that bio ends earlier.
 */
#pragma once

#include "bpf/lib/block/block_walk.h"

__u64 next_block = 1;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct wire_block_state);
} bios SEC(".maps");

static const struct wire_block_state no_state;

/* By the address of a bio for a device below one without requests: the bio above. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} uppers SEC(".maps");

__u32 stacked; /* there is a device without requests */

/* The last requester of a flush of a disk's cache. */
struct flusher {
	__u64 op_start;
	__u32 op_thread, owner;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct flusher);
} flushers SEC(".maps");

static __always_inline struct wire_block_state *state_of(__u64 key)
{
	return bpf_map_lookup_elem(&bios, &key);
}

static __always_inline void state_end(__u64 key)
{
	bpf_map_delete_elem(&bios, &key);
}

static __always_inline struct wire_block_state *state_new(__u64 key)
{
	struct wire_block_state *e;

	if (shared.over)
		return NULL;
	if (bpf_map_update_elem(&bios, &key, &no_state, BPF_ANY)) {
		side_lose(WIRE_SIDE_STORAGE, WIRE_BLOCK); /* its request has no owner, or no row */
		return NULL;
	}
	e = state_of(key);
	if (e)
		e->b.id = __sync_fetch_and_add(&next_block, 1);
	return e;
}

static __always_inline void state_send(struct wire_block_state *e, __u64 now)
{
	__u32 parts = e->b.parts, size;

	if (parts > WIRE_BLOCK_PARTS)
		parts = WIRE_BLOCK_PARTS;
	size = sizeof(e->b) + parts * sizeof(e->parts[0]);
	e->b.head.type = WIRE_BLOCK;
	e->b.head.size = size;
	e->b.head.seq = bpf_get_smp_processor_id();
	e->b.head.time = now;
	side_send(&e->b.head, size);
}

/* Whether a file system, or another device, holds the device of a bio: its own pages are then not a program's. */
static __always_inline bool device_is_held(__u64 bio)
{
	return knum(struct block_device, knum(struct bio, bio, bi_bdev), bd_holder);
}

static __always_inline bool is_journal_thread(struct task_struct *task)
{
	return (tread(struct task_struct, task, flags) & PF_KTHREAD) &&
	       (*(__u64 *)task->comm & 0xffffffffffull) == 0x2f3264626aull; /* "jbd2/" */
}

/* A request on behalf of one to the device above belongs to the same call. */
static __always_inline void upper_call(struct wire_block_state *e, struct wire_block_state *u)
{
	e->b.upper = u->b.id;
	e->b.op_thread = u->b.op_thread;
	e->b.op_start = u->b.op_start;
}

/* The loop device request on whose file this one works. */
static __always_inline void upper_of_loop(struct wire_block_state *e, struct walk *w, __u64 upper)
{
	struct wire_block_state *u = state_of(upper);

	if (!u)
		return;
	upper_call(e, u);
	if (u->b.parts && u->parts[0].owner) {
		w->owner = u->parts[0].owner;
		w->via = WIRE_VIA_UPPER;
	}
}

/*
 * A bio for a device without requests that itself becomes a request to the device below, as in multipath NVMe: its
 * state moves to another key.
 */
static __always_inline __u64 above_itself(__u64 bio)
{
	return bio | 1;
}

/* 1: it does, or was sent on another path before. */
verified_alone int upper_moves(__u64 bio)
{
	struct wire_block_state *u = state_of(bio);
	__u64 key = above_itself(bio);

	if (!u || !(u->b.flags & (WIRE_BLOCK_BIO | WIRE_BLOCK_MOVED)))
		return 0;
	return u->b.flags & WIRE_BLOCK_MOVED || !bpf_map_update_elem(&bios, &key, u, BPF_ANY);
}

struct moved {
	__u64 bio, now;
	__u32 error, pad;
};

/* bpf_loop: the bios of a request. */
static long moved_step(__u32 i, struct moved *m)
{
	__u64 key = above_itself(m->bio);
	struct wire_block_state *u;

	if (!m->bio)
		return 1;
	u = state_of(key);
	if (u) {
		u->b.bytes = u->b.size;
		u->b.error = m->error;
		state_send(u, m->now);
		state_end(key);
	}
	m->bio = knum(struct bio, m->bio, bi_next);
	return 0;
}

/* A request has completed that contains bios of requests to the device above: they have no other end. */
static noinline int uppers_complete(__u64 first, __u64 now, __u8 error)
{
	struct moved m = {.bio = first, .now = now, .error = error};

	bpf_loop(WALK_MAX, moved_step, &m, 0);
	return 0;
}

/* The bio for a device without requests that this one was cloned from, or is. True if it has the same parts. */
static __always_inline bool upper_of_clone(struct wire_block_state *e, struct bio_source *s,
					   __u64 bio)
{
	__u64 key = bio, *upper = bpf_map_lookup_elem(&uppers, &key);
	struct wire_block_state *u;

	key = s->bio;
	if (!upper && key != bio)
		upper = bpf_map_lookup_elem(&uppers, &key);
	u = e->b.flags & WIRE_BLOCK_MOVED ? state_of(above_itself(bio))
	    : upper			  ? state_of(*upper)
					  : NULL;
	if (!u)
		return false;
	upper_call(e, u);
	if (u->b.size != e->b.size || (u->b.flags & WIRE_BLOCK_SPILLED))
		return false;
	__builtin_memcpy(e->parts, u->parts, sizeof(e->parts));
	e->b.parts = u->b.parts;
	return true;
}

/* Direct I/O and the like: one part, which belongs to one file or none. */
static __always_inline void part_whole(struct wire_block_state *e, struct walk *w,
				       struct bio_source *s, __u32 bytes)
{
	struct wire_block_part p = {.owner = w->owner,
				    .via = w->via,
				    .bytes = bytes,
				    .pos = s->pos,
				    .origin = s->origin};

	if (s->inode && s->origin != WIRE_ORIGIN_METADATA) {
		p.inode = inode_number(s->inode);
		if (!p.origin)
			p.origin = WIRE_ORIGIN_FILE;
	}
	part_add(e, &p);
}

/* The pages of a bio. Returns how many bytes belong to no file. */
static __always_inline __u32 pages_walk(struct wire_block_state *e, struct walk *w, __u64 bio)
{
	struct walk_bio b = {.e = e, .w = w};

	w->writes = e->b.opf & 1;
	w->left = e->b.size;
	w->inode = 0;
	w->other = 0;
	w->vec = knum(struct bio, bio, bi_io_vec) +
		 (__u64)kread(struct bio, bio, bi_iter.bi_idx) * bpf_core_type_size(struct bio_vec);
	w->done = kread(struct bio, bio, bi_iter.bi_bvec_done);
	bpf_loop(WALK_MAX, walk_step, &b, 0);
	return w->other + w->left;
}

static __always_inline void walk_begin(struct walk *w, struct wire_block_state *e,
				       struct bio_source *s, __u32 owner)
{
	w->device = is_journal_thread(bpf_get_current_task_btf()) ? WIRE_ORIGIN_JOURNAL
		    : device_is_held(s->bio)			  ? WIRE_ORIGIN_METADATA
								  : WIRE_ORIGIN_DEVICE;
	w->owner = owner;
	w->via = !owner				     ? WIRE_VIA_UNKNOWN
		 : e->b.flags & WIRE_BLOCK_OF_KERNEL ? WIRE_VIA_KERNEL
						     : WIRE_VIA_CURRENT;
	if (s->waiter && (e->b.flags & WIRE_BLOCK_OF_KERNEL)) {
		w->owner = owner_of(s->waiter);
		w->via = w->owner ? WIRE_VIA_WAITER : WIRE_VIA_UNKNOWN;
	}
	if (s->upper_rq)
		upper_of_loop(e, w, knum(struct request, s->upper_rq, bio));
}

static __always_inline void walk_bio(struct wire_block_state *e, struct walk *w,
				     struct bio_source *s, __u64 bio)
{
	__u32 size = e->b.size;

	if (!size || op_is_discard(e->b.opf))
		s->origin = size ? WIRE_ORIGIN_DISCARD : WIRE_ORIGIN_PREFLUSH;
	if (!s->direct && !s->origin) {
		size = pages_walk(e, w, bio);
		if (!size)
			return;
		if (is_symbol(s->end, submit_bio_wait_endio) && !device_is_held(bio))
			source_device(s, bio);
		if (w->device == WIRE_ORIGIN_JOURNAL)
			s->origin = WIRE_ORIGIN_JOURNAL;
	}
	part_whole(e, w, s, size);
}

/* The parts of a bio submitted by the current task. */
verified_alone int bio_parts(struct wire_block_state *e, __u64 bio, __u32 owner)
{
	struct bio_source s = {};
	struct walk *w;

	if (!e)
		return 0;
	w = walk_get();
	if (!w)
		return 0;
	source_look(&s, bio);
	if (!stacked || !upper_of_clone(e, &s, bio)) {
		walk_begin(w, e, &s, owner);
		walk_bio(e, w, &s, bio);
	}
	w->busy = 0;
	return 0;
}

/* A bio becomes a request or joins one, or goes to a device without requests, in the context of the submitter. */
static __always_inline struct wire_block_state *
bio_begin(struct task_struct *task, struct block_task *t, __u64 bio, __u64 queued, __u64 got)
{
	struct thread_state *ts = bpf_task_storage_get(&threads, task, 0, 0);
	bool moved = stacked && upper_moves(bio);
	struct wire_block_state *e = state_new(bio);
	__u32 owner;

	if (!e)
		return NULL;
	if (moved)
		e->b.flags = WIRE_BLOCK_MOVED;
	owner = owner_current(task, t, ts);
	e->b.queued = queued;
	e->b.got = got;
	e->b.sector = kread(struct bio, bio, bi_iter.bi_sector);
	e->b.size = kread(struct bio, bio, bi_iter.bi_size);
	e->b.opf = kread(struct bio, bio, bi_opf);
	e->b.dev = disk_dev((struct gendisk *)disk_of(bio));
	e->b.bios = 1;
	if (tread(struct task_struct, task, flags) & PF_KTHREAD)
		e->b.flags |= WIRE_BLOCK_OF_KERNEL;
	if (ts && thread_in_call(ts)) {
		e->b.op_thread = ts->version;
		e->b.op_start = ts->call.op.start;
	}
	bio_parts(e, bio, owner);
	return e;
}

/* Adds a bio of the same request: its parts, and its queueing time. */
verified_alone int state_join(struct wire_block_state *e, __u64 bio)
{
	struct wire_block_state *o = state_of(bio);
	struct wire_block_more *r;

	if (!e || !o || e->b.id == o->b.id)
		return 0;
	if (o->b.queued && o->b.queued < e->b.queued)
		e->b.queued = o->b.queued;
	if (o->b.got && (!e->b.got || o->b.got < e->b.got))
		e->b.got = o->b.got;
	if (o->b.inserted && (!e->b.inserted || o->b.inserted < e->b.inserted))
		e->b.inserted = o->b.inserted;
	e->b.requeues += o->b.requeues;
	e->b.flags |= o->b.flags & WIRE_BLOCK_MOVED;
	if (!e->b.op_thread) {
		e->b.op_thread = o->b.op_thread;
		e->b.op_start = o->b.op_start;
	}
	if (!e->b.upper)
		e->b.upper = o->b.upper;
	for (int i = 0; i < WIRE_BLOCK_PARTS; i++) {
		if (i < o->b.parts)
			part_add(e, &o->parts[i]);
	}
	if (o->b.flags & WIRE_BLOCK_SPILLED) {
		r = side_take(WIRE_BLOCK_MORE, sizeof(*r), bpf_ktime_get_ns());
		if (r) {
			r->id = o->b.id;
			r->of = e->b.id;
			__builtin_memset(&r->part, 0, sizeof(r->part));
			side_commit(r);
		}
		e->b.flags |= WIRE_BLOCK_SPILLED;
	}
	state_end(bio);
	return 0;
}

struct gather {
	struct wire_block_state *e;
	__u64 bio;
	__u32 count;
	__u32 pad;
};

/* bpf_loop: the bios of a request after the first. */
static long gather_step(__u32 i, struct gather *g)
{
	if (!g->bio)
		return 1;
	g->count++;
	state_join(g->e, g->bio);
	g->bio = knum(struct bio, g->bio, bi_next);
	return 0;
}

/* Merges the bios that joined a request into it. */
static noinline int state_gather(struct wire_block_state *e, __u64 first)
{
	struct gather g = {.e = e, .count = 1};

	g.bio = knum(struct bio, first, bi_next);
	bpf_loop(WALK_MAX, gather_step, &g, 0);
	e->b.bios = g.count;
	return 0;
}
