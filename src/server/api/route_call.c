// SPDX-License-Identifier: Apache-2.0
/* route_call.c: /op/{row}: one call, its neighbours in the thread, the next one of its kind. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sums/rollup.h"
#include "base/clock.h"
#include "sums/facts.h"
#include "sums/order.h"
#include "server/sums/who.h"
#include "server/sums/pass.h"

#define NEAR_MAX 50

/* ---- finding the call ---- */

static int route_call_find(struct question *q, size_t *ret_block, size_t *ret_row)
{
	const char *text = http_part(q->request, 0);
	int64_t number;

	if (question_parse(text, &number) < 0 ||
	    server_row_find(q->server, number, ret_block, ret_row) < 0)
		return question_error(q, -ENOENT, "this trace has no call %.40s", text);
	return 0;
}

static int read_block(struct question *q, struct store_cursor *c, size_t block,
		      const struct batch **ret)
{
	int r = store_decode(c, block, ~0ull, ret, &q->err);

	return r < 0 ? question_error(q, r == -EBADMSG ? -ENOENT : r, "the call cannot be read")
		     : r;
}

/* ---- one call, in full ---- */

static void route_call_put_column(struct question *q, struct js *j, const struct batch *b,
				  size_t row, unsigned int column)
{
	const struct column_def *def = &b->def->columns[column];
	int64_t v = batch_get(b, column, row, 0);
	char text[24];

	js_key(j, def->name);
	if (batch_is_null(b, column, row)) {
		js_null(j);
	} else if (def->type == COLUMN_CODE) {
		js_string(j, names_code(def->name, v).s);
	} else if (def->type == COLUMN_TIME) {
		js_int(j, clock_between(q->server->origin, v));
	} else if (def->type == COLUMN_UINT && (uint64_t)v > 1ull << 53) {
		/* a string, as a JSON number would not be exact */
		snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)v);
		js_string(j, text);
	} else {
		js_int(j, v);
	}
}

static void route_call_put_value(struct js *j, const char *name, struct query_kind kind,
				 const struct value *v, const struct dims *d)
{
	_cleanup_buf_ struct buf text = {0};

	js_key(j, name);
	if (v->null)
		js_null(j);
	else if (kind.type == QUERY_TEXT)
		js_bytes(j, v->t.data, v->t.len);
	else if (kind.type == QUERY_CODE)
		js_string(j, names_code(kind.vocab, v->i).s);
	else if (kind.type == QUERY_ENTITY && query_entity_text(kind.entity, d, v->i, &text) >= 0)
		js_bytes(j, text.data, text.len);
	else
		js_int(j, v->i);
}

/* Writes every name that the language has for a call. */
static int route_call_put_names(struct question *q, struct js *j, const struct batch *b, size_t row)
{
	static const struct {
		const char *name, *column;
		struct query_kind kind;
	} names[] = {
#define N(NAME, name, id, type, more, doc) {#name, id, {QUERY_##type, NAMES_##type(more)}},
#define NAMES_TEXT(more)		   NULL, 0
#define NAMES_INT(more)			   NULL, 0
#define NAMES_UINT(more)		   NULL, 0
#define NAMES_CODE(more)		   more, 0
#define NAMES_ENTITY(more)		   NULL, more
		QUERY_NAMES(N)
#undef N
	};
	const struct dims *d = store_dims(q->server->store);
	_cleanup_buf_ struct buf scratch = {0};

	for (unsigned int i = 0; i < QNAME_COUNT; i++) {
		int column = schema_column_find(TABLE_OP, names[i].column);
		struct value v = {.null = true};
		int r = 0;

		assert(column >= 0);
		buf_clear(&scratch);
		if (!batch_is_null(b, (unsigned int)column, row))
			r = query_name_value(i, d, batch_get(b, (unsigned int)column, row, -1),
					     &scratch, &v);
		if (r < 0)
			return r;
		route_call_put_value(j, names[i].name, names[i].kind, &v, d);
	}
	return 0;
}

static int route_call_put_text(struct question *q, struct js *j, const struct batch *b, size_t row)
{
	_cleanup_buf_ struct buf text = {0};
	int r = q->server->opt.call_text(&text, b, row, store_dims(q->server->store));

	js_key_bytes(j, "text", buf_bytes(&text));
	return r;
}

