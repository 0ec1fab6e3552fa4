// SPDX-License-Identifier: Apache-2.0
/*
 * span_places.c: which span a thread is in at a time. For each thread and lane, the spans are flattened to steps in
 * time, each with the innermost span from there on: of the open spans, the one that began last. A lookup is a search in
 * an array.
 */
#include <errno.h>

#include "analysis/spans/spans.h"
#include "base/array.h"
#include "base/map.h"
#include "base/saturate.h"
#include "names/names.h"
#include "schema/vocab.h"

/* part of its second argument, without the flags for private and clock */
#define FUTEX_COMMAND	  0x7f
#define FUTEX_WAIT_BITSET 9
#define TASKS_RECENT	  256 /* a power of two */

struct span_step {
	int64_t at;
	uint32_t span; /* SPAN_NONE: no span is open from here on */
};

struct span_lane {
	/* 0: spans of programs, and work handed over; else a period's definition */
	uint64_t name;
	size_t from, to, at; /* from, to: range of steps; at: the step found last */
	uint32_t next;	     /* next lane of the task, + 1 */
};

struct span_carry {
	int64_t start, stop;
	uint32_t span;
};

/* Work given to a task. */
struct span_handed {
	int64_t at;
	uint32_t span; /* SPAN_NONE: the work ends here */
};

/* A span and its lane. */
struct span_found {
	uint32_t span;
	uint64_t lane;
};

struct span_task {
	int64_t thread_id;
	uint32_t lanes; /* index of the first + 1; 0: none */
	struct span_carry *carries;
	size_t carry_count, carry_cap, carry_at;
	/* sorted by time; entries of one time belong to several lanes */
	struct span_handed *handed;
	size_t handed_count, handed_cap, handed_at;
};

/* Cache of the task of a thread version. */
struct span_recent {
	int64_t thread_id;
	size_t task;  /* index + 1; 0: none */
	size_t tasks; /* number of tasks at the time of the lookup */
};

struct span_places {
	const struct spans *s;
	const struct dims *dims;
	struct span_step *steps;
	size_t step_count, step_cap;
	struct span_lane *lanes;
	size_t lane_count, lane_cap;
	struct span_task *tasks;
	size_t task_count, task_cap;
	struct map by_thread, by_task;		 /* -> task */
	struct map by_lane;			 /* hash of task and name -> lane */
	struct span_recent recent[TASKS_RECENT]; /* indexed by the low bits of the thread's id */
	int64_t futex, futex_wait;
};

void span_places_free(struct span_places *p)
{
	for (size_t i = 0; i < p->task_count; i++) {
		free(p->tasks[i].carries);
		free(p->tasks[i].handed);
	}
	free(p->steps);
	free(p->lanes);
	free(p->tasks);
	map_free(&p->by_thread);
	map_free(&p->by_task);
	map_free(&p->by_lane);
	free(p);
}

static int place_task_make(struct span_places *p, uint64_t task)
{
	if (grow((void **)&p->tasks, &p->task_cap, p->task_count + 1, sizeof(*p->tasks)) < 0 ||
	    map_set(&p->by_task, task, p->task_count + 1) < 0)
		return -ENOMEM;
	p->tasks[p->task_count++] = (struct span_task){.thread_id = (int64_t)task};
	return 0;
}

/* The task of a thread version; NULL: none. With `make` it is created, and NULL means no memory. */
static struct span_task *place_task(struct span_places *p, int64_t thread_id, bool make)
{
	struct span_recent *recent = &p->recent[(uint64_t)thread_id % TASKS_RECENT];
	uint64_t at = 0, task;

	if (recent->thread_id == thread_id &&
	    (recent->task || (!make && recent->tasks == p->task_count)))
		return recent->task ? &p->tasks[recent->task - 1] : NULL;
	if (!map_get(&p->by_thread, (uint64_t)thread_id, &at)) {
		task = (uint64_t)names_task(p->dims, thread_id);
		if (!map_get(&p->by_task, task, &at) && make && !place_task_make(p, task))
			at = p->task_count;
		/* a thread without a task is looked up again when there are more tasks */
		if (at && map_set(&p->by_thread, (uint64_t)thread_id, at) < 0)
			return NULL;
	}
	*recent = (struct span_recent){thread_id, at, p->task_count};
	return at ? &p->tasks[at - 1] : NULL;
}

static uint64_t place_lane_name(const struct span_places *p, const struct span *k)
{
	return k->period ? 1 + (uint64_t)p->s->all[k->root].name : 0;
}

