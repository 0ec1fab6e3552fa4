/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/periods/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/periods/open.h"
#include "base/array.h"

struct period_matcher {
	const struct period_set *set;
	const struct dims *dims;
	struct period_matches *to;
	struct eval_fields *eval;
	struct period_kind kinds[PERIODS_MAX];
	struct period_open *roots; /* periods without a parent */
	size_t open_count;
	uint64_t begun;
	struct value fields[PERIOD_FIELDS];
};

void period_matches_free(struct period_matches *m)
{
	free(m->items);
	free(m->captures);
	free(m->ended);
	free(m->spare);
	intern_free(&m->texts);
	intern_free(&m->captured);
	*m = (struct period_matches){0};
}

int period_matches_forget(struct period_matches *m)
{
	int r = grow((void **)&m->spare, &m->spare_cap, m->spare_count + m->ended_count,
		     sizeof(*m->spare));

	if (r < 0)
		return r;
	if (m->ended_count)
		memcpy(m->spare + m->spare_count, m->ended, m->ended_count * sizeof(*m->ended));
	m->spare_count += m->ended_count;
	m->ended_count = 0;
	m->capture_count = 0; /* open periods have no captures yet */
	intern_free(&m->captured);
	return 0;
}

/* ---- values ---- */

struct period_values {
	const int64_t *val;
	uint32_t nulls;
};

static struct value value_of(const struct period_matcher *m, struct query_kind kind,
			     const struct period_values *of, unsigned int at)
{
	struct value v = {.null = of->nulls >> at & 1};

	if (v.null)
		return v;
	if (kind.type == QUERY_FLOAT)
		memcpy(&v.f, &of->val[at], sizeof(v.f));
	else if (kind.type == QUERY_TEXT)
		v.t = intern_get(&m->to->texts, (uint32_t)of->val[at]);
	else
		v.i = of->val[at];
	return v;
}

static const struct period_open *open_up(const struct period_open *o, unsigned int levels)
{
	for (; levels; levels--)
		o = o->parent;
	return o;
}

/* Evaluates an expression over an event (NULL: none) and an open period, which is the one at `level`. */
static int matcher_value(struct period_matcher *m, const struct period_expr *x,
			 const struct period_role *role, const struct period_values *event,
			 const struct period_open *open, unsigned int level, struct value *ret)
{
	for (size_t i = 0; i < x->need_count; i++) {
		unsigned int column = x->needs[i], of = column / PERIOD_TAKES_MAX,
			     take = column % PERIOD_TAKES_MAX;
		const struct period_open *o;

		if (of == LEVEL_EVENT) {
			m->fields[column] = value_of(m, role->takes[take].expr->type, event, take);
			continue;
		}
		assert(of >= level);
		o = open_up(open, of - level);
		m->fields[column] =
			value_of(m, m->set->items[o->period]->begin.takes[take].expr->type,
				 &(struct period_values){o->val, o->nulls}, take);
	}
	return eval_fields_value(m->eval, x->e, m->fields, ret);
}

/* Evaluates a key: the index of a text, any other value unchanged. */
static int matcher_key(struct period_matcher *m, const struct period_expr *x,
		       const struct period_open *open, unsigned int level, int64_t *ret,
		       bool *ret_null)
{
	struct value v;
	uint32_t number;
	int r = matcher_value(m, x, NULL, NULL, open, level, &v);

	*ret_null = r >= 0 && v.null;
	*ret = 0;
	if (r < 0 || v.null)
		return r;
	*ret = v.i;
	if (x->e->type.type != QUERY_TEXT)
		return 0;
	r = intern_add(&m->to->texts, v.t.data, v.t.len, &number);
	*ret = number;
	return r;
}

/* ---- beginning ---- */

/* Adds an open period to the index in which events of the role look for it. */
static int matcher_index(struct period_matcher *m, struct period_open *o,
			 const struct period_role *role, struct period_index *in, unsigned int link,
			 int64_t *keys)
{
	/* its own end sees it as BEGIN; a period that begins below it sees it as PARENT */
	unsigned int level = role->end ? LEVEL_BEGIN : LEVEL_PARENT;

	for (size_t i = 0; i < role->key_count; i++) {
		bool null;
		int r = matcher_key(m, &role->keys[i].other, o, level, &keys[i], &null);

		if (r >= 0 && null && role->end) /* null is not equal to anything */
			m->to->endless[o->period]++;
		if (r < 0 || null)
			return r;
	}
	return period_index_add(in, &o->links[link], o, period_hash(keys, role->key_count));
}

