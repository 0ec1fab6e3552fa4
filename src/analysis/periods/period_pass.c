/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/periods/period_pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/periods/lost.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/saturate.h"
#include "query/eval/eval.h"

#define STOP_EVERY 65536 /* events between checks whether the result is still wanted */
#define ROLES_MAX  (2 * PERIODS_MAX)
/* a trace further behind the clock than this is not being recorded right now */
#define FOLLOW_LIVE_NS 5000000000ll
/* growing traces: minimum size at which unused texts are dropped */
#define TEXTS_LEN_MIN (1u << 20)
/* For each role a filter and its values. */
#define EXPRS_MAX (ROLES_MAX * (1 + PERIOD_TAKES_MAX))

static_assert(ROLES_MAX <= 64, "a row's roles are the bits of a word");

/* Values that a role takes from its events: rows of take_count values. */
struct role_store {
	const struct period_role *role;
	size_t period;
	size_t own, takes; /* indexes of their expressions; own SIZE_MAX: every call */
	int64_t *val;
	uint32_t *nulls;
	size_t count, val_cap, nulls_cap;
	size_t at; /* index of the next event among the current rows */
	/* by take: words of the expression -> text ids + 1 */
	uint32_t *words[PERIOD_TAKES_MAX];
	size_t words_cap[PERIOD_TAKES_MAX];
};

struct events {
	struct period_event *items;
	size_t count, cap;
	size_t at; /* events before it were passed to the matcher */
};

struct pass {
	const struct analysis_input *in;
	const struct period_set *set;
	struct period_matches *to;
	struct period_matcher *matcher;
	struct eval *eval;
	struct eval_scratch *scratch;
	struct role_store roles[ROLES_MAX];
	size_t role_count;
	bool enters; /* a role uses beginnings of calls */
	uint64_t columns;
	uint64_t *marks; /* [BATCH_ROWS_MAX]: roles of each row */
	uint32_t *rows;	 /* [BATCH_ROWS_MAX] */
	struct events exits, entries;
	size_t unsettled; /* number of last exits that belong to calls whose exact end is unknown */
	struct period_losses lost;
	struct engine_scan *scan;
	bool follow;
	/* newest: last end of a call read; given: time up to which the matcher has events */
	int64_t newest, given;
	int64_t read; /* monotonic time of the last rows */
	/* behind: age of `newest` then, by this machine's clock; ahead: maximum that the trace's clock was ahead of it */
	int64_t behind, ahead;
	size_t texts_len; /* size of the texts that were in use last time */
	uint64_t late;
};

static void pass_free(struct pass *p)
{
	period_matcher_free(p->matcher);
	if (p->scratch)
		eval_scratch_free(p->scratch);
	if (p->eval)
		eval_free(p->eval);
	for (size_t i = 0; i < p->role_count; i++) {
		free(p->roles[i].val);
		free(p->roles[i].nulls);
		for (size_t k = 0; k < PERIOD_TAKES_MAX; k++)
			free(p->roles[i].words[k]);
	}
	free(p->exits.items);
	free(p->entries.items);
	free(p->marks);
	free(p->rows);
	period_losses_free(&p->lost);
	engine_scan_free(p->scan);
}

/* ---- expressions ---- */

static void pass_add_role(struct pass *p, size_t period, const struct period_role *role,
			  const struct expr **exprs, size_t *count)
{
	struct role_store *s = &p->roles[p->role_count++];

	s->role = role;
	s->period = period;
	s->own = SIZE_MAX;
	if (role->own) {
		s->own = *count;
		exprs[(*count)++] = role->own;
	}
	s->takes = *count;
	for (size_t i = 0; i < role->take_count; i++)
		exprs[(*count)++] = role->takes[i].expr;
	p->enters |= role->enter;
}

/* Roles are in the order in which they process an event: ends of children before those of their parents, then begins. */
static int pass_prepare(struct pass *p, const struct dims *dims, struct error *err)
{
	_cleanup_free_ const struct expr **exprs = calloc(EXPRS_MAX, sizeof(*exprs));
	size_t count = 0;
	int r;

	p->marks = calloc(BATCH_ROWS_MAX, sizeof(*p->marks));
	p->rows = calloc(BATCH_ROWS_MAX, sizeof(*p->rows));
	if (!exprs || !p->marks || !p->rows)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = p->set->count; i-- > 0;)
		pass_add_role(p, i, &p->set->items[i]->end, exprs, &count);
	for (size_t i = 0; i < p->set->count; i++)
		pass_add_role(p, i, &p->set->items[i]->begin, exprs, &count);
	p->columns = 1ull << OP_START | 1ull << OP_DUR | 1ull << OP_THREAD_ID | 1ull << OP_STATUS;
	for (size_t i = 0; i < count; i++)
		p->columns |= expr_columns(exprs[i]);
	r = eval_new(&p->eval, exprs, count, err);
	if (r < 0)
		return r;
	r = eval_names(p->eval, dims, err);
	return r < 0 ? r : eval_scratch_new(&p->scratch, p->eval);
}

