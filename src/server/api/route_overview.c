// SPDX-License-Identifier: Apache-2.0
/*
 * route_overview.c: /overview: everything on the first page, from one pass. Rankings cover I/O, as in `weir report`;
 * waits, and calls that are neither, have separate tables. The bytes of processes, threads and files, and those over
 * time, include those of calls that waited for them. Calls that were still running when recording stopped count
 * only in totals.running.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/heap.h"
#include "base/saturate.h"
#include "schema/ops.h"
#include "server/sums/file_sums.h"
#include "server/sums/who.h"
#include "server/api/overview_parts.h"

#define RATE_OPS  10u /* operations with their own band; the others share one */
#define SLOW_ROWS 20u

#define FILES_UNKNOWN SIZE_MAX /* files were not summed */

/* ---- tables ---- */

/* The classes in a table. */
enum part { PART_IO, PART_WAIT, PART_NOT_IO, PART_ALL };

static bool route_overview_is_part(enum part part, int64_t class)
{
	switch (part) {
	case PART_IO:
		return class_is_io(class);
	case PART_WAIT:
		return class == CLASS_WAIT;
	case PART_NOT_IO:
		return class != CLASS_WAIT && !class_is_io(class);
	case PART_ALL:
		return true;
	}
	return false;
}

struct table_of {
	const char *name;
	unsigned int keys; /* the key of the rows */
	enum part part;
	bool failed; /* only failed calls, and on which files */
	bool needs_thread;
	bool lives; /* has a lifetime */
	/* Replaces version ids by the id of the thing itself; NULL: none to replace. */
	void (*map)(const struct server *s, struct rollup_row *key);
	void (*put)(struct js *j, const struct dims *d, const struct rollup_row *row);
};

static void map_thread(const struct server *s, struct rollup_row *key)
{
	key->thread_id = names_task(store_dims_few(s->store), key->thread_id);
}

static void map_process(const struct server *s, struct rollup_row *key)
{
	key->thread_id = names_process_of(store_dims_few(s->store), key->thread_id);
}

static void route_overview_put_op(struct js *j, const struct dims *d, const struct rollup_row *row)
{
	js_key_string(j, "name", names_code("op", row->op).s);
	js_key_string(j, "class", names_code("class", row->class).s);
}

static void put_process(struct js *j, const struct dims *d, const struct rollup_row *row)
{
	const struct dims_process *p = dims_process(d, row->thread_id);

	js_key_int(j, "pid", p ? p->pid : -1);
	names_put_program(j, "name", d, row->thread_id);
	js_key_bytes(j, "exe", p ? p->exe : (struct bytes){0});
	names_put_argv(j, "argv", p);
}

static void route_overview_put_thread(struct js *j, const struct dims *d,
				      const struct rollup_row *row)
{
	const struct dims_thread *t = dims_thread(d, row->thread_id);

	js_key_int(j, "id", row->thread_id);
	js_key_int(j, "tid", t ? t->tid : -1);
	names_put_comm(j, "comm", d, dims_latest_thread(d, row->thread_id));
	js_key_int(j, "pid", names_pid(d, row->thread_id));
}

static void route_overview_put_error(struct js *j, const struct dims *d,
				     const struct rollup_row *row)
{
	js_key_string(j, "op", names_code("op", row->op).s);
	js_key_string(j, "err", names_code("err", row->err).s);
}

static const struct table_of tables[] = {
	{.name = "ops", .keys = ROLLUP_OP | ROLLUP_CLASS, .put = route_overview_put_op},
	{.name = "processes",
	 .keys = ROLLUP_THREAD,
	 .needs_thread = true,
	 .map = map_process,
	 .put = put_process},
	{.name = "threads",
	 .keys = ROLLUP_THREAD,
	 .needs_thread = true,
	 .lives = true,
	 .map = map_thread,
	 .put = route_overview_put_thread},
	{.name = "errors",
	 .keys = ROLLUP_OP | ROLLUP_ERR,
	 .part = PART_ALL,
	 .failed = true,
	 .put = route_overview_put_error},
	{.name = "waiting",
	 .keys = ROLLUP_OP | ROLLUP_CLASS,
	 .part = PART_WAIT,
	 .put = route_overview_put_op},
	{.name = "not_io",
	 .keys = ROLLUP_OP | ROLLUP_CLASS,
	 .part = PART_NOT_IO,
	 .put = route_overview_put_op},
};

struct regroup {
	const struct table_of *table;
	const struct server *server;
};

