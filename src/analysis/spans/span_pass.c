// SPDX-License-Identifier: Apache-2.0
/* span_pass.c: the pass over the calls, and what their spans get of them. */
#include <errno.h>
#include <string.h>

#include "analysis/spans/spans.h"
#include "schema/ops.h"
#include "base/saturate.h"
#include "schema/vocab.h"

#define SPAN_PIECES_OPEN 4096 /* kept of a span that is open, where there are too many */
#define SPAN_AHEAD_MAX \
	1000000000ll /* ns behind the end of the last span in which calls of it may end */

static const char *const time_words[] = {"program", "stalled", "data", "meta", "sync",
					 "net",	    "lock",    "wait", "other"};
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

/* ---- the union of intervals that come roughly in order of their end ---- */

static void cover_free(struct span_cover *c)
{
	free(c->pieces);
	c->pieces = NULL;
	c->count = c->cap = 0;
}

static int64_t cover_length(const struct span_cover *c)
{
	int64_t sum = c->before;

	for (uint32_t i = 0; i < c->count; i++)
		sum += c->pieces[i].stop - c->pieces[i].start;
	return sum;
}

/* Replaces the pieces [from, to) by one. 0 or -ENOMEM. */
static int cover_put(struct span_cover *c, uint32_t from, uint32_t to, struct span_piece piece)
{
	size_t cap = c->cap;

	if (grow((void **)&c->pieces, &cap, c->count + (size_t)1, sizeof(*c->pieces)) < 0)
		return -ENOMEM;
	c->cap = (uint32_t)cap;
	if (to < c->count)
		memmove(c->pieces + from + 1, c->pieces + to, (c->count - to) * sizeof(*c->pieces));
	c->pieces[from] = piece;
	c->count = c->count - to + from + 1;
	return 0;
}

/* *pieces counts those of all covers. *blurred: it reaches back into what was forgotten. 0 or -ENOMEM. */
static int cover_add(struct span_cover *c, int64_t start, int64_t stop, uint64_t *pieces,
		     bool *blurred)
{
	uint32_t was = c->count, from, to = c->count;
	int r;

	*blurred |= start < c->until;
	start = MAX(start, c->until);
	if (start >= stop)
		return 0;
	while (to && c->pieces[to - 1].start > stop) /* parts of a wait may lie far back */
		to--;
	for (from = to; from && c->pieces[from - 1].stop >= start; from--) {
		start = MIN(start, c->pieces[from - 1].start);
		stop = MAX(stop, c->pieces[from - 1].stop);
	}
	r = cover_put(c, from, to, (struct span_piece){start, stop});
	*pieces += c->count - (uint64_t)was;
	return r;
}

/* Adds up all but the last pieces, and gives their memory back where none is kept. How many are gone. */
static uint64_t cover_forget(struct span_cover *c, uint32_t keep)
{
	uint32_t gone = c->count > keep ? c->count - keep : 0;

	if (!gone)
		return 0;
	for (uint32_t i = 0; i < gone; i++)
		c->before += c->pieces[i].stop - c->pieces[i].start;
	c->until = c->pieces[gone - 1].stop;
	c->count -= gone;
	if (c->count)
		memmove(c->pieces, c->pieces + gone, c->count * sizeof(*c->pieces));
	else
		cover_free(c);
	return gone;
}

/*
 * Too many pieces: those of spans that ended are added up, of those that are open as many are kept as memory has room for. A
 * call that began before what was added up ended, and ends later, makes an estimate of it.
 */
static void spanset_forget(struct spans *s, int64_t now)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->covered_count; i++) {
		struct span *k = &s->all[s->covered[i]];
		bool open = k->stop >= now;

		s->pieces -= cover_forget(&k->sums.any, open ? SPAN_PIECES_OPEN : 0);
		s->pieces -= cover_forget(&k->sums.off, open ? SPAN_PIECES_OPEN : 0);
		s->pieces -= cover_forget(&k->sums.busy, open ? SPAN_PIECES_OPEN : 0);
		if (open)
			s->covered[kept++] = s->covered[i];
		else
			k->sums.listed = false;
	}
	s->covered_count = kept;
	if (s->pieces > s->pieces_most / 2) /* so many spans are open at once */
		s->pieces_most *= 2;
}

/* ---- sums ---- */