static int64_t matcher_number(const struct period *p, const struct period_event *ev,
			      const struct period_open *parent, uint64_t ordinal)
{
	uint64_t h = hash_bytes(p->name, strlen(p->name));

	h = hash_u64(h ^ (uint64_t)ev->thread);
	h = hash_u64(h ^ (uint64_t)ev->call);
	h = hash_u64(h ^ (uint64_t)ev->time);
	h = hash_u64(h ^ (parent ? (uint64_t)parent->number : 0));
	h = hash_u64(h ^ ordinal) & INT64_MAX;
	return (int64_t)MAX(h, 1u);
}

/* Allocates its entry in the matches, which are thus ordered by beginning. */
static int matcher_place(struct period_matcher *m, struct period_open *o)
{
	struct period_matches *to = m->to;
	int r = 0;

	if (!to->spare_count)
		r = grow((void **)&to->items, &to->cap, to->count + 1, sizeof(*to->items));
	if (r >= 0 && to->count == PERIOD_NO_PARENT)
		r = -E2BIG;
	if (r < 0)
		return r;
	o->match = to->spare_count ? to->spare[--to->spare_count] : (uint32_t)to->count++;
	o->nth = m->begun++;
	to->begun[o->period]++;
	to->items[o->match] = (struct period_match){
		.start = o->start,
		.dur = PERIOD_NO_DUR,
		.number = o->number,
		.thread = o->thread,
		.parent = o->parent ? o->parent->match : PERIOD_NO_PARENT,
		.period = o->period,
		.status = SPAN_STATUS_RUNNING,
	};
	return 0;
}

static int matcher_open(struct period_matcher *m, uint32_t period, const struct period_event *ev,
			const struct period_values *event, struct period_open *parent,
			struct error *err)
{
	const struct period *p = m->set->items[period];
	struct period_kind *k = &m->kinds[period];
	struct period_open *o, **list;
	int r;

	if (m->open_count == PERIODS_OPEN_MAX)
		return error_set(
			err, -E2BIG,
			"more than %u periods are open at once: END of '%.64s' ends few of "
			"those that BEGIN begins",
			PERIODS_OPEN_MAX, p->name);
	if (m->to->count == PERIODS_MATCHES_MAX && !m->to->spare_count)
		return error_set(
			err, -E2BIG,
			"more than %u matches, the last of '%.64s': add a key to compare, such as "
			"thread == parent.thread, or select a range with --from and --to",
			PERIODS_MATCHES_MAX, p->name);
	o = period_open_new(k);
	if (!o)
		return error_set(err, -ENOMEM, "out of memory");
	o->period = period;
	o->start = ev->time;
	o->thread = ev->thread;
	o->parent = parent;
	o->nulls = event->nulls;
	o->number = matcher_number(p, ev, parent, k->ordinal);
	if (p->begin.take_count)
		memcpy(o->val, event->val, p->begin.take_count * sizeof(*o->val));
	list = parent ? &parent->children : &m->roots;
	o->next = *list;
	if (o->next)
		o->next->back = &o->next;
	o->back = list;
	*list = o;
	m->open_count++;
	r = matcher_place(m, o);
	if (r >= 0)
		r = matcher_index(m, o, &p->end, &k->ends, 0, o->val + k->end_keys);
	for (size_t c = 0; c < k->child_count && r >= 0; c++)
		r = matcher_index(m, o, &m->set->items[k->children[c]]->begin,
				  &m->kinds[k->children[c]].begins, (unsigned int)c + 1,
				  o->val + k->child_keys[c]);
	return r < 0 ? error_errno(err, r, "matching periods") : 0;
}

/* ---- ending ---- */

static int matcher_capture(struct period_matcher *m, const struct period *p,
			   const struct period_capture *c, const struct period_open *o,
			   const struct period_values *end, uint32_t *ret)
{
	struct bytes text;
	struct value v;
	int r;

	*ret = PERIOD_NO_TEXT;
	if (c->value.needs_event && !end)
		return 0;
	r = matcher_value(m, &c->value, &p->end, end, o, LEVEL_BEGIN, &v);
	if (r < 0 || v.null)
		return r;
	r = eval_fields_text(m->eval, c->value.e->type, &v, &text);
	return r < 0 ? r : intern_add(&m->to->captured, text.data, text.len, ret);
}

