// SPDX-License-Identifier: Apache-2.0
/* request_tree.c: one request with its spans and calls, in order of their start; similar calls share a line. */
#include <errno.h>
#include <string.h>

#include "analysis/spans/requests.h"
#include "base/array.h"
#include "base/map.h"
#include "base/option.h"
#include "names/names.h"
#include "base/saturate.h"
#include "schema/vocab.h"

#define TREE_UNFOLDED 16 /* up to this many calls of a span have a line each */
#define TREE_IDS      4	 /* a message names up to this many spans */

/* Finds a span by its number as text: readers of JSON may not preserve all of its digits. */
static uint32_t tree_find_id(const struct requests *q, const char *which)
{
	uint32_t id;

	if (!intern_find(&q->spans.texts, which, strlen(which), &id) || !id)
		return SPAN_NONE;
	for (uint32_t i = 0; i < q->spans.count; i++) {
		if (q->spans.all[i].span_id == id)
			return i;
	}
	return SPAN_NONE;
}

/* Of spans with the same number, those of several traces, a listed request is meant before a span within one. */
static int tree_find_number(const struct requests *q, int64_t number, uint32_t *ret,
			    struct error *err)
{
	uint32_t first = spanset_find(&q->spans, number, 0), listed = SPAN_NONE;
	size_t count = 0, listed_count = 0;
	_cleanup_buf_ struct buf ids = {0};

	for (uint32_t i = first; i != SPAN_NONE; i = spanset_find(&q->spans, number, i + 1)) {
		struct bytes id = spanset_text(&q->spans, q->spans.all[i].span_id);

		if (id.len && count < TREE_IDS)
			buf_printf(&ids, ", %.*s", (int)id.len, (const char *)id.data);
		count++;
	}
	for (size_t i = 0; i < q->chosen_count; i++) {
		if (q->spans.all[q->chosen[i]].number == number) {
			listed = q->chosen[i];
			listed_count++;
		}
	}
	*ret = listed_count == 1 ? listed : first;
	if (!count)
		return error_set(err, -EINVAL,
				 "--tree %lld: no span has this number (weir requests --log)",
				 (long long)number);
	if (count == 1 || listed_count == 1)
		return 0;
	if (buf_status(&ids) < 0)
		return buf_status(&ids);
	return error_set(err, -EINVAL,
			 "--tree %lld: %zu spans of these traces have this number; name one by its "
			 "id%s, or read one trace",
			 (long long)number, count, buf_str(&ids));
}

static int tree_find(const struct requests *q, const char *which, uint32_t *ret, struct error *err)
{
	struct error ignored = {0};
	int64_t number;

	if (!strcmp(which, "slowest")) {
		*ret = SPAN_NONE;
		for (size_t i = 0; i < q->chosen_count; i++) {
			if (*ret == SPAN_NONE ||
			    span_dur(&q->spans.all[q->chosen[i]]) > span_dur(&q->spans.all[*ret]))
				*ret = q->chosen[i];
		}
		return *ret == SPAN_NONE
			       ? error_set(err, -EINVAL, "--tree slowest: no requests found")
			       : 0;
	}
	*ret = tree_find_id(q, which);
	if (*ret != SPAN_NONE)
		return 0;
	if (parse_int(which, &number, &ignored) < 0)
		return error_set(err, -EINVAL,
				 "--tree '%.40s': a request's number, the id of a span, or slowest",
				 which);
	return tree_find_number(q, number, ret, err);
}

/* ---- its calls ---- */

static bool tree_is_in(const struct requests *q, uint32_t span)
{
	while (span != SPAN_NONE && span != q->tree.of)
		span = q->spans.all[span].parent;
	return span != SPAN_NONE;
}

