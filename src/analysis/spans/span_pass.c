// SPDX-License-Identifier: Apache-2.0
/* span_pass.c: the pass over the calls, and the sums of their spans. */
#include <errno.h>
#include <string.h>

#include "analysis/spans/span_joins.h"
#include "analysis/spans/spans.h"
#include "base/array.h"
#include "base/saturate.h"
#include "query/eval/eval.h"
#include "schema/vocab.h"

/* ns after the end of the last span within which its calls may end */
#define SPAN_AHEAD_MAX 1000000000ll
#define PASS_COLUMNS                                                                            \
	(1ull << OP_START | 1ull << OP_DUR | 1ull << OP_THREAD_ID | 1ull << OP_KIND |           \
	 1ull << OP_OP | 1ull << OP_CLASS | 1ull << OP_ERR | 1ull << OP_BYTES | 1ull << OP_A1 | \
	 1ull << OP_RUNQ | 1ull << OP_IO_WAIT | 1ull << OP_SLEEP | 1ull << OP_CPU_TIME |        \
	 1ull << OP_IO_QUEUED | 1ull << OP_IO_DEVICE)

static const char *const time_words[] = {"program", "stalled", "data", "meta",	"sync",
					 "net",	    "lock",    "wait", "other", "unselected"};
static_assert(ARRAY_SIZE(time_words) == SPAN_TIMES, "each part of the time has its word");
static const char *const phase_words[] = {"cpu", "runq", "io_wait", "sleep", "queued", "device"};
static_assert(ARRAY_SIZE(phase_words) == SPAN_PHASES, "each phase has its word");

const char *span_time_word(unsigned int t)
{
	return t < SPAN_TIMES ? time_words[t] : NULL;
}

const char *span_phase_word(unsigned int p)
{
	return p < SPAN_PHASES ? phase_words[p] : NULL;
}

enum span_time span_time_of(const struct batch *b, size_t row)
{
	int64_t op = batch_get(b, OP_OP, row, -1);
	const char *word;

	switch (batch_get(b, OP_CLASS, row, CLASS_OTHER)) {
	case CLASS_DATA:
		return SPAN_DATA;
	case CLASS_META:
		return SPAN_META;
	case CLASS_SYNC:
		return SPAN_SYNC;
	case CLASS_NET:
		return SPAN_NET;
	case CLASS_WAIT:
		word = vocab_word("op", op);
		return word && !strncmp(word, "futex", 5) ? SPAN_LOCK : SPAN_WAIT;
	default:
		return SPAN_OTHER;
	}
}

/* ---- sums ---- */

static int span_sum_phases(struct spans *s, struct span *k, const struct batch *b, size_t row,
			   int64_t part, int64_t dur)
{
	static const unsigned int columns[SPAN_PHASES] = {OP_CPU_TIME, OP_RUNQ,	     OP_IO_WAIT,
							  OP_SLEEP,    OP_IO_QUEUED, OP_IO_DEVICE};

	if (batch_is_null(b, OP_CPU_TIME, row)) {
		k->sums.unphased++;
		return 0;
	}
	if (!s->phases)
		s->phases = calloc(s->count, sizeof(*s->phases));
	if (!s->phases)
		return -ENOMEM;
	for (unsigned int i = 0; i < SPAN_PHASES; i++) {
		int64_t v = batch_get(b, columns[i], row, 0), *sum = &s->phases[k - s->all][i];

		*sum = add_sat_signed(*sum,
				      part == dur || !dur
					      ? v
					      : (int64_t)((double)v * (double)part / (double)dur));
	}
	return 0;
}

static bool span_waits(enum span_time t)
{
	return t == SPAN_LOCK || t == SPAN_WAIT;
}

/* The first piece of the children that ends after `at`. */
static uint32_t span_below(const struct spans *s, const struct span *of, int64_t at)
{
	return (uint32_t)array_first(i, of->below, of->below + (size_t)of->below_count,
				     s->below[i].stop > at);
}

