// SPDX-License-Identifier: Apache-2.0
/* route_density.c: /file/{id}/density: the accesses to one file by position and time. */
#include <errno.h>

#include "base/clock.h"
#include "server/http/answer_columns.h"
#include "server/http/js.h"
#include "server/sums/who.h"
#include "server/sums/access_map.h"

#define HEIGHT_MAX 1000

struct cell {
	uint64_t reads, writes, calls;
};

struct density {
	int64_t from, to, pos_from, pos_to;
	unsigned int width, height;
	struct cell *cells; /* [width * height] */
	double read;	    /* share of the blocks that may hold calls of the file; 1: all */
};

static unsigned int scale(int64_t v, int64_t from, int64_t to, unsigned int cells)
{
	return (unsigned int)((__uint128_t)((uint64_t)v - (uint64_t)from) * cells /
			      ((uint64_t)to - (uint64_t)from));
}

/* Spreads a call's bytes over the cells that it touched; the call itself counts where it began. */
static int route_density_paint(void *arg, const struct touch *t)
{
	struct density *d = arg;
	int64_t pos = t->pos, bytes = (int64_t)t->bytes, last = pos + MAX(bytes, (int64_t)1) - 1;
	unsigned int x, y, y_last;

	if (!bytes && pos == d->pos_to) /* there is nothing to read at the end */
		pos = last = pos - 1;
	if (t->end < d->from || t->end >= d->to || last < d->pos_from || pos >= d->pos_to)
		return 0;
	x = scale(t->end, d->from, d->to, d->width);
	y = scale(MAX(pos, d->pos_from), d->pos_from, d->pos_to, d->height);
	y_last = scale(MIN(last, d->pos_to - 1), d->pos_from, d->pos_to, d->height);
	d->cells[(size_t)y * d->width + x].calls++;
	for (unsigned int k = y; k <= y_last && bytes > 0; k++) {
		struct cell *c = &d->cells[(size_t)k * d->width + x];
		uint64_t share = (uint64_t)bytes / (y_last - y + 1) +
				 ((uint64_t)bytes % (y_last - y + 1) > k - y);

		*(t->write ? &c->writes : &c->reads) += share;
	}
	return 0;
}

/* Writes the range of the picture, and its share. */
static int put_range(const struct question *q, const struct density *d, struct buf *to)
{
	struct js j = {.to = to};

	js_key_int(&j, "from", d->from - q->server->origin);
	js_key_int(&j, "to", d->to - q->server->origin);
	js_key_int(&j, "pos_from", d->pos_from);
	js_key_int(&j, "pos_to", d->pos_to);
	js_key_int(&j, "height", d->height);
	js_key_float(&j, "read", d->read);
	return j.error;
}

static int put_density(struct question *q, const struct density *d)
{
	_cleanup_buf_ struct buf range = {0};
	size_t n = (size_t)d->width * d->height, rows = 0;
	_cleanup_free_ double *f = NULL;
	double *t, *p, *reads, *writes, *calls;

	for (size_t i = 0; i < n; i++)
		rows += d->cells[i].calls || d->cells[i].reads || d->cells[i].writes;
	f = calloc(5 * rows + 1, sizeof(*f));
	if (!f || put_range(q, d, &range) < 0)
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
	return columns_write_with(
		q, &range,
		(const struct columns_col[]){
			{.name = "t", .type = "int", .unit = "", .f = t},
			{.name = "p", .type = "int", .unit = "", .f = p},
			{.name = "reads", .type = "size", .unit = "bytes", .f = reads},
			{.name = "writes", .type = "size", .unit = "bytes", .f = writes},
			{.name = "calls", .type = "int", .unit = "", .f = calls},
		},
		5, rows);
}

/* ---- more calls than are kept: read again ---- */

static int route_density_take_rows(void *state, const struct walk_rows *rows)
{
	return access_map_rows(rows, route_density_paint, state);
}

static int read_again(struct question *q, const struct sums_filter *filter, struct density *d)
{
	struct density workers[WALK_THREADS_MAX];
	struct walk p = {
		.ask = question_ask(q, filter),
		.columns = access_map_columns(),
		.take = route_density_take_rows,
		.workers = question_workers(q),
	};
	size_t n = (size_t)d->width * d->height;
	int r = 0;

	p.ask.seconds = true;
	for (unsigned int i = 0; i < p.workers; i++) {
		workers[i] = *d;
		if (i)
			workers[i].cells = calloc(n, sizeof(*d->cells));
		if (!workers[i].cells)
			r = -ENOMEM;
		p.states[i] = &workers[i];
	}
	if (r >= 0)
		r = question_walk(q, &p);
	for (unsigned int i = 1; i < p.workers; i++) {
		for (size_t k = 0; k < n && r >= 0; k++) {
			d->cells[k].reads += workers[i].cells[k].reads;
			d->cells[k].writes += workers[i].cells[k].writes;
			d->cells[k].calls += workers[i].cells[k].calls;
		}
		free(workers[i].cells);
	}
	return r;
}

