/* SPDX-License-Identifier: Apache-2.0 */
/* source.c: the kernel as a source, behind the contract of capture/source.h. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "privilege/privilege.h"
#include "capture/ebpf/side/block.h"
#include "capture/ebpf/side/content.h"
#include "capture/ebpf/contexts/contexts.h"
#include "capture/ebpf/calls/decode.h"
#include "capture/ebpf/side/host_sums.h"
#include "capture/ebpf/load/load.h"
#include "capture/ebpf/ring/loss.h"
#include "capture/ebpf/side/net.h"
#include "capture/ebpf/ring/pending.h"
#include "capture/ebpf/calls/polled.h"
#include "capture/ebpf/calls/request.h"
#include "capture/ebpf/calls/running.h"
#include "capture/ebpf/spans/spans.h"
#include "calls.skel.h"

#define BACKLOG_BYTES \
	(128u << 20) /* copied from the rings and not yet decoded; allocated only as needed */
#define SHARED_SIGNAL_NS \
	NSEC_PER_SEC /* signals of one sender within this time are one: kill(2) to a group, systemd's to a control group */
#define SET_ROWS_MAX \
	4800 /* rows per source_read(), to keep sets small; a chunk adds at most 410 calls */

struct ebpf {
	struct source source;
	struct ebpf_options opt;
	struct loaded loaded;
	struct reader *reader;
	struct decode *decode;
	int spans_wait;	     /* 1: more of their records could be delivered */
	struct chunk *queue; /* taken from the reader, not processed yet */
	struct pending_list pending;
	int64_t horizon, taken; /* everything before is known; value once the queue is empty */
	uint64_t *received;	/* records by CPU, then those of the side ring */
	uint64_t *sums;		/* and the sums of their numbers, which prove that each came once */
	uint64_t *next;		/* and the next expected numbers */
	struct event_count *events; /* by CPU, up to what was delivered */
	uint64_t malformed, ops;
	struct losses losses;
	int64_t until; /* monotonic: every earlier call was delivered or is counted in rows of loss */
	int64_t began_at; /* monotonic */
	int64_t stopped;
	uint64_t recursion, unfollowed;
	struct buf running; /* records of calls running at the stop */
	struct buf waited;  /* struct wire_waited of the threads alive then */
	struct net_looks net;
	struct source_beside beside[SOURCE_BESIDE_MAX]; /* at the last window */
	size_t beside_count;
	int net_error, sums_error; /* of the last look: some data is missing */
	struct map still_running;  /* running_key() of calls confirmed not to have ended */
	bool confirmed;
	struct running unseen;	    /* calls found in /proc at the stop */
	struct running_marks marks; /* of calls running while it records */
	int running_error;	    /* some of these are missing */
	struct requests_missing requests;
	struct priority priority; /* of this thread */
	struct source_polled polled;
	uint32_t polled_given; /* processed, of the programs' count */
	int kallsyms_fd;       /* -1: not needed, or not available */
	bool began, attached, ended, proved;
	bool cpus_changed; /* page faults of some CPUs may be missing */
};

static struct ebpf *ebpf_of(const struct source *s)
{
	return (struct ebpf *)s;
}

/* Program runs that the kernel skipped because one was already running on the CPU. */
static uint64_t recursion_misses(const struct ebpf *e)
{
	const struct bpf_program *progs[] = {e->loaded.skel->progs.weir_enter,
					     e->loaded.skel->progs.weir_exit};
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(progs); i++) {
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(progs[i]), &info, &len))
			sum += info.recursion_misses;
	}
	return sum;
}

/* Wall time on the clock of the trace, which setting the system clock does not affect. */
static int64_t wall_now(const struct ebpf *e)
{
	return clock_monotonic_ns() + e->decode->opt.clock_offset;
}