static bool route_overview_regroup_row(void *arg, struct rollup_row *key)
{
	const struct regroup *g = arg;

	if (!route_overview_is_part(g->table->part, key->class) ||
	    (g->table->failed && key->err <= 0) || (g->table->needs_thread && key->thread_id < 0))
		return false;
	if (g->table->map)
		g->table->map(g->server, key);
	return true;
}

/* Sorts failures by their number. */
static int route_overview_by_calls(const void *a, const void *b)
{
	const struct rollup_row *x = *(const struct rollup_row *const *)a;
	const struct rollup_row *y = *(const struct rollup_row *const *)b;

	return ORDER(y->calls, x->calls) ?: sums_by_time(a, b);
}

static void put_figures(struct js *j, const struct rollup_row *row)
{
	js_key_uint(j, "calls", row->calls);
	js_key_uint(j, "errors", row->errors);
	js_key_uint(j, "bytes", row->bytes);
	js_key_uint(j, "time", row->time_ns);
	sums_put_quantile(j, "p50", &row->hist, 0.5, row->max_ns);
	sums_put_quantile(j, "p99", &row->hist, 0.99, row->max_ns);
	js_key_uint(j, "max", row->max_ns);
}

/* ---- waits of threads ---- */

/* Sums of waiting calls, and where they are by the key of the table's rows. */
struct route_overview_waits {
	struct rollup *sums;
	struct map at;
};

static void route_overview_waits_free(struct route_overview_waits *w)
{
	rollup_free(w->sums);
	map_free(&w->at);
}

static int find_waits(const struct question *q, const struct rollup *all, const struct table_of *t,
		      struct route_overview_waits *ret)
{
	struct table_of waits = *t;
	struct regroup g = {&waits, q->server};
	int r;

	waits.part = PART_WAIT;
	r = rollup_regroup(all, t->keys, route_overview_regroup_row, &g, &ret->sums);
	for (size_t i = 0; r >= 0 && i < rollup_count(ret->sums); i++)
		r = map_set(&ret->at, (uint64_t)rollup_row(ret->sums, i)->thread_id, i);
	return r;
}

/* How long the thread lived within the requested range. */
static uint64_t span_of(const struct question *q, int64_t task, int64_t from, int64_t to)
{
	const struct dims *d = store_dims_few(q->server->store);
	const struct dims_thread *born = dims_thread(d, task);
	const struct dims_thread *last = dims_thread(d, dims_latest_thread(d, task));

	if (born && born->since != INT64_MIN)
		from = MAX(from, born->since);
	if (last && last->stopped != INT64_MIN)
		to = MIN(to, last->stopped);
	return to > from ? (uint64_t)(to - from) : 0;
}

static void route_overview_put_times(const struct question *q, struct js *j,
				     const struct table_of *t, const struct rollup_row *row,
				     uint64_t waited, const struct sums_within *within)
{
	int64_t from, to;

	js_key_uint(j, "wait_time", waited);
	if (!t->lives)
		return;
	question_range(q, &from, &to);
	js_key_uint(j, "span", span_of(q, row->thread_id, from, to));
	js_key_uint(j, "io_within", sums_within_time(&within->io, row->thread_id, row->time_ns));
	js_key_uint(j, "wait_within", sums_within_time(&within->wait, row->thread_id, waited));
}

/* ---- one table ---- */

/* Finds the files of each row's failures; tops[] is as long as the table. 1: too many files to count. */
static int find_failures(const struct question *q, const struct sums *s,
			 const struct rollup_row *const *rows, size_t count,
			 struct failure_top *tops)
{
	for (size_t i = 0; i < count; i++)
		tops[i] = (struct failure_top){.op = rows[i]->op, .err = rows[i]->err};
	return failures_find(&s->failures, q->server, tops, count);
}

static void put_failure(const struct question *q, struct js *j, const struct failure_top *top,
			bool unknown)
{
	names_put_line(q->server, j, "file", unknown ? -1 : top->file);
	js_key_known(j, "file_id", !unknown && top->file >= 0, top->file);
	js_key_known(j, "files", !unknown, (int64_t)top->files);
}

/* What distinguishes each process from others of its name in the whole table; NULL for other tables. */
static int route_overview_arguments(const struct question *q, const struct table_of *t,
				    const struct rollup_row *const *rows, size_t count,
				    struct bytes **ret)
{
	_cleanup_free_ int64_t *ids =
		t->map == map_process ? calloc(count + 1, sizeof(*ids)) : NULL;

