// SPDX-License-Identifier: Apache-2.0
/* route_lanes.c: /lanes: the threads of the timeline, grouped by container and process. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "server/sums/running_calls.h"
#include "server/sums/who.h"
#include "server/sums/sums.h"

struct lane {
	int64_t task, tid, pid;
	const struct dims_thread *thread; /* latest version */
	const struct dims_process *process;
	const struct dims_cgroup *cgroup;
	const struct dims_host *host;
	uint64_t calls, time, wait_time; /* time: in calls other than waits */
	struct bytes argument;		 /* distinguishes the process from others of its name */
};

static struct bytes text_or(struct bytes t, const char *otherwise)
{
	return t.data ? t : (struct bytes){(const uint8_t *)otherwise, strlen(otherwise)};
}

static struct bytes route_lanes_host_of(const struct lane *l)
{
	return text_or(l->host ? l->host->name : (struct bytes){0}, "");
}

static struct bytes container_of_lane(const struct lane *l)
{
	return text_or(l->cgroup ? l->cgroup->container : (struct bytes){0}, "");
}

static int route_lanes_by_place(const void *a, const void *b)
{
	const struct lane *x = a, *y = b;

	return bytes_compare(route_lanes_host_of(x), route_lanes_host_of(y))
		       ?: bytes_compare(container_of_lane(x), container_of_lane(y))
		       ?: ORDER(x->pid, y->pid)
		       ?: ORDER(x->tid, y->tid)
		       ?: ORDER(x->task, y->task);
}

/* Sums by thread. */
struct lane_sums {
	struct map calls, time, wait_time;
};

static void lane_sums_free(struct lane_sums *s)
{
	map_free(&s->calls);
	map_free(&s->time);
	map_free(&s->wait_time);
}

static void route_lanes_fill(struct lane *l, const struct dims *d, int64_t task,
			     const struct lane_sums *sums)
{
	*l = (struct lane){.task = task};
	map_get(&sums->calls, (uint64_t)task, &l->calls);
	map_get(&sums->time, (uint64_t)task, &l->time);
	map_get(&sums->wait_time, (uint64_t)task, &l->wait_time);
	l->thread = dims_thread(d, dims_latest_thread(d, task));
	l->tid = l->thread ? l->thread->tid : -1;
	l->process = l->thread ? dims_process(d, l->thread->process_id) : NULL;
	l->cgroup = l->thread ? dims_cgroup(d, l->thread->cgroup_id) : NULL;
	l->pid = l->process ? l->process->pid : -1;
	l->host = l->process ? dims_host(d, l->process->host_id) : NULL;
	if (!l->host && dims_rows(d, TABLE_HOST))
		l->host = dims_host(d, dims_id_at(d, TABLE_HOST, 0));
}

static void put_lane(struct js *j, const struct dims *d, const struct lane *l)
{
	struct bytes comm = l->thread ? l->thread->comm : (struct bytes){0};
	struct bytes program = l->thread ? names_program(d, l->thread->process_id) : comm;

	js_open(j, '{');
	js_key_int(j, "id", l->task);
	js_key_int(j, "thread", query_entity_id(TABLE_THREAD, d, l->task));
	js_key_int(j, "tid", l->tid);
	js_key_bytes(j, "comm", text_or(comm, ""));
	js_key_int(j, "pid", l->pid);
	js_key_int(j, "ppid", l->process ? l->process->ppid : -1);
	js_key_bytes(j, "process", program.len ? program : text_or(comm, ""));
	js_key_bytes(j, "argument", l->argument);
	js_key_bytes(j, "container", l->cgroup ? l->cgroup->container : (struct bytes){0});
	js_key_bytes(j, "host", route_lanes_host_of(l));
	js_key_uint(j, "calls", l->calls);
	js_key_uint(j, "time", l->time);
	js_key_uint(j, "wait_time", l->wait_time);
	js_close(j, '}');
}

