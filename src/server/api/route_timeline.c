// SPDX-License-Identifier: Apache-2.0
/*
 * route_timeline.c: /timeline: the contents of the lanes. A call longer than a pixel is a row. Calls within one pixel
 * share a cell: a single call is a row too, else there is a row per operation, with its share of the pixel. From 100
 * ms per pixel on, cells come from the summaries. If there are too many calls to read them all, cells are widened to
 * 100 ms and come from the summaries too.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "schema/ops.h"
#include "server/http/answer_columns.h"
#include "server/sums/running_calls.h"
#include "server/sums/who.h"
#include "server/sums/sums.h"

#define CALLS_READ   4000000u /* limit for the range: about 0.4 s of work */
#define CELL_OPS     4u	      /* operations counted in the cell itself; more go to a map */
#define MORE_OP_BITS 13u
#define ROW_NONE     (-1)
#define ROW_RUNNING  (-2) /* a running call that has no row yet; -1 in the answer */
#define CALLS_PER_LANE(width) \
	(4u * (width)) /* calls longer than a pixel; a hostile trace may have more at once */

struct one_call {
	int64_t start, dur, row;
	int32_t op, err;
	int32_t class;
	uint32_t lane;
};

/* The share of a pixel of one operation's calls. */
struct op_part {
	int32_t op;
	uint32_t count; /* 0: none */
	uint64_t time;
};

struct cell {
	uint64_t count, busy;
	struct one_call first; /* the only one, if count is 1 and it came from rows */
	struct op_part ops[CELL_OPS];
	bool summed; /* partly from a summary, so there is no single call */
};

/* An operation that has no slot in its cell. */
struct more_part {
	uint32_t lane;
	unsigned int pixel;
	struct op_part part;
};

struct picture {
	int64_t from, to;
	unsigned int width;
	size_t lane_count;
	struct map lanes; /* thread_id -> lane */
};

struct painter {
	const struct picture *picture;
	const struct server *server;
	struct cell **cells; /* [lane] -> [width], on first use */
	struct map more_at;  /* (lane, pixel, op) -> index in more, beyond CELL_OPS */
	struct more_part *more;
	size_t more_count, more_cap;
	struct one_call *calls;
	size_t count, cap;
	uint32_t *calls_of; /* [lane]: number of calls */
};

/* ---- painting ---- */

static unsigned int pixel_of(const struct picture *p, int64_t t)
{
	uint64_t span = (uint64_t)p->to - (uint64_t)p->from;
	uint64_t at = t <= p->from ? 0 : (uint64_t)t - (uint64_t)p->from;

	if (at >= span)
		return p->width - 1;
	return (unsigned int)((__uint128_t)at * p->width / span);
}

static int64_t pixel_start(const struct picture *p, unsigned int pixel)
{
	uint64_t span = (uint64_t)p->to - (uint64_t)p->from;

	return p->from + (int64_t)(((__uint128_t)span * pixel + p->width - 1) / p->width);
}

static struct cell *cell_of(struct painter *w, uint32_t lane, unsigned int pixel)
{
	if (!w->cells[lane])
		w->cells[lane] = calloc(w->picture->width, sizeof(**w->cells));
	return w->cells[lane] ? &w->cells[lane][pixel] : NULL;
}

_Static_assert(OP_CODE_MAX < 1u << MORE_OP_BITS, "a code fits beside its pixel");

/* Codes beyond any operation become none, as traces may come from anyone. */
static int32_t op_of(const struct batch *b, unsigned int column, size_t row)
{
	int64_t op = batch_get(b, column, row, -1);

	return op < 0 || op >= OP_CODE_MAX ? -1 : (int32_t)op;
}

static uint64_t more_key(uint32_t lane, unsigned int pixel, int32_t op)
{
	return (uint64_t)lane << 32 | (uint64_t)pixel << MORE_OP_BITS | (uint32_t)(op + 1);
}

static void part_add(struct op_part *to, const struct op_part *part)
{
	to->op = part->op;
	to->count += MIN(part->count, UINT32_MAX - to->count);
	to->time += part->time;
}

