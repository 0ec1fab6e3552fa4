/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c: turns the kernel's records of calls into rows of op. */
#include "capture/ebpf/calls/decode.h"
#include "capture/ebpf/calls/details.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "capture/ebpf/side/block.h"
#include "capture/ebpf/side/content.h"
#include "capture/ebpf/contexts/contexts.h"
#include "capture/ebpf/spans/markers.h"
#include "capture/ebpf/probes/probe_rows.h"
#include "capture/ebpf/spans/spans.h"

#define SOCKETS_MAX 32768 /* sockets whose peers are remembered */

/* The current wall time minus the clock of start_boottime, which includes suspended time. */
static int64_t boot_offset_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return clock_realtime_ns() - (ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec);
}

static void limits_quarter(struct decode_limits *l)
{
	l->runs = MAX(l->runs / 4, (size_t)2);
	l->inodes /= 4;
	l->ended /= 4;
	l->paths /= 4;
	l->asked /= 4;
}

int decode_new(struct decode **ret, const struct decode_options *opt, struct error *err)
{
	_cleanup_(decode_freep) struct decode *d = calloc(1, sizeof(*d));

	if (!d)
		return error_set(err, -ENOMEM, "out of memory");
	d->opt = *opt;
	if (!d->opt.limits.runs)
		d->opt.limits = (struct decode_limits){.runs = 5,
						       .inodes = 450000,
						       .ended = 100000,
						       .paths = 200000,
						       .asked = 30000};
	if (d->opt.little_memory)
		limits_quarter(&d->opt.limits);
	records_init(&d->files, d->opt.limits.runs);
	d->inodes.max = d->opt.limits.inodes;
	d->ended.max = d->owners.max = d->owner_threads.max = d->opt.limits.ended;
	d->sock_peers.max = d->sock_keys.max = SOCKETS_MAX;
	if (names_new(&d->names, &d->opt, &d->files) < 0 || spans_new(&d->spans) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	d->boot_offset = boot_offset_ns();
	d->clock_at = clock_realtime_ns();
	for (uint32_t nr = 0; nr < WIRE_CALLS_MAX; nr++) {
		d->codes[nr] = op_code_of_native(nr);
		plan_fates(d->codes[nr], d->fates[nr]);
	}
	*ret = TAKE_PTR(d);
	return 0;
}

int decode_expect(struct decode *d, bool phases, bool block)
{
	d->opt.phases = phases;
	d->opt.block = block;
	return block && !d->block ? block_new(&d->block, &d->opt.limits) : 0;
}

void decode_free(struct decode *d)
{
	if (!d)
		return;
	names_free(d->names);
	stacks_free(d->stacks);
	mounts_free(&d->mounts);
	records_free(&d->files);
	recent_free(&d->inodes);
	map_free(&d->processes);
	recent_free(&d->ended);
	recent_free(&d->owners);
	recent_free(&d->owner_threads);
	map_free(&d->cgroups);
	map_free(&d->tids);
	map_free(&d->versions);
	map_free(&d->announcers);
	map_free(&d->announced_at);
	contexts_free(d->contexts);
	spans_free(d->spans);
	markers_free(d->markers);
	probe_stacks_free(d->probes);
	intern_free(&d->peers);
	recent_free(&d->sock_peers);
	recent_free(&d->sock_keys);
	kept_free(&d->alone);
	kept_free(&d->thread_records);
	kept_free(&d->process_records);
	free(d->threads);
	block_free(d->block);
	contents_free(d->contents);
	kept_free(&d->details);
	btf__free(d->btf);
	io_split_free(&d->io_split);
	free(d);
}

/* The parts of a record, as pointers into it. */
struct parts {
	const uint64_t *args;
	const struct wire_second *second;
	uint64_t held;
	const struct wire_name *path, *path2, *addr;
	const struct wire_away *away;
	const struct wire_ready *ready; /* [away->count] */
	const struct wire_phases *phases;
	const struct wire_wait *waits; /* [phases->kept] */
};

static const struct wire_name *take_name(const uint8_t **at, const uint8_t *end)
{
	const struct wire_name *n = (const void *)*at;

	if (end - *at < (ssize_t)sizeof(*n) || (size_t)(end - *at) < sizeof(*n) + n->len)
		return NULL;
	*at += sizeof(*n) + align_up(n->len, 8);
	return n;
}

static int take_away(const uint8_t **at, const uint8_t *end, struct parts *p)
{
	const struct wire_away *a = (const void *)*at;
	size_t size;

	if (end - *at < (ssize_t)sizeof(*a) || a->count > WIRE_READY_MAX)
		return -EBADMSG;
	size = sizeof(*a) + a->count * sizeof(*p->ready);
	if ((size_t)(end - *at) < size + (a->phases ? sizeof(*p->phases) : 0))
		return -EBADMSG;
	p->away = a;
	p->ready = (const void *)(a + 1);
	*at += size;
	if (a->phases) {
		p->phases = (const void *)*at;
		p->waits = (const void *)(p->phases + 1);
		*at += sizeof(*p->phases);
		if ((size_t)(end - *at) / sizeof(*p->waits) < p->phases->kept)
			return -EBADMSG;
		*at += p->phases->kept * sizeof(*p->waits);
	}
	return 0;
}

static int parts_take(const struct wire_op *w, struct parts *ret)
{
	const uint8_t *at = (const uint8_t *)(w + 1), *end = (const uint8_t *)w + w->head.size;
	uint8_t parts = w->head.parts;

	*ret = (struct parts){0};
	if (parts & WIRE_PART_ARGS) {
		ret->args = (const void *)at;
		at += sizeof(uint64_t) * WIRE_ARGS;
	}
	if (parts & WIRE_PART_SECOND) {
		ret->second = (const void *)at;
		at += sizeof(*ret->second);
	}
	if (at > end)
		return -EBADMSG;
	if (parts & WIRE_PART_PATH && !(ret->path = take_name(&at, end)))
		return -EBADMSG;
	if (parts & WIRE_PART_PATH2 && !(ret->path2 = take_name(&at, end)))
		return -EBADMSG;
	if (parts & WIRE_PART_ADDR && !(ret->addr = take_name(&at, end)))
		return -EBADMSG;
	if (parts & WIRE_PART_AWAY && take_away(&at, end, ret) < 0)
		return -EBADMSG;
	if (parts & WIRE_PART_HELD) {
		if (end - at < 8)
			return -EBADMSG;
		memcpy(&ret->held, at, sizeof(ret->held));
	}
	return 0;
}

static bool op_ended_well(const struct wire_op *w)
{
	return w->ret >= 0 && !(w->status & (STATUS_UNFINISHED | STATUS_NORETURN));
}

/* Whether one of its path arguments is relative to a descriptor. */
static bool has_folder(const struct wire_plan *p)
{
	return p->dirfd >= 0 || p->dirfd2 >= 0;
}

static struct name_answer by_number(struct decode *d, uint64_t file)
{
	return (struct name_answer){.key = file ? decode_file_key(d, file) : -1,
				    .selected = names_selected(d->names, file)};
}

/* The effect of a call on one of its names. Those that RENAME_EXCHANGE swaps are both known until the second was resolved. */
static enum name_fate fate_of(const struct decode *d, const struct wire_op *w, bool second)
{
	if (!op_ended_well(w))
		return NAME_STAYS;
	if (d->fates[w->nr][0] == NAME_MOVES && w->flags & RENAME_EXCHANGE)
		return second ? NAME_COVERS : NAME_STAYS;
	return d->fates[w->nr][second];
}

static struct name_query query_of(const struct decode *d, const struct wire_op *w,
				  const struct wire_name *name, bool second)
{
	const struct wire_plan *plan = &d->opt.plans[w->nr];
	bool whole = (w->status & STATUS_UNFINISHED) && (w->status & STATUS_NO_START);

	return (struct name_query){
		.base = whole ? 0 : name->base,
		.root = name->root,
		.fate = fate_of(d, w, second),
		.text = (const uint8_t *)(name + 1),
		.len = name->len,
		.now = (int64_t)w->head.time + d->opt.clock_offset,
		.may_know = w->ret >= 0,
		.failed = w->ret < 0,
		.target = second && plan->flags & WIRE_PLAN_TARGET,
		.whole = whole,
		.mode = whole ? (uint32_t)name->base : 0,
	};
}

static int resolve(struct decode *d, const struct wire_op *w, const struct wire_name *name,
		   bool second, struct batch_set *out, struct name_answer *ret)
{
	const struct wire_plan *plan = &d->opt.plans[w->nr];
	struct name_query q = query_of(d, w, name, second);

	/* AT_EMPTY_PATH: the descriptor's own file, which may share its name with others. */
	if (!name->len && name->base && has_folder(plan) && op_ended_well(w)) {
		*ret = by_number(d, name->base);
		return 0;
	}
	return names_resolve(d->names, &q, out, ret);
}

/* If a name could not be read, the call's effect on names is unknown. */
static void forget_unread(struct decode *d, const struct wire_op *w, const struct parts *p)
{
	const struct wire_name *names[] = {p->path, p->path2};

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i] && names[i]->error && op_ended_well(w) &&
		    d->fates[w->nr][i] != NAME_STAYS)
			names_forget(d->names);
	}
}

