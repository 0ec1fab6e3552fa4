/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * several.h: calls that waited on several descriptors: which of them were ready, or, if none was, which they waited on.
 * Read at the exit, and only if the call slept: it took microseconds anyway, and reading takes 0.1 to 0.5 of one. Only
 * select() is read at its enter too, as it overwrites its sets.
 *
 * epoll_wait() returns not descriptors but the data that the program attached to them. They are looked up in the
 * kernel's own tree of the epoll, instead of tracking every epoll_ctl(), dup() and close(): this is right for
 * everything that was added before the recording, by any process. If a program uses descriptor numbers as data, they
 * are found in a few steps; otherwise the tree is walked, up to STEPS_MAX. It is read without its lock: a concurrent
 * change by another thread may hide descriptors, but those found belong to that epoll.
 *
 * Loop variables are kept in scratch, whose values are unknown to the verifier: otherwise it would track every value,
 * and before 6.7 would assume that the value before the first step never changes.
 */
#pragma once

#include "bpf/lib/call/filter.h"

#define POLL_MAX  1024
#define CHUNK_FDS 32   /* descriptors read at once */
#define CHUNK_AT  1024 /* in scratch.data, after the record */
#define STEPS_MAX 768  /* in a tree: about 256 descriptors */
#define DEPTH_MAX 48
#define POLL_IN	  1
#define POLL_PRI  2
#define POLL_OUT  4

struct user_pollfd {
	__s32 fd;
	__u16 events, revents;
};

struct user_epoll {
	__u32 events;
#if !defined(__TARGET_ARCH_x86)
	__u32 pad;
#endif
	__u32 data[2];
};

/* The record: like struct rich without names. */
struct several {
	struct wire_op op;
	__u64 args[WIRE_ARGS];
	struct wire_second second;
	struct wire_away away;
	struct wire_ready ready[WIRE_READY_MAX];
};

struct several_ctx {
	struct scratch *s;
	__u64 at;    /* user address */
	__u64 count; /* descriptors in the array */
	__u64 ready; /* number of ready ones; 0: report those waited on */
};

static __always_inline struct wire_away *away_of(struct scratch *s)
{
	return &((struct several *)s->data)->away;
}

static __always_inline struct wire_ready *ready_at(struct scratch *s, __u32 i)
{
	return &((struct several *)s->data)->ready[i & (WIRE_READY_MAX - 1)];
}

/* Adds a descriptor, or counts it if there is no room. */
static __always_inline struct wire_ready *ready_add(struct scratch *s, __s32 fd, __u32 events,
						    __u32 revents)
{
	struct wire_away *a = away_of(s);
	struct wire_ready *r;

	if (a->count >= WIRE_READY_MAX) {
		a->left++;
		return NULL;
	}
	r = ready_at(s, a->count++);
	r->file = 0;
	r->fd = fd;
	r->events = events;
	r->revents = revents;
	r->pad = 0;
	return r;
}

/* ---- poll ---- */

/* Reads the part of the array that begins with a given element. */
static __always_inline bool poll_read(struct several_ctx *ctx, __u64 from)
{
	__u64 n = ctx->count - from, len;

	if (n > CHUNK_FDS)
		n = CHUNK_FDS;
	len = n * sizeof(struct user_pollfd);
	barrier_var(len);
	return len <= CHUNK_FDS * sizeof(struct user_pollfd) &&
	       !bpf_probe_read_user(ctx->s->data + CHUNK_AT, len,
				    (void *)(ctx->at + from * sizeof(struct user_pollfd)));
}