static int cell_add_part(struct painter *w, struct cell *c, uint32_t lane, unsigned int pixel,
			 const struct op_part *part)
{
	struct more_part *more;

	for (size_t i = 0; i < CELL_OPS; i++) {
		if (c->ops[i].count && c->ops[i].op != part->op)
			continue;
		part_add(&c->ops[i], part);
		return 0;
	}
	more = array_of_key(w->more, w->more_count, w->more_cap, &w->more_at,
			    more_key(lane, pixel, part->op), NULL);
	if (!more)
		return -ENOMEM;
	more->lane = lane;
	more->pixel = pixel;
	part_add(&more->part, part);
	return 0;
}

static int paint_cell(struct painter *w, const struct one_call *call, unsigned int pixel,
		      uint64_t count, uint64_t time, bool summed)
{
	struct op_part part = {call->op, (uint32_t)MIN(count, UINT32_MAX), time};
	struct cell *c = cell_of(w, call->lane, pixel);

	if (!c)
		return -ENOMEM;
	if (!c->count)
		c->first = *call;
	c->count += count;
	c->busy += time;
	c->summed |= summed;
	return cell_add_part(w, c, call->lane, pixel, &part);
}

static int paint_call(struct painter *w, const struct one_call *call)
{
	const struct picture *p = w->picture;
	int64_t stop = call->start + call->dur;
	unsigned int first = pixel_of(p, call->start), last = pixel_of(p, stop);
	int r;

	if (first == last || w->calls_of[call->lane] >= CALLS_PER_LANE(p->width)) {
		int64_t seen_from = MAX(call->start, p->from), seen_to = MIN(stop, p->to);

		return paint_cell(w, call, first, 1, (uint64_t)MAX(seen_to - seen_from, 0), false);
	}
	r = array_add(w->calls, w->count, w->cap, *call);
	if (r < 0)
		return r;
	w->calls_of[call->lane]++;
	return 0;
}

static bool lane_of(const struct painter *w, int64_t thread_id, uint32_t *ret)
{
	uint64_t lane;

	if (thread_id < 0 || !map_get(&w->picture->lanes, (uint64_t)thread_id, &lane))
		return false;
	*ret = (uint32_t)lane;
	return true;
}

static int route_timeline_take_op(struct painter *w, const struct walk_rows *rows, size_t i)
{
	const struct batch *b = rows->batch;
	struct one_call call = {
		.start = batch_get(b, OP_START, i, 0),
		.dur = MAX(batch_get(b, OP_DUR, i, 0), 0),
		.op = op_of(b, OP_OP, i),
		.err = (int32_t)batch_get(b, OP_ERR, i, -1),
		.class = (int32_t)batch_get(b, OP_CLASS, i, -1),
	};
	int64_t end;

	if (!lane_of(w, batch_get(b, OP_THREAD_ID, i, -1), &call.lane))
		return 0;
	/* began before the recording, and was still running at its end */
	if (batch_is_null(b, OP_START, i)) {
		int64_t first, last;

		store_range(w->server->store, &first, &last);
		call.start = last - call.dur;
	}
	if (__builtin_add_overflow(call.start, call.dur, &end))
		call.dur = INT64_MAX - call.start;
	call.row = server_row_number(w->server, rows->block, i);
	return paint_call(w, &call);
}

static int route_timeline_take_sum(struct painter *w, const struct walk_rows *rows, size_t i)
{
	const struct batch *b = rows->batch;
	int64_t window = batch_get(b, SUMMARY_WINDOW, i, w->picture->from);
	struct one_call call = {
		.start = window,
		.dur = SUMMARY_WINDOW_NS,
		.row = ROW_NONE,
		.op = op_of(b, SUMMARY_OP, i),
		.err = (int32_t)batch_get(b, SUMMARY_ERR, i, -1),
		.class = (int32_t)batch_get(b, SUMMARY_CLASS, i, -1),
	};

	if (!lane_of(w, batch_get(b, SUMMARY_THREAD_ID, i, -1), &call.lane))
		return 0;
	return paint_cell(w, &call, pixel_of(w->picture, window),
			  (uint64_t)MAX(batch_get(b, SUMMARY_CALLS, i, 0), 0),
			  (uint64_t)MAX(batch_get(b, SUMMARY_TIME, i, 0), 0), true);
}