static int tree_take(void *arg, const struct span_call *c)
{
	struct requests *q = arg;
	struct requests_tree *t = &q->tree;
	struct requests_call is;

	if (!tree_is_in(q, c->span))
		return 0;
	if (t->call_count == REQUESTS_TREE_CALLS) {
		t->left_out++;
		return 0;
	}
	is = (struct requests_call){
		.start = c->start,
		.stop = c->stop,
		.part = c->part,
		.bytes = batch_get(c->b, OP_BYTES, c->row, 0),
		.file_id = batch_get(c->b, OP_FILE_ID, c->row, -1),
		.thread_id = batch_get(c->b, OP_THREAD_ID, c->row, -1),
		.waker_id = batch_get(c->b, OP_WAKER_ID, c->row, -1),
		.ret = batch_get(c->b, OP_RET, c->row, INT64_MIN),
		.queued = batch_get(c->b, OP_IO_QUEUED, c->row, 0),
		.device = batch_get(c->b, OP_IO_DEVICE, c->row, 0),
		.runq = batch_get(c->b, OP_RUNQ, c->row, 0),
		.err = (int32_t)batch_get(c->b, OP_ERR, c->row, 0),
		.span = c->span,
		.op = (uint16_t)batch_get(c->b, OP_OP, c->row, 0),
		.via = (uint8_t)c->via,
		.aside = batch_get(c->b, OP_KIND, c->row, KIND_SYSCALL) != KIND_SYSCALL,
		.time = (uint8_t)span_time_of(c->b, c->row),
	};
	return array_add(t->calls, t->call_count, t->call_cap, is);
}

/* ---- its lines ---- */

static int request_tree_line(struct requests_tree *t, const struct requests_line *l)
{
	return array_add(t->lines, t->count, t->cap, *l);
}

static int call_order(const void *a, const void *b)
{
	const struct requests_call *x = a, *y = b;

	return ORDER(x->span, y->span) ?: ORDER(x->start, y->start) ?: ORDER(x->stop, y->stop);
}

static int call_order_line(const void *a, const void *b)
{
	const struct requests_call *x = a, *y = b;

	return ORDER(x->line, y->line) ?: call_order(a, b);
}

/* Adds the calls of a span up to its next child: a line each if they are few, otherwise one per operation, file and thread. */
static int tree_put_calls(struct requests *q, size_t from, size_t to, unsigned int depth)
{
	struct requests_tree *t = &q->tree;
	bool fold = to - from > TREE_UNFOLDED;
	struct map lines = {0};
	int r = 0;

	for (size_t i = from; i < to && r >= 0; i++) {
		struct requests_call *c = &t->calls[i];
		const struct requests_line is = {.span = c->span,
						 .depth = depth + !!c->disk,
						 .start = c->start,
						 .stop = c->stop};
		const int64_t alike[] = {c->op,	 c->file_id, c->thread_id,
					 c->via, c->disk,    fold ? 0 : (int64_t)i};
		uint64_t key = hash_bytes(alike, sizeof(alike)), at;
		struct requests_line *l;
		int64_t time = c->via == VIA_WAIT && !c->disk ? c->part : c->stop - c->start;

		if (!map_get(&lines, key, &at)) {
			at = t->count;
			r = request_tree_line(t, &is);
			r = r < 0 ? r : map_set(&lines, key, at);
			if (r < 0)
				break;
		}
		l = &t->lines[at];
		c->line = (uint32_t)at;
		l->to++; /* a count, until calls are sorted by line */
		l->stop = MAX(l->stop, c->stop);
		l->time = add_sat_signed(l->time, time);
		l->bytes = add_sat_signed(l->bytes, c->bytes);
		l->queued = add_sat_signed(l->queued, c->queued);
		l->device = add_sat_signed(l->device, c->device);
		l->runq = add_sat_signed(l->runq, MIN(c->runq, time));
		l->errors += c->err != 0;
	}
	map_free(&lines);
	return r;
}

/* The first call of a span; calls are sorted by span and start. */
static size_t tree_calls_of(const struct requests_tree *t, uint32_t span)
{
	return array_first(i, 0, t->call_count, t->calls[i].span >= span);
}

struct tree_step {
	uint32_t span, child; /* its next child */
	size_t at;	      /* its next call */
};