/* bpf_loop: an element. In scratch: `sum` counts those not ignored, `user` is the last of them. */
static long poll_step(__u32 i, struct several_ctx *ctx)
{
	struct scratch *s = ctx->s;
	struct user_pollfd *p = (struct user_pollfd *)(s->data + CHUNK_AT) + (i & (CHUNK_FDS - 1));

	if (!(i & (CHUNK_FDS - 1)) && !poll_read(ctx, i)) {
		s->done = 1;
		return 1;
	}
	if (p->fd < 0)
		return 0;
	s->sum++;
	s->user = (__u32)p->fd;
	if (!ctx->ready || p->revents)
		ready_add(s, p->fd, p->events, p->revents);
	return ctx->ready && away_of(s)->count + away_of(s)->left >= ctx->ready;
}

/* ---- select ---- */

static __always_inline __u32 bits_count(__u64 v)
{
	v -= (v >> 1) & 0x5555555555555555ull;
	v = (v & 0x3333333333333333ull) + ((v >> 2) & 0x3333333333333333ull);
	v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return v * 0x0101010101010101ull >> 56;
}

/* In scratch: `step` is the word, `size` its bits that are still to be examined, `sum` the number of descriptors
 * passed, `user` the last of them. */
struct select_ctx {
	struct scratch *s;
	struct fd_sets *k;
	__u64 ready;
	__u32 count; /* the kernel ignores descriptors from this one on */
};

/* A descriptor's bits in the sets, as poll() flags. */
static __always_inline __u32 set_events(const __u64 *words, __u32 word, __u32 bit)
{
	__u32 at = word & (SET_WORDS - 1);

	return (words[at] >> bit & 1 ? POLL_IN : 0) |
	       (words[SET_WORDS + at] >> bit & 1 ? POLL_OUT : 0) |
	       (words[2 * SET_WORDS + at] >> bit & 1 ? POLL_PRI : 0);
}

/* bpf_loop: a word of the sets, or a descriptor of it. */
static long select_step(__u32 i, struct select_ctx *ctx)
{
	struct scratch *s = ctx->s;
	__u64 *out = (__u64 *)(s->data + CHUNK_AT), given, rest = s->size;
	__u32 at = s->step, bit;

	if (!rest) {
		at = i ? at + 1 : 0;
		if (at >= SET_WORDS)
			return 1;
		s->step = at;
		given = ctx->k->words[0][at] | ctx->k->words[1][at] | ctx->k->words[2][at];
		if (at == ctx->count / 64)
			given &= (1ull << (ctx->count & 63)) - 1;
		s->sum += bits_count(given);
		s->size = ctx->ready ? out[at] | out[SET_WORDS + at] | out[2 * SET_WORDS + at]
				     : given;
		return 0;
	}
	if (away_of(s)->count >= WIRE_READY_MAX) {
		away_of(s)->left += bits_count(rest);
		s->size = 0;
		return 0;
	}
	bit = bits_count((rest & -rest) - 1) & 63;
	s->size = rest & (rest - 1);
	s->user = at * 64 + bit;
	ready_add(s, at * 64 + bit, set_events(&ctx->k->words[0][0], at, bit),
		  ctx->ready ? set_events(out, at, bit) : 0);
	return 0;
}

/* The sets that select returned, within those passed. False: unreadable. */
static __always_inline bool select_found(struct scratch *s, struct thread_state *ts)
{
	__u32 len = sets_bytes(ts->call.args[0]);

	__builtin_memset(s->data + CHUNK_AT, 0, 3 * SET_WORDS * 8);
	for (int i = 0; i < 3; i++) {
		__u64 user = ts->call.args[1 + i];

		if (user &&
		    bpf_probe_read_user(s->data + CHUNK_AT + i * SET_WORDS * 8, len, (void *)user))
			return false;
	}
	return true;
}

/* ---- epoll ---- */

/* bpf_loop: descends the tree to a descriptor of a file. In scratch: `dentry` the node, `user` the file, `step` the
 * descriptor. */