static int route_timeline_take(void *state, const struct walk_rows *rows)
{
	struct painter *w = state;
	int r = 0;

	for (size_t k = 0; k < rows->count && r >= 0; k++)
		r = rows->batch->table == TABLE_SUMMARY
			    ? route_timeline_take_sum(w, rows, rows->rows[k])
			    : route_timeline_take_op(w, rows, rows->rows[k]);
	return r;
}

/* ---- workers ---- */

static int painter_new(void **ret, const struct picture *p, const struct server *s)
{
	struct painter *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	*ret = w;
	w->picture = p;
	w->server = s;
	w->cells = calloc(p->lane_count + 1, sizeof(*w->cells));
	w->calls_of = calloc(p->lane_count + 1, sizeof(*w->calls_of));
	return w->cells && w->calls_of ? 0 : -ENOMEM;
}

static void painter_free(struct painter *w)
{
	if (!w)
		return;
	for (size_t i = 0; w->cells && i < w->picture->lane_count; i++)
		free(w->cells[i]);
	free(w->cells);
	free(w->calls_of);
	free(w->calls);
	map_free(&w->more_at);
	free(w->more);
	free(w);
}

static int merge_cell(struct painter *a, const struct cell *c, uint32_t lane, unsigned int pixel)
{
	struct cell *to = cell_of(a, lane, pixel);
	int r = to ? 0 : -ENOMEM;

	if (r < 0 || !c->count)
		return r;
	if (!to->count)
		to->first = c->first;
	to->count += c->count;
	to->busy += c->busy;
	to->summed |= c->summed;
	for (size_t i = 0; i < CELL_OPS && r >= 0; i++) {
		if (c->ops[i].count)
			r = cell_add_part(a, to, lane, pixel, &c->ops[i]);
	}
	return r;
}

static int route_timeline_merge(struct painter *a, const struct painter *b)
{
	int r = grow((void **)&a->calls, &a->cap, a->count + b->count + 1, sizeof(*a->calls));

	if (r < 0)
		return r;
	if (b->count)
		memcpy(a->calls + a->count, b->calls, b->count * sizeof(*b->calls));
	a->count += b->count;
	for (uint32_t lane = 0; lane < a->picture->lane_count; lane++) {
		for (unsigned int x = 0; b->cells[lane] && x < a->picture->width && r >= 0; x++)
			r = merge_cell(a, &b->cells[lane][x], lane, x);
	}
	for (size_t i = 0; i < b->more_count && r >= 0; i++) {
		const struct more_part *m = &b->more[i];
		struct cell *to = cell_of(a, m->lane, m->pixel);

		r = to ? cell_add_part(a, to, m->lane, m->pixel, &m->part) : -ENOMEM;
	}
	return r;
}

/* ---- the answer ---- */

struct output {
	double *start, *dur, *lane, *row, *count, *busy;
	uint32_t *op, *class, *err;
	size_t rows;
	const struct question *q;
	const int64_t *lane_ids;
	int32_t op_code[OP_CODE_MAX + 1]; /* code + 1 -> word + 1 */
	int32_t err_code[OP_CODE_MAX + 1];
	char *op_words[OP_CODE_MAX + 1], *err_words[OP_CODE_MAX + 1];
	size_t op_count, err_count;
};

static void output_free(struct output *o)
{
	free(o->start);
	free(o->op);
	for (size_t i = 0; i < o->op_count; i++)
		free(o->op_words[i]);
	for (size_t i = 0; i < o->err_count; i++)
		free(o->err_words[i]);
	free(o);
}
DEFINE_CLEANUP(struct output *, output_free)