/* Completes the match with properties unknown at its beginning. */
static int matcher_emit(struct period_matcher *m, const struct period_open *o, int64_t dur,
			enum span_status status, const struct period_values *end, bool lost)
{
	const struct period *p = m->set->items[o->period];
	struct period_matches *to = m->to;
	struct period_match *found = &to->items[o->match];
	int r = grow((void **)&to->captures, &to->capture_cap,
		     to->capture_count + PERIOD_CAPTURES_MAX, sizeof(*to->captures));

	found->dur = dur;
	found->status = (uint8_t)status;
	found->lost = lost;
	found->first_capture = (uint32_t)to->capture_count;
	for (size_t i = 0; i < p->capture_count && r >= 0; i++)
		r = matcher_capture(m, p, &p->captures[i], o, end,
				    &to->captures[to->capture_count + i]);
	if (r >= 0)
		to->capture_count += p->capture_count;
	if (r >= 0 && to->live)
		r = array_add(to->ended, to->ended_count, to->ended_cap, o->match);
	return r < 0 ? r : to->capture_count > UINT32_MAX / 2 ? -E2BIG : 0;
}

/* Ends a period, after the periods open below it. `end` is the event that ended it, NULL: none. */
static int matcher_close(struct period_matcher *m, struct period_open *o, int64_t at,
			 enum span_status status, const struct period_values *end, bool lost)
{
	struct period_kind *k = &m->kinds[o->period];
	int r = 0;

	while (o->children && r >= 0)
		r = matcher_close(m, o->children, at,
				  status == SPAN_STATUS_RUNNING ? status : SPAN_STATUS_CUT, NULL,
				  lost);
	if (r >= 0)
		r = matcher_emit(
			m, o, status == SPAN_STATUS_RUNNING ? PERIOD_NO_DUR : MAX(at - o->start, 0),
			status, end, lost);
	if (r < 0)
		return r;
	period_index_del(&k->ends, &o->links[0]);
	for (size_t c = 0; c < k->child_count; c++)
		period_index_del(&m->kinds[k->children[c]].begins, &o->links[c + 1]);
	*o->back = o->next;
	if (o->next)
		o->next->back = o->back;
	m->open_count--;
	period_open_release(k, o);
	return 0;
}

/* ---- events ---- */

/* 1: the event matches the open period, 0: it does not. */
static int matcher_fits(struct period_matcher *m, const struct period_role *role,
			const struct period_values *event, const int64_t *keys,
			const int64_t *theirs, const struct period_open *o)
{
	struct value v;
	int r;

	for (size_t i = 0; i < role->key_count; i++) {
		if (keys[i] != theirs[i])
			return 0;
	}
	if (!role->rest.e)
		return 1;
	r = matcher_value(m, &role->rest, role, event, o, role->end ? LEVEL_BEGIN : LEVEL_PARENT,
			  &v);
	return r < 0 ? r : !v.null && v.i;
}

/* The keys of an event; false if one is null. */
static bool event_keys(const struct period_role *role, const struct period_values *event,
		       int64_t *keys)
{
	for (size_t i = 0; i < role->key_count; i++) {
		unsigned int take = role->keys[i].take;

		if (event->nulls >> take & 1)
			return false;
		keys[i] = event->val[take];
	}
	return true;
}

static int matcher_end(struct period_matcher *m, size_t period, const struct period_event *ev,
		       const struct period_values *event)
{
	const struct period_role *role = &m->set->items[period]->end;
	struct period_kind *k = &m->kinds[period];
	int64_t keys[PERIOD_KEYS_MAX];
	struct period_link *next;
	uint64_t hash;
	int r = 0;

	if (!event_keys(role, event, keys))
		return 0;
	hash = period_hash(keys, role->key_count);
	/* closing a period also closes others, but none of the same kind */
	for (struct period_link *l = period_index_first(&k->ends, hash); l && r >= 0; l = next) {
		next = l->next;
		if (l->hash != hash)
			continue;
		r = matcher_fits(m, role, event, keys, l->open->val + k->end_keys, l->open);
		if (r > 0)
			r = matcher_close(m, l->open, ev->time, SPAN_STATUS_UNSET, event, false);
	}
	return r;
}