static long item_step(__u32 i, struct several_ctx *ctx)
{
	struct scratch *s = ctx->s;
	__u64 node = s->dentry, file;
	__s32 fd;

	if (!node)
		return 1;
	file = (__u64)kread(struct epitem, node, ffd.file);
	fd = kread(struct epitem, node, ffd.fd);
	if (file == s->user && fd == (__s32)s->step) {
		s->done = 1;
		return 1;
	}
	if (s->user > file || (s->user == file && (__s32)s->step > fd))
		s->dentry = (__u64)kread(struct rb_node, node, rb_right);
	else
		s->dentry = (__u64)kread(struct rb_node, node, rb_left);
	return 0;
}

/* The item of a descriptor whose number the program uses as data; 0: none. */
verified_alone __u64 item_by_number(struct scratch *s, __u64 root, __u64 data)
{
	struct several_ctx ctx = {.s = s};

	if (!s)
		return 0;
	s->dentry = root;
	s->step = (__u32)data;
	s->user = fd_file_apart((__s32)data);
	s->done = 0;
	if (!s->user)
		return 0;
	bpf_loop(DEPTH_MAX, item_step, &ctx, 0);
	if (!s->done || kread(struct epitem, s->dentry, event.data) != data)
		return 0;
	return s->dentry;
}

/* Fills in a descriptor from its item. */
static __always_inline void item_fill(struct wire_ready *r, __u64 item)
{
	r->fd = kread(struct epitem, item, ffd.fd);
	r->file = (__u64)kread(struct epitem, item, ffd.file);
	r->events = kread(struct epitem, item, event.events);
}

#define ITEM_NONE      0
#define ITEM_AMBIGUOUS 1 /* two descriptors have the same data */

/* Compares an item with the unresolved results; wire_ready.file holds the item meanwhile. */
static __always_inline void item_compare(struct scratch *s, __u64 item)
{
	__u64 data = kread(struct epitem, item, event.data);

	for (__u32 k = 0; k < WIRE_READY_MAX; k++) {
		struct wire_ready *r = ready_at(s, k);

		if (k >= away_of(s)->count)
			break;
		if (r->pad && s->found[k] == data)
			r->file = r->file == ITEM_NONE ? item : ITEM_AMBIGUOUS;
	}
}

static __always_inline void item_visit(struct several_ctx *ctx, __u64 item)
{
	struct wire_ready *r;

	if (ctx->ready) {
		item_compare(ctx->s, item);
		return;
	}
	r = ready_add(ctx->s, -1, 0, 0);
	if (r)
		item_fill(r, item);
}

/*
 * bpf_loop: a step of an in-order walk of the tree. In scratch: `dentry` the node, `mnt` the previous node (0: from
 * above).
 */
static long tree_step(__u32 i, struct several_ctx *ctx)
{
	struct scratch *s = ctx->s;
	__u64 node = s->dentry, from = s->mnt, left, right;

	if (!node) {
		s->done = 1;
		return 1;
	}
	left = (__u64)kread(struct rb_node, node, rb_left);
	if (!from && left) {
		s->dentry = left;
		return 0;
	}
	right = (__u64)kread(struct rb_node, node, rb_right);
	if (!from || from == left) {
		item_visit(ctx, node);
		if (right) {
			s->dentry = right;
			s->mnt = 0;
			return 0;
		}
	}
	s->mnt = node;
	s->dentry = kread(struct rb_node, node, __rb_parent_color) & ~3ull;
	return 0;
}

/* One of the results of epoll_wait(), at data[CHUNK_AT]. */
verified_alone int epoll_result(struct scratch *s, __u32 k)
{
	struct user_epoll *e;

	if (!s)
		return 0;
	k &= WIRE_READY_MAX - 1;
	e = (struct user_epoll *)(s->data + CHUNK_AT) + k;
	s->found[k] = e->data[0] | (__u64)e->data[1] << 32;
	ready_add(s, -1, 0, e->events);
	return 0;
}