static int output_new(struct output **ret, size_t rows)
{
	struct output *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->start = calloc(rows * 6 + 1, sizeof(double));
	o->op = calloc(rows * 3 + 1, sizeof(uint32_t));
	*ret = o;
	if (!o->start || !o->op)
		return -ENOMEM;
	o->dur = o->start + rows;
	o->lane = o->dur + rows;
	o->row = o->lane + rows;
	o->count = o->row + rows;
	o->busy = o->count + rows;
	o->class = o->op + rows;
	o->err = o->class + rows;
	return 0;
}

static uint32_t word_of(const char *vocab, int64_t code, int32_t *codes, char **words,
			size_t *count)
{
	if (code < 0 || code >= OP_CODE_MAX)
		return COLUMNS_NULL;
	if (!codes[code]) {
		words[*count] = strdup(names_code(vocab, code).s);
		if (!words[*count])
			return COLUMNS_NULL;
		codes[code] = (int32_t)++ * count;
	}
	return (uint32_t)codes[code] - 1;
}

static void route_timeline_put_row(struct output *o, const struct one_call *c, double count,
				   double busy)
{
	size_t i = o->rows++;

	o->start[i] = (double)clock_between(o->q->server->origin, c->start);
	o->dur[i] = (double)c->dur;
	o->lane[i] = (double)o->lane_ids[c->lane];
	o->row[i] = c->row == ROW_NONE ? NAN : c->row == ROW_RUNNING ? -1 : (double)c->row;
	o->count[i] = count;
	o->busy[i] = busy;
	o->op[i] = word_of("op", c->op, o->op_code, o->op_words, &o->op_count);
	o->err[i] =
		word_of("err", c->err > 0 ? c->err : -1, o->err_code, o->err_words, &o->err_count);
	o->class[i] = c->class < 0 || c->class >= CLASS_COUNT ? COLUMNS_NULL : (uint32_t)c->class;
}

/* Writes an operation's share of the cell; if its windows' sums exceed the pixel, they are scaled to fit. */
static void cell_put_part(struct output *o, const struct picture *p, const struct cell *c,
			  uint32_t lane, unsigned int pixel, const struct op_part *part)
{
	const struct op_def *def = part->op < 0 ? NULL : op_def((uint32_t)part->op);
	struct one_call call = {
		.start = pixel_start(p, pixel),
		.row = ROW_NONE,
		.err = -1,
		.lane = lane,
		.op = part->op,
		.class = def ? def->class : CLASS_OTHER,
	};

	call.dur = MAX(pixel_start(p, pixel + 1) - call.start, 1);
	route_timeline_put_row(o, &call, part->count,
			       (double)part->time / fmax((double)call.dur, (double)c->busy));
}

static bool is_one_call(const struct cell *c)
{
	return c->count == 1 && !c->summed;
}

static void route_timeline_put_cell(struct output *o, const struct painter *w, const struct cell *c,
				    uint32_t lane, unsigned int pixel)
{
	if (is_one_call(c)) {
		route_timeline_put_row(o, &c->first, 1, 1);
		return;
	}
	for (size_t i = 0; i < CELL_OPS && c->ops[i].count; i++)
		cell_put_part(o, w->picture, c, lane, pixel, &c->ops[i]);
}

static size_t route_timeline_count_rows(const struct painter *w)
{
	size_t n = w->count + w->more_count;

	for (size_t lane = 0; lane < w->picture->lane_count; lane++) {
		for (unsigned int x = 0; w->cells[lane] && x < w->picture->width; x++)
			for (size_t i = 0; i < CELL_OPS; i++)
				n += w->cells[lane][x].ops[i].count > 0;
	}
	return n;
}