/* ---- taking values ---- */

/* The id, among all texts, of a word of an expression. */
static int store_word(struct pass *p, struct role_store *s, size_t take, int64_t word, int64_t *ret)
{
	const struct bytes *words;
	size_t count = eval_words(p->eval, s->takes + take, &words);
	uint32_t number;
	int r = grow_zeroed((void **)&s->words[take], &s->words_cap[take], count,
			    sizeof(*s->words[take]));

	assert(word >= 0 && (size_t)word < count);
	if (r < 0)
		return r;
	if (!s->words[take][word]) {
		r = intern_add(&p->to->texts, words[word].data, words[word].len, &number);
		if (r < 0)
			return r;
		s->words[take][word] = number + 1;
	}
	*ret = s->words[take][word] - 1;
	return 0;
}

static int store_value(struct pass *p, struct role_store *s, size_t take, const struct vector *v,
		       size_t i, int64_t *ret)
{
	uint32_t number;
	int r;

	if (v->words)
		return store_word(p, s, take, v->i[i], ret);
	if (v->type.type == QUERY_FLOAT) {
		memcpy(ret, &v->f[i], sizeof(*ret));
		return 0;
	}
	if (v->type.type == QUERY_TEXT) {
		r = intern_add(&p->to->texts, v->t[i].data, v->t[i].len, &number);
		*ret = number;
		return r;
	}
	*ret = v->i[i];
	return 0;
}

static int store_take(struct pass *p, struct role_store *s, const struct batch *b, size_t take,
		      size_t n)
{
	const size_t stride = s->role->take_count;
	struct vector v;
	int r = eval_rows(p->eval, p->scratch, s->takes + take, b, p->rows, n, &v);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r >= 0; i++) {
		size_t at = s->count + i;

		if (v.nulls && v.nulls[i / 64] >> (i % 64) & 1)
			s->nulls[at] |= 1u << take;
		else
			r = store_value(p, s, take, &v, i, &s->val[at * stride + take]);
	}
	return r;
}

/* Marks the rows of a role and takes their values. */
static int store_rows(struct pass *p, struct role_store *s, uint64_t mark, const struct batch *b,
		      const uint32_t *rows, size_t count)
{
	const size_t stride = s->role->take_count;
	ssize_t n = (ssize_t)count;
	int r;

	if (s->own != SIZE_MAX)
		n = eval_filter(p->eval, p->scratch, s->own, b, rows, count, p->rows);
	else
		memcpy(p->rows, rows, count * sizeof(*rows));
	if (n <= 0)
		return (int)n;
	r = grow((void **)&s->val, &s->val_cap, (s->count + (size_t)n) * MAX(stride, 1u),
		 sizeof(*s->val));
	if (r >= 0)
		r = grow((void **)&s->nulls, &s->nulls_cap, s->count + (size_t)n,
			 sizeof(*s->nulls));
	if (r < 0)
		return r;
	memset(s->nulls + s->count, 0, (size_t)n * sizeof(*s->nulls));
	for (size_t i = 0; i < stride && r >= 0; i++)
		r = store_take(p, s, b, i, (size_t)n);
	for (ssize_t i = 0; i < n; i++)
		p->marks[p->rows[i]] |= mark;
	s->at = s->count;
	s->count += (size_t)n;
	return r;
}

/* ---- events of rows ---- */

/*
 * A call entered before recording has no start or duration: it ended between the preceding and the following row. The
 * later time is used, because what it answers (as an accept answers a connect) may have begun between the two.
 */
static void pass_settle(struct pass *p, const struct batch *b, uint32_t row, int64_t end)
{
	struct events *e = &p->exits;

	if (batch_is_null(b, OP_START, row) || batch_is_null(b, OP_DUR, row))
		return;
	for (; p->unsettled; p->unsettled--) {
		struct period_event *ev = &e->items[e->count - p->unsettled];

		ev->time = MAX(ev->time, end - 1);
	}
}