	*ret = NULL;
	if (!ids)
		return t->map == map_process ? -ENOMEM : 0;
	for (size_t i = 0; i < count; i++)
		ids[i] = rows[i]->thread_id;
	return names_apart(store_dims_few(q->server->store), ids, count, ret);
}

static int route_overview_put_rows(struct question *q, struct js *j, const struct sums *s,
				   const struct table_of *t, const struct sums_within *within,
				   const struct rollup_row *const *rows, size_t count,
				   const struct bytes *arguments)
{
	const struct dims *d = store_dims_few(q->server->store);
	_cleanup_(route_overview_waits_free) struct route_overview_waits waits = {0};
	struct failure_top tops[TABLE_TOP];
	int r = t->needs_thread ? find_waits(q, s->other, t, &waits) : 0;
	int unknown = r >= 0 && t->failed ? find_failures(q, s, rows, count, tops) : 0;

	js_open(j, '[');
	for (size_t i = 0; i < count && r >= 0 && unknown >= 0; i++) {
		struct rollup_row row = *rows[i];
		const struct rollup_row *waited = NULL;
		uint64_t at;

		if (t->needs_thread && map_get(&waits.at, (uint64_t)row.thread_id, &at))
			waited = rollup_row(waits.sums, at);
		if (waited)
			row.bytes = add_sat(row.bytes, waited->bytes);
		js_open(j, '{');
		t->put(j, d, &row);
		if (arguments)
			js_key_bytes(j, "argument", arguments[i]);
		put_figures(j, &row);
		if (t->needs_thread)
			route_overview_put_times(q, j, t, &row, waited ? waited->time_ns : 0,
						 within);
		if (t->failed)
			put_failure(q, j, &tops[i], unknown);
		js_close(j, '}');
	}
	js_close(j, ']');
	return r < 0 ? r : unknown;
}

static int put_table(struct question *q, struct js *j, const struct sums *s,
		     const struct sums_within *within, const struct table_of *t)
{
	struct regroup g = {t, q->server};
	_cleanup_(rollup_freep) struct rollup *sums = NULL;
	_cleanup_free_ const struct rollup_row **rows = NULL;
	_cleanup_free_ struct bytes *arguments = NULL;
	int r = rollup_regroup(t->needs_thread ? s->other : s->rollup, t->keys,
			       route_overview_regroup_row, &g, &sums);
	size_t n = 0;

	if (r >= 0)
		r = rollup_sorted(sums, NULL, t->failed ? route_overview_by_calls : sums_by_time,
				  &rows, &n);
	if (r >= 0)
		r = route_overview_arguments(q, t, rows, n, &arguments);
	if (r < 0)
		return r;
	js_key_open(j, t->name, '{');
	js_key(j, "rows");
	r = route_overview_put_rows(q, j, s, t, within, rows, MIN(n, (size_t)TABLE_TOP), arguments);
	js_key_uint(j, "others", n > TABLE_TOP ? n - TABLE_TOP : 0);
	js_close(j, '}');
	return r < 0 ? r : j->error;
}

/* ---- files: there may be millions ---- */

static void route_overview_put_file(const struct server *s, struct js *j, const struct sums_file *f,
				    const struct hist *h, uint64_t members)
{
	struct dims_file room;
	const struct dims_file *file = dims_file(store_dims(s->store), f->id, &room);

	js_open(j, '{');
	js_key_int(j, "id", f->id);
	names_put_line(s, j, "name", f->id);
	js_key_bytes(j, "path", file ? file->path : (struct bytes){0});
	if (members > 1) {
		js_key_uint(j, "files", members);
		js_key_string(j, "kind", names_line_kind(s, f->id));
	}
	file_sums_put(j, f, h);
	js_close(j, '}');
}

static int route_overview_put_files(struct question *q, struct js *j,
				    const struct sums_filter *filter, const struct sums *s,
				    struct sums_file *files, size_t count)
{
	_cleanup_(map_free) struct map members = {0};
	struct hist hists[TABLE_TOP] = {0};
	size_t top = 0, n = 0;
	int r = file_sums_lines(q->server, files, &count, &members);

	if (r >= 0) {
		top = file_sums_top(files, count, TABLE_TOP);
		r = file_sums_hists(q, filter, s, files, top, hists);
	}
	for (size_t i = 0; i < count; i++)
		n += files[i].calls > 0;
	js_key_open(j, "files", '{');
	js_key_open(j, "rows", '[');
	for (size_t i = 0; i < top && r >= 0; i++) {
		uint64_t several = 1;

		map_get(&members, (uint64_t)files[i].id, &several);
		route_overview_put_file(q->server, j, &files[i], &hists[i], several);
	}
	js_close(j, ']');
	js_key_uint(j, "others", n - top);
	js_close(j, '}');
	for (size_t i = 0; i < ARRAY_SIZE(hists); i++)
		hist_free(&hists[i]);
	return r;
}

