// SPDX-License-Identifier: Apache-2.0
/*
 * flow_tasks.c: edges between threads: from a fork to the child's first call, from the child's last call to the wait
 * that returned it, exec, futex, signals.
 *
 * A child may make calls before its parent's fork returns, and a process may end after the wait for it. Both are
 * resolved at the end of the pass, using thread numbers and the threads' lifetimes.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/flow/flow_pass.h"
#include "base/array.h"
#include "names/names.h"
#include "schema/ops.h"

#define FUTEX_COMMAND  127u /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
#define FUTEX_REQUEUES (1u << 3 | 1u << 4 | 1u << 12)
#define FUTEX_WAKES    (1u << 1 | 1u << 5 | 1u << 7 | 1u << 10 | FUTEX_REQUEUES)
#define FUTEX_WAITS    (1u << 0 | 1u << 6 | 1u << 9 | 1u << 11 | 1u << 13)

static uint64_t key_of(uint64_t machine, int64_t number)
{
	return hash_u64(machine * 0x9e3779b97f4a7c15ull ^ (uint64_t)number);
}

/* ---- tasks ---- */

static int task_add(struct flow_state *s, int64_t thread_id, int64_t key)
{
	const struct dims_thread *t = dims_thread(s->dims, dims_latest_thread(s->dims, thread_id));
	struct flow_task task = {
		.number = s->graph.tasks,
		.thread_id = thread_id,
		.process_id = t ? t->process_id : -1,
		.tid = t ? t->tid : -1,
		.tid_ns = t ? t->tid_ns : -1,
		.pid_ns = t ? t->pid_ns : -1,
		.net_ns = t ? t->net_ns : -1,
		.machine = (uint64_t)dims_machine(s->dims, thread_id),
		.first = FLOW_NONE,
		.exec = FLOW_NONE,
		.heard = FLOW_NONE,
		.span = FLOW_NONE,
		.last = {.row_id = -1, .node = FLOW_NONE},
		.killed = {.node = FLOW_NONE},
		.place = (uint16_t)MIN((uint64_t)thread_id >> 40, (uint64_t)UINT16_MAX)};
	uint64_t before;

	task.next_of_process = map_get(&s->by_process, (uint64_t)task.process_id, &before)
				       ? (uint32_t)before
				       : FLOW_NONE;
	task.by_tid = map_get(&s->by_tid, key_of(task.machine, task.tid), &before)
			      ? (uint32_t)before
			      : FLOW_NONE;
	if (grow((void **)&s->tasks, &s->task_cap, s->task_count + 1, sizeof(*s->tasks)) < 0 ||
	    map_set(&s->by_process, (uint64_t)task.process_id, s->task_count) < 0 ||
	    map_set(&s->by_tid, key_of(task.machine, task.tid), s->task_count) < 0 ||
	    map_set(&s->task_of, (uint64_t)key, s->task_count) < 0)
		return -ENOMEM;
	s->tasks[s->task_count++] = task;
	s->graph.tasks++;
	return 0;
}

int64_t flow_task_of(struct flow_state *s, int64_t thread_id)
{
	int64_t at = idmap_get(&s->task_of_version, thread_id), key;
	uint64_t number;

	if (at >= 0)
		return at;
	key = names_task(s->dims, thread_id);
	if (!map_get(&s->task_of, (uint64_t)key, &number)) {
		number = s->task_count;
		if (task_add(s, thread_id, key) < 0)
			return -ENOMEM;
	}
	return idmap_set(&s->task_of_version, thread_id, (int64_t)number) < 0 ? -ENOMEM
									      : (int64_t)number;
}

void flow_tasks_free(struct flow_state *s)
{
	for (size_t i = 0; i < s->task_count; i++) {
		free(s->tasks[i].woken);
		free(s->tasks[i].loose);
		free(s->tasks[i].done);
	}
	free(s->tasks);
	free(s->forks);
	free(s->waits);
	map_free(&s->task_of);
	map_free(&s->by_process);
	map_free(&s->by_tid);
	idmap_free(&s->task_of_version);
}

int64_t flow_task_stopped(const struct flow_state *s, const struct flow_task *t)
{
	const struct dims_thread *k =
		dims_thread(s->dims, dims_latest_thread(s->dims, t->thread_id));

	return k ? k->stopped : INT64_MIN;
}

