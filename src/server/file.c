// SPDX-License-Identifier: Apache-2.0
/* file.c: /file/{id}: one file over all its versions: its life, who touched it; and the picture of
 * position by time. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/rollup/rollup.h"
#include "query/expr.h"
#include "schema/ops.h"
#include "server/columns.h"
#include "server/names.h"
#include "server/sums.h"

#define USERS_MAX  200u
#define LIFE_MAX   1000u
#define HEIGHT_MAX 1000

/* ---- which file ---- */

static int find_file(struct question *q, int64_t *ret)
{
	const struct dims *d = store_dims(q->server->store);
	const char *text = http_part(q->request, 0);
	char *end;
	int64_t id;

	errno = 0;
	id = strtoll(text, &end, 10);
	if (errno || end == text || *end || id < 0 || !dims_has(d, TABLE_FILE, id))
		return question_error(q, -ENOENT, "there is no file %.40s in this trace", text);
	*ret = names_inode(d, id);
	return 0;
}

/* The filter of the page, for this file alone; as text, so that blocks without it are skipped. */
static int make_sieve(struct question *q, int64_t inode, struct sieve *ret)
{
	const struct dims *d = store_dims(q->server->store);
	_cleanup_sieve_ struct sieve given = {0};
	_cleanup_buf_ struct buf text = {0};
	int r = sieve_make(q, q->filter, &given); /* by itself first, for the places of errors */

	if (r >= 0)
		r = buf_printf(&text, "id(file) == %" PRId64,
			       query_entity_id(TABLE_FILE, d, inode));
	if (r >= 0 && q->filter)
		r = buf_printf(&text, " && (%s)", q->filter);
	return r < 0 ? r : sieve_make(q, buf_str(&text), ret);
}

/* ---- what calls did to it ---- */

struct touched {
	struct rollup *rollup;
	int64_t from, to, pos_from, pos_to; /* INT64_MAX, INT64_MIN: nothing */
};

static int touched_new(void **ret)
{
	struct touched *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	*ret = t;
	t->from = t->pos_from = INT64_MAX;
	t->to = t->pos_to = INT64_MIN;
	return rollup_new(&t->rollup, ROLLUP_OP | ROLLUP_CLASS | ROLLUP_THREAD);
}

static void touched_free(struct touched *t)
{
	if (!t)
		return;
	rollup_free(t->rollup);
	free(t);
}

static int take(void *state, const struct pass_rows *rows)
{
	struct touched *t = state;
	int r = 0;

	for (size_t k = 0; k < rows->count && r >= 0; k++) {
		const struct batch *b = rows->batch;
		size_t i = rows->rows[k];
		int64_t start = batch_get(b, OP_START, i, INT64_MIN), end = rollup_end(b, i);
		int64_t pos = batch_get(b, OP_POS, i, -1), last;

		r = rollup_add_op(t->rollup, b, i);
		if (start != INT64_MIN) {
			t->from = MIN(t->from, start);
			t->to = MAX(t->to, end);
		}
		if (pos < 0 ||
		    __builtin_add_overflow(pos, MAX(batch_get(b, OP_BYTES, i, 0), 0), &last))
			continue;
		t->pos_from = MIN(t->pos_from, pos);
		t->pos_to = MAX(t->pos_to, last);
	}
	return r;
}

static int touch(struct question *q, const struct sieve *sieve, struct touched **ret)
{
	struct pass p = {
		.q = q,
		.sieve = sieve,
		.from = q->from,
		.to = q->to,
		.columns = sums_columns() | 1ull << OP_POS | 1ull << OP_BYTES,
		.take = take,
		.workers = pass_workers(q),
	};
	int r = 0;

	for (unsigned int i = 0; i < p.workers && r >= 0; i++)
		r = touched_new(&p.states[i]);
	if (r >= 0)
		r = pass_run(&p);
	for (unsigned int i = 1; i < p.workers && r >= 0; i++) {
		struct touched *a = p.states[0];
		const struct touched *b = p.states[i];

		r = rollup_merge(a->rollup, b->rollup);
		a->from = MIN(a->from, b->from);
		a->to = MAX(a->to, b->to);
		a->pos_from = MIN(a->pos_from, b->pos_from);
		a->pos_to = MAX(a->pos_to, b->pos_to);
	}
	for (unsigned int i = r < 0 ? 0 : 1; i < p.workers; i++)
		touched_free(p.states[i]);
	if (r >= 0)
		*ret = p.states[0];
	return r;
}

