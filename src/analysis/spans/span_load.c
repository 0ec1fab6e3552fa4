// SPDX-License-Identifier: Apache-2.0
/* span_load.c: reads the spans of a trace, sorts them, and links them to their parents. */
#include "analysis/spans/spans.h"

#include <errno.h>

#include "analysis/spans/span_joins.h"
#include "base/array.h"
#include "base/map.h"
#include "base/saturate.h"
#include "schema/vocab.h"

/* Numbers of spans that were not recorded: JSON readers such as pages represent them exactly. */
#define NUMBER_MASK ((1ull << 53) - 1)

static_assert((int)SPAN_NUMBER == (int)PERIOD_NUMBER &&
		      (int)SPAN_ATTRIBUTES == (int)PERIOD_ATTRIBUTES,
	      "rows of both tables are read alike");

/* Data needed until parents are known. */
struct span_key {
	uint64_t self, parent;	       /* numbers, hashed with the recording; parent 0: none */
	uint64_t self_ids, parent_ids; /* the same for ids as text */
	uint32_t span;
	uint8_t period;
};

struct span_load {
	struct spans *s;
	struct span_key *keys; /* [spans] */
	size_t keys_cap;
	struct map by_number, by_ids; /* -> span */
	struct span_carried {
		int64_t thread_id, start, stop;
		uint64_t ids;
	} *carried;
	size_t carried_count, carried_cap;
	int64_t last; /* end of the trace, where running spans end */
	bool period;
};

static void span_load_free(struct span_load *l)
{
	free(l->keys);
	free(l->carried);
	map_free(&l->by_number);
	map_free(&l->by_ids);
	*l = (struct span_load){0};
}

static uint64_t span_ids(struct bytes trace, struct bytes span)
{
	if (!span.len)
		return 0;
	return hash_u64(hash_bytes(trace.data, trace.len) ^
			hash_u64(hash_bytes(span.data, span.len))) |
	       1;
}

uint64_t spanset_number_key(int64_t number, int64_t thread_id, bool period)
{
	uint64_t recording = thread_id < 0 ? 0 : id_recording(thread_id);

	return hash_u64((uint64_t)number ^ hash_u64(recording << 1 | period)) | 1;
}

static int span_text(struct spans *s, const struct batch *b, unsigned int column, size_t row,
		     uint32_t *ret)
{
	struct bytes t = batch_get_bytes(b, column, row);

	return intern_add(&s->texts, t.data, t.len, ret);
}

/* Adds a span and its key. */
static int span_add(struct span_load *l, struct span **ret, struct span_key **ret_key)
{
	struct spans *s = l->s;
	uint32_t n = s->count;

	if (n == SPAN_NONE - 1)
		return -E2BIG;
	if (grow((void **)&s->all, &s->cap, n + 1, sizeof(*s->all)) < 0 ||
	    grow((void **)&l->keys, &l->keys_cap, n + 1, sizeof(*l->keys)) < 0)
		return -ENOMEM;
	s->all[n] = (struct span){.parent = SPAN_NONE,
				  .root = n,
				  .first_child = SPAN_NONE,
				  .next_sibling = SPAN_NONE,
				  .thread_id = -1,
				  .kind = UINT8_MAX};
	l->keys[n] = (struct span_key){.span = n};
	s->count++;
	*ret = &s->all[n];
	*ret_key = &l->keys[n];
	return 0;
}

static int span_texts(struct spans *s, struct span *k, const struct batch *b, size_t row)
{
	const struct {
		unsigned int column;
		uint32_t *to;
	} texts[] = {{SPAN_NAME, &k->name},
		     {SPAN_SERVICE, &k->service},
		     {SPAN_TRACE_ID, &k->trace_id},
		     {SPAN_SPAN_ID, &k->span_id},
		     {SPAN_ATTRIBUTES, &k->attributes}};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts) && r >= 0; i++)
		r = span_text(s, b, texts[i].column, row, texts[i].to);
	return r;
}