int64_t flow_task_parent(const struct flow_state *s, int64_t process_id)
{
	const struct dims_process *p = dims_process(s->dims, process_id);
	uint64_t at;

	if (!p || !map_get(&s->by_process, (uint64_t)process_id, &at) ||
	    !map_get(&s->by_tid, key_of(s->tasks[at].machine, p->ppid), &at))
		return -1;
	for (uint32_t i = (uint32_t)at; i != FLOW_NONE; i = s->tasks[i].by_tid) {
		const struct dims_process *q = dims_process(s->dims, s->tasks[i].process_id);

		if (s->tasks[i].tid == p->ppid && q && q->pid == p->ppid &&
		    q->started <= p->started)
			return s->tasks[i].process_id;
	}
	return -1;
}

/* ---- futex ---- */

static bool wake_fits(const struct flow_wake *k, const struct flow_woken *w)
{
	return k->node != FLOW_NONE && k->end >= w->start && k->start <= w->end &&
	       (k->any || k->at == w->at || k->to == w->at);
}

/* The waker's calls that can have ended the wait; a single candidate is certain. */
static int woken_settle(struct flow_state *s, const struct flow_task *t, const struct flow_woken *w,
			const struct flow_wake *now)
{
	unsigned int kept = MIN(t->wake_count, (unsigned int)FLOW_WAKES), fits = 0;
	int r = 0;

	for (unsigned int i = 0; i < kept; i++)
		fits += wake_fits(&t->wakes[i], w);
	fits += now && wake_fits(now, w);
	for (unsigned int i = 0; i <= kept && r >= 0; i++) {
		const struct flow_wake *k = i < kept ? &t->wakes[i] : now;

		if (k && wake_fits(k, w))
			r = flow_edge_of_calls(s, VIA_FUTEX, k->node, w->node, -1, fits <= 1);
	}
	return r;
}

/* The call as a futex wake; node FLOW_NONE: it is not one. Or -ENOMEM. */
static int wake_of(struct flow_state *s, struct flow_call *c, struct flow_wake *ret)
{
	unsigned int command = (unsigned int)(c->a[1] & FUTEX_COMMAND);
	bool ends = c->act == FLOW_EXIT || (c->status & STATUS_NORETURN);
	int64_t n;

	*ret = (struct flow_wake){.node = FLOW_NONE, .start = c->start, .end = c->end, .any = ends};
	if (!ends && (c->act != FLOW_FUTEX || c->failed || command > 13 ||
		      !(FUTEX_WAKES >> command & 1) || (!c->ret && command != 7)))
		return 0;
	n = flow_call_node(s, c);
	if (n < 0)
		return (int)n;
	ret->node = (uint32_t)n;
	ret->at = c->a[0];
	/* the second address of FUTEX_REQUEUE is not among the columns read */
	ret->to = ends ? 0 : c->a[0];
	return 0;
}

static int tasks_woken(struct flow_state *s, struct flow_call *c)
{
	struct flow_task *t = &s->tasks[c->task];
	struct flow_wake now;
	int r = wake_of(s, c, &now);

	for (size_t i = 0; i < t->woken_count && r >= 0; i++)
		r = woken_settle(s, t, &t->woken[i], &now);
	t->woken_count = 0;
	if (r >= 0 && now.node != FLOW_NONE)
		t->wakes[t->wake_count++ % FLOW_WAKES] = now;
	return r;
}

static int tasks_futex(struct flow_state *s, struct flow_call *c)
{
	unsigned int command = (unsigned int)(c->a[1] & FUTEX_COMMAND);
	int64_t waker, n;
	struct flow_task *t;

	if (c->failed || c->waker_id < 0 || command > 13 || !(FUTEX_WAITS >> command & 1))
		return 0;
	waker = flow_task_of(s, c->waker_id);
	n = waker < 0 ? waker : flow_call_node(s, c);
	if (n < 0)
		return (int)n;
	if (n == FLOW_NONE)
		return 0;
	t = &s->tasks[waker];
	return array_add(t->woken, t->woken_count, t->woken_cap,
			 (struct flow_woken){(uint32_t)n, c->start, c->end, c->a[0]});
}

/* ---- signals ---- */

static struct flow_task *task_numbered(struct flow_state *s, const struct flow_call *c, int64_t tid)
{
	uint64_t at;

	return map_get(&s->by_tid, key_of(s->tasks[c->task].machine, tid), &at) ? &s->tasks[at]
										: NULL;
}