static int period_pass_row(struct pass *p, const struct batch *b, uint32_t row, int64_t end)
{
	const int64_t start = batch_get(b, OP_START, row, INT64_MIN);
	const bool running = batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED;
	struct period_event ev = {.thread = batch_get(b, OP_THREAD_ID, row, -1), .call = start};
	uint64_t marks = p->marks[row];
	int r = 0;

	for (; marks && r >= 0; marks &= marks - 1) {
		struct role_store *s = &p->roles[__builtin_ctzll(marks)];
		bool enter = s->role->enter;
		struct events *to;

		ev.order = (uint32_t)__builtin_ctzll(marks);
		ev.at = (uint32_t)s->at++;
		ev.time = enter ? start : end;
		/* an unfinished call has no end, one entered before recording has no beginning */
		if (enter ? start == INT64_MIN : running)
			continue;
		to = enter ? &p->entries : &p->exits;
		r = array_add(to->items, to->count, to->cap, ev);
		p->unsettled += !enter && start == INT64_MIN;
	}
	p->marks[row] = 0;
	return r;
}

static int event_compare(const struct pass *p, const struct period_event *a,
			 const struct period_event *b)
{
	bool x = p->roles[a->order].role->enter, y = p->roles[b->order].role->enter;
	int r = ORDER(a->time, b->time) ?: ORDER(a->thread, b->thread);

	return r ?: ORDER(a->call, b->call) ?: ORDER(y, x) ?: ORDER(a->order, b->order);
}

static int event_compare_of(const void *a, const void *b, void *arg)
{
	return event_compare(arg, a, b);
}

/* The stream is sorted by time; this sorts events of equal time. */
static void exits_sort(struct pass *p, size_t count)
{
	struct period_event *e = p->exits.items;

	for (size_t i = p->exits.at, n; i < count; i += n) {
		for (n = 1; i + n < count && e[i + n].time <= e[i].time; n++)
			;
		if (n > 1)
			qsort_r(e + i, n, sizeof(*e), event_compare_of, p);
	}
}

/* ---- passing events to the matcher ---- */

static int pass_lost(struct pass *p, int64_t until, struct error *err)
{
	struct period_lost one;
	int r = 0;

	while (r >= 0 && period_losses_next(&p->lost, until, &one))
		r = period_matcher_lost(p->matcher, one.thread, one.at, one.known, err);
	return r;
}

static int pass_give(struct pass *p, const struct period_event *ev, struct error *err)
{
	const struct role_store *s = &p->roles[ev->order];
	int r = pass_lost(p, ev->time, err);

	p->late += ev->time < p->given;
	p->given = MAX(p->given, ev->time);

	return r < 0 ? r
		     : period_matcher_event(p->matcher, s->period, s->role->end, ev,
					    s->val + (size_t)ev->at * s->role->take_count,
					    s->nulls[ev->at], err);
}

static void events_first(const struct events *e, uint32_t *first)
{
	for (size_t i = e->at; i < e->count; i++)
		first[e->items[i].order] = MIN(first[e->items[i].order], e->items[i].at);
}

static void events_keep(struct events *e, const uint32_t *first)
{
	for (size_t i = e->at; i < e->count; i++) {
		e->items[i - e->at] = e->items[i];
		e->items[i - e->at].at -= first[e->items[i].order];
	}
	e->count -= e->at;
	e->at = 0;
}

/* Keeps, for each role, the values of events not yet passed on. */
static void pass_keep(struct pass *p)
{
	uint32_t first[ROLES_MAX];

	memset(first, 0xff, sizeof(first));
	events_first(&p->exits, first);
	events_first(&p->entries, first);
	for (size_t i = 0; i < p->role_count; i++) {
		struct role_store *s = &p->roles[i];
		size_t from = MIN(first[i], s->count), stride = s->role->take_count;

		if (from && from < s->count) {
			memmove(s->val, s->val + from * stride,
				(s->count - from) * stride * sizeof(*s->val));
			memmove(s->nulls, s->nulls + from, (s->count - from) * sizeof(*s->nulls));
		}
		s->count -= from;
		first[i] = (uint32_t)from;
	}
	events_keep(&p->exits, first);
	events_keep(&p->entries, first);
}

static void events_sort(struct pass *p, struct events *e, size_t count)
{
	if (count > e->at)
		qsort_r(e->items + e->at, count - e->at, sizeof(*e->items), event_compare_of, p);
}