/* The lane of a span, created if there is none. */
static int place_lane(struct span_places *p, const struct span *k, uint32_t *ret)
{
	uint64_t name = place_lane_name(p, k), key, at;
	struct span_task *t = place_task(p, k->thread_id, true);

	if (!t)
		return -ENOMEM;
	key = hash_u64((uint64_t)(t - p->tasks) ^ hash_u64(name));
	if (!map_get(&p->by_lane, key, &at)) {
		size_t lanes = 1;

		for (uint32_t i = t->lanes; i; i = p->lanes[i - 1].next)
			lanes++;
		if (lanes > SPAN_LANES_MAX)
			return -E2BIG;
		at = p->lane_count;
		if (grow((void **)&p->lanes, &p->lane_cap, at + 1, sizeof(*p->lanes)) < 0 ||
		    map_set(&p->by_lane, key, at) < 0)
			return -ENOMEM;
		p->lanes[p->lane_count++] = (struct span_lane){.name = name, .next = t->lanes};
		t->lanes = (uint32_t)p->lane_count;
	}
	*ret = (uint32_t)at;
	return 0;
}

/* ---- steps ---- */

struct span_edge {
	int64_t at;
	uint32_t lane, span;
	bool end;
};

static int edge_order(const void *a, const void *b)
{
	const struct span_edge *x = a, *y = b;

	int r = ORDER(x->lane, y->lane) ?: ORDER(x->at, y->at);

	/* the outer span begins first */
	return r ?: ORDER(y->end, x->end) ?: ORDER(x->span, y->span);
}

static int place_step(struct span_places *p, struct span_lane *l, int64_t at, uint32_t span)
{
	if (p->step_count > l->from && p->steps[p->step_count - 1].at == at) {
		p->steps[p->step_count - 1].span = span;
		return 0;
	}
	if (array_add(p->steps, p->step_count, p->step_cap, (struct span_step){at, span}) < 0)
		return -ENOMEM;
	l->to = p->step_count;
	return 0;
}

struct span_sweep {
	uint32_t *open; /* sorted by start; may still contain ended spans */
	size_t count, cap;
	uint8_t *ended; /* [spans] */
};

static int place_edge(struct span_places *p, struct span_sweep *w, const struct span_edge *e,
		      uint32_t *crossed)
{
	struct span_lane *l = &p->lanes[e->lane];

	if (!e->end) {
		if (array_add(w->open, w->count, w->cap, e->span) < 0)
			return -ENOMEM;
		return place_step(p, l, e->at, e->span);
	}
	w->ended[e->span] = 1;
	assert(w->count);
	if (w->open[w->count - 1] != e->span) {
		/* if spans end at the same time the outer one may come first: they do not cross */
		*crossed += p->s->all[w->open[w->count - 1]].stop > e->at;
		return 0;
	}
	while (w->count && w->ended[w->open[w->count - 1]])
		w->count--;
	return place_step(p, l, e->at, w->count ? w->open[w->count - 1] : SPAN_NONE);
}

static int place_edges(struct span_places *p, struct span_edge *edges, size_t count,
		       uint32_t *crossed)
{
	struct span_sweep w = {.ended = calloc(p->s->count + 1, 1)};
	int r = w.ended ? 0 : -ENOMEM;

	array_sort(edges, count, edge_order);
	for (size_t i = 0; i < count && r >= 0; i++) {
		if (!i || edges[i].lane != edges[i - 1].lane) {
			struct span_lane *l = &p->lanes[edges[i].lane];

			assert(!w.count);
			l->from = l->to = l->at = p->step_count;
		}
		r = place_edge(p, &w, &edges[i], crossed);
	}
	free(w.ended);
	free(w.open);
	return r;
}

int span_places_new(struct span_places **ret, struct spans *s, const struct dims *d)
{
	struct span_places *p = calloc(1, sizeof(*p));
	_cleanup_free_ struct span_edge *edges = malloc((2ull * s->count + 1) * sizeof(*edges));
	size_t count = 0;
	int r = 0;

	*ret = p;
	if (!p || !edges)
		return -ENOMEM;
	p->s = s;
	p->dims = d;
	p->futex = vocab_code("op", "futex");
	p->futex_wait = vocab_code("op", "futex_wait");
	for (uint32_t i = 0; i < s->count && r >= 0; i++) {
		const struct span *k = &s->all[i];
		/* a running span also has the calls that begin at the very end of the trace */
		int64_t stop = add_sat_signed(k->stop, k->status == SPAN_STATUS_RUNNING);
		uint32_t lane = 0;

		if (k->thread_id < 0 || k->of_context || stop <= k->start)
			continue;
		r = place_lane(p, k, &lane);
		edges[count++] = (struct span_edge){k->start, lane, i, false};
		edges[count++] = (struct span_edge){stop, lane, i, true};
	}
	return r < 0 ? r : place_edges(p, edges, count, &s->crossed);
}

