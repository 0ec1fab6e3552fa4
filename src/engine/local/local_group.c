// SPDX-License-Identifier: Apache-2.0
/* local_group.c: groups and their aggregates, from rows or from partial aggregates computed by a server. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "engine/local/local.h"
#include "hist/distinct.h"
#include "hist/sparse.h"
#include "hist/tally.h"

struct state {
	uint64_t count;
	__int128 sum;
	double fsum, mean, m2;
	struct value value;
	bool has; /* `value` is set */
	int64_t order[4];
	int64_t max;
	union {
		struct hist hist;
		struct tally tally;
		struct distinct distinct;
	};
};

struct local_group {
	const struct plan_field *fields;
	size_t count;
	const struct local_env *env;
	struct state *states; /* [groups * count] */
	struct value *keys;   /* [groups * count]; set for fields that are keys */
	size_t groups, states_cap, keys_cap;
	uint32_t *slots; /* group + 1 */
	size_t slots_cap;
	struct strpool texts;
	uint64_t heap; /* approximate bytes of histograms and the like */
	int64_t rows;  /* number of rows so far, used as their position */
	double seconds;
	bool any_order; /* rows need not be in the order of their keys */
};

static bool group_is_key(const struct plan_field *f)
{
	return f->kind != FIELD_AGGREGATE;
}

static bool keeps_hist(const struct plan_field *f)
{
	return f->aggregate == AGGREGATE_PERCENTILE || f->aggregate == AGGREGATE_HIST;
}

static bool keeps_tally(const struct plan_field *f)
{
	return f->aggregate == AGGREGATE_QUANTIZE || f->aggregate == AGGREGATE_LQUANTIZE ||
	       f->aggregate == AGGREGATE_LLQUANTIZE;
}

static bool is_whole(struct query_kind k)
{
	return k.type != QUERY_FLOAT;
}

int local_group_new(struct local_group **ret, const struct plan_field *fields, size_t count,
		    const struct local_env *env, struct error *err)
{
	struct local_group *g = calloc(1, sizeof(*g));

	if (!g)
		return error_errno(err, -ENOMEM, "groups");
	g->fields = fields;
	g->count = count;
	g->env = env;
	g->seconds = env->seconds;
	for (size_t i = 0; i < count; i++) {
		if (fields[i].kind == FIELD_WINDOW)
			g->seconds = (double)fields[i].param[0] / 1e9;
	}
	*ret = g;
	return 0;
}

void local_group_free(struct local_group *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->groups * g->count; i++) {
		const struct plan_field *f = &g->fields[i % g->count];

		if (group_is_key(f))
			continue;
		if (keeps_hist(f))
			hist_free(&g->states[i].hist);
		else if (keeps_tally(f))
			tally_free(&g->states[i].tally);
		else if (f->aggregate == AGGREGATE_DISTINCT)
			distinct_free(&g->states[i].distinct);
	}
	free(g->states);
	free(g->keys);
	free(g->slots);
	strpool_free(&g->texts);
	free(g);
}

/* ---- finding the group ---- */

static bool local_is_bytes(struct query_kind k)
{
	return k.type == QUERY_TEXT || k.type == QUERY_HIST || k.type == QUERY_TALLY;
}

static uint64_t hash_value(struct query_kind k, const struct value *v)
{
	uint64_t bits;

	if (v->null)
		return 0x9e3779b97f4a7c15ull;
	if (local_is_bytes(k))
		return hash_bytes(v->t.data, v->t.len);
	if (k.type != QUERY_FLOAT)
		return hash_u64((uint64_t)v->i);
	memcpy(&bits, &v->f, sizeof(bits));
	return hash_u64(bits);
}

static uint64_t hash_keys(const struct local_group *g, const struct value *cells)
{
	uint64_t h = 0;

	for (size_t i = 0; i < g->count; i++) {
		if (group_is_key(&g->fields[i]))
			h = hash_u64(h ^ hash_value(g->fields[i].type, &cells[i]));
	}
	return h;
}

static bool same_value(struct query_kind k, const struct value *a, const struct value *b)
{
	if (a->null || b->null)
		return a->null == b->null;
	if (local_is_bytes(k))
		return !bytes_compare(a->t, b->t);
	return k.type == QUERY_FLOAT ? a->f == b->f : a->i == b->i;
}