/* Adds a wait to k, its span or an ancestor, without the times at which a child of k is open. */
static int span_sum_wait(struct spans *s, struct span *k, const struct span_call *c, int64_t start,
			 int64_t stop, enum span_time t)
{
	const struct span *of = &s->all[c->span];
	uint32_t end = of->below + of->below_count;
	int r = 0;

	for (uint32_t i = span_below(s, of, start); start < stop && r >= 0; i++) {
		bool last = i >= end || s->below[i].start >= stop;
		int64_t until = last ? stop : MAX(s->below[i].start, start);
		int64_t *alone = &k->sums.alone[t - SPAN_LOCK];

		r = span_covers_add(s, k, c->unselected ? SPAN_ALL : SPAN_CALLS, start, until);
		if (!c->unselected)
			*alone = add_sat_signed(*alone, until - start);
		start = last ? stop : s->below[i].stop;
	}
	return r;
}

/* The time at which a wait was over, though its thread had no CPU until it returned; its end if unknown. */
static int64_t span_woken(const struct spans *s, const struct span_call *c, int64_t start,
			  int64_t stop)
{
	int64_t runq = s->sched && stop == c->stop ? batch_get(c->b, OP_RUNQ, c->row, 0) : 0;

	if (stop <= start || runq <= 0)
		return stop;
	return runq > stop - start ? start : stop - runq;
}

static int span_count(struct spans *s, struct span *k, const struct span_call *c, enum span_time t,
		      int64_t part)
{
	k->sums.calls++;
	k->sums.errors += !batch_is_null(c->b, OP_ERR, c->row);
	k->sums.bytes = add_sat_signed(k->sums.bytes, batch_get(c->b, OP_BYTES, c->row, 0));
	k->sums.summed[t] = add_sat_signed(k->sums.summed[t], part);
	return span_sum_phases(s, k, c->b, c->row, part, c->stop - c->start);
}

static int span_sum_one(struct spans *s, struct span *k, const struct span_call *c,
			enum span_time t)
{
	int64_t start = MAX(c->start, k->start), stop = MIN(c->stop, k->stop), woken;
	int r = c->unselected ? 0 : span_count(s, k, c, t, MAX(stop - start, (int64_t)0));

	if (r < 0)
		return r;
	if (span_waits(t)) {
		woken = span_woken(s, c, start, stop);
		r = span_covers_add(s, k, SPAN_OFF, woken, stop);
		return r < 0 ? r : span_sum_wait(s, k, c, start, woken, t);
	}
	return span_covers_add(s, k, c->unselected ? SPAN_ALL : SPAN_BUSY, start, stop);
}

/*
 * Adds a call of another thread for which the span waited, separately from the span's own sums. Counted once per span,
 * even if several of its descendants waited.
 */
static void span_sum_waited(struct spans *s, const struct span_call *c)
{
	for (uint32_t at = c->span; at != SPAN_NONE; at = s->all[at].parent) {
		struct span_sums *k = &s->all[at].sums;

		k->waited = add_sat_signed(k->waited, c->part);
		k->waited_calls += k->waited_seen != c->seen;
		k->waited_seen = c->seen;
	}
}

/* Adds a call to its span and all ancestors. */
static int span_sum_call(struct spans *s, const struct span_call *c)
{
	enum span_time t = span_time_of(c->b, c->row);
	int r = 0;

	assert(c->via >= VIA_CONTEXT && c->via < VIA_TIME);
	if (!c->unselected) {
		s->calls_via[c->via - VIA_CONTEXT]++;
		s->time_via[c->via - VIA_CONTEXT] =
			add_sat_signed(s->time_via[c->via - VIA_CONTEXT], c->part);
	}
	if (c->via == VIA_WAIT) {
		if (!c->unselected)
			span_sum_waited(s, c);
		return 0;
	}
	s->all[c->span].sums.own_calls += !c->unselected;
	for (uint32_t at = c->span; at != SPAN_NONE && r >= 0; at = s->all[at].parent)
		r = span_sum_one(s, &s->all[at], c, t);
	span_covers_trim(s, c->stop);
	return r;
}