static void span_sum_phases(struct span_sums *k, const struct batch *b, size_t row, int64_t part,
			    int64_t dur)
{
	static const unsigned int columns[SPAN_PHASES] = {OP_CPU_TIME, OP_RUNQ,	     OP_IO_WAIT,
							  OP_SLEEP,    OP_IO_QUEUED, OP_IO_DEVICE};

	if (batch_is_null(b, OP_CPU_TIME, row)) {
		k->unphased++;
		return;
	}
	for (unsigned int i = 0; i < SPAN_PHASES; i++) {
		int64_t v = batch_get(b, columns[i], row, 0);

		k->phase[i] = add_sat_signed(
			k->phase[i], part == dur || !dur
					     ? v
					     : (int64_t)((double)v * (double)part / (double)dur));
	}
}

/* The span may get pieces from now on. */
static int span_list(struct spans *s, struct span *k)
{
	int r;

	if (k->sums.listed)
		return 0;
	r = grow((void **)&s->covered, &s->covered_cap, s->covered_count + 1, sizeof(*s->covered));
	if (r < 0)
		return r;
	s->covered[s->covered_count++] = (uint32_t)(k - s->all);
	k->sums.listed = true;
	return 0;
}

static bool span_waits(enum span_time t)
{
	return t == SPAN_LOCK || t == SPAN_WAIT;
}

/* A time in a call. */
static int span_cover(struct spans *s, struct span *k, int64_t start, int64_t stop)
{
	int r = cover_add(&k->sums.any, start, stop, &s->pieces, &k->sums.blurred);

	if (r < 0 || !s->sched)
		return r;
	return cover_add(&k->sums.off, start, stop, &s->pieces, &k->sums.blurred);
}

