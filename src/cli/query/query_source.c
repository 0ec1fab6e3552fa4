// SPDX-License-Identifier: Apache-2.0
/* query_source.c: computes the rows of an answer by a scan of the trace. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/query/query.h"
#include "query/eval/eval.h"
#include "query/plan/row_stream.h"

#define FOLLOW_POLL_NS (100 * NSEC_PER_MSEC)

struct query_scan {
	struct query_session *session;
	struct engine_scan *scan;
	struct eval *eval;
	struct eval_scratch *scratch;
	struct plan_stream *stream;
	uint64_t *left;		/* by step: rows that a head may still pass */
	uint32_t *picked;	/* [BATCH_ROWS_MAX] */
	bool over;		/* a head has passed all of its rows */
	struct vector *vectors; /* by field */
	struct buf *texts;	/* texts of the row, escaped */
	size_t fields;
	bool follow, paused;
	unsigned int warned; /* changes of the files already reported */
	const struct batch *batch;
	size_t at, rows; /* position in the vectors */
};

bool query_is_scan(const struct query_session *s, const struct plan *p)
{
	struct plan_stream *stream = NULL;
	bool is = s->store && plan_stream_new(&stream, p) > 0;

	plan_stream_free(stream);
	return is;
}

static void scan_progress(const void *arg, uint64_t *ret_done, uint64_t *ret_total)
{
	const struct query_scan *s = arg;

	engine_scan_progress(s->scan, ret_done, ret_total);
}

/* The evaluated expressions: the fields, then the conditions of the steps. */
static int scan_open(struct query_scan *s, const struct plan *p, struct error *err)
{
	const struct plan_stream *stream = s->stream;
	size_t count = s->fields + stream->step_count;
	_cleanup_free_ const struct expr **exprs = calloc(count + 1, sizeof(struct expr *));
	struct scan_request q = {.table = p->table,
				 .from = p->from,
				 .to = p->to,
				 .filter = p->where,
				 .follow = s->follow};
	int r;

	if (!exprs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct expr *where =
			i < s->fields ? NULL : stream->steps[i - s->fields].where;

		/* a head has no condition: any expression will do */
		exprs[i] = i < s->fields ? stream->fields[i] : where ? where : stream->fields[0];
		q.columns |= expr_columns(exprs[i]);
	}
	r = eval_new(&s->eval, exprs, count, err);
	if (r < 0)
		return r;
	r = eval_scratch_new(&s->scratch, s->eval);
	if (r < 0)
		return r;
	return engine_scan_new(&s->scan, s->session->store, &q, err);
}

static int scan_memory(struct query_scan *s)
{
	s->vectors = calloc(s->fields + 1, sizeof(*s->vectors));
	s->texts = calloc(s->fields + 1, sizeof(*s->texts));
	s->left = calloc(s->stream->step_count + 1, sizeof(*s->left));
	s->picked = malloc(BATCH_ROWS_MAX * sizeof(*s->picked));
	if (!s->vectors || !s->texts || !s->left || !s->picked)
		return -ENOMEM;
	for (size_t i = 0; i < s->stream->step_count; i++) {
		s->left[i] = s->stream->steps[i].count;
		s->over |= !s->stream->steps[i].where && !s->left[i];
	}
	return 0;
}

int query_scan_new(struct query_scan **ret, struct query_session *session, const struct plan *p,
		   bool follow, struct error *err)
{
	_cleanup_(query_scan_freep) struct query_scan *s = calloc(1, sizeof(*s));
	int r = s ? plan_stream_new(&s->stream, p) : -ENOMEM;

	if (r < 0)
		return error_errno(err, r, "cannot read the trace");
	assert(r > 0); /* query_is_scan() checked it */
	s->session = session;
	s->follow = follow;
	s->fields = s->stream->field_count;
	r = scan_memory(s);
	if (r >= 0)
		r = scan_open(s, p, err);
	if (r < 0)
		return error_errno(err, r, "cannot read the trace");
	interrupt_progress(session->it, "blocks", scan_progress, s);
	*ret = TAKE_PTR(s);
	return 0;
}

void query_scan_free(struct query_scan *s)
{
	if (!s)
		return;
	if (s->scan)
		interrupt_progress(s->session->it, NULL, NULL, NULL);
	for (size_t i = 0; s->texts && i < s->fields; i++)
		buf_free(&s->texts[i]);
	free(s->texts);
	free(s->vectors);
	free(s->left);
	free(s->picked);
	if (s->scan)
		engine_scan_free(s->scan);
	if (s->scratch)
		eval_scratch_free(s->scratch);
	if (s->eval)
		eval_free(s->eval);
	plan_stream_free(s->stream);
	free(s);
}