/* ---- the answer ---- */

/* False if the map covers more than the question: everything. */
static bool route_density_is_exact(const struct question *q, const struct access_map *t)
{
	return t->from == q->from && t->to == q->to;
}

static int route_density_run(struct question *q, const struct sums_filter *filter,
			     const struct access_map *t, struct density *d)
{
	int r = 0;

	d->cells = calloc((size_t)d->width * d->height, sizeof(*d->cells));
	if (!d->cells)
		return -ENOMEM;
	if (t->too_many)
		r = read_again(q, filter, d);
	access_list_each(&t->calls, route_density_paint, d);
	if (route_density_is_exact(q, t))
		access_list_each(&t->open, route_density_paint, d);
	if (r >= 0)
		r = put_density(q, d);
	free(d->cells);
	return r;
}

/* Bounds of the calls in the range, in time and position; as in struct access_map. */
struct extent {
	int64_t from, to, last, pos_first, pos_last;
};

static int widen(void *arg, const struct touch *t)
{
	struct extent *e = arg;

	if (t->end < e->from || t->end >= e->to)
		return 0;
	e->pos_first = MIN(e->pos_first, t->pos);
	e->pos_last = MAX(e->pos_last, t->pos + (int64_t)t->bytes);
	return 0;
}

/* Computes the bounds, although the map may cover more than the question. */
static struct extent find_extent(const struct question *q, const struct access_map *t)
{
	struct extent e = {q->from, q->to, t->last, t->pos_first, t->pos_last};

	if (route_density_is_exact(q, t))
		return e;
	e.last = t->last_end < q->from ? INT64_MIN : t->last_end;
	e.pos_first = INT64_MAX;
	e.pos_last = INT64_MIN;
	access_list_each(&t->calls, widen, &e);
	return e;
}

/* Bounds that the question leaves open are those of the accesses to the file. */
static int take_range(struct question *q, const struct access_map *t, struct density *d)
{
	struct extent e = find_extent(q, t);
	int64_t height;
	int r = question_number(q, "height", 1, HEIGHT_MAX, 200, &height);

	if (r >= 0)
		r = question_number(q, "pos_from", 0, INT64_MAX - 1,
				    e.pos_first == INT64_MAX ? 0 : e.pos_first, &d->pos_from);
	if (r >= 0)
		r = question_number(q, "pos_to", 0, INT64_MAX,
				    e.pos_last == INT64_MIN ? 0 : e.pos_last, &d->pos_to);
	if (r < 0)
		return r;
	question_range(q, &d->from, &d->to);
	if (q->from == INT64_MIN && t->first != INT64_MAX)
		d->from = store_time_near(t->first);
	if (q->to == INT64_MAX && e.last != INT64_MIN)
		d->to = store_time_near(e.last) + 1;
	d->width = q->width;
	d->pos_to = MAX(d->pos_to, d->pos_from + 1);
	/* a row is at least a byte: in a small file each row is one */
	d->height = (unsigned int)MIN(height, d->pos_to - d->pos_from);
	d->to = MAX(d->to, d->from + 1);
	return 0;
}

/*
 * Gets what was read within `within` ms (0: everything); if there are more calls than are kept, all are read again
 * anyway.
 */
static int route_density_get(struct question *q, int64_t file, const struct sums_filter *filter,
			     int64_t within, struct access_map **ret)
{
	int64_t until = within ? clock_monotonic_ns() + within * NSEC_PER_MSEC : 0;
	struct access_map *t;
	int r = access_map_get(q, file, filter, until, &t);

	if (r >= 0 && t->too_many && t->read < t->order_count) {
		access_map_put(q, t);
		r = access_map_get(q, file, filter, 0, &t);
	}
	if (r < 0)
		return r;
	*ret = t;
	return r;
}

int density_answer(struct question *q)
{
	_cleanup_sums_filter_ struct sums_filter filter = {0};
	struct access_map *t = NULL;
	struct density d = {0};
	int64_t file, within;
	int r = names_find_file(q, &file);

	if (r >= 0)
		r = question_number(q, "within", 1, WITHIN_MAX, 0, &within);
	if (r >= 0)
		r = access_map_filter(q, file, &filter);
	if (r >= 0)
		r = route_density_get(q, file, &filter, within, &t);
	if (r < 0)
		return r;
	d.read = t->read < t->order_count ? (double)t->read / (double)t->order_count : 1;
	q->unfinished = d.read < 1;
	r = take_range(q, t, &d);
	if (r >= 0)
		r = route_density_run(q, &filter, t, &d);
	access_map_put(q, t);
	return r;
}
