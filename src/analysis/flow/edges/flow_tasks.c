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

static void task_make(struct flow_state *s, int64_t thread_id, struct flow_task *task)
{
	const struct dims_thread *t = dims_thread(s->dims, dims_latest_thread(s->dims, thread_id));
	uint64_t at = (uint64_t)(task - s->tasks), before;

	*task = (struct flow_task){
		.number = s->graph.tasks++,
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
		.next_of_process = FLOW_NONE,
		.by_tid = FLOW_NONE,
		.last.row_id = -1,
		.last_node = FLOW_NONE,
		.killed = {.node = FLOW_NONE},
		.place = (uint16_t)MIN((uint64_t)thread_id >> 40, (uint64_t)UINT16_MAX)};
	if (map_get(&s->by_process, (uint64_t)task->process_id, &before))
		task->next_of_process = (uint32_t)before;
	if (map_get(&s->by_tid, key_of(task->machine, task->tid), &before))
		task->by_tid = (uint32_t)before;
	if (map_get(&s->early_of, key_of(task->machine, task->tid), &before)) {
		task->killed = s->early[before];
		(void)map_del(&s->early_of, key_of(task->machine, task->tid));
	}
	flow_failed(s, map_set(&s->by_process, (uint64_t)task->process_id, at));
	flow_failed(s, map_set(&s->by_tid, key_of(task->machine, task->tid), at));
}

uint32_t flow_task_of(struct flow_state *s, int64_t thread_id)
{
	int64_t at = idmap_get(&s->task_of_version, thread_id);
	struct flow_task *t;
	bool is_new;

	if (at >= 0)
		return (uint32_t)at;
	t = array_of_key(s->tasks, s->task_count, s->task_cap, &s->task_of,
			 (uint64_t)names_task(s->dims, thread_id), &is_new);
	if (!t) {
		flow_failed(s, -ENOMEM);
		return FLOW_NONE;
	}
	if (is_new)
		task_make(s, thread_id, t);
	flow_failed(s, idmap_set(&s->task_of_version, thread_id, t - s->tasks));
	return (uint32_t)(t - s->tasks);
}