/* ---- totals ---- */

/* Counts the threads and processes, over their versions, that made calls, also if none of them returned. */
static int count_thread(const struct dims *d, int64_t id, struct map *tasks, struct map *processes)
{
	const struct dims_thread *t = dims_thread(d, id);
	int r = id < 0 ? 0 : map_set(tasks, (uint64_t)names_task(d, id), 1);

	return r < 0 || !t ? r : map_set(processes, (uint64_t)t->process_id, 1);
}

static int count_threads(const struct dims *d, const struct sums *s, size_t *ret_tasks,
			 size_t *ret_processes)
{
	_cleanup_(map_free) struct map tasks = {0}, processes = {0};
	uint64_t thread, running;
	size_t pos = 0;
	int r = 0;

	for (size_t i = 0; i < rollup_count(s->other) && r >= 0; i++)
		r = count_thread(d, rollup_row(s->other, i)->thread_id, &tasks, &processes);
	while (r >= 0 && map_next(&s->running_by, &pos, &thread, &running))
		r = count_thread(d, (int64_t)thread, &tasks, &processes);
	*ret_tasks = tasks.count;
	*ret_processes = processes.count;
	return r;
}

static int put_totals(struct question *q, struct js *j, const struct sums *s, size_t files)
{
	uint64_t calls = 0, errors = 0, bytes = 0, time = 0, waited = 0, handing_over = 0;
	size_t tasks, processes;
	int r = count_threads(store_dims_few(q->server->store), s, &tasks, &processes);

	for (size_t i = 0; i < rollup_count(s->rollup); i++) {
		const struct rollup_row *row = rollup_row(s->rollup, i);

		calls = add_sat(calls, row->calls);
		errors = add_sat(errors, row->errors);
		bytes = add_sat(bytes, row->bytes);
		if (row->op >= 0 && op_hands_over((uint32_t)row->op))
			handing_over = add_sat(handing_over, row->calls);
		if (row->class == CLASS_WAIT)
			waited = add_sat(waited, row->time_ns);
		else if (class_is_io(row->class))
			time = add_sat(time, row->time_ns);
	}
	js_key_open(j, "totals", '{');
	js_key_uint(j, "calls", calls);
	js_key_uint(j, "errors", errors);
	js_key_uint(j, "bytes", bytes);
	js_key_uint(j, "time", time);
	js_key_uint(j, "wait_time", waited);
	js_key_uint(j, "handing_over", handing_over);
	js_key_uint(j, "threads", tasks);
	js_key_uint(j, "processes", processes);
	js_key_known(j, "files", files != FILES_UNKNOWN, (int64_t)files);
	js_key_uint(j, "running", s->running);
	js_close(j, '}');
	return r;
}

/* ---- over time ---- */

static void route_overview_put_numbers(struct js *j, const uint64_t *numbers, unsigned int count)
{
	js_open(j, '[');
	for (unsigned int i = 0; i < count; i++)
		js_uint(j, numbers[i]);
	js_close(j, ']');
}

/*
 * An operation's weight in the picture: its share of the calls and of the bytes of each bucket. So an operation that
 * dominates a short time is not hidden by those with more calls overall.
 */
static double op_weight(const struct sums *s, unsigned int op, const struct sums_series *all)
{
	double weight = 0;

	for (unsigned int i = 0; i < s->axis->count; i++) {
		if (all->calls[i])
			weight += (double)s->series[op].calls[i] / (double)all->calls[i];
		if (all->bytes[i])
			weight += (double)s->series[op].bytes[i] / (double)all->bytes[i];
	}
	return weight;
}

struct op_share {
	double weight;
	unsigned int op;
};

static int op_share_order(const void *a, const void *b)
{
	const struct op_share *x = a, *y = b;

	return ORDER(y->weight, x->weight) ?: ORDER(x->op, y->op);
}

/* Chooses those with the most weight; those beyond RATE_OPS remain in `others`, which initially holds all. */
static unsigned int choose_ops(const struct sums *s, struct op_share top[static RATE_OPS],
			       struct sums_series *others)
{
	size_t n = 0;