static int span_take(struct span_load *l, const struct batch *b, size_t row)
{
	struct bytes trace = batch_get_bytes(b, SPAN_TRACE_ID, row);
	int64_t dur = batch_get(b, SPAN_DUR, row, -1), parent = batch_get(b, SPAN_PARENT, row, -1);
	struct span *k;
	struct span_key *key;
	int r = span_add(l, &k, &key);

	if (r < 0)
		return r;
	k->start = MAX(batch_get(b, SPAN_START, row, 0), (int64_t)0);
	k->number = batch_get(b, SPAN_NUMBER, row, -1);
	k->thread_id = batch_get(b, SPAN_THREAD_ID, row, -1);
	k->kind = (uint8_t)batch_get(b, SPAN_SPAN_KIND, row, UINT8_MAX);
	k->status = (uint8_t)batch_get(b, SPAN_SPAN_STATUS, row, SPAN_STATUS_UNSET);
	k->source = (uint8_t)batch_get(b, SPAN_SOURCE, row, UINT8_MAX);
	k->period = l->period;
	if (dur < 0)
		k->status = SPAN_STATUS_RUNNING;
	k->stop = dur < 0 || __builtin_add_overflow(k->start, dur, &k->stop) ? l->last : k->stop;
	k->stop = MAX(k->stop, k->start);
	key->period = l->period;
	key->self = spanset_number_key(k->number, k->thread_id, l->period);
	key->parent = parent < 0 ? 0 : spanset_number_key(parent, k->thread_id, l->period);
	key->self_ids = span_ids(trace, batch_get_bytes(b, SPAN_SPAN_ID, row));
	key->parent_ids = span_ids(trace, batch_get_bytes(b, SPAN_PARENT_ID, row));
	return span_texts(l->s, k, b, row);
}

/* Adds a context to span_places; if its span was not recorded, creates it. */
static int span_take_context(struct span_load *l, const struct batch *b, size_t row)
{
	struct bytes trace = batch_get_bytes(b, CONTEXT_TRACE_ID, row),
		     id = batch_get_bytes(b, CONTEXT_SPAN_ID, row);
	int64_t start = MAX(batch_get(b, CONTEXT_START, row, 0), (int64_t)0);
	struct span_carried is = {
		.thread_id = batch_get(b, CONTEXT_THREAD_ID, row, -1),
		.start = start,
		.stop = add_sat_signed(start, MAX(batch_get(b, CONTEXT_DUR, row, 0), (int64_t)0)),
		.ids = span_ids(trace, id)};
	uint64_t at;
	struct span *k;
	struct span_key *key;
	int r;

	l->s->contexts++;
	l->s->unsure += batch_get(b, CONTEXT_UNSURE, row, 0) != 0;
	if (!is.ids || is.thread_id < 0)
		return 0;
	if (array_add(l->carried, l->carried_count, l->carried_cap, is) < 0)
		return -ENOMEM;
	if (map_get(&l->by_ids, is.ids, &at)) {
		k = &l->s->all[at];
		if (k->of_context) {
			k->start = MIN(k->start, is.start);
			k->stop = MAX(k->stop, is.stop);
		}
		return 0;
	}
	r = span_add(l, &k, &key);
	if (r < 0)
		return r;
	k->of_context = true;
	k->start = is.start;
	k->stop = is.stop;
	k->thread_id = is.thread_id;
	k->number = (int64_t)(is.ids & NUMBER_MASK);
	k->source = (uint8_t)batch_get(b, CONTEXT_SOURCE, row, UINT8_MAX);
	key->self_ids = is.ids;
	r = map_set(&l->by_ids, is.ids, k - l->s->all);
	if (r >= 0)
		r = intern_add(&l->s->texts, trace.data, trace.len, &k->trace_id);
	if (r >= 0)
		r = intern_add(&l->s->texts, id.data, id.len, &k->span_id);
	if (r >= 0)
		r = span_text(l->s, b, CONTEXT_SERVICE, row, &k->service);
	k->name = k->service;
	return r;
}

static int span_load_row(void *arg, const struct batch *b, uint32_t row, int64_t end _unused_)
{
	return b->table == TABLE_CONTEXT ? span_take_context(arg, b, row) : span_take(arg, b, row);
}

