// SPDX-License-Identifier: Apache-2.0
/* route_latency.c: /latency: calls by time and duration; with `by`, percentiles of the groups with the most time. */
#include <errno.h>
#include <string.h>

#include "server/sums/file_sums.h"
#include "server/sums/who.h"
#include "server/api/route_overview.h"

#define SERIES_MAX 8u

struct split {
	const char *name;
	unsigned int keys;
	void (*map)(const struct dims *d, struct rollup_row *key);
	void (*put)(struct js *j, const struct dims *d, const struct rollup_row *row);
};

static void route_latency_put_op(struct js *j, const struct dims *d, const struct rollup_row *row)
{
	js_key_string(j, "name", names_code("op", row->op).s);
}

static void route_latency_put_class(struct js *j, const struct dims *d,
				    const struct rollup_row *row)
{
	js_key_string(j, "name", names_code("class", row->class).s);
}

static void put_cpu(struct js *j, const struct dims *d, const struct rollup_row *row)
{
	js_key_int(j, "name", row->cpu);
}

static void map_tid(const struct dims *d, struct rollup_row *key)
{
	const struct dims_thread *t = dims_thread(d, key->thread_id);

	key->thread_id = t ? t->tid : -1;
}

static void map_pid(const struct dims *d, struct rollup_row *key)
{
	key->thread_id = names_pid(d, key->thread_id);
}

static void route_latency_put_number(struct js *j, const struct dims *d,
				     const struct rollup_row *row)
{
	js_key_int(j, "name", row->thread_id);
}

/* Maps all threads of the same name to one. */
static void map_comm(const struct dims *d, struct rollup_row *key)
{
	const struct dims_thread *t = dims_thread(d, key->thread_id);

	for (size_t i = 0; t && i < dims_rows(d, TABLE_THREAD); i++) {
		int64_t id = dims_id_at(d, TABLE_THREAD, i);
		const struct dims_thread *other = dims_thread(d, id);

		if (!other || other->comm.len != t->comm.len ||
		    (t->comm.len && memcmp(other->comm.data, t->comm.data, t->comm.len)))
			continue;
		key->thread_id = id;
		return;
	}
}

static void route_latency_put_comm(struct js *j, const struct dims *d, const struct rollup_row *row)
{
	names_put_comm(j, "name", d, row->thread_id);
}

static const struct split splits[] = {
	{"op", ROLLUP_OP, NULL, route_latency_put_op},
	{"class", ROLLUP_CLASS, NULL, route_latency_put_class},
	{"file", ROLLUP_FILE, NULL, NULL}, /* see route_latency_put_files() */
	{"pid", ROLLUP_THREAD, map_pid, route_latency_put_number},
	{"tid", ROLLUP_THREAD, map_tid, route_latency_put_number},
	{"cpu", ROLLUP_CPU, NULL, put_cpu},
	{"comm", ROLLUP_THREAD, map_comm, route_latency_put_comm},
};

static int find_split(struct question *q, const struct split **ret)
{
	const char *by = http_param(q->request, "by");

	*ret = NULL;
	for (size_t i = 0; by && *by && i < ARRAY_SIZE(splits); i++) {
		if (strcmp(by, splits[i].name) == 0)
			*ret = &splits[i];
	}
	if (by && *by && !*ret)
		return question_error(
			q, -EINVAL, "by=%.40s: must be op, class, file, pid, tid, comm or cpu", by);
	return 0;
}

struct regroup {
	const struct split *split;
	const struct dims *dims;
};

static bool route_latency_regroup_row(void *arg, struct rollup_row *key)
{
	const struct regroup *g = arg;

	if (!class_is_io(key->class))
		return false;
	if (g->split->map)
		g->split->map(g->dims, key);
	return true;
}

static void route_latency_put_hist(struct js *j, const struct hist *h)
{
	js_key_open(j, "hist", '[');
	for (unsigned int i = 0; i < hist_entries(h); i++) {
		struct hist_entry e = hist_entry(h, i);

		if (!e.count)
			continue;
		js_uint(j, e.bucket);
		js_uint(j, e.count);
	}
	js_close(j, ']');
}