/* ---- its life ---- */

struct version {
	int64_t id, since;
};

static int by_since(const void *a, const void *b)
{
	const struct version *x = a, *y = b;

	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static void put_event(const struct question *q, struct js *j, int64_t time, const char *what,
		      struct bytes name)
{
	js_open(j, '{');
	js_key(j, "time");
	if (time == INT64_MIN)
		js_null(j);
	else
		js_int(j, time - q->server->origin);
	js_key_string(j, "what", what);
	js_key_bytes(j, "name", name);
	js_close(j, '}');
}

/* Versions of one generation, oldest first. */
static int list_versions(const struct dims *d, int64_t inode, struct version **ret, size_t *ret_n)
{
	struct version *v = NULL;
	size_t n = 0, cap = 0;
	int r = 0;

	for (size_t i = 0; i < dims_rows(d, TABLE_FILE) && r >= 0 && n < LIFE_MAX; i++) {
		int64_t id = dims_id_at(d, TABLE_FILE, i);
		struct dims_file room;

		if (names_inode(d, id) != inode)
			continue;
		r = grow((void **)&v, &cap, n + 1, sizeof(*v));
		if (r >= 0)
			v[n++] = (struct version){id, dims_file(d, id, &room)->since};
	}
	if (n)
		qsort(v, n, sizeof(*v), by_since);
	*ret = v;
	*ret_n = n;
	return r;
}

static int put_life(const struct question *q, struct js *j, int64_t inode)
{
	const struct dims *d = store_dims(q->server->store);
	_cleanup_free_ struct version *versions = NULL;
	struct bytes before = {0};
	int64_t deleted = INT64_MIN;
	size_t n;
	int r = list_versions(d, inode, &versions, &n);

	js_key(j, "life");
	js_open(j, '[');
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct dims_file room;
		const struct dims_file *f = dims_file(d, versions[i].id, &room);
		struct bytes name = dims_file_version_name(d, versions[i].id);

		if (i == 0 && f->birth != INT64_MIN)
			put_event(q, j, f->birth, "created", name);
		if (i == 0)
			put_event(q, j, f->since, "first seen", name);
		else if (name.len != before.len || memcmp(name.data, before.data, name.len))
			put_event(q, j, f->since, "renamed", name);
		deleted = MAX(deleted, f->deleted);
		before = name;
	}
	if (deleted != INT64_MIN)
		put_event(q, j, deleted, "deleted", before);
	js_close(j, ']');
	return r;
}

/* ---- who touched it ---- */

static bool to_task(void *arg, struct rollup_row *key)
{
	if (key->thread_id >= 0)
		key->thread_id = names_task(arg, key->thread_id);
	return true;
}

static void put_user(struct js *j, const struct dims *d, const struct rollup_row *row)
{
	js_open(j, '{');
	js_key_string(j, "op", names_code("op", row->op).s);
	js_key_string(j, "class", names_code("class", row->class).s);
	names_put_comm(j, "comm", d, row->thread_id);
	js_key_int(j, "pid", names_pid(d, row->thread_id));
	js_key_uint(j, "calls", row->calls);
	js_key_uint(j, "errors", row->errors);
	js_key_uint(j, "bytes", row->bytes);
	js_key_uint(j, "time", row->time_ns);
	js_key_uint(j, "p99", hist_quantile(&row->hist, 0.99));
	js_close(j, '}');
}