static int route_call_put_call(struct question *q, struct js *j, const struct batch *b, size_t row)
{
	bool running = batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED;
	int r;

	js_key_open(j, "call", '{');
	for (unsigned int c = 0; c < OP_COLUMNS; c++)
		route_call_put_column(q, j, b, row, c);
	js_key_known(j, "stop", !running && !batch_is_null(b, OP_START, row),
		     clock_between(q->server->origin, rollup_end(b, row)));
	r = route_call_put_names(q, j, b, row);
	js_close(j, '}');
	return r < 0 ? r : route_call_put_text(q, j, b, row);
}

/* ---- the next in the trace's order ---- */

struct step {
	struct question *q;
	const struct sums_filter *filter;
	bool back, any_trace;
	int64_t end, number; /* the row to continue from */
	uint32_t trace;
	struct store_cursor *cursor;
	uint32_t *rows;
	int64_t *ends;
	struct eval_scratch *scratch;
	size_t found_block, found_row;
	int64_t found_end, found_number;
	bool found;
};

static bool comes_before(int64_t end, int64_t number, int64_t other_end, int64_t other_number)
{
	return end != other_end ? end < other_end : number < other_number;
}

static void route_call_offer(struct step *s, size_t block, size_t row, int64_t end)
{
	int64_t number = order_number(store_block(s->q->server->store, block), block, row);
	bool behind = comes_before(s->end, s->number, end, number);
	bool nearer = !s->found || comes_before(end, number, s->found_end, s->found_number);

	if (s->back) {
		behind = comes_before(end, number, s->end, s->number);
		nearer = !s->found || comes_before(s->found_end, s->found_number, end, number);
	}
	if (!behind || !nearer)
		return;
	s->found = true;
	s->found_block = block;
	s->found_row = row;
	s->found_end = end;
	s->found_number = number;
}

/* False if no row of the block can be nearer than the one found. */
static bool can_have(const struct step *s, size_t block)
{
	const struct store *store = s->q->server->store;
	const struct store_block *b = store_block(store, block);
	int64_t from = s->back ? (s->found ? s->found_end : INT64_MIN) : s->end;
	int64_t to = s->back ? s->end : (s->found ? s->found_end : INT64_MAX);

	if (b->table != TABLE_OP || b->damaged || (b->trace != s->trace && !s->any_trace) ||
	    !order_block_in(b, from, to == INT64_MAX ? to : to + 1))
		return false;
	return facts_may_pass(s->filter->eval, store, block);
}

static int look_in(struct step *s, size_t block)
{
	const struct batch *b;
	int r = store_decode(s->cursor, block, order_columns(TABLE_OP) | s->filter->columns, &b,
			     &s->q->err);
	ssize_t n;

	if (r == -EBADMSG) {
		s->q->err = (struct error){0};
		return 0;
	}
	if (r < 0)
		return r;
	n = eval_filter(s->filter->eval, s->scratch, 0, b, NULL, b->rows, s->rows);
	if (n <= 0)
		return (int)n;
	order_ends(b, s->ends);
	for (ssize_t i = 0; i < n; i++)
		route_call_offer(s, block, s->rows[i], s->ends[s->rows[i]]);
	return 0;
}

static void step_free(struct step *s)
{
	if (s->cursor)
		store_cursor_free(s->cursor);
	if (s->scratch)
		eval_scratch_free(s->scratch);
	free(s->rows);
	free(s->ends);
}

static int step_init(struct step *s, struct question *q, const struct sums_filter *filter,
		     size_t block)
{
	int r;

	s->q = q;
	s->filter = filter;
	s->trace = store_block(q->server->store, block)->trace;
	s->rows = malloc(BATCH_ROWS_MAX * sizeof(*s->rows));
	s->ends = malloc(BATCH_ROWS_MAX * sizeof(*s->ends));
	if (!s->rows || !s->ends)
		return -ENOMEM;
	r = eval_scratch_new(&s->scratch, filter->eval);
	return r < 0 ? r : store_cursor_new(&s->cursor, q->server->store);
}

/* Starts from the position of a row in the order. */
static int step_from(struct step *s, size_t block, size_t row)
{
	const struct batch *b;
	int r = store_decode(s->cursor, block, order_columns(TABLE_OP), &b, &s->q->err);

	if (r < 0)
		return r;
	order_ends(b, s->ends);
	s->end = s->ends[row];
	s->number = order_number(store_block(s->q->server->store, block), block, row);
	s->found = false;
	return 0;
}