static int span_load_table(struct span_load *l, const struct analysis_input *in,
			   const struct analysis_run *run, enum table_id table, struct error *err)
{
	const struct scan_request q = {
		.table = table, .columns = ~0ull, .from = run->from, .to = run->to};

	l->period = table == TABLE_PERIOD;
	return analysis_scan(in, run, &q, span_load_row, l, err);
}

/* ---- order and parents ---- */

static int spanset_order(const void *a, const void *b, void *arg)
{
	const struct span *all = arg;
	const struct span *x = &all[((const struct span_key *)a)->span],
			  *y = &all[((const struct span_key *)b)->span];

	int r = ORDER(x->start, y->start) ?: ORDER(y->stop, x->stop); /* outer span first */

	return r ?: ORDER(x->number, y->number);
}

/* Sorts in place, along the cycles of the permutation: a second copy of all spans would dominate memory use. */
static void span_sort(struct span_load *l)
{
	struct spans *s = l->s;

	array_sort_by(l->keys, s->count, spanset_order, s->all);
	for (uint32_t i = 0; i < s->count; i++) {
		struct span first = s->all[i];
		uint32_t to = i, from = l->keys[i].span;

		for (; from != i; from = l->keys[to].span) {
			s->all[to] = s->all[from];
			l->keys[to].span = to;
			to = from;
		}
		s->all[to] = first;
		l->keys[to].span = to;
	}
	for (uint32_t i = 0; i < s->count; i++)
		s->all[i].root = i;
}