/* The files of a call, by number or by name. */
struct op_files {
	struct name_answer file, file2; /* key -1: none */
	int64_t peer, dir;		/* -1: none */
};

/* Whether the second file is the folder of an open. */
static bool second_is_dir(const struct decode *d, const struct wire_op *w)
{
	return d->opt.plans[w->nr].flags & WIRE_PLAN_OPEN && w->ret >= 0;
}

static int op_files(struct decode *d, const struct wire_op *w, const struct parts *p,
		    struct batch_set *out, struct op_files *ret)
{
	int r = 0;

	ret->file = by_number(d, w->file);
	ret->file2 = by_number(d, p->second && !second_is_dir(d, w) ? p->second->file : 0);
	ret->peer = ret->dir = -1;
	if (p->second && p->second->file && second_is_dir(d, w))
		ret->dir = (int64_t)p->second->file;
	if (p->path && !p->path->error)
		r = resolve(d, w, p->path, false, out, &ret->file);
	if (ret->file.known && p->path->base && d->opt.plans[w->nr].dirfd >= 0)
		ret->dir = (int64_t)p->path->base;
	if (!r && p->path2 && !p->path2->error)
		r = resolve(d, w, p->path2, true, out, &ret->file2);
	if (!r && second_is_dir(d, w)) /* it was opened by name */
		r = names_found(d->names, w->file);
	if (!r && p->addr)
		r = decode_peer(d, (const uint8_t *)(p->addr + 1), p->addr->len, w->head.time, out,
				&ret->peer);
	/* accept() without an address argument: take the address from the new socket */
	if (!r && ret->peer < 0 && d->opt.plans[w->nr].addrout >= 0 &&
	    d->opt.plans[w->nr].ret == RET_FD)
		ret->peer = ret->file2.key;
	return r;
}

