// SPDX-License-Identifier: Apache-2.0
/* query_source.c: the rows of an answer from a scan of the trace. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/query.h"
#include "query/eval.h"

#define FOLLOW_POLL_NS (100 * NSEC_PER_MSEC)

struct query_scan {
	struct query_session *session;
	struct engine_scan *scan;
	struct eval *eval;
	struct eval_scratch *scratch;
	struct vector *vectors; /* by field */
	struct buf *texts;	/* the row's, escaped */
	size_t fields;
	bool follow, paused;
	const struct batch *batch;
	size_t at, rows;     /* within the vectors */
	uint64_t given, max; /* rows, over all */
};

bool query_is_scan(const struct plan *p)
{
	if (!plan_is_stream(p))
		return false;
	for (size_t i = 0; i < p->stage_count; i++) {
		if (p->stages[i].kind != STAGE_HEAD)
			return false;
	}
	return true;
}

static void scan_progress(const void *arg, uint64_t *ret_done, uint64_t *ret_total)
{
	const struct query_scan *s = arg;

	engine_scan_progress(s->scan, ret_done, ret_total);
}

static int scan_open(struct query_scan *s, const struct plan *p, const struct plan_field **fields,
		     struct error *err)
{
	_cleanup_free_ const struct expr **exprs = calloc(s->fields + 1, sizeof(struct expr *));
	struct scan_request q = {.table = p->table,
				 .from = p->from,
				 .to = p->to,
				 .filter = p->where,
				 .follow = s->follow};
	int r;

	if (!exprs)
		return -ENOMEM;
	for (size_t i = 0; i < s->fields; i++) {
		exprs[i] = fields[i]->expr;
		q.columns |= expr_columns(fields[i]->expr);
	}
	r = eval_new(&s->eval, exprs, s->fields, err);
	if (r >= 0)
		r = eval_scratch_new(&s->scratch, s->eval);
	if (r >= 0)
		r = engine_scan_new(&s->scan, s->session->store, &q, err);
	return r;
}

int query_scan_new(struct query_scan **ret, struct query_session *session, const struct plan *p,
		   bool follow, struct error *err)
{
	_cleanup_(query_scan_freep) struct query_scan *s = calloc(1, sizeof(*s));
	_cleanup_answer_ struct answer shown = {0};
	int r;

	if (!s || answer_init(&shown, p) < 0)
		return error_errno(err, -ENOMEM, "cannot read the trace");
	s->session = session;
	s->follow = follow;
	s->fields = shown.count;
	s->max = UINT64_MAX;
	for (size_t i = 0; i < p->stage_count; i++) {
		uint64_t head = p->stages[i].count > 0 ? (uint64_t)p->stages[i].count : 0;

		s->max = MIN(s->max, head);
	}
	s->vectors = calloc(s->fields + 1, sizeof(*s->vectors));
	s->texts = calloc(s->fields + 1, sizeof(*s->texts));
	r = s->vectors && s->texts ? scan_open(s, p, shown.fields, err) : -ENOMEM;
	if (r < 0)
		return error_errno(err, r, "cannot read the trace");
	interrupt_progress(session->it, scan_progress, s);
	*ret = TAKE_PTR(s);
	return 0;
}

void query_scan_free(struct query_scan *s)
{
	if (!s)
		return;
	if (s->scan)
		interrupt_progress(s->session->it, NULL, NULL);
	for (size_t i = 0; s->texts && i < s->fields; i++)
		buf_free(&s->texts[i]);
	free(s->texts);
	free(s->vectors);
	if (s->scan)
		engine_scan_free(s->scan);
	if (s->scratch)
		eval_scratch_free(s->scratch);
	if (s->eval)
		eval_free(s->eval);
	free(s);
}

/* The next rows that there are: 1, 0 at the end, ANSWER_PAUSE, negative. */
static int scan_fill(struct query_scan *s, struct error *err)
{
	const uint32_t *rows = NULL;
	/* asked before: what came last is in the rows */
	bool grows = store_is_open_ended(s->session->store);
	ssize_t n = engine_scan_next(s->scan, &s->batch, &rows, err);
	int r = 0;

	if (interrupt_signal(s->session->it))
		return error_set(err, -EINTR, "interrupted");
	if (n < 0)
		return (int)n;
	if (n == 0 && s->follow && grows)
		return ANSWER_PAUSE;
	if (n == 0)
		return 0;
	r = eval_names(s->eval, store_dims(s->session->store), err);
	for (size_t i = 0; i < s->fields && r >= 0; i++)
		r = eval_rows(s->eval, s->scratch, i, s->batch, rows, (size_t)n, &s->vectors[i]);
	s->at = 0;
	s->rows = (size_t)n;
	return r < 0 ? error_errno(err, r, "cannot work out the rows") : 1;
}

static int scan_next(struct answer *r, struct error *err)
{
	struct query_scan *s = r->arg;
	int e = 1;

	if (s->given >= s->max)
		return 0;
	if (s->rows && s->at + 1 < s->rows) {
		s->at++;
		s->given++;
		return 1;
	}
	if (s->paused)
		nanosleep(&(struct timespec){.tv_nsec = FOLLOW_POLL_NS}, NULL);
	e = scan_fill(s, err);
	s->paused = e == ANSWER_PAUSE;
	if (e != 1)
		s->rows = 0;
	s->given += e == 1;
	return e;
}

/* A text as an engine gives it. */
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
	return (struct bytes){to->data, to->len};
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

		v.null = query_entity_text(vec->type.entity, store_dims(s->session->store),
					   vec->i[s->at], &name) < 0;
		buf_clear(&s->texts[column]);
		v.null |= engine_escape(name.data, name.len, &s->texts[column]) < 0;
		v.t = (struct bytes){s->texts[column].data, s->texts[column].len};
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