static int matcher_begin(struct period_matcher *m, size_t period, const struct period_event *ev,
			 const struct period_values *event, struct error *err)
{
	const struct period *p = m->set->items[period];
	const struct period_role *role = &p->begin;
	struct period_kind *k = &m->kinds[period];
	struct period_open *last = NULL;
	int64_t keys[PERIOD_KEYS_MAX];
	size_t theirs;
	uint64_t hash;
	int r = 0;

	if (p->parent < 0)
		return matcher_open(m, (uint32_t)period, ev, event, NULL, err);
	if (!event_keys(role, event, keys))
		return 0;
	hash = period_hash(keys, role->key_count);
	theirs = m->kinds[p->parent].child_keys[k->child];
	for (struct period_link *l = period_index_first(&k->begins, hash); l && r >= 0;
	     l = l->next) {
		if (l->hash != hash)
			continue;
		if (last && last->nth > l->open->nth)
			continue;
		r = matcher_fits(m, role, event, keys, l->open->val + theirs, l->open);
		if (r > 0 && p->last)
			last = l->open;
		else if (r > 0)
			r = matcher_open(m, (uint32_t)period, ev, event, l->open, err);
	}
	return r < 0 || !last ? r : matcher_open(m, (uint32_t)period, ev, event, last, err);
}

int period_matcher_event(struct period_matcher *m, size_t period, bool end,
			 const struct period_event *ev, const int64_t *values, uint32_t nulls,
			 struct error *err)
{
	const struct period_values event = {values, nulls};
	struct period_kind *k = &m->kinds[period];
	int r;

	if (end) {
		r = matcher_end(m, period, ev, &event);
		return r < 0 ? error_errno(err, r, "matching periods") : 0;
	}
	/* several requests of one thread may begin and end at the same time */
	k->ordinal =
		ev->time == k->last.time && ev->call == k->last.call && ev->thread == k->last.thread
			? k->ordinal + 1
			: 0;
	k->last = *ev;
	r = matcher_begin(m, period, ev, &event, err);
	return r < 0 ? error_errno(err, r, "matching periods") : 0;
}

/* ---- removing unused texts ---- */

int period_text_move(const struct intern *old, struct intern *to, int64_t *number)
{
	struct bytes text = intern_get(old, (uint32_t)*number);
	uint32_t now;
	int r = intern_add(to, text.data, text.len, &now);

	*number = now;
	return r;
}

/* Updates the keys, and with them its position in the index if it is in one, to the new numbers. */
static int matcher_move_keys(struct period_matcher *m, const struct intern *old,
			     const struct period_role *role, struct period_index *in,
			     struct period_link *l, int64_t *keys)
{
	struct period_open *o = l->open;
	int r = 0;

	if (!o)
		return 0;
	period_index_del(in, l);
	for (size_t i = 0; i < role->key_count && r >= 0; i++) {
		if (role->keys[i].other.e->type.type == QUERY_TEXT)
			r = period_text_move(old, &m->to->texts, &keys[i]);
	}
	return r < 0 ? r : period_index_add(in, l, o, period_hash(keys, role->key_count));
}

static int matcher_move_open(struct period_matcher *m, const struct intern *old,
			     struct period_open *o)
{
	const struct period *p = m->set->items[o->period];
	struct period_kind *k = &m->kinds[o->period];
	int r = 0;

	for (size_t i = 0; i < p->begin.take_count && r >= 0; i++) {
		if (p->begin.takes[i].expr->type.type == QUERY_TEXT && !(o->nulls >> i & 1))
			r = period_text_move(old, &m->to->texts, &o->val[i]);
	}
	if (r < 0)
		return r;
	r = matcher_move_keys(m, old, &p->end, &k->ends, &o->links[0], o->val + k->end_keys);
	if (r < 0)
		return r;
	for (size_t c = 0; c < k->child_count && r >= 0; c++)
		r = matcher_move_keys(m, old, &m->set->items[k->children[c]]->begin,
				      &m->kinds[k->children[c]].begins, &o->links[c + 1],
				      o->val + k->child_keys[c]);
	return r;
}

static size_t matcher_list(struct period_open *o, struct period_open **to, size_t n)
{
	for (; o; o = o->next) {
		to[n++] = o;
		n = matcher_list(o->children, to, n);
	}
	return n;
}