/* A call that the selection rejects. */
static int op_left_out(struct decode *d, const struct wire_op *w, const struct parts *p)
{
	struct name_query q;
	int r = 0;

	if (p->path && !p->path->error) {
		q = query_of(d, w, p->path, false);
		r = names_change(d->names, &q);
	}
	if (!r && p->path2 && !p->path2->error) {
		q = query_of(d, w, p->path2, true);
		r = names_change(d->names, &q);
	}
	if (d->opt.plans[w->nr].flags & WIRE_PLAN_RECORD)
		d->filtered++;
	return r;
}

static void op_identity(const struct decode *d, const struct wire_op *w, uint32_t cpu,
			struct batch_row *row)
{

	row_set_if(row, w->start, OP_START, (int64_t)w->start + d->opt.clock_offset);
	if (w->start)
		row_set(row, OP_DUR, (int64_t)(w->head.time - w->start));
	row_set(row, OP_THREAD_ID, w->thread);
	row_set(row, OP_TID, (int32_t)w->tid);
	row_set_if(row, cpu != DECODE_NO_CPU, OP_CPU, cpu);
	row_set(row, OP_KIND, KIND_SYSCALL);
	row_set(row, OP_OP, d->codes[w->nr]);
}

/* err and bytes are derived from ret (enrich/derived.c), except for calls with many messages. */
static void op_result(const struct decode *d, const struct wire_op *w, const struct parts *p,
		      struct batch_row *row)
{