static int ebpf_start(struct source *s, struct error *err)
{
	struct ebpf *e = ebpf_of(s);
	const struct reader_options opt = {
		.rings_fd = e->loaded.rings_fd,
		.bell_fd = e->loaded.bell_fd,
		.side_fd = e->loaded.side_fd,
		.side_bytes = e->loaded.side_bytes,
		.count = e->loaded.cpus,
		.ring_bytes = e->loaded.ring_bytes,
		.backlog_max = e->opt.backlog_bytes ? e->opt.backlog_bytes : BACKLOG_BYTES,
		.command_pid = e->opt.command_pid,
		.priority = &e->priority,
		.counters = e->loaded.counters,
		.lossless = e->opt.lossless,
		.spans = spans_rings(e->decode->spans),
	};
	int r;

	/* This thread decodes and, in a recording, writes. */
	priority_begin(&e->priority);
	r = reader_new(&e->reader, &opt, err);
	if (r < 0)
		return r;
	r = load_attach(&e->loaded, err);
	if (r < 0)
		return r;
	e->attached = true;
	r = decode_expect(e->decode, e->loaded.objects.all[OBJECT_PHASES].bpf,
			  e->loaded.objects.all[OBJECT_BLOCK].bpf);
	if (!r && e->loaded.objects.all[OBJECT_CONTENT].bpf)
		r = contents_new(&e->decode->contents, &e->opt.content);
	if (r < 0)
		return error_set(err, r, "out of memory");
	e->began_at = e->until = clock_monotonic_ns();
	e->losses.since = wall_now(e);
	r = polled_look(&e->loaded);
	return r < 0 ? error_errno(err, r, "cannot list all tasks") : 0;
}

static bool of_side(const struct ebpf *e, const struct chunk *c)
{
	return c->cpu == e->loaded.cpus;
}

/* Adds the end of a chunk after its records: in its turn, all of them have been delivered. */
static int chunk_end(struct ebpf *e, struct chunk *c, size_t first, uint64_t time)
{
	static const struct wire_head end = {.type = WIRE_SKIP};
	int r;

	c->next_number = e->next[c->cpu];
	c->came = e->received[c->cpu];
	r = pending_add(&e->pending, &end, c, first, false);
	if (r < 0)
		return r;
	e->pending.items[e->pending.count - 1].time =
		e->pending.count - 1 > first
			? MAX(time, e->pending.items[e->pending.count - 2].time)
			: time;
	return r;
}

/* Everything that the CPU sent up to the end of the chunk was delivered. */
static void chunk_given(struct ebpf *e, const struct chunk *c)
{
	struct event_count *n = &e->events[c->cpu];

	if (of_side(e, c))
		return;
	n->next = MAX(n->next, c->next_number);
	n->came = MAX(n->came, c->came);
	n->filtered = __atomic_load_n(&e->loaded.counters[c->cpu].filtered, __ATOMIC_RELAXED);
}

/*
 * Processes the records of a chunk. Files are decoded at once, so that every record can refer to them, on whichever
 * CPU; so are announcements, as the memory they announce must be read while the program is running. The other records
 * wait for their turn: a thread started by one CPU runs what another CPU has just executed, and a path must be resolved
 * as of its time. The waiting records of this CPU and round begin at `first`.
 */
static int chunk_take(struct ebpf *e, struct chunk *c, size_t first, struct batch_set *out)
{
	size_t at = 0;
	uint64_t time = 0;
	int r = 0;

	while (at < c->len && r >= 0) {
		const struct wire_head *h = (const void *)(c->data + at);

		if (h->size > c->len - at || h->size % 8 ||
		    h->size < (h->type == WIRE_SKIP ? 8 : sizeof(*h))) {
			e->malformed++; /* the start of the next record is unknown */
			break;
		}
		at += h->size;
		if (h->type == WIRE_SKIP)
			continue;
		e->received[c->cpu]++;
		e->sums[c->cpu] += h->seq;
		e->next[c->cpu] += (uint32_t)(h->seq + 1 - (uint32_t)e->next[c->cpu]);
		time = h->time;
		r = h->type == WIRE_FILE || h->type == WIRE_ANNOUNCE
			    ? decode_dimension(e->decode, h, out)
			    : 0;
		if (r == -EBADMSG) {
			e->malformed++;
			r = 0;
			continue;
		}
		if (h->type == WIRE_ANNOUNCE)
			continue;
		r = r ? r
		      : pending_add(&e->pending, h, c, first, wire_is_call(h) && !of_side(e, c));
	}
	return r ? r : chunk_end(e, c, first, time);
}