static bool same_keys(const struct local_group *g, size_t at, const struct value *cells)
{
	for (size_t i = 0; i < g->count; i++) {
		if (group_is_key(&g->fields[i]) &&
		    !same_value(g->fields[i].type, &g->keys[at * g->count + i], &cells[i]))
			return false;
	}
	return true;
}

static int local_widen(struct local_group *g)
{
	size_t cap = g->slots_cap ? g->slots_cap * 2 : 64;
	uint32_t *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < g->groups; i++) {
		size_t at = hash_keys(g, g->keys + i * g->count) & (cap - 1);

		while (slots[at])
			at = (at + 1) & (cap - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(g->slots);
	g->slots = slots;
	g->slots_cap = cap;
	return 0;
}

static int local_add_group(struct local_group *g, const struct value *cells)
{
	size_t want = (g->groups + 1) * g->count, at = g->groups * g->count;
	int r = grow((void **)&g->states, &g->states_cap, want, sizeof(*g->states));

	if (r >= 0)
		r = grow((void **)&g->keys, &g->keys_cap, want, sizeof(*g->keys));
	if (r < 0)
		return r;
	memset(g->states + at, 0, g->count * sizeof(*g->states));
	for (size_t i = 0; i < g->count && r >= 0; i++) {
		g->states[at + i].max = INT64_MIN;
		if (!group_is_key(&g->fields[i]))
			continue;
		g->keys[at + i] = cells[i];
		if (local_is_bytes(g->fields[i].type) && !cells[i].null)
			r = strpool_add(&g->texts, cells[i].t.data, cells[i].t.len,
					&g->keys[at + i].t);
	}
	g->groups += r >= 0;
	return r;
}

static int group_full(const struct local_group *g, struct error *err)
{
	uint64_t used = g->states_cap * sizeof(*g->states) + g->keys_cap * sizeof(*g->keys) +
			g->texts.bytes + g->heap;

	if (used <= g->env->memory_max)
		return 0;
	return error_set(
		err, -ENOMEM,
		"the groups take more than %llu MiB of memory: use fewer groups, or raise --memory",
		(unsigned long long)(g->env->memory_max >> 20));
}

int local_group_at(struct local_group *g, const struct value *cells, size_t *ret, struct error *err)
{
	size_t at;
	int r = g->groups * 2 >= g->slots_cap ? local_widen(g) : 0;

	if (r < 0)
		return error_errno(err, r, "groups");
	at = hash_keys(g, cells) & (g->slots_cap - 1);
	for (; g->slots[at]; at = (at + 1) & (g->slots_cap - 1)) {
		*ret = g->slots[at] - 1;
		if (same_keys(g, *ret, cells))
			return 0;
	}
	*ret = g->groups;
	r = g->groups == UINT32_MAX ? -ENOMEM : local_add_group(g, cells);
	if (r < 0)
		return error_errno(err, r, "groups");
	g->slots[at] = (uint32_t)g->groups;
	return group_full(g, err);
}

/* ---- parts ---- */

static int keep_value(struct local_group *g, const struct plan_field *f, struct state *s,
		      const struct value *v)
{
	s->value = *v;
	s->has = true;
	return f->expr && local_is_bytes(f->expr->type) && !v->null
		       ? strpool_add(&g->texts, v->t.data, v->t.len, &s->value.t)
		       : 0;
}

static int compare_order(const int64_t *a, const int64_t *b)
{
	int order = ORDER(a[0], b[0]);

	for (size_t i = 1; i < 4 && !order; i++)
		order = ORDER((uint64_t)a[i], (uint64_t)b[i]);
	return order;
}

/* Chan's method for two sets of values, given their means and sums of squared deviations. */
static void add_deviation(struct state *s, const struct local_part *p)
{
	double n = (double)s->count, m = (double)p->count, off = p->mean - s->mean;

	if (!p->count)
		return;
	s->m2 += p->m2 + off * off * n * m / (n + m);
	s->mean += off * m / (n + m);
}

int local_add_part(struct local_group *g, size_t at, size_t field, const struct local_part *p,
		   struct error *err)
{
	const struct plan_field *f = &g->fields[field];
	struct state *s = &g->states[at * g->count + field];
	int order, r = 0;

	switch (f->aggregate) {
	case AGGREGATE_STDDEV:
		add_deviation(s, p);
		break;
	case AGGREGATE_MIN:
	case AGGREGATE_ANY:
	case AGGREGATE_MAX:
		order = s->has && !p->value.null
				? local_compare(f->expr->type, &p->value, &s->value)
				: -1;
		if (f->aggregate == AGGREGATE_MAX)
			order = s->has ? -order : -1;
		if (!p->value.null && order < 0)
			r = keep_value(g, f, s, &p->value);
		break;
	case AGGREGATE_FIRST:
	case AGGREGATE_LAST:
		order = s->has ? compare_order(p->order, s->order) : -1;
		if (f->aggregate == AGGREGATE_LAST)
			order = s->has ? -order : -1;
		if (p->count && order < 0) {
			memcpy(s->order, p->order, sizeof(s->order));
			r = keep_value(g, f, s, &p->value);
		}
		break;
	default:
		break;
	}
	s->count += p->count;
	s->sum += p->sum;
	s->fsum += p->fsum;
	return r < 0 ? error_errno(err, r, "groups") : 0;
}

void local_add_max(struct local_group *g, size_t at, size_t field, int64_t max)
{
	struct state *s = &g->states[at * g->count + field];

	s->max = MAX(s->max, max);
}

static int add_distinct(struct state *s, struct query_kind k, const struct value *v)
{
	return distinct_add(&s->distinct, hash_value(k, v));
}

/* Memory that a state uses in addition to itself. */
static size_t state_heap(const struct plan_field *f, const struct state *s)
{
	return keeps_hist(f)			    ? hist_memory(&s->hist)
	       : keeps_tally(f)			    ? s->tally.cap * sizeof(struct tally_entry)
	       : f->aggregate == AGGREGATE_DISTINCT ? distinct_memory(&s->distinct)
						    : 0;
}

int local_add_value(struct local_group *g, size_t at, size_t field, const struct value *v,
		    uint64_t count, struct error *err)
{
	const struct plan_field *f = &g->fields[field];
	struct state *s = &g->states[at * g->count + field];
	size_t before = state_heap(f, s);
	int r;

	if (v->null || !count)
		return 0;
	s->count += count;
	r = keeps_hist(f)    ? hist_add_bucket(&s->hist, (unsigned int)v->i, count)
	    : keeps_tally(f) ? tally_add(&s->tally, v->i, count)
			     : add_distinct(s, f->expr->type, v);
	if (r == -E2BIG)
		return error_set(err, r, "%s has more than %d buckets: choose larger steps",
				 f->name, TALLY_BUCKETS_MAX);
	if (r < 0)
		return error_errno(err, r, "groups");
	g->heap += state_heap(f, s) - before;
	return state_heap(f, s) != before ? group_full(g, err) : 0;
}

/* ---- rows ---- */

static int64_t tally_bucket(const struct plan_field *f, int64_t v)
{
	const int64_t *p = f->param;

	return f->aggregate == AGGREGATE_QUANTIZE    ? tally_quantize(v)
	       : f->aggregate == AGGREGATE_LQUANTIZE ? tally_lquantize(v, p[0], p[1], p[2])
						     : tally_llquantize(v, p[0], p[1], p[2], p[3]);
}

/* Adds a row's histogram from a previous stage. */
static int merge_hist(struct local_group *g, struct state *s, const struct value *v,
		      struct error *err)
{
	size_t before = hist_memory(&s->hist);
	int r = hist_unpack(&s->hist, v->t.data, v->t.len);

	s->count++;
	if (r < 0)
		return error_errno(err, r, "a histogram");
	g->heap += hist_memory(&s->hist) - before;
	return group_full(g, err);
}

static int row_value(struct local_group *g, size_t at, size_t field, const struct value *v,
		     struct error *err)
{
	const struct plan_field *f = &g->fields[field];
	struct state *s = &g->states[at * g->count + field];
	struct value bucket = {0};

	if (f->aggregate == AGGREGATE_DISTINCT)
		return local_add_value(g, at, field, v, 1, err);
	if (v->null)
		return 0;
	if (keeps_hist(f) && f->expr->type.type == QUERY_HIST)
		return merge_hist(g, s, v, err);
	if (keeps_hist(f)) {
		local_add_max(g, at, field, v->i);
		bucket.i = hist_bucket(v->i < 0 ? 0 : (uint64_t)v->i);
	} else {
		bucket.i = tally_bucket(f, v->i);
	}
	return local_add_value(g, at, field, &bucket, 1, err);
}

static int local_row_part(struct local_group *g, size_t at, size_t field, const struct value *v,
			  struct error *err)
{
	const struct plan_field *f = &g->fields[field];
	bool whole = f->expr && is_whole(f->expr->type);
	struct local_part p = {.order = {g->rows}, .value = {.null = true}};

	if (f->aggregate == AGGREGATE_COUNTIF && (v->null || !v->i))
		return 0;
	if (f->aggregate == AGGREGATE_FIRST || f->aggregate == AGGREGATE_LAST) {
		p.count = 1;
		p.value = *v;
		return local_add_part(g, at, field, &p, err);
	}
	if (f->expr && v->null)
		return 0;
	p.count = 1;
	if (f->expr && !local_is_bytes(f->expr->type)) {
		p.sum = whole ? v->i : 0;
		if (whole && f->expr->type.type == QUERY_UINT)
			p.sum = (uint64_t)v->i;
		p.fsum = whole ? 0 : v->f;
		p.mean = whole ? (double)v->i : v->f;
	}
	p.value = f->expr ? *v : p.value;
	return local_add_part(g, at, field, &p, err);
}

int local_group_row(struct local_group *g, const struct value *cells, struct error *err)
{
	size_t at;
	int r = local_group_at(g, cells, &at, err);

	for (size_t i = 0; i < g->count && r >= 0; i++) {
		const struct plan_field *f = &g->fields[i];

		if (group_is_key(f))
			continue;
		r = keeps_hist(f) || keeps_tally(f) || f->aggregate == AGGREGATE_DISTINCT
			    ? row_value(g, at, i, &cells[i], err)
			    : local_row_part(g, at, i, &cells[i], err);
	}
	g->rows++;
	return r;
}

/* ---- values ---- */

static struct value value_none(void)
{
	return (struct value){.null = true};
}

static struct value value_float(double v)
{
	return isfinite(v) ? (struct value){.f = v} : value_none();
}

static struct value value_round(double v)
{
	v = round(v);
	return v >= -0x1p63 && v < 0x1p63 ? (struct value){.i = (int64_t)v} : value_none();
}

static struct value value_sum(const struct plan_field *f, const struct state *s)
{
	if (!s->count)
		return value_none();
	if (!is_whole(f->type))
		return value_float(f->expr && is_whole(f->expr->type) ? (double)s->sum : s->fsum);
	return s->sum >= INT64_MIN && s->sum <= INT64_MAX ? (struct value){.i = (int64_t)s->sum}
							  : value_none();
}

static struct value value_mean(const struct plan_field *f, const struct state *s)
{
	double sum = f->expr && is_whole(f->expr->type) ? (double)s->sum : s->fsum;
	double v = sum / (double)s->count;

	if (f->aggregate == AGGREGATE_STDDEV) {
		if (s->count < 2)
			return value_none();
		v = sqrt(s->m2 / (double)(s->count - 1));
	}
	if (!s->count)
		return value_none();
	return f->type.type == QUERY_FLOAT ? value_float(v) : value_round(v);
}

static struct value value_rate(const struct local_group *g, const struct plan_field *f,
			       const struct state *s)
{
	if (!(g->seconds > 0) || (f->expr && !s->count))
		return value_none();
	if (!f->expr)
		return (struct value){.f = (double)s->count / g->seconds};
	return value_float((is_whole(f->expr->type) ? (double)s->sum : s->fsum) / g->seconds);
}

static struct value value_percentile(const struct plan_field *f, const struct state *s)
{
	uint64_t q;

	if (!hist_entries(&s->hist))
		return value_none();
	q = hist_quantile(&s->hist, f->quantile);
	/* the middle of the largest value's bucket may exceed the value */
	if (f->expr->type.type != QUERY_HIST && s->max != INT64_MIN && (int64_t)q > s->max)
		return (struct value){.i = s->max};
	return (struct value){.i = (int64_t)MIN(q, (uint64_t)INT64_MAX)};
}

static int value_packed(struct local_group *g, const struct plan_field *f, struct state *s,
			struct value *ret)
{
	_cleanup_free_ uint8_t *out = NULL;
	size_t len;

	*ret = value_none();
	if (keeps_hist(f) ? !hist_entries(&s->hist) : !s->tally.count)
		return 0;
	out = malloc(keeps_hist(f) ? HIST_PACKED_MAX : s->tally.count * TALLY_ENTRY_BYTES);
	if (!out)
		return -ENOMEM;
	if (keeps_hist(f)) {
		len = hist_pack(&s->hist, out);
	} else {
		tally_pack(&s->tally, out);
		len = s->tally.count * TALLY_ENTRY_BYTES;
	}
	ret->null = false;
	return strpool_add(&g->texts, out, len, &ret->t);
}

static int group_value(struct local_group *g, const struct plan_field *f, struct state *s,
		       struct value *ret)
{
	switch (f->aggregate) {
	case AGGREGATE_COUNT:
	case AGGREGATE_COUNTIF:
		*ret = (struct value){.i = (int64_t)s->count};
		return 0;
	case AGGREGATE_SUM:
	case AGGREGATE_BUSY:
		*ret = value_sum(f, s);
		return 0;
	case AGGREGATE_AVG:
	case AGGREGATE_STDDEV:
		*ret = value_mean(f, s);
		return 0;
	case AGGREGATE_RATE:
		*ret = value_rate(g, f, s);
		return 0;
	case AGGREGATE_PERCENTILE:
		*ret = value_percentile(f, s);
		return 0;
	case AGGREGATE_DISTINCT:
		*ret = (struct value){.i = (int64_t)distinct_count(&s->distinct)};
		return 0;
	case AGGREGATE_MIN:
	case AGGREGATE_MAX:
	case AGGREGATE_ANY:
	case AGGREGATE_FIRST:
	case AGGREGATE_LAST:
		*ret = s->has ? s->value : value_none();
		return 0;
	default:
		return value_packed(g, f, s, ret);
	}
}

static int compare_groups(const void *pa, const void *pb, void *arg)
{
	const struct local_group *g = arg;
	const struct value *a = g->keys + *(const uint32_t *)pa * g->count;
	const struct value *b = g->keys + *(const uint32_t *)pb * g->count;

	for (size_t i = 0; i < g->count; i++) {
		int order = group_is_key(&g->fields[i])
				    ? local_compare(g->fields[i].type, &a[i], &b[i])
				    : 0;

		if (order)
			return order;
	}
	return 0;
}

static int finish_group(struct local_group *g, size_t at, struct value *cells,
			struct local_rows *ret, struct error *err)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct plan_field *f = &g->fields[i];
		struct state *s = &g->states[at * g->count + i];
		int r = 0;

		if (group_is_key(f))
			cells[i] = g->keys[at * g->count + i];
		else
			r = group_value(g, f, s, &cells[i]);
		if (r < 0)
			return error_errno(err, r, "groups");
		cells[i].estimate = !group_is_key(f) && f->aggregate == AGGREGATE_DISTINCT &&
				    distinct_estimated(&s->distinct);
	}
	return local_rows_add(ret, cells, g->env, err);
}