/* All of them. 0: unreadable. */
verified_alone int epoll_results(struct scratch *s, __u64 at, __u32 ready)
{
	__u64 n = ready < WIRE_READY_MAX ? ready : WIRE_READY_MAX;
	__u64 len = n * sizeof(struct user_epoll);

	barrier_var(len);
	if (!s || len > WIRE_READY_MAX * sizeof(struct user_epoll) ||
	    bpf_probe_read_user(s->data + CHUNK_AT, len, (void *)at))
		return 0;
	for (__u32 k = 0; k < WIRE_READY_MAX; k++) {
		if (k >= n)
			break;
		epoll_result(s, k);
	}
	return 1;
}

/* Finds the descriptors of the results of epoll_wait(). */
verified_alone int epoll_find(struct scratch *s, __u32 ready, __u64 root)
{
	struct several_ctx ctx = {.s = s, .ready = ready};
	__u32 missing = 0;

	if (!s)
		return 0;
	for (__u32 k = 0; k < WIRE_READY_MAX; k++) {
		struct wire_ready *r = ready_at(s, k);

		if (k >= away_of(s)->count)
			break;
		r->file = item_by_number(s, root, s->found[k]);
		r->pad = !r->file; /* unresolved */
		missing += r->pad;
	}
	s->dentry = root;
	s->mnt = 0;
	if (missing)
		bpf_loop(STEPS_MAX, tree_step, &ctx, 0);
	for (__u32 k = 0; k < WIRE_READY_MAX; k++) {
		struct wire_ready *r = ready_at(s, k);
		__u64 item = r->file;

		if (k >= away_of(s)->count)
			break;
		r->pad = 0;
		r->file = 0;
		if (item > ITEM_AMBIGUOUS)
			item_fill(r, item);
	}
	return 0;
}

verified_alone int epoll_fill(struct scratch *s, struct thread_state *ts, __s64 ret)
{
	struct several_ctx ctx = {.s = s};
	__u64 ep, root;

	/* As in call_pos(): closed meanwhile, it may have been reused. */
	if (!s || !ts || !ts->call.file || fd_file_apart(ts->call.args[0]) != ts->call.file)
		return 0;
	ep = (__u64)kread(struct file, ts->call.file, private_data);
	root = kread_ptr(ep + bpf_core_field_offset(struct eventpoll, rbr.rb_root.rb_node));
	ctx.ready = ret > 0 ? ret : 0;
	if (!ctx.ready) {
		s->dentry = root;
		s->mnt = 0;
		s->done = 0;
		bpf_loop(STEPS_MAX, tree_step, &ctx, 0);
		if (!s->done)
			away_of(s)->left = WIRE_LEFT_UNKNOWN;
		return 0;
	}
	if (!epoll_results(s, ts->call.args[1], ctx.ready))
		return -1;
	away_of(s)->left = ctx.ready - away_of(s)->count;
	epoll_find(s, ctx.ready, root);
	return 0;
}

/* ---- all ---- */

/* Sets the call's descriptor if it waited on only one. */
static __always_inline void several_one(struct scratch *s, __u64 valid, __u64 fd)
{
	struct wire_op *op = &((struct several *)s->data)->op;

	if (valid == 1)
		op->fd = fd;
}

verified_alone int poll_fill(struct scratch *s, struct thread_state *ts, __s64 ret)
{
	struct several_ctx ctx = {.s = s};

	if (!s || !ts)
		return 0;
	ctx.at = ts->call.args[0];
	ctx.count = (__u32)ts->call.args[1];
	ctx.ready = ret > 0 ? ret : 0;
	s->sum = 0;
	s->done = 0;
	bpf_loop(ctx.count < POLL_MAX ? ctx.count : POLL_MAX, poll_step, &ctx, 0);
	if (ctx.ready)
		away_of(s)->left = ctx.ready - away_of(s)->count;
	else if (ctx.count > POLL_MAX)
		away_of(s)->left = WIRE_LEFT_UNKNOWN;
	/* If there are more elements after the last ready one, it is not the only one. */
	if (ctx.count == 1 || (!ctx.ready && ctx.count <= POLL_MAX))
		several_one(s, s->sum, s->user);
	return s->done ? -1 : 0;
}