/* The same for a time without a CPU. */
static int span_sum_stall(struct spans *s, uint32_t span, int64_t start, int64_t stop)
{
	int r = 0;

	for (uint32_t at = span; at != SPAN_NONE && r >= 0; at = s->all[at].parent) {
		struct span *k = &s->all[at];

		r = span_covers_add(s, k, SPAN_OFF, MAX(start, k->start), MIN(stop, k->stop));
	}
	span_covers_trim(s, stop);
	return r;
}

/* Distributes `all` in proportion to time[from .. to); the remainder of the division goes to the largest part. */
static void span_share(int64_t time[static SPAN_TIMES], unsigned int from, unsigned int to,
		       int64_t all)
{
	int64_t sum = 0, left = all;
	unsigned int most = from;

	for (unsigned int i = from; i < to; i++)
		sum = add_sat_signed(sum, time[i]);
	for (unsigned int i = from; i < to; i++) {
		time[i] = sum ? (int64_t)((double)all * ((double)time[i] / (double)sum)) : 0;
		left -= time[i];
		if (time[i] > time[most])
			most = i;
	}
	time[most] += sum ? left : 0;
}

void spanset_times(const struct span *k, int64_t ret[static SPAN_TIMES])
{
	const struct span_sums *m = &k->sums;
	int64_t length[SPAN_COVERS], busy, any, all, off;

	assert(!m->covers);
	for (unsigned int c = 0; c < SPAN_COVERS; c++)
		length[c] = MIN(m->length[c], span_dur(k));
	any = length[SPAN_CALLS];
	busy = MIN(length[SPAN_BUSY], any);
	all = MAX(length[SPAN_ALL], any); /* estimates may be too short */
	off = MAX(length[SPAN_OFF], all);
	memcpy(ret, m->summed, sizeof(m->summed));
	ret[SPAN_LOCK] = m->summed[SPAN_OTHER]; /* besides calls that do not wait */
	span_share(ret, SPAN_DATA, SPAN_LOCK + 1, busy);
	ret[SPAN_OTHER] = ret[SPAN_LOCK];
	ret[SPAN_LOCK] = m->alone[0];
	ret[SPAN_WAIT] = m->alone[1];
	span_share(ret, SPAN_LOCK, SPAN_WAIT + 1, any - busy);
	ret[SPAN_UNSELECTED] = all - any;
	ret[SPAN_STALLED] = off - all;
	ret[SPAN_PROGRAM] = span_dur(k) - off;
}

const int64_t *spanset_phases(const struct spans *s, const struct span *k)
{
	static const int64_t none[SPAN_PHASES];

	return s->phases ? s->phases[k - s->all] : none;
}

/* ---- the pass ---- */

/* The part of a call within a span. */
static int64_t pass_part(const struct span *k, const struct span_call *c)
{
	int64_t start = MAX(c->start, k->start), stop = MIN(c->stop, k->stop);

	return MAX(stop - start, (int64_t)0);
}

struct span_passing {
	struct spans *s;
	const struct span_pass *p;
	/* the run's selection, if unselected calls are also passed on; else NULL */
	struct eval *eval;
	struct eval_scratch *scratch;
	uint32_t *selected; /* [BATCH_ROWS_MAX] */
	uint64_t seen;
};

static void span_passing_free(struct span_passing *at)
{
	if (at->scratch)
		eval_scratch_free(at->scratch);
	if (at->eval)
		eval_free(at->eval);
	free(at->selected);
}

static int span_passing_select(struct span_passing *at, const struct analysis_run *run,
			       struct error *err)
{
	int r;

	if (!run->where)
		return 0;
	at->selected = malloc(BATCH_ROWS_MAX * sizeof(*at->selected));
	r = at->selected ? eval_new(&at->eval, &run->where, 1, err) : -ENOMEM;
	if (r >= 0)
		r = eval_scratch_new(&at->scratch, at->eval);
	if (r >= 0)
		r = eval_names(at->eval, store_dims(run->store), err);
	return r < 0 ? error_errno(err, r, "cannot prepare the selection") : 0;
}

/*
 * True if the call belongs to a request that is open on the very thread of the waiting span: an event loop, which waits
 * for several requests at once.
 */