	if (w->status & (STATUS_UNFINISHED | STATUS_NORETURN))
		return;
	row_set(row, OP_RET, w->ret);
	if (d->opt.plans[w->nr].mmsg >= 0 && p->second &&
	    p->second->pos != WIRE_NONE) /* where the programs store the sum of msg_len */
		row_set(row, OP_BYTES, p->second->pos);
}

/* Whether `v` is a descriptor passed to or returned by the call, rather than the working directory. */
static bool descriptor_given(int32_t v, int8_t fd, int8_t dirfd)
{
	return fd >= 0 || v != (dirfd >= 0 ? AT_FDCWD : -1);
}

static void op_where(const struct decode *d, const struct wire_op *w, const struct parts *p,
		     const struct op_files *f, struct batch_row *row)
{
	const struct wire_plan *plan = &d->opt.plans[w->nr];
	/* in a running call, vectors were not summed */
	bool vector = plan->iov >= 0 || plan->msg >= 0 || plan->mmsg >= 0,
	     summed = p->second && w->size != WIRE_SIZE_UNKNOWN,
	     lock = plan->flags & WIRE_PLAN_LOCKS && w->pos != WIRE_NONE;

	/* for a call that waited on a single descriptor, that one */
	row_set_if(row, descriptor_given(w->fd, plan->fd, plan->dirfd), OP_FD, w->fd);
	row_set_if(row, f->file.key >= 0, OP_FILE_ID, f->file.key);
	row_set_if(row, w->pos != WIRE_NONE, OP_POS, w->pos);
	row_set_if(row, vector ? summed : plan->size >= 0 || lock, OP_SIZE, (int64_t)w->size);
	row_set_if(row, plan->opflags >= 0 || plan->how >= 0 || w->nr == WIRE_CALL_OTHER || lock,
		   OP_FLAGS, w->flags);
	row_set_if(row, p->second && descriptor_given(p->second->fd, plan->fd2, plan->dirfd2),
		   OP_FD2, p->second->fd);
	row_set_if(row, f->file2.key >= 0, OP_FILE2_ID, f->file2.key);
	row_set_if(row, p->second && p->second->pos != WIRE_NONE && plan->mmsg < 0,
		   second_is_dir(d, w) ? OP_FILE_SIZE : OP_POS2, p->second->pos);
	row_set_if(row, f->peer >= 0, OP_PEER_ID, f->peer);
	row_set_if(row, f->dir >= 0, OP_DIR_ID, f->dir);
}

/* Whether requests of the call may be among those that found no room. */
static bool requests_lost(const struct decode *d, const struct wire_op *w)
{
	const struct wire_shared *s = d->opt.shared;
	uint64_t first = s ? __atomic_load_n(&s->block_lost_first, __ATOMIC_RELAXED) : 0;

	return first && w->head.time >= first &&
	       w->start <= __atomic_load_n(&s->block_lost_last, __ATOMIC_RELAXED);
}