/*
 * Searches block by block, nearest first. Blocks of short calls are in order, so the first match among them is the
 * nearest; can_have() then leaves few other blocks.
 */
static int step_run(struct step *s, size_t block)
{
	size_t count = store_block_count(s->q->server->store);
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		size_t at = s->back ? (block + 2 * count - i) % count : (block + i) % count;

		if (question_stopped(s->q))
			return -EINTR;
		if (can_have(s, at))
			r = look_in(s, at);
	}
	return r;
}

/* ---- neighbours ---- */

struct near {
	size_t block, row;
};

static int route_call_walk(struct step *s, size_t block, size_t row, bool back, struct near *out,
			   size_t max, size_t *ret)
{
	int r = 0;

	s->back = back;
	for (*ret = 0; *ret < max && r >= 0; ++*ret) {
		r = step_from(s, block, row);
		if (r >= 0)
			r = step_run(s, block);
		if (r < 0 || !s->found)
			break;
		out[*ret] = (struct near){s->found_block, s->found_row};
		block = s->found_block;
		row = s->found_row;
	}
	return r;
}

static int put_near(struct question *q, struct js *j, struct store_cursor *cursor,
		    const struct near *n)
{
	const struct batch *b;
	int r = read_block(q, cursor, n->block, &b);

	if (r < 0)
		return r;
	js_open(j, '{');
	js_key_int(j, "row", server_row_number(q->server, n->block, n->row));
	names_put_call(q->server, j, b, n->row);
	r = route_call_put_text(q, j, b, n->row);
	js_close(j, '}');
	return r;
}

static int put_neighbours(struct question *q, struct js *j, size_t block, size_t row, size_t max,
			  int64_t task)
{
	_cleanup_sums_filter_ struct sums_filter filter = {0};
	struct near before[NEAR_MAX], after[NEAR_MAX];
	const struct near self = {block, row};
	_cleanup_(step_free) struct step s = {0};
	size_t n_before = 0, n_after = 0;
	char text[64];
	int r;

	snprintf(text, sizeof(text), "id(thread) == %" PRId64,
		 query_entity_id(TABLE_THREAD, store_dims(q->server->store), task));
	r = question_filter(q, text, &filter);
	if (r >= 0)
		r = step_init(&s, q, &filter, block);
	if (r >= 0)
		r = route_call_walk(&s, block, row, true, before, max, &n_before);
	if (r >= 0)
		r = route_call_walk(&s, block, row, false, after, max, &n_after);
	js_key_open(j, "near", '[');
	for (size_t i = n_before; i-- > 0 && r >= 0;)
		r = put_near(q, j, s.cursor, &before[i]);
	if (r >= 0)
		r = put_near(q, j, s.cursor, &self);
	for (size_t i = 0; i < n_after && r >= 0; i++)
		r = put_near(q, j, s.cursor, &after[i]);
	js_close(j, ']');
	return r;
}

int call_answer(struct question *q)
{
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	struct js j = {.to = &q->out};
	const struct batch *b;
	size_t block, row;
	int64_t near, thread;
	int r = question_number(q, "near", 0, NEAR_MAX, 0, &near);

	if (r >= 0)
		r = route_call_find(q, &block, &row);
	if (r >= 0)
		r = store_cursor_new(&cursor, q->server->store);
	if (r >= 0)
		r = read_block(q, cursor, block, &b);
	if (r < 0)
		return r;
	js_open(&j, '{');
	js_key_int(&j, "row", server_row_number(q->server, block, row));
	r = route_call_put_call(q, &j, b, row);
	thread = batch_get(b, OP_THREAD_ID, row, -1);
	if (r >= 0 && near && thread >= 0)
		r = put_neighbours(q, &j, block, row, (size_t)near, thread);
	js_close(&j, '}');
	return r < 0 ? r : j.error;
}

/* ---- next of the same kind ---- */