static bool span_is_beside(const struct spans *s, const struct span *waiting,
			   const struct span *member, const struct span_call *c)
{
	const struct span *root = &s->all[member->root];

	return waiting->root != member->root && waiting->thread_id >= 0 && root->thread_id >= 0 &&
	       root->start <= c->start && c->start < root->stop &&
	       span_places_task(s->places, root->thread_id, false) ==
		       span_places_task(s->places, waiting->thread_id, false);
}

static bool span_pass_gives(const struct span_passing *at)
{
	return at->p->sum || at->p->call;
}

static int span_pass_give(const struct span_passing *at, const struct span_call *c)
{
	int r = at->p->sum ? span_sum_call(at->s, c) : 0;

	return r < 0 || !at->p->call ? r : at->p->call(at->p->arg, c);
}

/* Passes on the spans that wait for the call: those of requests to which it does not belong. */
static int span_pass_waits(struct span_passing *at, uint32_t task, struct span_call *c,
			   const struct span_member *members, size_t count, bool *is_of)
{
	struct spans *s = at->s;
	ssize_t n = span_joins_of(s, task, c->b, c->row, c->start, c->stop);
	int r = n < 0 ? (int)n : 0;

	for (ssize_t i = 0; i < n && r >= 0; i++) {
		uint32_t root = s->all[s->joins->found[i].span].root;
		bool has = false;

		for (size_t k = 0; k < count; k++)
			has |= s->all[members[k].span].root == root ||
			       span_is_beside(s, &s->all[s->joins->found[i].span],
					      &s->all[members[k].span], c);
		if (has || (c->unselected && !at->p->unselected))
			continue;
		*is_of |= at->p->of != SPAN_NONE && root == s->all[at->p->of].root;
		c->span = s->joins->found[i].span;
		c->via = VIA_WAIT;
		c->part = s->joins->found[i].part;
		r = span_pass_give(at, c);
	}
	return r;
}

static int span_pass_row(struct span_passing *at, const struct batch *b, size_t row, int64_t end,
			 bool unselected)
{
	struct span_member members[SPAN_LANES_MAX];
	int64_t dur = MAX(batch_get(b, OP_DUR, row, 0), (int64_t)0),
		start = MAX(batch_get(b, OP_START, row, end - dur), (int64_t)0);
	struct span_call c = {.b = b,
			      .row = row,
			      .start = start,
			      .stop = add_sat_signed(start, dur),
			      .unselected = unselected,
			      .seen = ++at->seen};
	uint32_t task = span_places_task(at->s->places, batch_get(b, OP_THREAD_ID, row, -1), false);
	size_t n = span_places_of(at->s->places, task, b, row, start, members);
	bool told = span_pass_gives(at) && (!unselected || at->p->unselected), is_of = false;
	int r = at->p->row && !unselected ? at->p->row(at->p->arg, &c, members, n) : 0;

	for (size_t i = 0; i < n && told && r >= 0; i++) {
		const struct span *k = &at->s->all[members[i].span];

		is_of |= at->p->of != SPAN_NONE && k->root == at->s->all[at->p->of].root;
		c.span = members[i].span;
		c.via = members[i].via;
		c.part = pass_part(k, &c);
		r = span_pass_give(at, &c);
	}
	if (r >= 0 && span_pass_gives(at))
		r = span_pass_waits(at, task, &c, members, n, &is_of);
	if (r >= 0 && at->p->time && !unselected && !is_of && c.start < at->p->to &&
	    c.stop > at->p->from) {
		c.span = at->p->of;
		c.via = VIA_TIME;
		c.part = pass_part(&at->s->all[c.span], &c);
		r = span_pass_give(at, &c);
	}
	return r;
}