static int put_users(const struct question *q, struct js *j, const struct rollup *all)
{
	const struct dims *d = store_dims(q->server->store);
	_cleanup_(rollup_freep) struct rollup *sums = NULL;
	_cleanup_free_ const struct rollup_row **rows = NULL;
	uint64_t calls = 0, bytes = 0, time = 0;
	int r = rollup_regroup(all, ROLLUP_OP | ROLLUP_CLASS | ROLLUP_THREAD, to_task, (void *)d,
			       &sums);
	size_t n = r < 0 ? 0 : rollup_count(sums);

	if (r < 0)
		return r;
	rows = calloc(n + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		rows[i] = rollup_row(sums, i);
		calls += rows[i]->calls;
		bytes += rows[i]->bytes;
		time += rows[i]->time_ns;
	}
	qsort(rows, n, sizeof(*rows), sums_by_time);
	js_key_uint(j, "calls", calls);
	js_key_uint(j, "bytes", bytes);
	js_key_uint(j, "time", time);
	js_key(j, "users");
	js_open(j, '[');
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
		js_key(j, "ino");
		js_null(j);
		js_key(j, "generation");
		js_null(j);
	} else {
		put_exact(j, "ino", f->ino);
		put_exact(j, "generation", f->generation);
	}
	js_key_int(j, "dev", f->dev);
	js_key_bytes(j, "hostpath", f->hostpath);
	js_key_bytes(j, "local", f->local);
	js_key_bytes(j, "peer", f->peer);
}

static int file_answer(struct question *q)
{
	_cleanup_sieve_ struct sieve sieve = {0};
	struct touched *t = NULL;
	struct js j = {.to = &q->out};
	int64_t inode, from, to;
	int r = find_file(q, &inode);

	if (r >= 0)
		r = make_sieve(q, inode, &sieve);
	if (r >= 0)
		r = touch(q, &sieve, &t);
	if (r < 0)
		return r;
	question_range(q, &from, &to);
	if (q->from == INT64_MIN && t->from != INT64_MAX)
		from = t->from;
	if (q->to == INT64_MAX && t->to != INT64_MIN)
		to = t->to + 1;
	js_open(&j, '{');
	put_identity(q, &j, inode);
	js_key_int(&j, "from", from - q->server->origin);
	js_key_int(&j, "to", to - q->server->origin);
	js_key_int(&j, "pos_from", t->pos_from == INT64_MAX ? 0 : t->pos_from);
	js_key_int(&j, "pos_to", t->pos_to == INT64_MIN ? 0 : t->pos_to);
	r = put_life(q, &j, inode);
	if (r >= 0)
		r = put_users(q, &j, t->rollup);
	js_close(&j, '}');
	touched_free(t);
	return r < 0 ? r : j.error;
}

void file_get(void *arg, struct http_request *r)
{
	question_run(arg, r, file_answer);
}

/* ---- position by time ---- */

struct cell {
	uint64_t reads, writes, calls;
};

struct density {
	int64_t from, to, pos_from, pos_to;
	unsigned int width, height;
	struct cell *cells; /* [width * height] */
};

static unsigned int scale(int64_t v, int64_t from, int64_t to, unsigned int cells)
{
	return (unsigned int)((__uint128_t)((uint64_t)v - (uint64_t)from) * cells /
			      ((uint64_t)to - (uint64_t)from));
}

static bool is_write(int64_t op)
{
	static const char *const words[] = {"write",	"pwrite64", "writev",	 "pwritev",
					    "pwritev2", "sendfile", "fallocate", "ftruncate"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (op == op_find(words[i]))
			return true;
	}
	return false;
}

/* Bytes of a call lie in as many cells as it touched; the call itself counts where it began. */
static void paint(struct density *d, int64_t time, int64_t pos, int64_t bytes, bool write)
{
	int64_t last;
	unsigned int x = scale(time, d->from, d->to, d->width), y, y_last;

	if (__builtin_add_overflow(pos, MAX(bytes, 1) - 1, &last) || last < d->pos_from ||
	    pos >= d->pos_to)
		return;
	y = scale(MAX(pos, d->pos_from), d->pos_from, d->pos_to, d->height);
	y_last = scale(MIN(last, d->pos_to - 1), d->pos_from, d->pos_to, d->height);
	d->cells[(size_t)y * d->width + x].calls++;
	for (unsigned int k = y; k <= y_last && bytes > 0; k++) {
		struct cell *c = &d->cells[(size_t)k * d->width + x];
		uint64_t share = (uint64_t)bytes / (y_last - y + 1) +
				 ((uint64_t)bytes % (y_last - y + 1) > k - y);

		*(write ? &c->writes : &c->reads) += share;
	}
}