/* How many of the first `count` are before `until`. */
static size_t events_before(const struct events *e, size_t count, int64_t until)
{
	while (until != INT64_MAX && count > e->at && e->items[count - 1].time >= until)
		count--;
	return count;
}

/* Passes on events that no later row can precede: those before `until`; INT64_MAX: all. */
static int pass_flush(struct pass *p, int64_t until, struct error *err)
{
	struct events *x = &p->exits, *e = &p->entries;
	size_t count = until == INT64_MAX ? x->count : x->count - p->unsettled, entries;
	int r = 0;

	if (until == INT64_MIN)
		return 0;
	if (p->follow)
		events_sort(p, x, count);
	else
		exits_sort(p, count);
	events_sort(p, e, e->count);
	count = events_before(x, count, until);
	entries = events_before(e, e->count, until);
	while ((x->at < count || e->at < entries) && r >= 0) {
		bool entry = x->at == count ||
			     (e->at < entries &&
			      event_compare(p, &e->items[e->at], &x->items[x->at]) < 0);

		if ((x->at + e->at) % STOP_EVERY == 0 && analysis_stopped(p->in))
			return error_set(err, -EINTR, "interrupted");
		r = pass_give(p, entry ? &e->items[e->at++] : &x->items[x->at++], err);
	}
	if (r < 0)
		return r;
	pass_keep(p);
	return r;
}

/* ---- the pass ---- */

static int pass_batch(struct pass *p, const struct batch *b, const uint32_t *rows, size_t n,
		      struct period_pass *ret)
{
	int r = 0;

	for (size_t i = 0; i < p->role_count && r >= 0; i++)
		r = store_rows(p, &p->roles[i], 1ull << i, b, rows, n);
	for (size_t i = 0; i < n && r >= 0; i++) {
		int64_t end = engine_scan_end(p->scan, rows[i]);

		p->newest = MAX(p->newest, end);
		pass_settle(p, b, rows[i], end);
		if (!p->marks[rows[i]])
			continue;
		ret->events += (uint64_t)__builtin_popcountll(p->marks[rows[i]]);
		r = period_pass_row(p, b, rows[i], end);
	}
	ret->rows += n;
	if (p->exits.count + p->entries.count > UINT32_MAX / 2)
		return -E2BIG;
	return r;
}

/* After rows were read: notes the difference between the trace's clock and this machine's. */
static void pass_look_at_clock(struct pass *p)
{
	p->read = clock_monotonic_ns();
	p->behind = clock_between(p->newest, clock_realtime_ns());
	p->ahead = MAX(p->ahead, -p->behind);
}

/* The time up to which all relevant events have been read. */
static int64_t pass_until(const struct pass *p)
{
	if (!p->follow)
		return p->enters || !p->exits.count ? INT64_MIN
						    : p->exits.items[p->exits.count - 1].time;
	if (p->behind < FOLLOW_LIVE_NS)
		return add_sat_signed(clock_realtime_ns() - FOLLOW_HOLD_NS, p->ahead);
	/* a copy, or the first part of a long one: continue by its own time, or flush if nothing comes any more */
	return clock_monotonic_ns() - p->read < FOLLOW_HOLD_NS
		       ? add_sat_signed(p->newest, -FOLLOW_HOLD_NS)
		       : add_sat_signed(p->newest, 1);
}

static int pass_begin(struct pass *p, const struct analysis_run *run, struct error *err)
{
	const struct dims *dims = store_dims(run->store);
	struct scan_request q = {.table = TABLE_OP,
				 .from = run->from,
				 .to = run->to,
				 .filter = run->where,
				 .follow = p->follow};
	int r = pass_prepare(p, dims, err);

	p->given = INT64_MIN;
	p->newest = INT64_MIN;
	q.columns = p->columns;
	if (r < 0)
		return r;
	r = period_matcher_new(&p->matcher, p->set, dims, p->to, err);
	if (r < 0)
		return r;
	r = period_losses_read(&p->lost, run, dims, err);
	return r < 0 ? r : engine_scan_new(&p->scan, run->store, &q, err);
}

/* Reads the next rows: 1, 0 if there are none, negative. */
static int pass_read(struct pass *p, const struct analysis_run *run, struct period_pass *ret,
		     struct error *err)
{
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n = engine_scan_next(p->scan, &b, &rows, err);
	int r = n < 0 ? (int)n : 0;