/* Applies the steps; the remaining rows are in s->picked. Returns their number, or negative. */
static ssize_t take_steps(struct query_scan *s, const uint32_t *rows, size_t n)
{
	ssize_t left = (ssize_t)n;

	memcpy(s->picked, rows, n * sizeof(*rows));
	for (size_t i = 0; i < s->stream->step_count && left > 0; i++) {
		if (s->stream->steps[i].where) {
			left = eval_filter(s->eval, s->scratch, s->fields + i, s->batch, s->picked,
					   (size_t)left, s->picked);
			continue;
		}
		left = (ssize_t)MIN((uint64_t)left, s->left[i]);
		s->left[i] -= (uint64_t)left;
		s->over |= !s->left[i];
	}
	return left;
}

/* Computes the fields of the next rows. Returns their number, 0 if none passed. */
static ssize_t query_source_take_rows(struct query_scan *s, const uint32_t *rows, size_t n,
				      struct error *err)
{
	int r = eval_names(s->eval, store_dims(s->session->store), err);
	ssize_t left = r < 0 ? r : take_steps(s, rows, n);

	for (size_t i = 0; i < s->fields && left > 0 && r >= 0; i++)
		r = eval_rows(s->eval, s->scratch, i, s->batch, s->picked, (size_t)left,
			      &s->vectors[i]);
	return r < 0 ? r : left;
}

/* Gets the next rows: 1, 0 at the end, ANSWER_PAUSE, negative. */
static int scan_fill(struct query_scan *s, struct error *err)
{
	ssize_t left = 0;

	while (left == 0 && !s->over) {
		const uint32_t *rows = NULL;
		/* checked before the scan, so that its rows include the last ones */
		bool grows = store_is_open_ended(s->session->store);
		ssize_t n = engine_scan_next(s->scan, &s->batch, &rows, err);

		if (interrupt_signal(s->session->it))
			return error_set(err, -EINTR, "interrupted");
		if (n < 0)
			return (int)n;
		if (n == 0)
			return s->follow && grows ? ANSWER_PAUSE : 0;
		left = query_source_take_rows(s, rows, (size_t)n, err);
	}
	s->at = 0;
	s->rows = left > 0 ? (size_t)left : 0;
	return left < 0 ? error_errno(err, (int)left, "cannot compute the rows") : left > 0;
}

static int scan_next(struct answer *r, struct error *err)
{
	struct query_scan *s = r->arg;
	int e;

	if (s->rows && s->at + 1 < s->rows) {
		s->at++;
		return 1;
	}
	if (s->paused)
		loss_warn_changes(s->session->store, &s->warned);
	if (s->paused)
		nanosleep(&(struct timespec){.tv_nsec = FOLLOW_POLL_NS}, NULL);
	e = scan_fill(s, err);
	s->paused = e == ANSWER_PAUSE;
	if (e != 1)
		s->rows = 0;
	return e;
}

/* A text in the form that an engine returns. */
static struct bytes escaped(struct buf *to, struct bytes t)
{
	bool plain = true;

	for (size_t i = 0; i < t.len && plain; i++)
		plain = t.data[i] >= 0x20 && t.data[i] < 0x7f && t.data[i] != '\\';
	if (plain)
		return t;
	buf_clear(to);
	if (engine_escape(t.data, t.len, to) < 0)
		return (struct bytes){(const uint8_t *)"?", 1};
	return buf_bytes(to);
}

static struct value scan_get(struct answer *r, size_t column)
{
	struct query_scan *s = r->arg;
	const struct vector *vec = &s->vectors[column];
	struct value v = {.null = vec->nulls && (vec->nulls[s->at / 64] >> (s->at % 64) & 1)};
	const struct bytes *words;

	if (v.null)
		return v;
	if (vec->type.type == QUERY_FLOAT) {
		v.f = vec->f[s->at];
	} else if (vec->words) {
		if ((size_t)vec->i[s->at] < eval_words(s->eval, column, &words))
			v.t = escaped(&s->texts[column], words[vec->i[s->at]]);
	} else if (vec->type.type == QUERY_ENTITY) {
		_cleanup_buf_ struct buf name = {0};

		v.null = query_entity_shown(vec->type.entity, store_dims(s->session->store),
					    vec->i[s->at], &name) < 0;
		buf_clear(&s->texts[column]);
		v.null |= engine_escape(name.data, name.len, &s->texts[column]) < 0;
		v.t = buf_bytes(&s->texts[column]);
	} else if (vec->type.type == QUERY_HIST) {
		v.t = vec->t[s->at];
	} else if (vec->t) {
		v.t = escaped(&s->texts[column], vec->t[s->at]);
	} else {
		v.i = vec->i[s->at];
	}
	return v;
}

int query_answer_of_scan(struct answer *ret, const struct plan *p, struct query_scan *scan)
{
	*ret = (struct answer){.next = scan_next, .get = scan_get, .endless = true, .arg = scan};
	return answer_init(ret, p);
}