static int tasks_kill(struct flow_state *s, struct flow_call *c)
{
	bool group = !strcmp(op_def(c->op)->name, "tgkill");
	struct flow_task *t = task_numbered(s, c, (int64_t)(int32_t)c->a[group]);
	int64_t n;

	if (c->failed || !t)
		return 0;
	n = flow_call_node(s, c);
	if (n < 0)
		return (int)n;
	t->killed = (struct flow_wake){
		.node = (uint32_t)n, .start = c->start, .end = c->end, .at = c->a[group ? 2 : 1]};
	return 0;
}

/* A handler, or a wait for a signal, returns: after the last signal sent, though another may have been sent as well. */
static int tasks_signalled(struct flow_state *s, struct flow_call *c)
{
	struct flow_task *t = &s->tasks[c->task];
	const struct dims_process *p = dims_process(s->dims, t->process_id);
	struct flow_task *leader = p ? task_numbered(s, c, p->pid) : NULL;
	struct flow_wake *k = t->killed.node != FLOW_NONE ? &t->killed
			      : leader			  ? &leader->killed
							  : &t->killed;
	int64_t n;

	if (k->node == FLOW_NONE || k->start >= c->end)
		return 0;
	n = flow_call_node(s, c);
	if (n >= 0)
		n = flow_edge_of_calls(s, VIA_SIGNAL, k->node, (uint32_t)n, -1, false);
	k->node = FLOW_NONE;
	return n < 0 ? (int)n : 0;
}

/* ---- fork, exec, wait ---- */

static int tasks_named(struct flow_state *s, struct flow_named **list, size_t *count, size_t *cap,
		       struct flow_call *c, int64_t tid)
{
	int64_t n;

	if (c->failed || tid <= 0)
		return 0;
	n = flow_call_node(s, c);
	if (n < 0 || n == FLOW_NONE)
		return n < 0 ? (int)n : 0;
	if (grow((void **)list, cap, *count + 1, sizeof(**list)) < 0)
		return -ENOMEM;
	(*list)[(*count)++] = (struct flow_named){(uint32_t)n, c->task, tid, c->start, c->end};
	return 0;
}

/* The child returned by a wait; waitid() returns it in a structure, unless it waits for a specific child. */
static int64_t waited_for(const struct flow_call *c)
{
	if (strcmp(op_def(c->op)->name, "waitid") != 0)
		return c->ret;
	return c->a[0] == P_PID && !(c->flags & WNOHANG) ? (int64_t)(int32_t)c->a[1] : 0;
}

static int tasks_exec(struct flow_state *s, struct flow_call *c)
{
	int64_t n = c->failed ? FLOW_NONE : flow_call_node(s, c);

	if (n >= 0)
		s->tasks[c->task].exec = (uint32_t)n;
	return n < 0 ? (int)n : 0;
}

int flow_tasks_take(struct flow_state *s, struct flow_call *c)
{
	switch (c->act) {
	case FLOW_FORK:
		return tasks_named(s, &s->forks, &s->fork_count, &s->fork_cap, c, c->ret);
	case FLOW_WAIT:
		return tasks_named(s, &s->waits, &s->wait_count, &s->wait_cap, c, waited_for(c));
	case FLOW_EXEC:
		return tasks_exec(s, c);
	case FLOW_FUTEX:
		return tasks_futex(s, c);
	case FLOW_KILL:
		return tasks_kill(s, c);
	case FLOW_SIGNALLED:
		return tasks_signalled(s, c);
	default:
		return 0;
	}
}

int flow_tasks_any(struct flow_state *s, struct flow_call *c)
{
	struct flow_task *t = &s->tasks[c->task];
	int64_t n = 0;
	int r;

	if (t->first == FLOW_NONE || t->exec != FLOW_NONE) {
		n = flow_call_node(s, c);
		if (n < 0)
			return (int)n;
		if (t->first == FLOW_NONE)
			t->first = (uint32_t)n;
	}
	if (t->exec != FLOW_NONE) {
		r = flow_edge_of_calls(s, VIA_EXEC, t->exec, (uint32_t)n, -1, true);
		if (r < 0)
			return r;
		s->tasks[c->task].exec = FLOW_NONE;
	}
	return tasks_woken(s, c);
}

void flow_tasks_last(struct flow_state *s, const struct flow_call *c)
{
	struct flow_task *t = &s->tasks[c->task];

	t->last.row_id = c->row_id;
	t->last.start = c->start;
	t->last.end = c->end;
	t->last.thread_id = c->thread_id;
	t->last.node = c->node;
	t->last.op = c->op;
}

