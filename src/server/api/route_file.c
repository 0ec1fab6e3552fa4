// SPDX-License-Identifier: Apache-2.0
/* route_file.c: /file/{id}: one file over all its versions: its history, and the threads that accessed it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "sums/rollup.h"
#include "base/clock.h"
#include "base/saturate.h"
#include "query/expr.h"
#include "server/sums/catalog.h"
#include "server/sums/who.h"
#include "server/sums/sums.h"
#include "server/sums/access_map.h"

#define USERS_MAX 200u
#define LIFE_MAX  1000u

/* ---- history ---- */

struct version {
	int64_t id, since;
};

static int by_since(const void *a, const void *b)
{
	const struct version *x = a, *y = b;

	return ORDER(x->since, y->since) ?: ORDER(x->id, y->id);
}

static void route_file_put_event(const struct question *q, struct js *j, int64_t time,
				 const char *what, struct bytes name)
{
	js_open(j, '{');
	js_key_known(j, "time", time != INT64_MIN, clock_between(q->server->origin, time));
	js_key_string(j, "what", what);
	js_key_bytes(j, "name", name);
	js_close(j, '}');
}

static int add_version(struct version **v, size_t *n, size_t *cap, const struct dims *d, int64_t id)
{
	struct dims_file room;
	const struct dims_file *f = dims_file(d, id, &room);

	return f ? array_add(*v, *n, *cap, (struct version){id, f->since}) : 0;
}

/* Lists the versions of one generation, oldest first, including other generations merged with it. */
static int route_file_list_versions(const struct question *q, int64_t inode, struct version **ret,
				    size_t *ret_n)
{
	const struct dims *d = store_dims(q->server->store);
	struct file_lines_walk w = {0};
	struct version *v = NULL;
	size_t n = 0, cap = 0;
	int64_t id, file;
	int r = add_version(&v, &n, &cap, d, inode);

	while (r >= 0 && names_next_other(q->server, &w, &id, &file)) {
		if (id != inode && names_inode(d, id) == inode)
			r = add_version(&v, &n, &cap, d, id);
	}
	array_sort(v, n, by_since);
	*ret = v;
	*ret_n = MIN(n, (size_t)LIFE_MAX);
	return r;
}

/* Lists other files that later had the same name; `after` is when this one was first seen. */
static int put_recreated(const struct question *q, struct js *j, int64_t inode, struct bytes name,
			 int64_t after)
{
	const struct dims *d = store_dims(q->server->store);
	const struct catalog *c = q->server->catalog;
	uint32_t folder = catalog_folder(c, d, inode);
	_cleanup_free_ struct version *later = NULL;
	size_t n = 0, cap = 0;
	int r = 0;

	if (folder < FOLDER_ROOT)
		return 0; /* the name of a socket or pipe does not identify it */
	for (size_t i = 0; i < dims_rows(d, TABLE_FILE) && r >= 0 && n < LIFE_MAX; i++) {
		int64_t id = dims_id_at(d, TABLE_FILE, i);
		const struct dims_file *f;
		struct dims_file room;
		struct bytes other;

		/* the first version of a generation stands for it; most are in other folders */
		if (catalog_folder(c, d, id) != folder || id == inode || names_inode(d, id) != id)
			continue;
		other = dims_file_name(d, id);
		f = dims_file(d, id, &room);
		if (!f || f->name_only || f->since <= after || other.len != name.len ||
		    memcmp(other.data, name.data, name.len))
			continue;
		r = array_add(later, n, cap, (struct version){id, f->since});
	}
	array_sort(later, n, by_since);
	for (size_t i = 0; i < n && r >= 0; i++)
		route_file_put_event(q, j, later[i].since, "recreated", name);
	return r;
}

static int put_life(const struct question *q, struct js *j, int64_t inode)
{
	const struct dims *d = store_dims(q->server->store);
	_cleanup_free_ struct version *versions = NULL;
	struct bytes before = {0};
	int64_t deleted = INT64_MIN;
	size_t n;
	int r = route_file_list_versions(q, inode, &versions, &n);

	js_key_open(j, "life", '[');
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct dims_file room;
		const struct dims_file *f = dims_file(d, versions[i].id, &room);
		struct bytes name = dims_file_version_name(d, versions[i].id);

		if (i == 0 && f->birth != INT64_MIN)
			route_file_put_event(q, j, f->birth, "created", name);
		if (i == 0)
			route_file_put_event(q, j, f->since, "first seen", name);
		else if (name.len != before.len || memcmp(name.data, before.data, name.len))
			route_file_put_event(q, j, f->since, "renamed", name);
		deleted = MAX(deleted, f->deleted);
		before = name;
	}
	if (deleted != INT64_MIN)
		route_file_put_event(q, j, deleted, "deleted", before);
	if (r >= 0 && n)
		r = put_recreated(q, j, inode, before, versions[0].since);
	js_close(j, ']');
	return r;
}

/* ---- accesses ---- */

static bool to_task(void *arg, struct rollup_row *key)
{
	if (key->thread_id >= 0)
		key->thread_id = names_task(arg, key->thread_id);
	return true;
}