/* The first piece of the spans directly below that ends after `at`. */
static uint32_t span_below(const struct spans *s, const struct span *of, int64_t at)
{
	uint32_t low = of->below, high = of->below + of->below_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->below[middle].stop > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* A wait of the span `of`, in k, which is that one or above it: without the times at which one below `of` is open. */
static int span_sum_wait(struct spans *s, struct span *k, const struct span *of, int64_t start,
			 int64_t stop, enum span_time t)
{
	uint32_t end = of->below + of->below_count;
	int r = 0;

	for (uint32_t i = span_below(s, of, start); start < stop && r >= 0; i++) {
		bool last = i >= end || s->below[i].start >= stop;
		int64_t until = last ? stop : MAX(s->below[i].start, start);

		r = span_cover(s, k, start, until);
		k->sums.waited[t - SPAN_LOCK] =
			add_sat_signed(k->sums.waited[t - SPAN_LOCK], until - start);
		start = last ? stop : s->below[i].stop;
	}
	return r;
}

/* When a wait was over, and its thread had no CPU until it returned; its end, where that is not known. */
static int64_t span_woken(const struct spans *s, const struct span_call *c, int64_t start,
			  int64_t stop)
{
	int64_t runq = s->sched && stop == c->stop ? batch_get(c->b, OP_RUNQ, c->row, 0) : 0;

	if (stop <= start || runq <= 0)
		return stop;
	return runq > stop - start ? start : stop - runq;
}

static int span_sum_one(struct spans *s, struct span *k, const struct span_call *c,
			enum span_time t)
{
	int64_t start = MAX(c->start, k->start), stop = MIN(c->stop, k->stop),
		part = MAX(stop - start, (int64_t)0), dur = c->stop - c->start;
	int r = span_list(s, k);

	if (r < 0)
		return r;
	k->sums.calls++;
	k->sums.errors += !batch_is_null(c->b, OP_ERR, c->row);
	k->sums.bytes = add_sat_signed(k->sums.bytes, batch_get(c->b, OP_BYTES, c->row, 0));
	k->sums.summed[t] = add_sat_signed(k->sums.summed[t], part);
	span_sum_phases(&k->sums, c->b, c->row, part, dur);
	if (span_waits(t)) {
		int64_t woken = span_woken(s, c, start, stop);

		r = cover_add(&k->sums.off, woken, stop, &s->pieces, &k->sums.blurred);
		return r < 0 ? r : span_sum_wait(s, k, &s->all[c->span], start, woken, t);
	}
	r = span_cover(s, k, start, stop);
	return r < 0 ? r : cover_add(&k->sums.busy, start, stop, &s->pieces, &k->sums.blurred);
}

int spanset_sum(void *arg, const struct span_call *c)
{
	struct spans *s = arg;
	enum span_time t = span_time_of(c->b, c->row);
	int r = 0;

	assert(c->via >= VIA_CONTEXT && c->via < VIA_TIME);
	s->calls_via[c->via - VIA_CONTEXT]++;
	s->time_via[c->via - VIA_CONTEXT] =
		add_sat_signed(s->time_via[c->via - VIA_CONTEXT], c->part);
	s->all[c->span].sums.own_calls++;
	for (uint32_t at = c->span; at != SPAN_NONE && r >= 0; at = s->all[at].parent)
		r = span_sum_one(s, &s->all[at], c, t);
	if (s->pieces > s->pieces_most)
		spanset_forget(s, c->stop);
	return r;
}

int spanset_sum_stall(void *arg, uint32_t span, int64_t start, int64_t stop)
{
	struct spans *s = arg;
	int r = 0;

	for (uint32_t at = span; at != SPAN_NONE && r >= 0; at = s->all[at].parent) {
		struct span *k = &s->all[at];

		r = span_list(s, k);
		if (r >= 0)
			r = cover_add(&k->sums.off, MAX(start, k->start), MIN(stop, k->stop),
				      &s->pieces, &k->sums.blurred);
	}
	if (s->pieces > s->pieces_most)
		spanset_forget(s, stop);
	return r;
}

/* Parts of `all` in proportion to what was summed up for `from` up to `to`; what division leaves goes to the largest. */
static void span_share(struct span_sums *k, unsigned int from, unsigned int to, int64_t all)
{
	int64_t sum = 0, left = all;
	unsigned int most = from;

	for (unsigned int i = from; i < to; i++)
		sum = add_sat_signed(sum, k->time[i]);
	for (unsigned int i = from; i < to; i++) {
		k->time[i] = sum ? (int64_t)((double)all * ((double)k->time[i] / (double)sum)) : 0;
		left -= k->time[i];
		if (k->time[i] > k->time[most])
			most = i;
	}
	k->time[most] += sum ? left : 0;
}

static void span_settle_one(struct span *k)
{
	struct span_sums *m = &k->sums;
	int64_t any = MIN(cover_length(&m->any), span_dur(k)),
		busy = MIN(cover_length(&m->busy), any),
		off = MIN(cover_length(&m->off), span_dur(k));

	memcpy(m->time, m->summed, sizeof(m->time));
	m->time[SPAN_LOCK] = m->summed[SPAN_OTHER]; /* next to those that do not wait */
	span_share(m, SPAN_DATA, SPAN_LOCK + 1, busy);
	m->time[SPAN_OTHER] = m->time[SPAN_LOCK];
	m->time[SPAN_LOCK] = m->waited[0];
	m->time[SPAN_WAIT] = m->waited[1];
	span_share(m, SPAN_LOCK, SPAN_WAIT + 1, any - busy);
	m->time[SPAN_STALLED] = MAX(off - any, (int64_t)0);
	m->time[SPAN_PROGRAM] = span_dur(k) - any - m->time[SPAN_STALLED];
	cover_free(&m->any);
	cover_free(&m->busy);
	cover_free(&m->off);
}

void spanset_settle(struct spans *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		span_settle_one(&s->all[i]);
	s->pieces = 0;
	s->covered_count = 0;
}

/* ---- the pass ---- */

/* What of a call lies in a span. */
static int64_t pass_part(const struct span *k, const struct span_call *c)
{
	int64_t start = MAX(c->start, k->start), stop = MIN(c->stop, k->stop);

	return MAX(stop - start, (int64_t)0);
}

struct span_passing {
	struct spans *s;
	const struct span_pass *p;
};

static uint64_t pass_columns(void)
{
	static const unsigned int columns[] = {
		OP_START,   OP_DUR,   OP_THREAD_ID, OP_KIND,	  OP_OP,	OP_CLASS,
		OP_RET,	    OP_ERR,   OP_BYTES,	    OP_FD,	  OP_FILE_ID,	OP_POS,
		OP_SIZE,    OP_A1,    OP_PEER_ID,   OP_STATUS,	  OP_RUNQ,	OP_WAKER_ID,
		OP_IO_WAIT, OP_SLEEP, OP_CPU_TIME,  OP_IO_QUEUED, OP_IO_DEVICE,
	};
	uint64_t set = 0;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		set |= 1ull << columns[i];
	return set;
}

static int span_pass_row(struct span_passing *at, const struct batch *b, size_t row, int64_t end)
{
	struct span_member members[SPAN_LANES_MAX];
	int64_t dur = MAX(batch_get(b, OP_DUR, row, 0), (int64_t)0),
		start = MAX(batch_get(b, OP_START, row, end - dur), (int64_t)0);
	struct span_call c = {
		.b = b, .row = row, .start = start, .stop = add_sat_signed(start, dur)};
	ssize_t n = span_places_of(at->s->places, b, row, start, c.stop, members);
	bool is_of = false;
	int r = 0;

	if (n < 0)
		return (int)n;
	for (ssize_t i = 0; i < n && r >= 0; i++) {
		const struct span *k = &at->s->all[members[i].span];

		is_of |= at->p->of != SPAN_NONE && k->root == at->s->all[at->p->of].root;
		c.span = members[i].span;
		c.via = members[i].via;
		c.part = pass_part(k, &c);
		r = at->p->call(at->p->arg, &c);
	}
	if (r >= 0 && at->p->time && !is_of && c.start < at->p->to && c.stop > at->p->from) {
		c.span = at->p->of;
		c.via = VIA_TIME;
		c.part = pass_part(&at->s->all[c.span], &c);
		r = at->p->call(at->p->arg, &c);
	}
	return r;
}

static int pass_sched(struct span_passing *at, const struct batch *b, size_t row)
{
	int64_t start = batch_get(b, SCHED_START, row, 0),
		stop = add_sat_signed(start, MAX(batch_get(b, SCHED_DUR, row, 0), (int64_t)0));
	int64_t thread = batch_get(b, SCHED_THREAD_ID, row, -1);
	uint32_t spans[SPAN_LANES_MAX];
	size_t n;
	int r = 0;

	/* within a call it is that call's */
	if (!batch_is_null(b, SCHED_OP, row))
		return 0;
	n = span_places_at(at->s->places, thread, start, spans);

	for (size_t i = 0; i < n && r >= 0; i++)
		r = at->p->stall(at->p->arg, spans[i], start, stop);
	/* By another clock than the kernel's a span may seem to begin meanwhile; what is told twice counts once. */
	n = stop > start && r >= 0 ? span_places_at(at->s->places, thread, stop - 1, spans) : 0;
	for (size_t i = 0; i < n && r >= 0; i++)
		r = at->p->stall(at->p->arg, spans[i], start, stop);
	return r;
}

int spanset_pass(struct spans *s, const struct analysis_input *in, const struct analysis_run *run,
		 const struct span_pass *p, struct error *err)
{
	_cleanup_(engine_merge_freep) struct engine_merge *m = NULL;
	struct span_passing at = {.s = s, .p = p};
	int64_t to = p->to > INT64_MAX - SPAN_AHEAD_MAX ? INT64_MAX : p->to + SPAN_AHEAD_MAX;
	const struct scan_request q[] = {
		{.table = TABLE_OP,
		 .columns = pass_columns(),
		 .from = p->from,
		 .to = to,
		 .filter = run->where},
		{.table = TABLE_SCHED,
		 .columns = 1ull << SCHED_START | 1ull << SCHED_DUR | 1ull << SCHED_THREAD_ID |
			    1ull << SCHED_OP,
		 .from = p->from,
		 .to = to},
	};
	const struct batch *b;
	const uint32_t *rows;
	size_t which;
	ssize_t n;
	int r = engine_merge_new(&m, run->store, NULL, q, p->stall && s->sched ? 2 : 1, err);

	span_places_restart(s->places);
	while (r >= 0 && (n = engine_merge_next(m, &which, &b, &rows, err)) != 0) {
		if (n < 0)
			return (int)n;
		if (analysis_stopped(in))
			return error_set(err, -EINTR, "interrupted");
		for (ssize_t i = 0; i < n && r >= 0; i++)
			r = which ? pass_sched(&at, b, rows[i])
				  : span_pass_row(&at, b, rows[i], engine_merge_end(m, rows[i]));
		if (r < 0)
			return error_errno(err, r, "cannot read the calls of the spans");
	}
	return r;
}