static void chunk_unref(struct ebpf *e, struct chunk *c)
{
	if (!--c->refs)
		reader_put(e->reader, c);
}

static bool set_full(const struct batch_set *out)
{
	for (int i = 0; i < TABLE_COUNT; i++) {
		if (out->tables[i] && out->tables[i]->rows >= SET_ROWS_MAX)
			return true;
	}
	return false;
}

static int give(struct ebpf *e, const struct pending *p, struct batch_set *out)
{
	int r;

	if (p->record->type == WIRE_SKIP) {
		chunk_given(e, p->chunk);
		return 0;
	}
	if (p->record->type == WIRE_FILE)
		return decode_file_turn(e->decode, (const void *)p->record);
	if (p->record->type == WIRE_FAULT)
		r = decode_fault(e->decode, (const void *)p->record, p->chunk->cpu, out);
	else if (p->record->type >= WIRE_SIDE_FIRST)
		r = decode_side(e->decode, p->record, out);
	else
		r = p->record->type == WIRE_REQUEST
			    ? decode_request(e->decode, (const void *)p->record, p->chunk->cpu, out)
		    : wire_is_call(p->record)
			    ? decode_op(e->decode, (const void *)p->record, p->chunk->cpu, out)
			    : decode_dimension(e->decode, p->record, out);
	if (r == -EBADMSG) {
		e->malformed++;
		return 0;
	}
	e->ops += r > 0;
	return r;
}

/* Delivers waiting records from before the horizon. */
static int pending_give(struct ebpf *e, struct batch_set *out)
{
	int r = spans_take(e->decode->spans);

	e->spans_wait = 0;
	while (e->pending.at < e->pending.count && r >= 0) {
		struct pending *p = &e->pending.items[e->pending.at];

		if ((int64_t)p->time > e->horizon ||
		    (out->tables[TABLE_OP] && out->tables[TABLE_OP]->rows >= SET_ROWS_MAX) ||
		    (!wire_is_call(p->record) && set_full(out)))
			break;
		if (!wire_is_call(p->record))
			e->spans_wait = spans_first(e->decode, p->record, out);
		if (e->spans_wait)
			return MIN(e->spans_wait, 0);
		r = give(e, p, out);
		chunk_unref(e, p->chunk);
		e->pending.at++;
	}
	return r < 0 ? r : 0;
}

/* Processes chunks until the set is full; the horizon advances after each complete round. */
static int queue_take(struct ebpf *e, struct batch_set *out)
{
	size_t before = e->pending.count, first = before;
	uint32_t cpu = UINT32_MAX;
	int r = 0;

	while (e->queue && r >= 0 && !set_full(out) && e->pending.count - before < SET_ROWS_MAX) {
		struct chunk *c = e->queue;

		e->queue = c->next;
		if (c->cpu != cpu)
			first = e->pending.count;
		cpu = c->last ? UINT32_MAX : c->cpu;
		if (c->last)
			e->horizon = c->horizon;
		c->refs = 1;
		r = chunk_take(e, c, first, out);
		chunk_unref(e, c);
	}
	return r;
}

static void queue_add(struct ebpf *e, struct chunk *list)
{
	struct chunk **at = &e->queue;

	while (*at)
		at = &(*at)->next;
	*at = list;
}

/* The time up to which all calls were delivered. */
static int64_t given_until(const struct ebpf *e)
{
	return e->pending.count ? MIN(e->horizon, (int64_t)e->pending.items[0].time) : e->horizon;
}

static int source_finish(struct ebpf *e, struct batch_set *out);
static int give_losses(struct ebpf *e, struct batch_set *out, int64_t now);

static int running_prog(const struct ebpf *e)
{
	return bpf_program__fd(e->loaded.skel->progs.weir_running);
}