static int route_timeline_write_rows(struct question *q, struct output *o)
{
	const char *classes[CLASS_COUNT];
	const struct columns_col cols[] = {
		{.name = "lane", .type = "int", .unit = "", .f = o->lane},
		{.name = "start", .type = "time", .unit = "ns", .f = o->start},
		{.name = "dur", .type = "dur", .unit = "ns", .f = o->dur},
		{.name = "row", .type = "int", .unit = "", .f = o->row},
		{.name = "count", .type = "int", .unit = "", .f = o->count},
		{.name = "busy", .type = "float", .unit = "", .f = o->busy},
		{.name = "op",
		 .type = "text",
		 .unit = "",
		 .coded = true,
		 .u = o->op,
		 .words = (const char *const *)o->op_words,
		 .word_count = o->op_count},
		{.name = "class",
		 .type = "text",
		 .unit = "",
		 .coded = true,
		 .u = o->class,
		 .words = classes,
		 .word_count = CLASS_COUNT},
		{.name = "err",
		 .type = "text",
		 .unit = "",
		 .coded = true,
		 .u = o->err,
		 .words = (const char *const *)o->err_words,
		 .word_count = o->err_count},
	};

	for (unsigned int i = 0; i < CLASS_COUNT; i++)
		classes[i] = vocab_word("class", i);
	return columns_write(q, cols, ARRAY_SIZE(cols), o->rows);
}

static int by_lane(const void *a, const void *b)
{
	const struct one_call *x = a, *y = b;

	return ORDER(x->lane, y->lane) ?: ORDER(x->start, y->start);
}

static int put_picture(struct question *q, struct painter *w, const int64_t *ids)
{
	_cleanup_(output_freep) struct output *o = NULL;
	int r = output_new(&o, route_timeline_count_rows(w));

	if (r < 0)
		return r;
	o->q = q;
	o->lane_ids = ids;
	array_sort(w->calls, w->count, by_lane);
	for (size_t i = 0; i < w->count; i++)
		route_timeline_put_row(o, &w->calls[i], 1, 1);
	for (uint32_t lane = 0; lane < w->picture->lane_count; lane++) {
		for (unsigned int x = 0; w->cells[lane] && x < w->picture->width; x++) {
			if (w->cells[lane][x].count)
				route_timeline_put_cell(o, w, &w->cells[lane][x], lane, x);
		}
	}
	for (size_t i = 0; i < w->more_count; i++) {
		const struct more_part *m = &w->more[i];

		cell_put_part(o, w->picture, &w->cells[m->lane][m->pixel], m->lane, m->pixel,
			      &m->part);
	}
	return route_timeline_write_rows(q, o);
}

/* ---- the question ---- */

static int take_lanes(struct question *q, int64_t ids[static LANES_MAX], size_t *ret)
{
	const char *text = http_param(q->request, "lanes");
	size_t n = 0;

	while (text && *text) {
		char *end;

		errno = 0;
		if (n == LANES_MAX)
			return question_error(q, -E2BIG, "more than %u lanes at once", LANES_MAX);
		ids[n++] = strtoll(text, &end, 10);
		if (end == text || errno || (*end && *end != ','))
			return question_error(q, -EINVAL,
					      "lanes=: must be thread ids separated by commas, as "
					      "returned by /lanes");
		text = *end ? end + 1 : end;
	}
	*ret = n;
	return n ? 0
		 : question_error(q, -EINVAL,
				  "lanes= is missing: thread ids, as returned by /lanes");
}

/* Maps every version of each thread to its lane. */
static int map_lanes(const struct dims *d, const int64_t *ids, struct picture *p)
{
	_cleanup_(map_free) struct map by_task = {0};
	int r = 0;

	for (size_t i = 0; i < p->lane_count && r >= 0; i++) {
		r = map_set(&by_task, (uint64_t)ids[i], i);
		if (r >= 0)
			r = map_set(&p->lanes, (uint64_t)ids[i], i);
	}
	for (size_t i = 0; i < dims_rows(d, TABLE_THREAD) && r >= 0; i++) {
		int64_t id = dims_id_at(d, TABLE_THREAD, i);
		uint64_t lane;

		if (map_get(&by_task, (uint64_t)names_task(d, id), &lane))
			r = map_set(&p->lanes, (uint64_t)id, lane);
	}
	return r;
}