static void put_stats(struct js *j, uint64_t calls, uint64_t max, const struct hist *h)
{
	js_key_open(j, "stats", '{');
	js_key_uint(j, "calls", calls);
	sums_put_quantile(j, "p50", h, 0.5, max);
	sums_put_quantile(j, "p90", h, 0.9, max);
	sums_put_quantile(j, "p99", h, 0.99, max);
	sums_put_quantile(j, "p999", h, 0.999, max);
	js_key_uint(j, "max", max);
	js_close(j, '}');
	route_latency_put_hist(j, h);
}

static int put_series(struct question *q, struct js *j, const struct rollup *all,
		      const struct split *split)
{
	const struct dims *d = store_dims_few(q->server->store);
	struct regroup g = {split, d};
	_cleanup_(rollup_freep) struct rollup *sums = NULL;
	_cleanup_free_ const struct rollup_row **rows = NULL;
	int r = rollup_regroup(all, split->keys, route_latency_regroup_row, &g, &sums);
	size_t n = 0;

	if (r >= 0)
		r = rollup_sorted(sums, NULL, sums_by_time, &rows, &n);
	if (r < 0)
		return r;
	js_key_open(j, "series", '[');
	for (size_t i = 0; i < MIN(n, (size_t)SERIES_MAX); i++) {
		js_open(j, '{');
		split->put(j, d, rows[i]);
		put_stats(j, rows[i]->calls, rows[i]->max_ns, &rows[i]->hist);
		js_close(j, '}');
	}
	js_close(j, ']');
	return 0;
}

/* There may be millions of files, so histograms are made only for those that are shown. */
static int route_latency_put_files(struct question *q, struct js *j,
				   const struct sums_filter *filter, struct sums *s)
{
	_cleanup_free_ struct sums_file *files = NULL;
	_cleanup_(map_free) struct map members = {0};
	struct hist hists[SERIES_MAX] = {0};
	size_t count, top = 0;
	int r = file_sums_merge(q->server, s, &files, &count);

	if (r >= 0)
		r = file_sums_lines(q->server, files, &count, &members);
	if (r >= 0) {
		top = file_sums_top(files, count, SERIES_MAX);
		r = file_sums_hists(q, filter, s, files, top, hists);
	}
	js_key_open(j, "series", '[');
	for (size_t i = 0; i < top && r >= 0; i++) {
		js_open(j, '{');
		names_put_line(q->server, j, "name", files[i].id);
		put_stats(j, files[i].calls, files[i].max, &hists[i]);
		js_close(j, '}');
	}
	js_close(j, ']');
	for (size_t i = 0; i < SERIES_MAX; i++)
		hist_free(&hists[i]);
	return r;
}

int latency_answer(struct question *q)
{
	_cleanup_sums_filter_ struct sums_filter filter = {0};
	_cleanup_(sums_freep) struct sums *s = NULL;
	const struct split *split;
	struct js j = {.to = &q->out};
	struct sums_axis axis;
	struct sums_want want = {.axis = &axis};
	int64_t from, to;
	int r = find_split(q, &split);

	if (r >= 0)
		r = question_filter(q, q->filter, &filter);
	want.files = r >= 0 && split && split->keys & ROLLUP_FILE;
	if (want.files)
		r = names_prepare(q->server);
	if (r < 0)
		return r;
	question_deadline(q,
			  QUESTION_NS); /* excludes the names: the next question will have them */
	question_range(q, &from, &to);
	sums_axis_make(q, from, to, &axis);
	want.keys = split && !want.files ? split->keys | ROLLUP_CLASS : 0;
	r = sums_run(q, &filter, &want, &s);
	if (r < 0)
		return r;
	js_open(&j, '{');
	overview_put_axis(q, &j, &axis, from, to);
	sums_put_cells(&j, "cells", s);
	if (want.files)
		r = route_latency_put_files(q, &j, &filter, s);
	else if (split)
		r = put_series(q, &j, s->rollup, split);
	loss_put(q, &j);
	js_close(&j, '}');
	return r < 0 ? r : j.error;
}