/* ---- the end ---- */

/* True if this thread has the number as seen by the other task: in its namespace, or in the recorder's. */
static bool task_is(const struct flow_task *t, const struct flow_task *by, int64_t tid)
{
	if (t->pid_ns == by->pid_ns && t->tid_ns >= 0)
		return t->tid_ns == tid;
	return t->tid == tid && (by->tid_ns < 0 || by->tid_ns == by->tid);
}

/* Of the threads with this number, the first that began after the fork did. */
static struct flow_task *forked_child(struct flow_state *s, const struct flow_named *f)
{
	const struct flow_task *by = &s->tasks[f->task];
	struct flow_task *best = NULL;
	int64_t tid = f->tid;
	uint64_t at;

	if (!map_get(&s->by_tid, key_of(by->machine, tid), &at))
		return NULL;
	for (uint32_t i = (uint32_t)at; i != FLOW_NONE; i = s->tasks[i].by_tid) {
		struct flow_task *t = &s->tasks[i];
		int64_t start;

		if (!task_is(t, by, tid) || t->first == FLOW_NONE)
			continue;
		start = s->graph.nodes[t->first].start;
		if (start >= f->start && (!best || start < s->graph.nodes[best->first].start))
			best = t;
	}
	return best;
}

/* Of the threads with this number, the last that ended before the wait did. */
static struct flow_task *ended_child(struct flow_state *s, const struct flow_named *w)
{
	const struct flow_task *by = &s->tasks[w->task];
	struct flow_task *best = NULL;
	int64_t last = INT64_MIN;
	uint64_t at;

	if (!map_get(&s->by_tid, key_of(by->machine, w->tid), &at))
		return NULL;
	for (uint32_t i = (uint32_t)at; i != FLOW_NONE; i = s->tasks[i].by_tid) {
		struct flow_task *t = &s->tasks[i];
		int64_t stopped;

		if (!task_is(t, by, w->tid) || t->last.row_id < 0)
			continue;
		stopped = flow_task_stopped(s, t);
		if (stopped > last && stopped <= w->end) {
			last = stopped;
			best = t;
		}
	}
	return best;
}

int64_t flow_task_last(struct flow_state *s, struct flow_task *t)
{
	int64_t n = t->last.node;

	if (n != FLOW_NONE || t->last.row_id < 0)
		return n;
	n = flow_graph_node(&s->graph, &(struct flow_operation){.row_id = t->last.row_id,
								.start = t->last.start,
								.dur = t->last.end - t->last.start,
								.thread_id = t->last.thread_id,
								.task = t->number,
								.op = t->last.op});
	if (n >= 0)
		t->last.node = (uint32_t)n;
	return n;
}

/* The last calls of all threads of the process precede the wait. */
static int tasks_join(struct flow_state *s, const struct flow_named *w)
{
	struct flow_task *child = ended_child(s, w);
	uint64_t at;
	int r = 0;

	if (!child || !map_get(&s->by_process, (uint64_t)child->process_id, &at))
		return 0;
	for (uint32_t i = (uint32_t)at; i != FLOW_NONE && r >= 0; i = s->tasks[i].next_of_process) {
		struct flow_task *t = &s->tasks[i];
		int64_t n = t->machine != child->machine ? FLOW_NONE : flow_task_last(s, t);

		r = n < 0 ? (int)n
			  : flow_edge_of_calls(s, VIA_JOIN, (uint32_t)n, w->node, -1, true);
	}
	return r;
}

int flow_tasks_end(struct flow_state *s)
{
	int r = 0;

	for (size_t i = 0; i < s->task_count && r >= 0; i++) {
		struct flow_task *t = &s->tasks[i];

		for (size_t k = 0; k < t->woken_count && r >= 0; k++)
			r = woken_settle(s, t, &t->woken[k], NULL);
	}
	for (size_t i = 0; i < s->fork_count && r >= 0; i++) {
		const struct flow_task *child = forked_child(s, &s->forks[i]);

		if (child)
			r = flow_edge_of_calls(s, VIA_FORK, s->forks[i].node, child->first, -1,
					       true);
	}
	for (size_t i = 0; i < s->wait_count && r >= 0; i++)
		r = tasks_join(s, &s->waits[i]);
	return r;
}