static int route_lanes_arguments(const struct dims *d, struct lane *lanes, size_t count)
{
	_cleanup_free_ int64_t *ids = calloc(count + 1, sizeof(*ids));
	_cleanup_free_ struct bytes *apart = NULL;
	int r;

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		ids[i] = lanes[i].thread ? lanes[i].thread->process_id : -1;
	r = names_apart(d, ids, count, &apart);
	for (size_t i = 0; i < count && r >= 0; i++)
		lanes[i].argument = apart[i];
	return r;
}

static int route_lanes_add(struct map *to, const struct dims *d, int64_t thread_id, uint64_t n)
{
	uint64_t task = (uint64_t)names_task(d, thread_id), before = 0;

	map_get(to, task, &before);
	return map_set(to, task, before + n);
}

/* Counts calls by thread, including those that never finished: a hung thread must not be left out. */
static int count_calls(const struct dims *d, const struct sums *s, struct lane_sums *ret)
{
	uint64_t id, n;
	size_t pos = 0;
	int r = 0;

	for (size_t i = 0; i < rollup_count(s->rollup) && r >= 0; i++) {
		const struct rollup_row *row = rollup_row(s->rollup, i);

		if (row->thread_id < 0)
			continue;
		r = route_lanes_add(&ret->calls, d, row->thread_id, row->calls);
		if (r >= 0)
			r = route_lanes_add(row->class == CLASS_WAIT ? &ret->wait_time : &ret->time,
					    d, row->thread_id, row->time_ns);
	}
	while (r >= 0 && map_next(&s->running_by, &pos, &id, &n)) {
		if ((int64_t)id >= 0)
			r = route_lanes_add(&ret->calls, d, (int64_t)id, n);
	}
	return r;
}

/* Counts calls that are still running and have no row yet: a thread that hangs in its first call has no other trace. */
static int count_running(struct question *q, const struct sums_filter *filter, struct map *ret)
{
	_cleanup_(running_calls_free) struct running_calls running = {0};
	const struct dims *d = store_dims_few(q->server->store);
	int r = running_calls_find(q, filter, &running);

	for (size_t i = 0; i < running.count && r >= 0; i++)
		r = route_lanes_add(ret, d, running.calls[i].thread_id, 1);
	return r;
}

int lanes_answer(struct question *q)
{
	const struct dims *d = store_dims_few(q->server->store);
	_cleanup_sums_filter_ struct sums_filter filter = {0};
	_cleanup_(sums_freep) struct sums *s = NULL;
	_cleanup_(lane_sums_free) struct lane_sums sums = {0};
	_cleanup_free_ struct lane *lanes = NULL;
	struct js j = {.to = &q->out};
	int r = question_filter(q, q->filter, &filter);
	const struct sums_want want = {.keys = ROLLUP_THREAD | ROLLUP_CLASS};
	uint64_t task, count;
	size_t n = 0, pos = 0;

	if (r >= 0)
		r = sums_run(q, &filter, &want, &s);
	if (r >= 0)
		r = count_calls(d, s, &sums);
	if (r >= 0)
		r = count_running(q, &filter, &sums.calls);
	if (r < 0)
		return r;
	lanes = calloc(sums.calls.count + 1, sizeof(*lanes));
	if (!lanes)
		return -ENOMEM;
	while (map_next(&sums.calls, &pos, &task, &count))
		route_lanes_fill(&lanes[n++], d, (int64_t)task, &sums);
	qsort(lanes, n, sizeof(*lanes), route_lanes_by_place);
	r = route_lanes_arguments(d, lanes, n);
	if (r < 0)
		return r;
	js_open(&j, '{');
	js_key_open(&j, "lanes", '[');
	for (size_t i = 0; i < n; i++)
		put_lane(&j, d, &lanes[i]);
	js_close(&j, ']');
	js_close(&j, '}');
	return j.error;
}