static int paint_running(struct question *q, const struct sums_filter *filter, struct painter *w)
{
	_cleanup_(running_calls_free) struct running_calls running = {0};
	const struct picture *p = w->picture;
	int r = running_calls_find(q, filter, &running);

	for (size_t i = 0; i < running.count && r >= 0; i++) {
		const struct running_call *c = &running.calls[i];
		const struct op_def *def = op_def((uint32_t)c->op);
		struct one_call call = {
			.start = c->start,
			.dur = running_calls_dur(c),
			.row = ROW_RUNNING,
			.op = (int32_t)c->op,
			.err = -1,
			.class = def ? def->class : CLASS_OTHER,
		};

		if (lane_of(w, c->thread_id, &call.lane) && c->until > p->from && c->start < p->to)
			r = paint_call(w, &call);
	}
	return r;
}

static bool has_lane(void *arg, const struct store_block *b, size_t block)
{
	return b->min[OP_THREAD_ID] <= b->max[OP_THREAD_ID];
}

static int route_timeline_paint(struct question *q, const struct picture *p,
				const struct sums_filter *filter, const int64_t *ids)
{
	struct walk pass = {
		.ask = {.store = q->server->store,
			.filter = filter,
			.range = SUMS_OVERLAP,
			.from = p->from,
			.to = p->to,
			.summaries = ((uint64_t)p->to - (uint64_t)p->from) / p->width >=
				     SUMMARY_WINDOW_NS,
			.times = true,
			.long_rows = true},
		.columns = 1ull << OP_START | 1ull << OP_DUR | 1ull << OP_OP | 1ull << OP_ERR |
			   1ull << OP_CLASS | 1ull << OP_THREAD_ID,
		.wants = has_lane,
		.take = route_timeline_take,
		.workers = question_workers(q),
	};
	int r = 0;

	for (unsigned int i = 0; i < pass.workers && r >= 0; i++)
		r = painter_new(&pass.states[i], p, q->server);
	if (r >= 0)
		r = question_walk(q, &pass);
	for (unsigned int i = 1; i < pass.workers && r >= 0; i++)
		r = route_timeline_merge(pass.states[0], pass.states[i]);
	if (r >= 0)
		r = paint_running(q, filter, pass.states[0]);
	if (r >= 0)
		r = put_picture(q, pass.states[0], ids);
	for (unsigned int i = 0; i < pass.workers; i++)
		painter_free(pass.states[i]);
	return r;
}

static bool pixels_are_windows(const struct question *q, int64_t from, int64_t to)
{
	uint64_t windows = ((uint64_t)to - (uint64_t)from) / SUMMARY_WINDOW_NS;

	if (windows >= q->width)
		return true;
	return windows && sums_overlapping_rows(q->server->store, from, to) > CALLS_READ;
}

/*
 * If there are too many calls, or pixels are long, pixels become one or several whole summary windows, so that each
 * window falls into the pixel where it is painted.
 */
static void fit_windows(const struct question *q, struct picture *p)
{
	uint64_t window = SUMMARY_WINDOW_NS, span = (uint64_t)p->to - (uint64_t)p->from;
	uint64_t step = (span / p->width + window - 1) / window * window;
	int64_t from = p->from - (p->from % (int64_t)window + (int64_t)window) % (int64_t)window;

	if (!pixels_are_windows(q, p->from, p->to) || p->from < INT64_MIN + (int64_t)window ||
	    __builtin_add_overflow(span, 2 * window, &span) || span > INT64_MAX / 2)
		return;
	step = MAX(step, window);
	p->width = (unsigned int)(((uint64_t)p->to - (uint64_t)from + step - 1) / step);
	p->from = from;
	if (__builtin_add_overflow(from, (int64_t)(step * p->width), &p->to))
		p->to = INT64_MAX;
}

int timeline_answer(struct question *q)
{
	_cleanup_sums_filter_ struct sums_filter filter = {0};
	struct picture p = {.width = q->width};
	int64_t ids[LANES_MAX];
	int r = take_lanes(q, ids, &p.lane_count);

	if (r >= 0)
		r = question_filter(q, q->filter, &filter);
	if (r < 0)
		return r;
	question_range(q, &p.from, &p.to);
	if (filter.by_summary)
		fit_windows(q, &p);
	r = map_lanes(store_dims_few(q->server->store), ids, &p);
	if (r >= 0)
		r = route_timeline_paint(q, &p, &filter, ids);
	map_free(&p.lanes);
	return r;
}