/*
 * Splits the time for which a call waited for I/O by what its requests did; unknown if waits or requests are missing,
 * or there are very many requests.
 */
static void op_io_split(struct decode *d, const struct wire_op *w, const struct wire_phases *ph,
			const struct wire_wait *waits, struct batch_row *row)
{
	struct io_parts parts;

	if (!io_split_take(&d->io_split, w->thread, w->start, waits, ph->kept, &parts) ||
	    ph->waits != ph->kept || (ph->waits && requests_lost(d, w)))
		return;
	row_set(row, OP_IO_QUEUED, (int64_t)parts.queued);
	row_set(row, OP_IO_DEVICE, (int64_t)parts.device);
}

/* How the time of a call was spent, in a recording of phases. A call without a report was on a CPU all the time. */
static void op_phases(struct decode *d, const struct wire_op *w, const struct parts *p,
		      struct batch_row *row)
{
	static const struct wire_phases none = {0};
	const struct wire_phases *ph = p->phases ? p->phases : &none;
	uint64_t dur = w->head.time - w->start, away;

	if (!w->start) /* what happened before was not seen */
		return;
	row_set(row, OP_MISSES, ph->misses);
	row_set_if(row, d->opt.reads_counted, OP_READ_BYTES, (int64_t)ph->read_bytes);
	if (ph->runq == WIRE_TIME_UNKNOWN)
		return;
	away = ph->io_wait + ph->sleep + ph->runq;
	if (away > dur)
		return;
	row_set(row, OP_IO_WAIT, (int64_t)ph->io_wait);
	row_set(row, OP_SLEEP, (int64_t)ph->sleep);
	row_set(row, OP_RUNQ, (int64_t)ph->runq);
	row_set(row, OP_CPU_TIME, (int64_t)(dur - away));
	if (d->opt.block)
		op_io_split(d, w, ph, p->waits, row);
}

static void op_rest(struct decode *d, const struct wire_op *w, const struct parts *p,
		    const struct op_files *f, struct batch_row *row)
{
	uint8_t raw = d->opt.raw_args ? (1 << WIRE_ARGS) - 1 : d->opt.plans[w->nr].raw;
	int64_t user = -1, kernel = -1;
	int64_t status = w->status | (f->file.known || f->file2.known ? STATUS_BY_PATH : 0);

	if (p->args) {
		for (int i = 0; i < WIRE_ARGS; i++) {
			if (raw >> i & 1)
				row_set(row, OP_A0 + i, (int64_t)p->args[i]);
		}
	}
	if (d->opt.phases)
		op_phases(d, w, p, row);
	/* limit the wait, which is from another clock, to the duration of the call */
	else if (p->away && p->away->runq != WIRE_TIME_UNKNOWN)
		row_set(row, OP_RUNQ,
			(int64_t)(w->start ? MIN(p->away->runq, w->head.time - w->start)
					   : p->away->runq));
	row_set_if(row, p->away && p->away->waker, OP_WAKER_ID, p->away->waker);
	if (d->stacks) {
		decode_take_stacks(d, w, &user, &kernel);
		row_set_if(row, user >= 0, OP_STACK_ID, user);
		row_set_if(row, kernel >= 0, OP_KSTACK_ID, kernel);
	}
	if (p->held) {
		row_set(row, OP_HELD, (int64_t)p->held);
		status |= STATUS_HELD;
	}
	row_set_if(row, status, OP_STATUS, status);
}

/* The bytes that the call moved: the same as op.bytes from enrich/derived.c. */
static uint64_t op_moved(const struct decode *d, const struct wire_op *w, const struct parts *p)
{
	const struct wire_plan *plan = &d->opt.plans[w->nr];
	bool receives = plan->flags & WIRE_PLAN_RECEIVES;

	if (plan->ret != RET_BYTES || w->ret <= 0 || !op_ended_well(w) ||
	    (receives && w->flags & MSG_PEEK))
		return plan->mmsg >= 0 && op_ended_well(w) && p->second && p->second->pos > 0
			       ? (uint64_t)p->second->pos
			       : 0;
	/* With MSG_TRUNC it returns the length of the message but moves only what fits. */
	return receives && w->flags & MSG_TRUNC ? MIN((uint64_t)w->ret, w->size) : (uint64_t)w->ret;
}