	if (analysis_stopped(p->in))
		return error_set(err, -EINTR, "interrupted");
	if (r >= 0 && p->follow)
		r = eval_names(p->eval, store_dims(run->store), err);
	if (n <= 0 || r < 0)
		return r;
	r = pass_batch(p, b, rows, (size_t)n, ret);
	return r < 0 ? error_errno(err, r, "matching periods") : 1;
}

static int pass_end(struct pass *p, struct period_pass *ret, struct error *err)
{
	int r = pass_flush(p, INT64_MAX, err);

	if (r >= 0)
		r = pass_lost(p, INT64_MAX, err);
	ret->losses = p->lost.at;
	ret->late = p->late;
	return r < 0 ? r : period_matcher_finish(p->matcher, err);
}

int period_pass_run(const struct period_set *set, const struct analysis_input *in,
		    const struct analysis_run *run, struct period_matches *to,
		    struct period_pass *ret, struct error *err)
{
	_cleanup_(pass_free) struct pass p = {.in = in, .set = set, .to = to};
	int r = pass_begin(&p, run, err);

	*ret = (struct period_pass){0};
	while (r >= 0 && (r = pass_read(&p, run, ret, err)) > 0)
		r = pass_flush(&p, pass_until(&p), err);
	if (r >= 0)
		r = pass_end(&p, ret, err);
	return r < 0 ? error_errno(err, r, "matching periods") : 0;
}

/* ---- growing traces ---- */

struct period_follow {
	struct pass pass;
	const struct analysis_run *run;
};

int period_follow_new(struct period_follow **ret, const struct period_set *set,
		      const struct analysis_input *in, const struct analysis_run *run,
		      struct period_matches *to, struct error *err)
{
	struct period_follow *f = calloc(1, sizeof(*f));

	*ret = f;
	if (!f)
		return error_set(err, -ENOMEM, "out of memory");
	assert(to->live);
	f->run = run;
	f->pass = (struct pass){.in = in, .set = set, .to = to, .follow = true};
	return pass_begin(&f->pass, run, err);
}

void period_follow_free(struct period_follow *f)
{
	if (f)
		pass_free(&f->pass);
	free(f);
}

static int store_move_texts(struct pass *p, struct role_store *s, const struct intern *old)
{
	const size_t stride = s->role->take_count;
	int r = 0;

	for (size_t take = 0; take < stride; take++) {
		if (s->words_cap[take])
			memset(s->words[take], 0, s->words_cap[take] * sizeof(*s->words[take]));
		if (s->role->takes[take].expr->type.type != QUERY_TEXT)
			continue;
		for (size_t i = 0; i < s->count && r >= 0; i++) {
			if (!(s->nulls[i] >> take & 1))
				r = period_text_move(old, &p->to->texts,
						     &s->val[i * stride + take]);
		}
	}
	return r;
}

/* Drops texts that neither open periods nor waiting events use, once they may be half of all texts. */
static int pass_forget_texts(struct pass *p)
{
	struct intern old = p->to->texts;
	int r = 0;

	if (old.len + old.count < 2 * p->texts_len + TEXTS_LEN_MIN)
		return 0;
	p->to->texts = (struct intern){0};
	for (size_t i = 0; i < p->role_count && r >= 0; i++)
		r = store_move_texts(p, &p->roles[i], &old);
	if (r >= 0)
		r = period_matcher_move(p->matcher, &old);
	intern_free(&old);
	p->texts_len = p->to->texts.len + p->to->texts.count;
	return r;
}

int period_follow_next(struct period_follow *f, struct period_pass *sums, struct error *err)
{
	struct pass *p = &f->pass;
	const struct store *s = f->run->store;
	bool more = true;
	int r = 0;

	while (r >= 0 && more && p->to->ended_count < FOLLOW_ROWS) {
		/* tested before reading, so that the rows include the last ones */
		bool grows = store_is_open_ended(s);

		r = pass_read(p, f->run, sums, err);
		more = r > 0;
		if (!r)
			r = period_losses_read(&p->lost, f->run, store_dims(s), err);
		if (more)
			pass_look_at_clock(p);
		if (r >= 0 && (more || grows))
			r = pass_flush(p, pass_until(p), err);
		if (r >= 0 && (more || grows))
			r = pass_forget_texts(p);
		else if (r >= 0)
			return pass_end(p, sums, err);
	}
	sums->late = p->late;
	return r < 0 ? error_errno(err, r, "matching periods") : 1;
}