/* ---- contexts ---- */

int span_places_context(struct span_places *p, int64_t thread_id, int64_t start, int64_t stop,
			uint32_t span)
{
	struct span_task *t = place_task(p, thread_id, true);

	return t ? array_add(t->carries, t->carry_count, t->carry_cap,
			     (struct span_carry){start, stop, span})
		 : -ENOMEM;
}

static int carry_order(const void *a, const void *b)
{
	const struct span_carry *x = a, *y = b;

	return ORDER(x->start, y->start);
}

void span_places_ready(struct span_places *p)
{
	for (size_t i = 0; i < p->task_count; i++)
		array_sort(p->tasks[i].carries, p->tasks[i].carry_count, carry_order);
}

void span_places_restart(struct span_places *p)
{
	for (size_t i = 0; i < p->task_count; i++) {
		p->tasks[i].handed_at = 0;
		p->tasks[i].carry_at = 0;
	}
	for (size_t i = 0; i < p->lane_count; i++)
		p->lanes[i].at = p->lanes[i].from;
}

/* ---- lookups ---- */

/*
 * The last of the entries [low, high), sorted by time, that begins not after `at`; low if none does. Each entry starts
 * with its time. `was` is the previous result, which usually is the result again, or directly before it.
 */
static size_t place_find(const void *entries, size_t size, size_t low, size_t high, size_t was,
			 int64_t at)
{
	const uint8_t *all = entries;

	if (*(const int64_t *)(all + was * size) <= at)
		low = was;
	while (high - low > 1) {
		bool near = low + 1 == high - 1 || *(const int64_t *)(all + (low + 1) * size) > at;
		size_t middle = near ? low + 1 : low + (high - low) / 2;

		if (*(const int64_t *)(all + middle * size) <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static_assert(!offsetof(struct span_step, at) && !offsetof(struct span_carry, start) &&
		      !offsetof(struct span_handed, at),
	      "place_find() reads the time of an entry at its beginning");

static uint32_t place_carried(struct span_task *t, int64_t at)
{
	const struct span_carry *c;

	if (!t->carry_count)
		return SPAN_NONE;
	t->carry_at =
		place_find(t->carries, sizeof(*t->carries), 0, t->carry_count, t->carry_at, at);
	c = &t->carries[t->carry_at];
	return c->start <= at && at <= c->stop ? c->span : SPAN_NONE;
}

static uint32_t place_open(const struct span_places *p, struct span_lane *l, int64_t at)
{
	if (l->from == l->to || at < p->steps[l->from].at)
		return SPAN_NONE;
	l->at = place_find(p->steps, sizeof(*p->steps), l->from, l->to, l->at, at);
	return p->steps[l->at].span;
}

static bool place_has_lane(const struct span_found *h, size_t count, uint64_t lane)
{
	for (size_t i = 0; i < count; i++) {
		if (h[i].lane == lane)
			return true;
	}
	return false;
}

/* The first of the entries handed over last by then; handed_count: none. */
static size_t place_handed(struct span_task *t, int64_t at)
{
	size_t i;

	if (!t->handed_count || t->handed[0].at > at)
		return t->handed_count;
	i = MIN(t->handed_at, t->handed_count - 1); /* some may have been removed since */
	i = place_find(t->handed, sizeof(*t->handed), 0, t->handed_count, i, at);
	while (i && t->handed[i - 1].at == t->handed[i].at)
		i--;
	t->handed_at = i;
	return i;
}

/* What a thread works on at a time: its own spans and contexts, and work given to it. */
static size_t place_look(const struct span_places *p, struct span_task *t, int64_t at, bool given,
			 struct span_found ret[static SPAN_LANES_MAX], size_t *ret_own)
{
	uint32_t carried = place_carried(t, at);
	size_t n = 0;

	*ret_own = 0;
	if (carried != SPAN_NONE)
		ret[n++] = (struct span_found){carried, 0};
	for (uint32_t i = t->lanes; i && n < SPAN_LANES_MAX; i = p->lanes[i - 1].next) {
		struct span_lane *l = &p->lanes[i - 1];
		uint32_t span = !l->name && carried != SPAN_NONE ? SPAN_NONE : place_open(p, l, at);

		if (span != SPAN_NONE)
			ret[n++] = (struct span_found){span, l->name};
	}
	*ret_own = n;
	for (size_t i = given ? place_handed(t, at) : t->handed_count, first = i;
	     i < t->handed_count && t->handed[i].at == t->handed[first].at && n < SPAN_LANES_MAX;
	     i++) {
		uint32_t span = t->handed[i].span;
		uint64_t lane = span == SPAN_NONE ? 0 : place_lane_name(p, &p->s->all[span]);

		if (span != SPAN_NONE && !place_has_lane(ret, *ret_own, lane))
			ret[n++] = (struct span_found){span, lane};
	}
	return n;
}

bool span_places_is_idle(const struct span_places *p, const struct batch *b, size_t row)
{
	int64_t op = batch_get(b, OP_OP, row, -1);

	return op == p->futex_wait || (op == p->futex && (batch_get(b, OP_A1, row, 0) &
							  FUTEX_COMMAND) == FUTEX_WAIT_BITSET);
}

uint32_t span_places_task(struct span_places *p, int64_t thread_id, bool make)
{
	struct span_task *t = thread_id < 0 ? NULL : place_task(p, thread_id, make);

	return t ? (uint32_t)(t - p->tasks) : SPAN_NONE;
}

size_t span_places_tasks(const struct span_places *p)
{
	return p->task_count;
}

int64_t span_places_thread(const struct span_places *p, uint32_t task)
{
	return p->tasks[task].thread_id;
}

size_t span_places_look(struct span_places *p, uint32_t task, int64_t at, bool given,
			uint32_t ret[static SPAN_LANES_MAX])
{
	struct span_found got[SPAN_LANES_MAX];
	size_t ignored, n;

	assert(task < p->task_count);
	n = place_look(p, &p->tasks[task], at, given, got, &ignored);
	for (size_t i = 0; i < n; i++)
		ret[i] = got[i].span;
	return n;
}

/* True: it was given something by then, which goes on. */
static bool span_places_has(const struct span_places *p, uint32_t task)
{
	const struct span_task *t = &p->tasks[task];

	return t->handed_count && t->handed[t->handed_count - 1].span != SPAN_NONE;
}

int span_places_hand(struct span_places *p, uint32_t task, int64_t at, const uint32_t *spans,
		     size_t count)
{
	static const uint32_t none = SPAN_NONE;
	struct span_task *t = &p->tasks[task];
	struct span_found own[SPAN_LANES_MAX];
	size_t ignored, owned = place_look(p, t, at, false, own, &ignored), given = 0;

	/*
	 * of overlapping calls of one thread, which the kernel does not produce, the later one counts from the end of
	 * the other
	 */
	if (t->handed_count)
		at = MAX(at, t->handed[t->handed_count - 1].at);
	/* work received at the same time did not continue */
	while (t->handed_count && t->handed[t->handed_count - 1].at == at)
		t->handed_count--;
	for (size_t i = 0; i < count + 1; i++) {
		uint32_t span = i < count ? spans[i] : none;

		if (i == count ? given || !span_places_has(p, task)
			       : place_has_lane(own, owned, place_lane_name(p, &p->s->all[span])))
			continue;
		if (array_add(t->handed, t->handed_count, t->handed_cap,
			      (struct span_handed){at, span}) < 0)
			return -ENOMEM;
		given++;
	}
	return 0;
}

size_t span_places_of(struct span_places *p, uint32_t task, const struct batch *b, size_t row,
		      int64_t start, struct span_member ret[static SPAN_LANES_MAX])
{
	int64_t kind = batch_get(b, OP_KIND, row, 0);
	struct span_task *t = task == SPAN_NONE ? NULL : &p->tasks[task];
	struct span_found got[SPAN_LANES_MAX];
	bool idle = span_places_is_idle(p, b, row),
	     request = kind == KIND_IO_URING || kind == KIND_LIBAIO;
	size_t own = 0, n = t ? place_look(p, t, start, !idle, got, &own) : 0;
	bool context = t && own && !got[0].lane && place_carried(t, start) == got[0].span;

	for (size_t i = 0; i < n; i++) {
		ret[i].span = got[i].span;
		ret[i].via = !i && context	   ? VIA_CONTEXT
			     : i >= own || request ? VIA_WORK
						   : VIA_THREAD;
	}
	return n;
}