static int ebpf_read(struct source *s, struct batch_set *out, int timeout_ms, struct error *err)
{
	struct ebpf *e = ebpf_of(s);
	size_t before = batch_set_count(out);
	bool ready;
	int r = 0;

	if (e->ended)
		return SOURCE_END;
	r = e->began ? 0 : decode_begin(e->decode, out);
	r = r || e->began ? r : requests_mark(&e->loaded, wall_now(e), out);
	r = r || e->began ? r : objects_mark(&e->loaded.objects, wall_now(e), out);
	e->began = true;
	/* Calls after the horizon wait for the reader's next round: so does this thread. */
	ready = e->queue || e->stopped || e->spans_wait ||
		(e->pending.count && (int64_t)e->pending.items[0].time <= e->horizon);
	/* Data waiting in the reader limits the backlog, so take it only when needed. */
	if (!ready || e->stopped)
		queue_add(e, reader_take(e->reader, ready ? 0 : timeout_ms, &e->taken));
	r = r ? r : queue_take(e, out);
	if (!e->queue)
		e->horizon = e->stopped ? INT64_MAX : e->taken;
	r = r ? r : pending_sort(&e->pending);
	r = r ? r : pending_give(e, out);
	pending_compact(&e->pending);
	if (!r && !e->spans_wait)
		e->spans_wait = spans_give(e->decode, given_until(e), out);
	r = r ? r : MIN(e->spans_wait, 0);
	if (!r && !e->stopped && losses_due(&e->losses, wall_now(e))) {
		r = requests_forget(&e->loaded, e->decode, out, &e->requests, &e->ops);
		r = r ? r : give_losses(e, out, wall_now(e));
		e->until = MAX(e->until, given_until(e)); /* earlier losses were counted by then */
	}
	if (!r && !e->stopped && e->opt.with)
		r = net_look(&e->net, &e->loaded.objects, e->decode, given_until(e), out,
			     &e->malformed);
	if (!e->stopped)
		contexts_look(e->decode);
	if (!r && !e->stopped && e->opt.mark_running)
		r = running_mark(&e->marks, running_prog(e),
				 &e->loaded.skel->data_calls_shared->running_unsent, e->decode,
				 out);
	if (r >= 0 && e->stopped && !e->spans_wait && !e->queue && !e->pending.count &&
	    !set_full(out)) {
		e->spans_wait = r = spans_end(e->decode, out);
		r = r ? r : source_finish(e, out);
		e->ended = !e->spans_wait;
	}
	if (r < 0)
		return error_set(err, r,
				 r == -ENOMEM ? "out of memory"
					      : "cannot decode what the kernel sent");
	return batch_set_count(out) > before ? SOURCE_ROWS : e->ended ? SOURCE_END : SOURCE_TIMEOUT;
}

static int ebpf_stop(struct source *s, struct error *err)
{
	_privileged_(PRIVILEGE_BPF | PRIVILEGE_PROC);
	struct ebpf *e = ebpf_of(s);
	int r, pids = bpf_map__fd(e->loaded.skel->maps.select_pids);
	uint64_t over;

	if (e->stopped)
		return 0;
	if (e->attached) {
		over = load_over(&e->loaded);
		e->recursion = recursion_misses(e);
		/* before the end: calls that begin from here on are traced */
		e->running_error = running_unseen(&e->unseen, e->opt.select, pids);
		(void)!polled_look(&e->loaded); /* of processes selected since the last look */
		/* While exits are still traced, so that every call reported as running was. */
		load_detach_enter(&e->loaded);
		r = running_read(running_prog(e), &e->running);
		e->unseen.unread += e->loaded.skel->data_calls_shared->running_unsent;
		load_detach(&e->loaded);
		(void)!running_read(bpf_program__fd(e->loaded.skel->progs.weir_waited), &e->waited);
		e->net_error = net_last(&e->net, &e->loaded.objects);
		e->sums_error = sums_last(&e->loaded.objects, over, &e->net.records);
		/* verify which have not ended: the selection may have rejected the end of a call */
		r = r < 0 ? r : running_keys(running_prog(e), &e->still_running);
		e->confirmed = r >= 0;
		e->unseen.more |= r < 0;
		e->running_error = e->running_error ? e->running_error : r;
	}
	e->stopped = wall_now(e);
	if (e->reader)
		reader_finish(e->reader);
	return 0;
}