static int tree_put_span(struct requests *q, uint32_t span, unsigned int depth)
{
	const struct span *k = &q->spans.all[span];

	return request_tree_line(&q->tree, &(struct requests_line){.span = span,
								   .depth = depth,
								   .start = k->start,
								   .stop = k->stop,
								   .time = span_dur(k),
								   .bytes = k->sums.bytes});
}

/* Visits spans and calls in order of their start, each below its parent. */
static int tree_walk(struct requests *q)
{
	struct requests_tree *t = &q->tree;
	struct tree_step *stack = NULL;
	size_t depth = 0, cap = 0;
	uint32_t enter = t->of;
	int r = 0;

	while (r >= 0) {
		struct tree_step *s;
		size_t to;

		if (enter != SPAN_NONE) {
			r = tree_put_span(q, enter, (unsigned int)depth);
			if (r < 0 || grow((void **)&stack, &cap, depth + 1, sizeof(*stack)) < 0) {
				r = -ENOMEM;
				break;
			}
			stack[depth++] = (struct tree_step){enter, q->spans.all[enter].first_child,
							    tree_calls_of(t, enter)};
		}
		s = &stack[depth - 1];
		for (to = s->at;
		     to < t->call_count && t->calls[to].span == s->span &&
		     (s->child == SPAN_NONE || t->calls[to].start < q->spans.all[s->child].start);
		     to++)
			;
		r = tree_put_calls(q, s->at, to, (unsigned int)depth);
		s->at = to;
		enter = s->child;
		if (enter != SPAN_NONE)
			s->child = q->spans.all[enter].next_sibling;
		else if (!--depth)
			break;
	}
	free(stack);
	return r;
}

/* Sorts calls by line, and sets the range of each line. */
static void tree_order(struct requests_tree *t)
{
	uint32_t at = 0;

	array_sort(t->calls, t->call_count, call_order_line);
	for (size_t i = 0; i < t->count; i++) {
		uint32_t count = t->lines[i].to;

		t->lines[i].from = at;
		at += count;
		t->lines[i].to = at;
	}
	assert(at == t->call_count);
}

int requests_make_tree(struct requests *q, const struct analysis_input *in, const char *which,
		       bool overlap, struct error *err)
{
	struct requests_tree *t = &q->tree;
	struct span_pass p = {.call = tree_take,
			      .arg = q,
			      .time = overlap,
			      .columns = 1ull << OP_RET | 1ull << OP_FILE_ID | 1ull << OP_WAKER_ID};
	int r = tree_find(q, which, &t->of, err);

	if (r < 0)
		return r;
	p.of = t->of;
	/* which work a thread was given earlier is only known when starting at the first call of its root span */
	p.from = q->spans.all[q->spans.all[t->of].root].start;
	p.to = q->spans.all[t->of].stop;
	r = spanset_pass(&q->spans, in, &in->runs[0], &p, err);
	if (r < 0)
		return r;
	r = requests_tree_disks(q, in, p.from, err);
	if (r < 0)
		return r;
	array_sort(t->calls, t->call_count, call_order);
	r = tree_walk(q);
	if (r < 0)
		return r;
	tree_order(t);
	return requests_make_path(q, in, err);
}

int requests_line_name(const struct requests *q, const struct requests_line *l, struct buf *to)
{
	const struct requests_call *c = &q->tree.calls[l->from];
	const char *op;
	struct bytes name, file = {0};

	if (l->from == l->to) {
		name = requests_name(q, l->span);
		return buf_append(to, name.data, name.len);
	}
	op = vocab_word(c->disk ? "kind" : "op", c->op);
	if (c->disk) {
		name = intern_get(&q->memory, c->disk);
		buf_append(to, name.data, name.len);
		return buf_printf(to, " %s", op ? op : "request");
	}
	buf_printf(to, "%s", op ? op : "call");
	if (c->file_id >= 0)
		file = names_base(dims_file_name(q->dims, c->file_id));
	if (file.len) {
		buf_printf(to, " ");
		buf_append(to, file.data, file.len);
	}
	return buf_status(to);
}