void flow_tasks_free(struct flow_state *s)
{
	for (size_t i = 0; i < s->task_count; i++) {
		free(s->tasks[i].woken.all);
		free(s->tasks[i].loose.all);
		free(s->tasks[i].done.all);
	}
	free(s->tasks);
	free(s->forks.all);
	free(s->waits.all);
	map_free(&s->task_of);
	map_free(&s->by_process);
	map_free(&s->by_tid);
	free(s->early);
	map_free(&s->early_of);
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

static bool wake_fits(const struct flow_moment *k, const struct flow_moment *w)
{
	return k->node != FLOW_NONE && k->end >= w->start && k->start <= w->end &&
	       (k->any || k->at == w->at);
}

/* The waker's calls that can have ended the wait; a single candidate is certain. */
static void woken_settle(struct flow_state *s, const struct flow_task *t,
			 const struct flow_moment *w, const struct flow_moment *now)
{
	unsigned int kept = MIN(t->wake_count, (unsigned int)FLOW_WAKES), fits = 0;

	for (unsigned int i = 0; i < kept; i++)
		fits += wake_fits(&t->wakes[i], w);
	fits += now && wake_fits(now, w);
	for (unsigned int i = 0; i <= kept; i++) {
		const struct flow_moment *k = i < kept ? &t->wakes[i] : now;

		if (k && wake_fits(k, w))
			flow_edge_of_calls(s, VIA_FUTEX, k->node, w->node, -1, fits <= 1);
	}
}

/* The call as a futex wake; node FLOW_NONE: it is not one. */
static struct flow_moment wake_of(struct flow_state *s, struct flow_call *c)
{
	unsigned int command = (unsigned int)(c->a[1] & FUTEX_COMMAND);
	bool ends = c->act == FLOW_EXIT || (c->status & STATUS_NORETURN);
	struct flow_moment w = {.node = FLOW_NONE, .start = c->start, .end = c->end, .any = ends};

	if (!ends && (c->act != FLOW_FUTEX || c->failed || command > 13 ||
		      !(FUTEX_WAKES >> command & 1) || (!c->ret && command != 7)))
		return w;
	w.node = flow_call_node(s, c);
	w.at = c->a[0]; /* the second address of FUTEX_REQUEUE is not among the columns read */
	return w;
}

static void tasks_woken(struct flow_state *s, struct flow_call *c)
{
	struct flow_task *t = &s->tasks[c->task];
	struct flow_moment now = wake_of(s, c);

	for (size_t i = 0; i < t->woken.count; i++)
		woken_settle(s, t, &t->woken.all[i], &now);
	t->woken.count = 0;
	if (now.node != FLOW_NONE)
		t->wakes[t->wake_count++ % FLOW_WAKES] = now;
}

void flow_tasks_futex(struct flow_state *s, struct flow_call *c)
{
	unsigned int command = (unsigned int)(c->a[1] & FUTEX_COMMAND);
	uint32_t waker;
	struct flow_task *t;

	if (c->failed || c->waker_id < 0 || command > 13 || !(FUTEX_WAITS >> command & 1))
		return;
	waker = flow_task_of(s, c->waker_id);
	if (waker == FLOW_NONE || flow_call_node(s, c) == FLOW_NONE)
		return;
	t = &s->tasks[waker];
	flow_failed(s, array_add(t->woken.all, t->woken.count, t->woken.cap,
				 (struct flow_moment){c->node, c->start, c->end, c->a[0]}));
}

/* ---- signals ---- */

static struct flow_task *task_numbered(struct flow_state *s, const struct flow_call *c, int64_t tid)
{
	uint64_t at;

	return map_get(&s->by_tid, key_of(s->tasks[c->task].machine, tid), &at) ? &s->tasks[at]
										: NULL;
}

void flow_tasks_kill(struct flow_state *s, struct flow_call *c)
{
	bool group = !strcmp(op_def(c->op)->name, "tgkill");
	int64_t tid = (int32_t)c->a[group];
	struct flow_task *t = task_numbered(s, c, tid);
	struct flow_moment *to = t ? &t->killed : NULL;

	if (c->failed)
		return;
	if (!to && tid > 0)
		to = array_of_key(s->early, s->early_count, s->early_cap, &s->early_of,
				  key_of(s->tasks[c->task].machine, tid), NULL);
	if (to)
		*to = (struct flow_moment){.node = flow_call_node(s, c),
					   .start = c->start,
					   .end = c->end,
					   .at = c->a[group ? 2 : 1]};
}

/* A handler, or a wait for a signal, returns: after the last signal sent, though another may have been sent as well. */
void flow_tasks_signalled(struct flow_state *s, struct flow_call *c)
{
	struct flow_task *t = &s->tasks[c->task];
	const struct dims_process *p = dims_process(s->dims, t->process_id);
	struct flow_task *leader = p ? task_numbered(s, c, p->pid) : NULL;
	struct flow_moment *k = t->killed.node != FLOW_NONE ? &t->killed
				: leader		    ? &leader->killed
							    : &t->killed;

	if (k->node == FLOW_NONE || k->start >= c->end)
		return;
	flow_edge_of_calls(s, VIA_SIGNAL, k->node, flow_call_node(s, c), -1, false);
	k->node = FLOW_NONE;
}

/* ---- fork, exec, wait ---- */

static void tasks_named(struct flow_state *s, struct flow_names *list, struct flow_call *c,
			int64_t tid)
{
	if (c->failed || tid <= 0 || flow_call_node(s, c) == FLOW_NONE)
		return;
	flow_failed(s, array_add(list->all, list->count, list->cap,
				 (struct flow_named){c->node, c->task, tid, c->start, c->end}));
}

/* The child returned by a wait; waitid() returns it in a structure, unless it waits for a specific child. */
static int64_t waited_for(const struct flow_call *c)
{
	if (strcmp(op_def(c->op)->name, "waitid") != 0)
		return c->ret;
	return c->a[0] == P_PID && !(c->flags & WNOHANG) ? (int64_t)(int32_t)c->a[1] : 0;
}

void flow_tasks_fork(struct flow_state *s, struct flow_call *c)
{
	tasks_named(s, &s->forks, c, c->ret);
}

void flow_tasks_wait(struct flow_state *s, struct flow_call *c)
{
	tasks_named(s, &s->waits, c, waited_for(c));
}

void flow_tasks_exec(struct flow_state *s, struct flow_call *c)
{
	if (!c->failed)
		s->tasks[c->task].exec = flow_call_node(s, c);
}

void flow_tasks_any(struct flow_state *s, struct flow_call *c)
{
	struct flow_task *t = &s->tasks[c->task];

	if (t->first == FLOW_NONE)
		t->first = flow_call_node(s, c);
	if (t->exec != FLOW_NONE)
		flow_edge_of_calls(s, VIA_EXEC, t->exec, flow_call_node(s, c), -1, true);
	t->exec = FLOW_NONE;
	tasks_woken(s, c);
}

void flow_tasks_last(struct flow_state *s, const struct flow_call *c)
{
	s->tasks[c->task].last = flow_call_operation(c);
	s->tasks[c->task].last_node = c->node;
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

uint32_t flow_task_last(struct flow_state *s, struct flow_task *t)
{
	if (t->last_node == FLOW_NONE && t->last.row_id >= 0)
		t->last_node = flow_graph_node(&s->graph, &t->last);
	return t->last_node;
}

/* The last calls of all threads of the process precede the wait. */
static void tasks_join(struct flow_state *s, const struct flow_named *w)
{
	struct flow_task *child = ended_child(s, w);
	uint64_t at;

	if (!child || !map_get(&s->by_process, (uint64_t)child->process_id, &at))
		return;
	for (uint32_t i = (uint32_t)at; i != FLOW_NONE; i = s->tasks[i].next_of_process) {
		struct flow_task *t = &s->tasks[i];

		if (t->machine == child->machine)
			flow_edge_of_calls(s, VIA_JOIN, flow_task_last(s, t), w->node, -1, true);
	}
}

void flow_tasks_end(struct flow_state *s)
{
	for (size_t i = 0; i < s->task_count; i++) {
		struct flow_task *t = &s->tasks[i];

		for (size_t k = 0; k < t->woken.count; k++)
			woken_settle(s, t, &t->woken.all[k], NULL);
	}
	for (size_t i = 0; i < s->forks.count; i++) {
		const struct flow_task *child = forked_child(s, &s->forks.all[i]);

		if (child)
			flow_edge_of_calls(s, VIA_FORK, s->forks.all[i].node, child->first, -1,
					   true);
	}
	for (size_t i = 0; i < s->waits.count; i++)
		tasks_join(s, &s->waits.all[i]);
}