static int give_running(struct ebpf *e, struct batch_set *out)
{
	const struct wire_op *w;
	size_t at = 0;
	int r = 0;

	while (r >= 0 && (w = running_next(&e->running, &at))) {
		if (decode_has_ended(e->decode, w) ||
		    (e->confirmed && !map_get(&e->still_running, running_key(w), NULL)))
			continue;
		r = decode_op(e->decode, w, DECODE_NO_CPU, out);
		e->ops += r > 0;
	}
	return r < 0 ? r : 0;
}

/* Calls of a CPU that found no room: each took a number, or would have taken one. */
static uint64_t cpu_lost(const struct wire_cpu *c)
{
	return c->lost + c->storage + c->scratch;
}

/* Page faults of any thread for which the kernel did not run the program. */
static uint64_t faults_missed(const struct ebpf *e)
{
	return faults_skipped(&e->loaded.faults,
			      object_map(&e->loaded.objects, OBJECT_FAULTS, "fault_runs"));
}

/* Defines a function that sums a counter of struct wire_cpu over the CPUs. */
#define SUM_OVER_CPUS(name, counter)                                                              \
	static uint64_t name(const struct ebpf *e)                                                \
	{                                                                                         \
		uint64_t sum = 0;                                                                 \
                                                                                                  \
		for (size_t i = 0; i < e->loaded.cpus; i++)                                       \
			sum += __atomic_load_n(&e->loaded.counters[i].counter, __ATOMIC_RELAXED); \
		return sum;                                                                       \
	}

SUM_OVER_CPUS(faults_lost, faults)	/* page faults that found no room */
SUM_OVER_CPUS(unfollowed, unfollowed)	/* processes with an unknown number of missing calls */
SUM_OVER_CPUS(hold_limits, hold_limits) /* how often calls were lost despite being delayed */

/* Missing call numbers that no counter of the programs explains. */
static uint64_t unpaired(const struct ebpf *e)
{
	uint64_t explained = e->recursion + e->malformed;

	for (size_t i = 0; i < e->loaded.cpus; i++)
		explained += cpu_lost(&e->loaded.counters[i]) - e->loaded.counters[i].requests +
			     e->loaded.counters[i].fates;
	return e->decode->gaps > explained ? e->decode->gaps - explained : 0;
}

/* Adds marks for processes with a polled io_uring found since the last time. */
static int give_polled(struct ebpf *e, struct batch_set *out, int64_t now)
{
	uint32_t count =
		__atomic_load_n(&e->loaded.skel->data_shared->shared.polled, __ATOMIC_RELAXED);

	if (count == e->polled_given)
		return 0;
	e->polled_given = count;
	return polled_give(&e->loaded, e->opt.select, now, &e->polled, out);
}