	for (unsigned int op = 0; op < OP_CODE_MAX; op++) {
		for (unsigned int i = 0; s->series[op].all && i < s->axis->count; i++) {
			others->calls[i] += s->series[op].calls[i];
			others->bytes[i] += s->series[op].bytes[i];
		}
		others->all += s->series[op].all;
	}
	for (unsigned int op = 0; op < OP_CODE_MAX; op++) {
		if (s->series[op].all)
			n = heap_keep(top, n, RATE_OPS, sizeof(*top),
				      &(struct op_share){op_weight(s, op, others), op},
				      op_share_order);
	}
	array_sort(top, n, op_share_order);
	for (size_t k = 0; k < n; k++) {
		const struct sums_series *one = &s->series[top[k].op];

		for (unsigned int i = 0; i < s->axis->count; i++) {
			others->calls[i] -= one->calls[i];
			others->bytes[i] -= one->bytes[i];
		}
		others->all -= one->all;
	}
	return (unsigned int)n;
}

static void put_op_names(struct js *j, const struct op_share *top, unsigned int n, bool others)
{
	js_key_open(j, "ops", '[');
	for (unsigned int k = 0; k < n; k++) {
		const struct op_def *def = op_def(top[k].op);

		js_open(j, '{');
		js_key_string(j, "name", names_code("op", top[k].op).s);
		js_key_string(j, "class", names_code("class", def ? def->class : CLASS_OTHER).s);
		js_close(j, '}');
	}
	if (others) {
		js_open(j, '{');
		js_key_string(j, "name", "others");
		js_key_string(j, "class", "other");
		js_close(j, '}');
	}
	js_close(j, ']');
}

static int put_rate(struct js *j, const struct sums *s)
{
	struct op_share top[RATE_OPS];
	unsigned int count = s->axis->count, n;
	_cleanup_free_ uint64_t *calls = calloc(count, sizeof(*calls));
	_cleanup_free_ uint64_t *bytes = calloc(count, sizeof(*bytes));
	struct sums_series others = {calls, bytes, 0};

	if (!calls || !bytes)
		return -ENOMEM;
	n = choose_ops(s, top, &others);
	js_key_open(j, "rate", '{');
	put_op_names(j, top, n, others.all > 0);
	for (unsigned int what = 0; what < 2; what++) {
		js_key_open(j, what ? "bytes" : "calls", '[');
		for (unsigned int k = 0; k < n; k++)
			route_overview_put_numbers(
				j, what ? s->series[top[k].op].bytes : s->series[top[k].op].calls,
				count);
		if (others.all)
			route_overview_put_numbers(j, what ? others.bytes : others.calls, count);
		js_close(j, ']');
	}
	js_key(j, "errors");
	route_overview_put_numbers(j, s->errors, count);
	js_close(j, '}');
	return 0;
}

/* ---- the slowest ---- */

static int put_slow(struct question *q, struct js *j, const struct sums_filter *filter,
		    const struct sums *s)
{
	const struct dims *d = store_dims(q->server->store);
	_cleanup_(batch_freep) struct batch *b = NULL;
	_cleanup_free_ struct call_ref *calls = NULL;
	_cleanup_buf_ struct buf text = {0};
	const struct walk pass = question_pass(q, filter);
	size_t count = 0;
	int r = slowest_find(&s->slowest, &pass, SLOW_ROWS, &calls, &count, &q->err);

	if (r >= 0)
		r = slowest_fetch(q->server->store, calls, &count, &b, &q->err);

	js_key_open(j, "slowest", '{');
	js_key_open(j, "rows", '[');
	for (size_t i = 0; r >= 0 && i < b->rows; i++) {
		js_open(j, '{');
		js_key_int(j, "row", server_row_number(q->server, calls[i].block, calls[i].row));
		names_put_call(q->server, j, b, i);
		js_key_string(j, "op", names_code("op", batch_get(b, OP_OP, i, -1)).s);
		js_key_string(j, "class", names_code("class", batch_get(b, OP_CLASS, i, -1)).s);
		js_key_int(j, "tid", batch_get(b, OP_TID, i, -1));
		names_put_comm(j, "comm", d, batch_get(b, OP_THREAD_ID, i, -1));
		names_put_file(j, "file", d, batch_get(b, OP_FILE_ID, i, -1));
		buf_clear(&text);
		r = q->server->opt.call_text(&text, b, i, d);
		js_key_bytes(j, "text", buf_bytes(&text));
		js_close(j, '}');
	}
	js_close(j, ']');
	js_close(j, '}');
	return r;
}