static int pass_sched(struct span_passing *at, const struct batch *b, size_t row)
{
	int64_t start = batch_get(b, SCHED_START, row, 0),
		stop = add_sat_signed(start, MAX(batch_get(b, SCHED_DUR, row, 0), (int64_t)0));
	uint32_t task =
		span_places_task(at->s->places, batch_get(b, SCHED_THREAD_ID, row, -1), false);
	/* by a clock other than the kernel's a span may seem to begin in the meantime; a span found twice counts once */
	int64_t looks[] = {start, stop - 1};
	int r = 0;

	/*
	 * A thread that blocks in a call resumes in it: the time belongs to that call. A preempted one may have left
	 * the call meanwhile.
	 */
	if (task == SPAN_NONE || stop <= start ||
	    (!batch_is_null(b, SCHED_OP, row) &&
	     batch_get(b, SCHED_WHY, row, WHY_PREEMPTED) < WHY_PREEMPTED))
		return 0;
	for (size_t k = 0; k < ARRAY_SIZE(looks) && r >= 0; k++) {
		uint32_t spans[SPAN_LANES_MAX];
		size_t n = span_places_look(at->s->places, task, looks[k], true, spans);

		for (size_t i = 0; i < n && r >= 0; i++)
			r = span_sum_stall(at->s, spans[i], start, stop);
	}
	return r;
}

/* Processes a run of calls from one batch. */
static int pass_calls(struct span_passing *at, const struct engine_merge *m, const struct batch *b,
		      const uint32_t *rows, size_t n)
{
	ssize_t selected =
		!at->eval ? 0 : eval_filter(at->eval, at->scratch, 0, b, rows, n, at->selected);
	ssize_t next = 0;
	int r = (int)MIN(selected, (ssize_t)0);

	for (size_t i = 0; i < n && r >= 0; i++) {
		bool unselected = at->eval && (next == selected || at->selected[next] != rows[i]);

		next += !unselected;
		r = span_pass_row(at, b, rows[i], engine_merge_end(m, rows[i]), unselected);
	}
	return r;
}

static int span_pass_rows(struct span_passing *at, const struct analysis_input *in,
			  struct engine_merge *m, struct error *err)
{
	const struct batch *b;
	const uint32_t *rows;
	size_t which;
	ssize_t n;
	int r = 0;

	while (r >= 0 && (n = engine_merge_next(m, &which, &b, &rows, err)) != 0) {
		if (n < 0)
			return (int)n;
		if (analysis_stopped(in))
			return error_set(err, -EINTR, "interrupted");
		if (!which)
			r = pass_calls(at, m, b, rows, (size_t)n);
		for (ssize_t i = 0; which && i < n && r >= 0; i++)
			r = pass_sched(at, b, rows[i]);
		if (r < 0)
			return error_errno(err, r, "cannot read the calls of the spans");
	}
	return r;
}

int spanset_pass(struct spans *s, const struct analysis_input *in, const struct analysis_run *run,
		 const struct span_pass *p, struct error *err)
{
	_cleanup_(engine_merge_freep) struct engine_merge *m = NULL;
	_cleanup_(span_passing_free) struct span_passing at = {.s = s, .p = p};
	int64_t to = p->to > INT64_MAX - SPAN_AHEAD_MAX ? INT64_MAX : p->to + SPAN_AHEAD_MAX;
	/* unfinished calls are in no range, unless it is open */
	bool open = to > run->last;
	const struct scan_request q[] = {
		{.table = TABLE_OP,
		 .columns = p->columns | PASS_COLUMNS | (run->where ? expr_columns(run->where) : 0),
		 .from = open ? MIN(p->from, s->earliest) : p->from,
		 .to = open ? INT64_MAX : to,
		 .unended = open,
		 .filter = p->unselected ? NULL : run->where},
		{.table = TABLE_SCHED,
		 .columns = 1ull << SCHED_START | 1ull << SCHED_DUR | 1ull << SCHED_THREAD_ID |
			    1ull << SCHED_OP | 1ull << SCHED_WHY,
		 .from = p->from,
		 .to = to},
	};
	int r = p->unselected ? span_passing_select(&at, run, err) : 0;

	if (r >= 0)
		r = engine_merge_new(&m, run->store, NULL, q, p->sum && s->sched ? 2 : 1, err);
	span_places_restart(s->places);
	span_joins_restart(s->joins);
	return r < 0 ? r : span_pass_rows(&at, in, m, err);
}