/* Adds one condition of `same` as an expression. */
static int add_same(struct question *q, const char *word, size_t len, const struct batch *b,
		    size_t row, struct buf *to)
{
	const struct dims *d = store_dims(q->server->store);
	int64_t file = batch_get(b, OP_FILE_ID, row, -1),
		thread = batch_get(b, OP_THREAD_ID, row, -1);
	int64_t err = batch_get(b, OP_ERR, row, -1);
	const char *and = to->len ? " && " : "";

	if (len == 2 && memcmp(word, "op", len) == 0)
		return buf_printf(to, "%sop == \"%s\"", and,
				  names_code("op", batch_get(b, OP_OP, row, -1)).s);
	if (len == 4 && memcmp(word, "file", len) == 0)
		return file < 0 ? buf_printf(to, "%sfile_id is null", and)
				: buf_printf(to, "%sid(file) == %" PRId64, and,
					     query_entity_id(TABLE_FILE, d, file));
	if (len == 6 && memcmp(word, "thread", len) == 0)
		return buf_printf(to, "%sid(thread) == %" PRId64, and,
				  query_entity_id(TABLE_THREAD, d, thread));
	if (len == 5 && memcmp(word, "error", len) == 0)
		return err < 0 ? buf_printf(to, "%serr is not null", and)
			       : buf_printf(to, "%serr == \"%s\"", and, names_code("err", err).s);
	if (len == 4 && memcmp(word, "slow", len) == 0)
		return buf_printf(to, "%sdur >= %" PRId64 "ns", and, batch_get(b, OP_DUR, row, 0));
	return question_error(q, -EINVAL, "same=%.*s: must be op, file, thread, error or slow",
			      (int)MIN(len, (size_t)40), word);
}

static int make_kind(struct question *q, const struct batch *b, size_t row, struct buf *to)
{
	const char *same = http_param(q->request, "same");
	int r = 0;

	while (same && *same && r >= 0) {
		size_t len = strcspn(same, ",");

		r = add_same(q, same, len, b, row, to);
		same += len + (same[len] == ',');
	}
	if (r >= 0 && q->filter)
		r = buf_printf(to, "%s(%s)", to->len ? " && " : "", q->filter);
	if (r >= 0 && !to->len)
		r = buf_printf(to, "true");
	return r;
}

/* Reads the call in question; the search uses another cursor. */
static int next_read(struct question *q, struct step *s, size_t *ret_block, size_t *ret_row,
		     const struct batch **ret)
{
	int r = route_call_find(q, ret_block, ret_row);

	if (r < 0)
		return r;
	r = store_cursor_new(&s->cursor, q->server->store);
	return r < 0 ? r : read_block(q, s->cursor, *ret_block, ret);
}

int call_next_answer(struct question *q)
{
	_cleanup_sums_filter_ struct sums_filter filter = {0}, given = {0};
	_cleanup_(step_free) struct step s = {
		0}; /* declared here to be freed before the filter that it uses */
	_cleanup_buf_ struct buf kind = {0};
	struct js j = {.to = &q->out};
	const char *same = http_param(q->request, "same");
	const struct batch *b = NULL;
	size_t block = 0, row = 0;
	int64_t back, at = INT64_MIN;
	int r = question_number(q, "back", 0, 1, 0, &back);

	if (r >= 0)
		r = question_time(q, "at", INT64_MIN, &at);
	if (r >= 0) /* checked alone first, so that error positions refer to the filter as given */
		r = question_filter(q, q->filter, &given);
	if (r >= 0 && (same || at == INT64_MIN))
		r = next_read(q, &s, &block, &row, &b);
	if (r >= 0)
		r = make_kind(q, b, row, &kind);
	if (r >= 0)
		r = question_filter(q, buf_str(&kind), &filter);
	if (r < 0)
		return r;
	if (s.cursor)
		store_cursor_free(TAKE_PTR(s.cursor));
	if (!store_block_count(q->server->store))
		return question_error(q, -ENOENT, "this trace has no calls");
	r = step_init(&s, q, &filter, block);
	s.back = back;
	s.any_trace = !same; /* without `same` it is a search, not the next of a kind */
	/* start between the calls that ended before that time and those that ended later */
	s.end = at;
	s.number = -1;
	if (r >= 0 && at == INT64_MIN)
		r = step_from(&s, block, row);
	if (r >= 0)
		r = step_run(&s, block);
	if (r < 0)
		return r;
	if (!s.found)
		return question_error(q, -ENOENT, "no %s call of this kind",
				      back ? "earlier" : "later");
	js_open(&j, '{');
	js_key_int(&j, "row", server_row_number(q->server, s.found_block, s.found_row));
	js_close(&j, '}');
	return j.error;
}
