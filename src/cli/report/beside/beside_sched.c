/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beside_sched.c: `weir report sched`: how long each thread had no CPU, which thread woke it and which ran instead,
 * from the table sched.
 */
#include <errno.h>
#include <string.h>

#include "cli/report/beside/beside.h"
#include "names/names.h"

const struct answer_column beside_sched_columns[BESIDE_SCHED_COLUMNS] = {
	BESIDE_DUR("runq", .weight = true),
	BESIDE_DUR("runq_mean", .gives = 5),
	BESIDE_DUR("runq_max"),
	BESIDE_DUR("blocked"),
	BESIDE_DUR("io"),
	BESIDE_COUNT("sleeps"),
	BESIDE_COUNT("preempted"),
	BESIDE_COUNT("unknown", .programs = true),
	{"instead", {QUERY_TEXT}, .gives = 6},
	BESIDE_DUR("instead_runq", .programs = true),
	{"waker", {QUERY_TEXT}, .gives = 7},
	BESIDE_COUNT("waker_wakes", .programs = true),
	{"thread", {QUERY_TEXT}},
};

struct waits {
	int64_t task; /* + 1 */
	int64_t runq, runq_max, runqs, blocked, io, sleeps, preempted, unknown;
};

/* What one thread did to another: woke it, or ran in its place. */
struct pair {
	int64_t task, other; /* + 1; 0: not recorded */
	int64_t tid;	     /* of one that was not recorded */
	char comm[16];
	int64_t count, time;
};

struct sched {
	const struct report *r;
	struct beside_groups tasks, wakers, instead;
};

static struct pair *pair_of(struct sched *s, struct beside_groups *pairs, int64_t task,
			    const struct batch *b, size_t row, unsigned int id)
{
	int64_t other = batch_get(b, id, row, -1), tid = batch_get(b, id + 1, row, 0), key[3];
	struct bytes comm = batch_get_bytes(b, id + 2, row);
	struct pair *p;

	if (other >= 0)
		other = names_task(s->r->dims, other);
	key[0] = task;
	key[1] = other;
	key[2] = other >= 0 ? 0 : tid ? tid : (int64_t)hash_bytes(comm.data, comm.len);
	p = beside_group(pairs, hash_bytes(key, sizeof(key)));
	if (!p)
		return NULL;
	p->task = task;
	p->other = other + 1;
	p->tid = tid;
	if (comm.len && !p->comm[0])
		memcpy(p->comm, comm.data, MIN(comm.len, sizeof(p->comm) - 1));
	return p;
}

static int sched_take(void *arg, const struct batch *b, size_t row)
{
	struct sched *s = arg;
	int64_t task = batch_get(b, SCHED_THREAD_ID, row, -1),
		why = batch_get(b, SCHED_WHY, row, -1), runq = batch_get(b, SCHED_RUNQ, row, -1),
		blocked = batch_get(b, SCHED_BLOCKED, row, 0);
	struct waits *w;
	struct pair *p;

	task = task < 0 ? task : names_task(s->r->dims, task);
	w = beside_group(&s->tasks, (uint64_t)task);
	if (!w)
		return -ENOMEM;
	w->task = task + 1;
	w->sleeps += why == WHY_SLEEP || why == WHY_IO;
	w->preempted += why == WHY_PREEMPTED || why == WHY_YIELD;
	w->unknown += runq < 0;
	w->runqs += runq >= 0;
	w->runq += MAX(runq, 0);
	w->runq_max = MAX(w->runq_max, runq);
	*(why == WHY_IO ? &w->io : &w->blocked) += blocked;
	if (!batch_is_null(b, SCHED_WOKEN_BY, row)) {
		p = pair_of(s, &s->wakers, task + 1, b, row, SCHED_WAKER_ID);
		if (!p)
			return -ENOMEM;
		p->count++;
		p->time++;
	}
	if (runq > 0 &&
	    (!batch_is_null(b, SCHED_INSTEAD_ID, row) || batch_has(b, SCHED_INSTEAD_COMM))) {
		p = pair_of(s, &s->instead, task + 1, b, row, SCHED_INSTEAD_ID);
		if (!p)
			return -ENOMEM;
		p->count++;
		p->time += runq;
	}
	return 0;
}

/* The pair of a thread with the most, among those whose other thread is known. */
static const struct pair *most(const struct beside_groups *pairs, int64_t task)
{
	const struct pair *all = pairs->all, *best = NULL;

	for (size_t i = 0; i < pairs->count; i++) {
		if (all[i].task == task && (all[i].other || all[i].comm[0]) &&
		    (!best || all[i].time > best->time))
			best = &all[i];
	}
	return best;
}

static int sched_put_pair(struct sched *s, struct answer_list *t, const struct pair *p)
{
	char text[48];
	int e = 0;

	if (p && p->other) {
		e = beside_put_thread(s->r, t, p->other - 1);
	} else if (p) {
		snprintf(text, sizeof(text), p->tid ? "%s %lld" : "%s", p->comm, (long long)p->tid);
		answer_list_str(t, text);
	} else {
		answer_list_null(t);
	}
	beside_put_known(t, p ? p->time : -1);
	return e;
}

static int put_waits(struct sched *s, struct answer_list *t, const struct waits *w)
{
	int e;

	answer_list_int(t, w->runq);
	beside_put_known(t, w->runqs ? w->runq / w->runqs : -1);
	answer_list_int(t, w->runq_max);
	answer_list_int(t, w->blocked);
	answer_list_int(t, w->io);
	answer_list_int(t, w->sleeps);
	answer_list_int(t, w->preempted);
	answer_list_int(t, w->unknown);
	e = sched_put_pair(s, t, most(&s->instead, w->task));
	e = e < 0 ? e : sched_put_pair(s, t, most(&s->wakers, w->task));
	return e < 0 ? e : beside_put_thread(s->r, t, w->task - 1);
}

static void sched_free(struct sched *s)
{
	beside_groups_free(&s->tasks);
	beside_groups_free(&s->wakers);
	beside_groups_free(&s->instead);
}

int beside_sched(struct report *r, struct answer_list *t, struct error *err)
{
	_cleanup_(sched_free) struct sched s = {.r = r,
						.tasks.size = sizeof(struct waits),
						.wakers.size = sizeof(struct pair),
						.instead.size = sizeof(struct pair)};
	int e = beside_scan(r, TABLE_SCHED, ~0ull, BESIDE_TASKS, SCHED_THREAD_ID, sched_take, &s);

	for (size_t i = 0; e >= 0 && i < s.tasks.count; i++)
		e = put_waits(&s, t, (struct waits *)s.tasks.all + i);
	return e;
}