/* ---- the answer ---- */

void overview_put_axis(const struct question *q, struct js *j, const struct sums_axis *a,
		       int64_t from, int64_t to)
{
	js_key_exact(j, "origin", q->server->origin);
	js_key_int(j, "from", a->from - q->server->origin);
	js_key_int(j, "to", a->from + a->step * (int64_t)a->count - q->server->origin);
	js_key_int(j, "step", a->step);
	js_key_int(j, "asked_from", from - q->server->origin);
	js_key_int(j, "asked_to", to - q->server->origin);
}

/* Writes what comes from the sums of all calls: their number by key, and over time. */
static int put_figures_of_all(struct question *q, struct js *j, const struct overview *o,
			      bool brief, double share)
{
	_cleanup_(sums_within_free) struct sums_within within = {0};
	const struct sums *s = o->sums;
	int r = put_totals(q, j, s, brief ? FILES_UNKNOWN : o->file_count);

	if (r >= 0)
		r = put_rate(j, s);
	if (r >= 0 && share >= 1)
		r = sums_within_find(q, &o->filter, &within);
	js_key_open(j, "latency", '{');
	sums_put_cells(j, "cells", s);
	js_close(j, '}');
	for (size_t i = 0; i < ARRAY_SIZE(tables) && r >= 0; i++) {
		if (!brief || !tables[i].failed)
			r = put_table(q, j, s, &within, &tables[i]);
	}
	return r;
}

/* Writes files, of which there may be millions, and single calls: these take most of the time. */
static int put_details(struct question *q, struct js *j, const struct sums_filter *filter,
		       const struct sums *s, struct sums_file *files, size_t file_count)
{
	int r = route_overview_put_files(q, j, filter, s, files, file_count);

	return r < 0 ? r : put_slow(q, j, filter, s);
}

void overview_free(struct overview *o)
{
	sums_filter_free(&o->filter);
	sums_free(o->sums);
	free(o->files);
}

void overview_range(const struct question *q, struct overview *o)
{
	o->file_count = FILES_UNKNOWN;
	question_range(q, &o->from, &o->to);
	sums_axis_make(q, o->from, o->to, &o->axis);
}

static int route_overview_sum_up(struct question *q, struct overview *o, bool brief)
{
	struct sums_want want = {OVERVIEW_WANT(&o->axis)};
	int r;

	overview_range(q, o);
	if (brief)
		want.files = want.slowest = want.failures = false;
	else
		admission_want_names(q->server); /* a background thread computes them meanwhile */
	r = sums_run(q, &o->filter, &want, &o->sums);
	if (r < 0 || brief)
		return r;
	r = names_prepare(q->server);
	question_deadline(q,
			  QUESTION_NS); /* excludes the names: the next question will have them */
	return r < 0 ? r : file_sums_merge(q->server, o->sums, &o->files, &o->file_count);
}

int overview_put(struct question *q, struct buf *to, struct overview *o, bool brief, double share)
{
	struct js j = {.to = to};
	int r;

	js_open(&j, '{');
	overview_put_axis(q, &j, &o->axis, o->from, o->to);
	if (share < 1)
		js_key_float(&j, "read", share);
	r = put_figures_of_all(q, &j, o, brief, share);
	if (r >= 0 && !brief)
		r = put_details(q, &j, &o->filter, o->sums, o->files, o->file_count);
	loss_put(q, &j);
	js_close(&j, '}');
	return r < 0 ? r : j.error;
}

static int overview_answer(struct question *q)
{
	_cleanup_(overview_free) struct overview o = {0};
	int64_t brief = 0, within = 0;
	int r = question_number(q, "brief", 0, 1, 0, &brief);

	if (r >= 0)
		r = question_number(q, "within", 1, WITHIN_MAX, 0, &within);
	if (r >= 0)
		r = question_filter(q, q->filter, &o.filter);
	if (r < 0)
		return r;
	if (o.filter.eval && !o.filter.by_summary)
		/* a growing trace would start over each time */
		return overview_parts_answer(q, &o.filter, brief, q->server->live ? 0 : within);
	r = route_overview_sum_up(q, &o, brief);
	return r < 0 ? r : overview_put(q, &q->out, &o, brief, 1);
}

void overview_get(void *arg, struct http_request *r)
{
	/* the whole overview may have to wait for memory */
	if (http_param(r, "brief"))
		question_run_by_filter(arg, r, overview_answer);
	else
		question_run(arg, r, overview_answer);
}