/* Adds the rows of loss of the window that ends now. */
static int give_losses(struct ebpf *e, struct batch_set *out, int64_t now)
{
	_privileged_(PRIVILEGE_BPF);
	const uint64_t all[LOSS_COUNTERS] = {
		[LOSS_ALL_RECURSION] = e->stopped ? e->recursion : recursion_misses(e),
		[LOSS_ALL_HOLD] = hold_limits(e),
		[LOSS_ALL_DECODE] = e->malformed,
		[LOSS_ALL_PATH_CUT] = e->decode->paths_cut,
		[LOSS_ALL_ARGV_CUT] = e->decode->argvs_cut,
		[LOSS_ALL_STACKS] =
			__atomic_load_n(&e->loaded.skel->bss->stacks_unsent, __ATOMIC_RELAXED) +
			e->decode->stacks_left_out,
		[LOSS_ALL_UNPAIRED] = e->stopped ? unpaired(e) : 0,
		[LOSS_ALL_FAULTS] = e->stopped ? faults_missed(e) : 0,
		[LOSS_ALL_REQUESTS] = e->requests.missing,
		[LOSS_ALL_REQUESTS_FULL] = e->requests.full,
	};
	_cleanup_free_ struct loss_thread *threads = NULL;
	uint64_t contexts = contexts_unfound(e->decode);
	uint64_t children = unfollowed(e);
	size_t count = 0;
	int r = give_polled(e, out, now);

	r = r ? r : spans_losses(e->decode, now - e->decode->opt.clock_offset, out);
	if (!r && faults_cpus_changed(&e->loaded.faults)) {
		e->cpus_changed = true;
		r = losses_give_unknown(&e->losses, CAUSE_CPU_ONLINE, TABLE_OP, now, out);
	}
	if (!r && children > e->unfollowed)
		r = losses_give_unknown(&e->losses, CAUSE_STORAGE_FULL, TABLE_OP, now, out);
	e->unfollowed = children;
	if (r < 0)
		return r;
	if (losses_look(&e->losses, e->loaded.counters))
		r = loss_threads(bpf_map__fd(e->loaded.skel->maps.missing), &threads, &count);
	e->beside_count = side_missing((const void *)e->loaded.skel->data_shared->shared.side_lost,
				       &e->loaded.objects, e->beside);
	side_unroomed(&e->loaded.skel->data_shared->shared, e->beside, &e->beside_count);
	side_add(e->beside, &e->beside_count, CAUSE_CONTEXT, TABLE_CONTEXT, contexts);
	if (r < 0)
		return r;
	r = losses_give_beside(&e->losses, e->beside, e->beside_count, now, out);
	return r < 0 ? r : losses_give(&e->losses, threads, count, all, now, out);
}

/* Reports what the last look at sockets, handlers and pages did not get. */
static int give_unread(struct ebpf *e, struct batch_set *out)
{
	const struct {
		int error;
		enum object_id object;
		enum table_id table;
	} looks[] = {
		{e->net_error, OBJECT_NET, TABLE_NET_SAMPLE},
		{e->sums_error, OBJECT_IRQ, TABLE_IRQ},
		{e->sums_error, OBJECT_MEM, TABLE_MEM},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(looks) && !r; i++) {
		if (!looks[i].error || !e->loaded.objects.all[looks[i].object].bpf)
			continue;
		if (e->beside_count < SOURCE_BESIDE_MAX)
			e->beside[e->beside_count++] =
				(struct source_beside){CAUSE_SIDE_UNREAD, looks[i].table, 0};
		r = losses_give_unknown(&e->losses, CAUSE_SIDE_UNREAD, looks[i].table, e->stopped,
					out);
	}
	return r;
}

/* Whether every number 0 ... seq-1 came exactly once. */
static bool ring_proved(const struct ebpf *e, size_t cpu)
{
	uint64_t n = e->loaded.counters[cpu].seq;

	return n < UINT32_MAX ? e->received[cpu] == n && e->sums[cpu] == n * (n - 1) / 2
			      : e->received[cpu] == n;
}

/* The threads whose calls at the stop could not be read; 0: unknown. */
static uint64_t running_unread(const struct ebpf *e)
{
	return e->unseen.more ? 0 : e->unseen.unread;
}