static int matcher_order(const void *a, const void *b)
{
	const struct period_open *x = *(struct period_open *const *)a,
				 *y = *(struct period_open *const *)b;

	return ORDER(x->nth, y->nth);
}

int period_matcher_move(struct period_matcher *m, const struct intern *old)
{
	_cleanup_free_ struct period_open **all = calloc(m->open_count + 1, sizeof(*all));
	int r = all ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	/* in order of their beginnings, so that each index keeps its order */
	qsort(all, matcher_list(m->roots, all, 0), sizeof(*all), matcher_order);
	for (size_t i = 0; i < m->open_count && r >= 0; i++)
		r = matcher_move_open(m, old, all[i]);
	return r;
}

/* ---- loss, and the end ---- */

static int matcher_cut_thread(struct period_matcher *m, struct period_open *list, int64_t thread,
			      int64_t at, int64_t known)
{
	struct period_open *next;
	int r = 0;

	for (struct period_open *o = list; o && r >= 0; o = next) {
		next = o->next;
		/* periods below it began later, too; the loss became known late */
		if (o->start >= at)
			continue;
		if (thread < 0 || query_entity_id(TABLE_THREAD, m->dims, o->thread) == thread)
			r = matcher_close(m, o, known, SPAN_STATUS_CUT, NULL, true);
		else
			r = matcher_cut_thread(m, o->children, thread, at, known);
	}
	return r;
}

int period_matcher_lost(struct period_matcher *m, int64_t thread, int64_t at, int64_t known,
			struct error *err)
{
	int r = matcher_cut_thread(m, m->roots, thread, at, known);

	return r < 0 ? error_errno(err, r, "matching periods") : 0;
}

int period_matcher_finish(struct period_matcher *m, struct error *err)
{
	int r = 0;

	while (m->roots && r >= 0)
		r = matcher_close(m, m->roots, 0, SPAN_STATUS_RUNNING, NULL, false);
	if (r < 0)
		return error_errno(err, r, "matching periods");
	assert(!m->open_count);
	return 0;
}

/* ---- the matcher ---- */

static void matcher_drop(struct period_matcher *m, struct period_open *o)
{
	while (o) {
		struct period_open *next = o->next;

		matcher_drop(m, o->children);
		free(o);
		o = next;
	}
}

void period_matcher_free(struct period_matcher *m)
{
	if (!m)
		return;
	matcher_drop(m, m->roots); /* after a failure some are left */
	for (size_t i = 0; i < m->set->count; i++)
		period_kind_free(&m->kinds[i]);
	eval_fields_free(m->eval);
	free(m);
}

/* Lists all expressions that are evaluated value by value. */
static size_t matcher_exprs(const struct period_set *set, const struct expr **to)
{
	size_t n = 0;

	for (size_t i = 0; i < set->count; i++) {
		const struct period *p = set->items[i];
		const struct period_role *const roles[] = {&p->begin, &p->end};

		for (size_t r = 0; r < ARRAY_SIZE(roles); r++) {
			for (size_t k = 0; k < roles[r]->key_count; k++)
				to[n++] = roles[r]->keys[k].other.e;
			if (roles[r]->rest.e)
				to[n++] = roles[r]->rest.e;
		}
		for (size_t c = 0; c < p->capture_count; c++)
			to[n++] = p->captures[c].value.e;
	}
	return n;
}

int period_matcher_new(struct period_matcher **ret, const struct period_set *set,
		       const struct dims *dims, struct period_matches *to, struct error *err)
{
	const size_t most = PERIODS_MAX * (2 * (PERIOD_KEYS_MAX + 1) + PERIOD_CAPTURES_MAX);
	_cleanup_free_ const struct expr **exprs = calloc(most, sizeof(*exprs));
	struct period_matcher *m = calloc(1, sizeof(*m));
	_cleanup_(period_matcher_freep) struct period_matcher *made = m;
	int r;

	if (!m || !exprs)
		return error_set(err, -ENOMEM, "out of memory");
	m->set = set;
	m->dims = dims;
	m->to = to;
	r = eval_fields_new(&m->eval, exprs, matcher_exprs(set, exprs), err);
	if (r < 0)
		return r;
	eval_fields_dims(m->eval, dims);
	period_kinds_init(m->kinds, set);
	*ret = TAKE_PTR(made);
	return 0;
}