/* Maps ids or numbers to spans; of two spans with the same one the first is used. */
static int span_index(struct span_load *l, bool ids)
{
	struct map *m = ids ? &l->by_ids : &l->by_number;

	map_clear(m);
	for (uint32_t i = 0; i < l->s->count; i++) {
		uint64_t key = ids ? l->keys[i].self_ids : l->keys[i].self;

		if (key && !map_get(m, key, NULL) && map_set(m, key, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void span_find_parent(struct span_load *l, uint32_t i)
{
	const struct span_key *k = &l->keys[i];
	uint64_t at;

	if (!k->parent && !k->parent_ids)
		return;
	if ((k->parent && map_get(&l->by_number, k->parent, &at)) ||
	    (k->parent_ids && map_get(&l->by_ids, k->parent_ids, &at)))
		l->s->all[i].parent = (uint32_t)at;
	else
		l->s->orphans++;
}

/* Finds the roots. Cycles of parents are cut where the walk first returns to itself. */
static int span_find_roots(struct spans *s)
{
	uint8_t *state = calloc(s->count + 1, 1); /* 1: on this walk, 2: root known */

	if (!state)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t at = i, root;

		while (!state[at] && s->all[at].parent != SPAN_NONE) {
			state[at] = 1;
			if (state[s->all[at].parent] == 1) {
				s->all[at].parent = SPAN_NONE;
				s->loops++;
				break;
			}
			at = s->all[at].parent;
		}
		root = state[at] == 2 ? s->all[at].root : at;
		for (at = i; state[at] != 2; at = s->all[at].parent) {
			state[at] = 2;
			s->all[at].root = root;
			if (s->all[at].parent == SPAN_NONE)
				break;
		}
	}
	free(state);
	return 0;
}

/* Adds [start, stop) to the pieces of k, which are the last ones. */
static void span_piece_below(struct spans *s, struct span *k, int64_t start, int64_t stop,
			     uint32_t *count)
{
	struct span_piece *last = k->below_count ? &s->below[*count - 1] : NULL;

	if (last && last->stop == start) {
		last->stop = stop;
		return;
	}
	s->below[(*count)++] = (struct span_piece){start, stop};
	k->below_count++;
}

/* Links children in order of start, and computes the part of a span that no child covers. */
static int span_link(struct spans *s)
{
	uint32_t pieces = 0;

	s->below = calloc(s->count + 1, sizeof(*s->below));
	if (!s->below)
		return -ENOMEM;
	for (uint32_t i = s->count; i-- > 0;) {
		uint32_t p = s->all[i].parent;

		s->running += s->all[i].status == SPAN_STATUS_RUNNING;
		s->cut += s->all[i].status == SPAN_STATUS_CUT;
		if (p == SPAN_NONE)
			continue;
		s->all[i].next_sibling = s->all[p].first_child;
		s->all[p].first_child = i;
	}
	for (uint32_t i = 0; i < s->count; i++) {
		struct span *k = &s->all[i];
		int64_t until = k->start, self = span_dur(k);

		k->below = pieces;

		for (uint32_t c = k->first_child; c != SPAN_NONE; c = s->all[c].next_sibling) {
			int64_t start = MAX(s->all[c].start, until),
				stop = MIN(s->all[c].stop, k->stop);

			if (stop <= start)
				continue;
			self -= stop - start;
			until = stop;
			span_piece_below(s, k, start, stop, &pieces);
		}
		k->sums.self = self;
	}
	return 0;
}

static int span_arrange(struct span_load *l)
{
	int r;

	span_sort(l);
	r = span_index(l, false);
	if (r >= 0)
		r = span_index(l, true);
	for (uint32_t i = 0; i < l->s->count && r >= 0; i++)
		span_find_parent(l, i);
	if (r < 0)
		return r;
	r = span_find_roots(l->s);
	return r < 0 ? r : span_link(l->s);
}

static int span_load_places(struct span_load *l, const struct dims *d)
{
	struct spans *s = l->s;
	int r = span_places_new(&s->places, s, d);

	s->earliest = INT64_MAX;
	for (size_t i = 0; i < l->carried_count && r >= 0; i++) {
		const struct span_carried *c = &l->carried[i];
		uint64_t at;

		s->earliest = MIN(s->earliest, c->start);
		if (map_get(&l->by_ids, c->ids, &at))
			r = span_places_context(s->places, c->thread_id, c->start, c->stop,
						(uint32_t)at);
	}
	if (r < 0)
		return r;
	span_places_ready(s->places);
	return r;
}

int spanset_load(struct spans *s, const struct analysis_input *in, const struct analysis_run *run,
		 struct error *err)
{
	_cleanup_(span_load_free) struct span_load l = {.s = s, .last = run->last};
	uint32_t none;
	int r = intern_add(&s->texts, "", 0, &none);

	assert(!s->count);
	if (!run->store)
		return error_set(err, -ENOTSUP, "requests are read from trace files");
	for (size_t i = 0; i < store_block_count(run->store); i++)
		s->sched |= store_block(run->store, i)->table == TABLE_SCHED;
	if (r >= 0)
		r = span_load_table(&l, in, run, TABLE_SPAN, err);
	if (r >= 0)
		r = span_load_table(&l, in, run, TABLE_PERIOD, err);
	if (r >= 0)
		r = span_index(&l, true);
	if (r >= 0)
		r = span_load_table(&l, in, run, TABLE_CONTEXT, err);
	if (r >= 0)
		r = span_arrange(&l);
	if (r >= 0)
		r = span_load_places(&l, store_dims(run->store));
	span_load_free(&l); /* before more memory is allocated */
	if (r >= 0)
		r = span_joins_make(s, in, run, err);
	if (r == -E2BIG)
		return error_set(
			err, r,
			"more than %d definitions of periods without a parent match on one "
			"thread: keep fewer (weir periods --keep)",
			SPAN_LANES_MAX);
	return r < 0 ? error_errno(err, r, "cannot read the spans") : 0;
}

void spanset_free(struct spans *s)
{
	spanset_settle(s);
	free(s->all);
	free(s->phases);
	free(s->below);
	intern_free(&s->texts);
	if (s->places)
		span_places_free(s->places);
	if (s->joins)
		span_joins_free(s->joins);
	*s = (struct spans){0};
}

struct bytes spanset_text(const struct spans *s, uint32_t text)
{
	return intern_get(&s->texts, text);
}

void spanset_range(const struct spans *s, int64_t *ret_from, int64_t *ret_to)
{
	*ret_from = INT64_MAX;
	*ret_to = INT64_MIN;
	for (uint32_t i = 0; i < s->count; i++) {
		*ret_from = MIN(*ret_from, s->all[i].start);
		*ret_to = MAX(*ret_to, s->all[i].stop);
	}
}

uint32_t spanset_find(const struct spans *s, int64_t number, uint32_t from)
{
	for (uint32_t i = from; i < s->count; i++) {
		if (s->all[i].number == number)
			return i;
	}
	return SPAN_NONE;
}