static void put_user(struct js *j, const struct dims *d, const struct rollup_row *row)
{
	const struct dims_thread *t = dims_thread(d, row->thread_id);

	js_open(j, '{');
	js_key_string(j, "op", names_code("op", row->op).s);
	js_key_string(j, "class", names_code("class", row->class).s);
	names_put_comm(j, "comm", d, dims_latest_thread(d, row->thread_id));
	js_key_int(j, "pid", names_pid(d, row->thread_id));
	js_key_int(j, "tid", t ? t->tid : -1);
	js_key_uint(j, "calls", row->calls);
	js_key_uint(j, "errors", row->errors);
	js_key_uint(j, "bytes", row->bytes);
	js_key_uint(j, "time", row->time_ns);
	sums_put_quantile(j, "p99", &row->hist, 0.99, row->max_ns);
	js_close(j, '}');
}

static int route_file_take(void *state, const struct walk_rows *rows)
{
	int r = 0;

	for (size_t k = 0; k < rows->count && r >= 0; k++)
		r = rollup_add_row(state, rows->batch, rows->rows[k]);
	return r;
}

/* Sums by op, class and thread version, from summaries where possible. */
static int route_file_sum_up(struct question *q, const struct sums_filter *filter,
			     struct rollup **ret)
{
	struct walk p = {
		.ask = question_ask(q, filter),
		.columns = sums_columns(),
		.sums = 1ull << SUMMARY_OP | 1ull << SUMMARY_CLASS | 1ull << SUMMARY_THREAD_ID |
			1ull << SUMMARY_ERR | 1ull << SUMMARY_CALLS | 1ull << SUMMARY_BYTES |
			1ull << SUMMARY_TIME | 1ull << SUMMARY_MAX | 1ull << SUMMARY_HIST,
		.take = route_file_take,
		.workers = question_workers(q),
	};
	int r = 0;

	p.ask.summaries = p.ask.of_files = p.ask.seconds = true;
	for (unsigned int i = 0; i < p.workers && r >= 0; i++)
		r = rollup_new((struct rollup **)&p.states[i],
			       ROLLUP_OP | ROLLUP_CLASS | ROLLUP_THREAD);
	if (r >= 0)
		r = question_walk(q, &p);
	for (unsigned int i = 1; i < p.workers; i++) {
		if (r >= 0)
			r = rollup_merge(p.states[0], p.states[i]);
		rollup_free(p.states[i]);
	}
	if (r >= 0)
		*ret = TAKE_PTR(p.states[0]);
	rollup_free(p.states[0]);
	return r;
}

static int put_users(const struct question *q, struct js *j, const struct rollup *all)
{
	const struct dims *d = store_dims(q->server->store);
	_cleanup_(rollup_freep) struct rollup *sums = NULL;
	_cleanup_free_ const struct rollup_row **rows = NULL;
	uint64_t calls = 0, bytes = 0, time = 0, io_calls = 0, io_time = 0;
	int r = rollup_regroup(all, ROLLUP_OP | ROLLUP_CLASS | ROLLUP_THREAD, to_task, (void *)d,
			       &sums);
	size_t n = 0;

	if (r >= 0)
		r = rollup_sorted(sums, NULL, sums_by_time, &rows, &n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		calls = add_sat(calls, rows[i]->calls);
		bytes = add_sat(bytes, rows[i]->bytes);
		time = add_sat(time, rows[i]->time_ns);
		if (!class_is_io(rows[i]->class))
			continue;
		io_calls = add_sat(io_calls, rows[i]->calls);
		io_time = add_sat(io_time, rows[i]->time_ns);
	}
	js_key_uint(j, "calls", calls);
	js_key_uint(j, "bytes", bytes);
	js_key_uint(j, "time", time);
	js_key_uint(j, "io_calls", io_calls);
	js_key_uint(j, "io_time", io_time);
	js_key_open(j, "users", '[');
	for (size_t i = 0; i < MIN(n, (size_t)USERS_MAX); i++)
		put_user(j, d, rows[i]);
	js_close(j, ']');
	return 0;
}

static void put_exact(struct js *j, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	js_key_string(j, key, text);
}

static void put_identity(const struct question *q, struct js *j, int64_t inode)
{
	const struct dims *d = store_dims(q->server->store);
	struct dims_file room;
	const struct dims_file *f = dims_file(d, query_entity_id(TABLE_FILE, d, inode), &room);

	if (!f)
		f = dims_file(d, inode, &room);
	js_key_int(j, "id", inode);
	names_put_file(j, "name", d, inode);
	js_key_string(j, "type", names_code("type", f->type < 0 ? FILE_TYPE_UNKNOWN : f->type).s);
	js_key_bytes(j, "fs", f->fs);
	if (f->name_only) {
		js_key_known(j, "ino", false, 0);
		js_key_known(j, "generation", false, 0);
	} else {
		put_exact(j, "ino", f->ino);
		put_exact(j, "generation", f->generation);
	}
	js_key_int(j, "dev", f->dev);
	js_key_bytes(j, "hostpath", f->hostpath);
	js_key_bytes(j, "local", f->local);
	js_key_bytes(j, "peer", f->peer);
}

int file_answer(struct question *q)
{
	_cleanup_sums_filter_ struct sums_filter filter = {0};
	_cleanup_(rollup_freep) struct rollup *all = NULL;
	struct js j = {.to = &q->out};
	int64_t inode;
	int r = names_find_file(q, &inode);

	if (r >= 0)
		r = names_prepare_folders(q->server);
	if (r >= 0)
		r = access_map_filter(q, inode, &filter);
	if (r >= 0)
		r = route_file_sum_up(q, &filter, &all);
	if (r < 0)
		return r;
	js_open(&j, '{');
	put_identity(q, &j, inode);
	r = put_life(q, &j, inode);
	if (r >= 0)
		r = put_users(q, &j, all);
	js_close(&j, '}');
	return r < 0 ? r : j.error;
}