static int take_density(void *state, const struct pass_rows *rows)
{
	struct density *d = state;
	const struct batch *b = rows->batch;
	int64_t op_known = -1;
	bool write = false;

	for (size_t k = 0; k < rows->count; k++) {
		size_t i = rows->rows[k];
		int64_t pos = batch_get(b, OP_POS, i, -1), end = rollup_end(b, i);
		int64_t op = batch_get(b, OP_OP, i, -1);

		if (pos < 0 || end < d->from || end >= d->to)
			continue;
		if (op != op_known)
			write = is_write(op);
		op_known = op;
		paint(d, end, pos, batch_get(b, OP_BYTES, i, 0), write);
	}
	return 0;
}

static int put_density(struct question *q, const struct density *d)
{
	size_t n = (size_t)d->width * d->height, rows = 0;
	_cleanup_free_ double *f = NULL;
	double *t, *p, *reads, *writes, *calls;

	for (size_t i = 0; i < n; i++)
		rows += d->cells[i].calls || d->cells[i].reads || d->cells[i].writes;
	f = calloc(5 * rows + 1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	t = f;
	p = t + rows;
	reads = p + rows;
	writes = reads + rows;
	calls = writes + rows;
	for (size_t i = 0, k = 0; i < n; i++) {
		const struct cell *c = &d->cells[i];

		if (!c->calls && !c->reads && !c->writes)
			continue;
		t[k] = (double)(i % d->width);
		p[k] = (double)(i / d->width);
		reads[k] = (double)c->reads;
		writes[k] = (double)c->writes;
		calls[k++] = (double)c->calls;
	}
	return columns_write(
		q,
		(const struct columns_col[]){
			{.name = "t", .type = "int", .unit = "", .f = t},
			{.name = "p", .type = "int", .unit = "", .f = p},
			{.name = "reads", .type = "size", .unit = "bytes", .f = reads},
			{.name = "writes", .type = "size", .unit = "bytes", .f = writes},
			{.name = "calls", .type = "int", .unit = "", .f = calls},
		},
		5, rows);
}

static int run_density(struct question *q, const struct sieve *sieve, struct density *d)
{
	struct pass p = {
		.q = q,
		.sieve = sieve,
		.from = q->from,
		.to = q->to,
		.columns = 1ull << OP_START | 1ull << OP_DUR | 1ull << OP_POS | 1ull << OP_BYTES |
			   1ull << OP_OP,
		.take = take_density,
		.states = {d},
		.workers = 1,
	};
	size_t n = (size_t)d->width * d->height;
	int r;

	d->cells = calloc(n, sizeof(*d->cells));
	if (!d->cells)
		return -ENOMEM;
	r = pass_run(&p);
	if (r >= 0)
		r = put_density(q, d);
	free(d->cells);
	return r;
}

static int density_answer(struct question *q)
{
	_cleanup_sieve_ struct sieve sieve = {0};
	struct touched *t = NULL;
	struct density d = {.width = q->width};
	int64_t inode, height;
	int r = find_file(q, &inode);

	if (r >= 0)
		r = question_number(q, "height", 1, HEIGHT_MAX, 200, &height);
	if (r >= 0)
		r = make_sieve(q, inode, &sieve);
	if (r >= 0)
		r = touch(q, &sieve, &t);
	if (r < 0)
		return r;
	d.height = (unsigned int)height;
	question_range(q, &d.from, &d.to);
	if (q->from == INT64_MIN && t->from != INT64_MAX)
		d.from = t->from;
	if (q->to == INT64_MAX && t->to != INT64_MIN)
		d.to = t->to + 1;
	r = question_number(q, "pos_from", 0, INT64_MAX - 1,
			    t->pos_from == INT64_MAX ? 0 : t->pos_from, &d.pos_from);
	if (r >= 0)
		r = question_number(q, "pos_to", 0, INT64_MAX,
				    t->pos_to == INT64_MIN ? 0 : t->pos_to, &d.pos_to);
	touched_free(t);
	if (r < 0)
		return r;
	d.pos_to = MAX(d.pos_to, d.pos_from + 1);
	d.to = MAX(d.to, d.from + 1);
	return run_density(q, &sieve, &d);
}

void density_get(void *arg, struct http_request *r)
{
	question_run(arg, r, density_answer);
}