verified_alone int select_fill(struct scratch *s, struct thread_state *ts, __s64 ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct select_ctx ctx = {.s = s};

	if (!s || !ts)
		return 0;
	ctx.k = bpf_task_storage_get(&select_sets, task, 0, 0);
	if (!ctx.k || ctx.k->version != ts->call.op.thread || ctx.k->call != ts->call.op.call)
		return -1; /* the sets found no room */
	ctx.ready = ret > 0 ? ret : 0;
	ctx.count = ts->call.args[0];
	if (ctx.k->unread || (ctx.ready && !select_found(s, ts)))
		return -1;
	s->size = 0;
	s->sum = 0;
	bpf_loop(3 * SET_WORDS + WIRE_READY_MAX, select_step, &ctx, 0);
	if (ts->call.args[0] > SET_WORDS * 64)
		away_of(s)->left = WIRE_LEFT_UNKNOWN;
	else
		several_one(s, s->sum, s->user);
	return 0;
}

/* The file number of a descriptor: an epoll knows the file, otherwise it is the file that the descriptor now refers to. */
verified_alone int ready_file(struct scratch *s, struct thread_state *ts, __u32 i)
{
	struct wire_ready *e;
	__u64 file;

	if (!s || !ts)
		return 0;
	e = ready_at(s, i);
	file = e->file;
	if (!file && e->fd >= 0)
		file = fd_file_apart(e->fd);
	e->file = file ? file_of(ts, file, e->fd)->key : 0;
	return 0;
}

/* Appends the descriptors of a call that waited on several to its record. Inlined: the call stack is at its limit while
 * a file's path is walked. */
static __always_inline void several_add(struct scratch *s, struct thread_state *ts,
					struct wire_plan *p, __s64 ret)
{
	struct several *r = (struct several *)s->data;
	int unread;

	if (p->flags & WIRE_PLAN_POLL)
		unread = poll_fill(s, ts, ret);
	else if (p->flags & WIRE_PLAN_SELECT)
		unread = select_fill(s, ts, ret);
	else
		unread = epoll_fill(s, ts, ret);
	if (unread && ret >= 0) {
		r->op.status |= STATUS_ARG_UNREAD;
		cpu_count(unread);
	}
	for (__u32 i = 0; i < WIRE_READY_MAX; i++) {
		if (i < r->away.count)
			ready_file(s, ts, i);
	}
	/* The one that the call waited on. */
	if (!(p->flags & WIRE_PLAN_EPOLL) && r->op.fd >= 0 && r->away.count)
		r->op.file = r->ready[0].file;
}

/* Appends WIRE_PART_AWAY to a record of `len` bytes, in a scratch buffer; returns its new length. */
static __always_inline __u32 away_add(struct scratch *s, struct thread_state *ts,
				      struct wire_plan *p, __s64 ret, __u32 len)
{
	struct several *r = (struct several *)s->data;

	if (len > 256 + WIRE_WALK_MAX)
		return len;
	away_fill((struct wire_away *)(s->data + len), ts, ret);
	r->op.head.parts |= WIRE_PART_AWAY;
	len += sizeof(struct wire_away);
	if ((p->flags & WIRE_PLAN_SEVERAL) && (r->op.status & STATUS_SLEPT)) {
		several_add(s, ts, p, ret);
		len += (r->away.count & (2 * WIRE_READY_MAX - 1)) * sizeof(struct wire_ready);
	}
	if (!phases)
		return len;
	barrier_var(len);
	if (len > sizeof(s->data) - sizeof(struct wire_phases) - sizeof(ts->phases.waits))
		return len;
	phases_fill_all((struct wire_phases *)(s->data + len), &ts->phases);
	return len + phases_bytes(&ts->phases);
}