/* Adds rows for the descriptors of a call that waited on several. */
static int op_ready(struct decode *d, const struct wire_op *w, const struct parts *p,
		    struct batch_set *out)
{
	int r = 0;

	for (uint32_t i = 0; p->away && i < p->away->count && !r; i++) {
		const struct wire_ready *e = &p->ready[i];
		struct batch_row row = batch_set_row(out, TABLE_POLL);

		row_set(&row, POLL_START, (int64_t)w->start + d->opt.clock_offset);
		row_set(&row, POLL_DUR, (int64_t)(w->head.time - w->start));
		row_set(&row, POLL_THREAD_ID, w->thread);
		row_set(&row, POLL_OP, d->codes[w->nr]);
		row_set_if(&row, e->fd >= 0, POLL_FD, e->fd);
		if (e->file)
			row_set(&row, POLL_FILE_ID, decode_file_key(d, e->file));
		if (e->fd >= 0) /* otherwise unknown */
			row_set(&row, POLL_EVENTS, e->events);
		row_set_if(&row, e->revents, POLL_REVENTS, e->revents);
		row_set_if(&row, p->away->left != WIRE_LEFT_UNKNOWN, POLL_LEFT_OUT, p->away->left);
		r = row.r;
	}
	return r;
}

/* A thread's calls are numbered without gaps unless one was lost; this also detects a full ring. */
static int decode_call_number(struct decode *d, const struct wire_op *w)
{
	uint32_t *next;
	int r = grow((void **)&d->threads, &d->thread_cap, (size_t)w->thread + 1,
		     sizeof(*d->threads));

	if (r < 0)
		return r;
	while (d->thread_count <= w->thread)
		d->threads[d->thread_count++] = 0;
	next = &d->threads[w->thread];
	if (w->status & STATUS_UNFINISHED)
		return 0;
	if (w->call > *next) {
		d->gaps += w->call - *next;
		names_forget(d->names); /* their effects are unknown */
	}
	*next = w->call + 1;
	return 0;
}

int decode_op(struct decode *d, const struct wire_op *w, uint32_t cpu, struct batch_set *out)
{
	struct parts p;
	struct op_files f;
	struct batch_row row;
	int r;

	if (w->head.size < sizeof(*w) || w->nr >= WIRE_CALLS_MAX)
		return -EBADMSG;
	r = parts_take(w, &p);
	if (r < 0)
		return r;
	r = decode_call_number(d, w);
	if (r < 0)
		return r;
	forget_unread(d, w, &p);
	r = p.path ? markers_call(d, w, p.path, out) : 0;
	if (r < 0)
		return r;
	if (w->head.type == WIRE_FATE)
		return op_left_out(d, w, &p);
	r = op_files(d, w, &p, out, &f);
	if (r < 0)
		return r;
	if (!f.file.selected && !f.file2.selected) {
		d->filtered++;
		return 0;
	}
	row = batch_set_row(out, TABLE_OP);
	op_identity(d, w, cpu, &row);
	op_result(d, w, &p, &row);
	op_where(d, w, &p, &f, &row);
	op_rest(d, w, &p, &f, &row);
	r = row.r ? row.r : op_ready(d, w, &p, out);
	r = r ? r : decode_take_detail(d, w, out);
	if (d->contents)
		r = r ? r : decode_content_rest(d, w, f.file.key, op_moved(d, w, &p), out);
	return r < 0 ? r : 1;
}

bool decode_has_ended(const struct decode *d, const struct wire_op *w)
{
	return w->thread < d->thread_count && d->threads[w->thread] > w->call;
}