static bool sorts_by(const struct plan_stage *s, size_t field)
{
	for (size_t k = 0; k < s->key_count; k++) {
		if (s->keys[k].field == field)
			return true;
	}
	return false;
}

void local_group_before(struct local_group *g, const struct plan_stage *next)
{
	g->any_order = next && next->kind == STAGE_SORT;
	for (size_t i = 0; i < g->count && g->any_order; i++)
		g->any_order = !group_is_key(&g->fields[i]) || sorts_by(next, i);
}

int local_group_finish(struct local_group *g, struct local_rows *ret, struct error *err)
{
	_cleanup_free_ struct value *cells = calloc(g->count + 1, sizeof(*cells));
	_cleanup_free_ uint32_t *order = NULL;
	bool keys = false;
	size_t at;
	int r = 0;

	if (!cells)
		return error_errno(err, -ENOMEM, "groups");
	for (size_t i = 0; i < g->count; i++)
		keys |= group_is_key(&g->fields[i]);
	if (!keys && !g->groups) /* without keys there is one row of sums, even for no rows */
		r = local_group_at(g, cells, &at, err);
	order = array_indexes(g->groups);
	if (r < 0 || !order)
		return error_errno(err, r < 0 ? r : -ENOMEM, "groups");
	if (!g->any_order)
		qsort_r(order, g->groups, sizeof(*order), compare_groups, g);
	ret->fields = g->fields;
	ret->width = g->count;
	for (size_t i = 0; i < g->groups && r >= 0; i++)
		r = finish_group(g, order[i], cells, ret, err);
	return r;
}