/* The last rows: calls still running, and losses. */
static int source_finish(struct ebpf *e, struct batch_set *out)
{
	int r = give_running(e, out);

	r = r ? r : requests_end(&e->loaded, e->decode, out, &e->requests, &e->ops);
	r = r ? r : contents_end(e->decode, out);
	r = r ? r : decode_waited(e->decode, &e->waited, out);
	if (!r && e->decode->block)
		r = block_rest(e->decode, object_map(&e->loaded.objects, OBJECT_BLOCK, "bios"),
			       out);
	r = r ? r : net_give(&e->net, e->decode, out, &e->malformed);
	r = r ? r
	      : running_give(&e->unseen, e->decode, e->began_at,
			     &e->loaded.skel->data_calls_shared->next_thread, e->loaded.plans, out,
			     &e->ops);
	if (!e->running_error && e->loaded.skel->data_calls_shared->running_unsent)
		e->running_error = -ENOBUFS;
	if (!r && e->running_error)
		r = losses_give_unread(&e->losses, running_unread(e), e->stopped, out);
	r = r ? r : give_losses(e, out, MAX(e->stopped, e->losses.since));
	r = r ? r : give_unread(e, out);
	r = r ? r : decode_end(e->decode, out); /* the time, before the names, which take seconds */
	r = r ? r : decode_stack_names(e->decode, out);
	e->proved = !e->recursion && !e->malformed && !e->decode->gaps && !e->unfollowed &&
		    !faults_missed(e) && !faults_lost(e) && !e->cpus_changed &&
		    !e->requests.missing && !e->requests.full;
	priority_end(&e->priority);
	for (size_t i = 0; i < e->loaded.cpus; i++) {
		const struct wire_cpu *c = &e->loaded.counters[i];

		e->events[i] = (struct event_count){
			.next = c->seq, .came = e->received[i], .filtered = c->filtered};
		e->proved &= ring_proved(e, i) && !cpu_lost(c);
	}
	return r;
}

static void ebpf_stats(const struct source *s, struct source_stats *ret)
{
	const struct ebpf *e = ebpf_of(s);

	*ret = (struct source_stats){.ops = e->ops,
				     .filtered = e->decode->filtered,
				     .sequence_proved = e->proved,
				     .polled = e->polled,
				     .uring_seen = requests_seen(&e->loaded, KIND_IO_URING),
				     .aio_seen = requests_seen(&e->loaded, KIND_LIBAIO),
				     .running_error = e->running_error,
				     .running_unread = running_unread(e),
				     .unfollowed = unfollowed(e),
				     .raised_ns = e->priority.raised_ns,
				     .raise_refused = e->priority.refused};
	ret->beside_count = e->beside_count;
	memcpy(ret->beside, e->beside, e->beside_count * sizeof(*e->beside));
	ret->ring_bytes = e->reader ? reader_bytes(e->reader) : 0;
	ret->lost = e->malformed + e->recursion + (e->ended ? unpaired(e) + faults_missed(e) : 0) +
		    faults_lost(e) + e->requests.missing + e->requests.full;
	for (size_t i = 0; i < e->loaded.cpus; i++) {
		const struct wire_cpu *c = &e->loaded.counters[i];

		ret->lost += cpu_lost(c) + c->compat;
		ret->compat += c->compat;
		ret->held_ns += c->held_ns;
		ret->filtered += c->filtered;
	}
}

static size_t ebpf_events(const struct source *s, const struct event_count **ret)
{
	const struct ebpf *e = ebpf_of(s);

	*ret = e->events;
	return e->loaded.cpus;
}

static int64_t ebpf_until(const struct source *s)
{
	const struct ebpf *e = (const struct ebpf *)s;

	return e->until ? e->until + e->decode->opt.clock_offset : INT64_MIN;
}

static int64_t ebpf_now(const struct source *s)
{
	return wall_now((const struct ebpf *)s);
}

static void ebpf_free(struct source *s)
{
	struct ebpf *e = ebpf_of(s);

	if (e->attached && !e->stopped)
		load_detach(&e->loaded);
	for (size_t i = e->pending.at; i < e->pending.count; i++)
		chunk_unref(e, e->pending.items[i].chunk);
	while (e->queue) {
		struct chunk *c = e->queue;

		e->queue = c->next;
		reader_put(e->reader, c);
	}
	reader_free(e->reader);
	priority_end(&e->priority);
	decode_free(e->decode);
	if (e->kallsyms_fd >= 0)
		close(e->kallsyms_fd);
	loaded_free(&e->loaded);
	pending_free(&e->pending);
	free(e->received);
	free(e->sums);
	free(e->next);
	free(e->events);
	losses_free(&e->losses);
	buf_free(&e->running);
	buf_free(&e->waited);
	buf_free(&e->net.records);
	map_free(&e->still_running);
	running_free(&e->unseen);
	free(e);
}

static uint32_t own_mnt_ns(void)
{
	struct stat st;

	return stat("/proc/self/ns/mnt", &st) ? 0 : st.st_ino;
}

int ebpf_source_new(struct source **ret, const struct ebpf_options *opt, struct error *err)
{
	static const struct source_ops ops = {
		.name = "ebpf",
		.start = ebpf_start,
		.read = ebpf_read,
		.stop = ebpf_stop,
		.stats = ebpf_stats,
		.free = ebpf_free,
		.events = ebpf_events,
		.until = ebpf_until,
		.now = ebpf_now,
	};
	struct ebpf *e = calloc(1, sizeof(*e));
	struct decode_options d = {.clock_offset = clock_offset_ns(),
				   .raw_args = opt->raw_args,
				   .no_argv = opt->no_argv,
				   .mnt_ns = own_mnt_ns(),
				   .select = opt->select,
				   .probe_spans = opt->spans,
				   .kallsyms_fd = -1,
				   .little_memory = opt->little_memory};
	int r;

	if (!e)
		return error_set(err, -ENOMEM, "out of memory");
	e->kallsyms_fd = -1;
	e->source.ops = &ops;
	e->opt = *opt;
	r = load_programs(&e->loaded, opt, err);
	d.shared = r < 0 ? NULL : &e->loaded.skel->data_shared->shared;
	d.reads_counted = r >= 0 && e->loaded.skel->data_shared->shared.io_counted;
	if (opt->stacks.of)
		e->kallsyms_fd = d.kallsyms_fd = stacks_kallsyms();
	d.plans = e->loaded.plans;
	d.loaded = &e->loaded;
	d.root = e->loaded.root;
	d.cgroups = e->loaded.cgroups;
	r = r ? r : decode_new(&e->decode, &d, err);
	e->received = calloc(e->loaded.cpus + 1, sizeof(*e->received));
	e->sums = calloc(e->loaded.cpus + 1, sizeof(*e->sums));
	e->next = calloc(e->loaded.cpus + 1, sizeof(*e->next));
	e->events = calloc(e->loaded.cpus + 1, sizeof(*e->events));
	if (!r && (losses_init(&e->losses, e->loaded.cpus) < 0 || !e->received || !e->sums ||
		   !e->next || !e->events))
		r = error_set(err, -ENOMEM, "out of memory");
	if (r < 0) {
		ebpf_free(&e->source);
		return r;
	}
	*ret = &e->source;
	return 0;
}

size_t ebpf_source_ring_bytes(const struct source *s, unsigned int *ret_rings)
{
	const struct ebpf *e = (const struct ebpf *)s;

	*ret_rings = (unsigned int)e->loaded.cpus;
	return e->loaded.ring_bytes;
}

bool ebpf_source_shared_signal(struct source *s, int number)
{
	_privileged_(PRIVILEGE_BPF);
	int fd = object_map(&ebpf_of(s)->loaded.objects, OBJECT_SIGNALS, "signals");
	uint32_t to_own = (uint32_t)number, to_command = to_own + WIRE_SIGNALS;
	struct wire_signal own, command;

	if (number < 1 || number >= WIRE_SIGNALS || bpf_map_lookup_elem(fd, &to_own, &own) ||
	    bpf_map_lookup_elem(fd, &to_command, &command))
		return false;
	return command.at && own.sender == command.sender &&
	       (own.at > command.at ? own.at - command.at : command.at - own.at) < SHARED_SIGNAL_NS;
}

size_t ebpf_source_missing(const struct source *s, const struct ebpf_missing **ret)
{
	const struct objects *o = &ebpf_of(s)->loaded.objects;

	*ret = o->missing;
	return o->missing_count;
}

size_t ebpf_source_processes_left(struct source *s, int32_t *ret_first)
{
	return load_processes_left(&ebpf_of(s)->loaded, ret_first);
}

bool ebpf_source_targets_gone(struct source *s)
{
	return !load_targets_left(&ebpf_of(s)->loaded);
}
