// SPDX-License-Identifier: Apache-2.0
/* request_groups.c: sums of spans by name, or by the value of an attribute. */
#include <errno.h>
#include <string.h>

#include "analysis/spans/requests.h"
#include "base/array.h"
#include "base/json.h"
#include "base/map.h"
#include "base/saturate.h"
#include "schema/vocab.h"

static int group_order_spans(const void *a, const void *b, void *arg)
{
	const struct span *all = arg, *x = &all[*(const uint32_t *)a],
			  *y = &all[*(const uint32_t *)b];
	int64_t m = span_dur(x), n = span_dur(y);

	return ORDER(m, n) ?: ORDER(x, y);
}

/* Requests before their parts, most time first. */
static int group_order(const void *a, const void *b)
{
	const struct requests_group *x = a, *y = b;

	return ORDER(x->part, y->part) ?: ORDER(y->total, x->total) ?: bytes_compare(x->name, y->name);
}

static int request_group_add(struct requests_group *g, const struct spans *s, uint32_t span)
{
	const struct span *k = &s->all[span];
	const int64_t *phases = spanset_phases(s, k);
	int64_t time[SPAN_TIMES];
	size_t cap = g->cap;

	if (grow((void **)&g->spans, &cap, g->count + 1, sizeof(*g->spans)) < 0)
		return -ENOMEM;
	g->cap = (uint32_t)cap;
	g->spans[g->count++] = span;
	g->errors += k->status == SPAN_STATUS_ERROR;
	g->running += k->status == SPAN_STATUS_RUNNING;
	g->cut += k->status == SPAN_STATUS_CUT;
	g->total = add_sat_signed(g->total, span_dur(k));
	g->self = add_sat_signed(g->self, k->sums.self);
	g->calls += k->sums.calls;
	g->unphased += k->sums.unphased;
	g->bytes = add_sat_signed(g->bytes, k->sums.bytes);
	spanset_times(k, time);
	for (unsigned int i = 0; i < SPAN_TIMES; i++) {
		g->time[i] = add_sat_signed(g->time[i], time[i]);
		g->summed[i] = add_sat_signed(g->summed[i], k->sums.summed[i]);
	}
	for (unsigned int i = 0; i < SPAN_PHASES; i++)
		g->phase[i] = add_sat_signed(g->phase[i], phases[i]);
	return 0;
}

/* The length of the union; the spans are sorted by start. */
static void request_group_cover(struct requests_group *g, const struct spans *s)
{
	int64_t until = INT64_MIN;

	for (uint32_t i = 0; i < g->count; i++) {
		const struct span *k = &s->all[g->spans[i]];
		int64_t start = MAX(k->start, until);

		if (k->stop > start)
			g->covered = add_sat_signed(g->covered, k->stop - start);
		until = MAX(until, k->stop);
	}
}

static void groups_finish(struct requests *q)
{
	for (size_t i = 0; i < q->group_count; i++) {
		struct requests_group *g = &q->groups[i];

		request_group_cover(g, &q->spans);
		array_sort_by(g->spans, g->count, group_order_spans, q->spans.all);
	}
	array_sort(q->groups, q->group_count, group_order);
}

/* The key of a span's group, by name, or by the value of an attribute; the rest is that of a new group. */
static uint64_t request_group_key(const struct requests *q, uint32_t span, const char *attribute,
				  struct requests_group *ret)
{
	const struct span *k = &q->spans.all[span];
	struct bytes value;
	bool has;

	*ret = (struct requests_group){.part = k->parent != SPAN_NONE};
	if (!attribute) {
		ret->name = requests_name(q, span);
		ret->period = k->period;
		return hash_u64((uint64_t)k->name << 2 | ret->part << 1 | ret->period);
	}
	/* attributes are stored in a vocabulary that is complete by now */
	has = json_member(spanset_text(&q->spans, k->attributes), bytes_of(attribute), &value);
	ret->name = has ? value : bytes_of("(without)");
	return hash_bytes(ret->name.data, ret->name.len) << 1 | !has;
}

int requests_group(struct requests *q, const char *attribute)
{
	struct map index = {0};
	int r = 0;

	for (size_t i = 0; i < q->chosen_count && r >= 0; i++) {
		struct requests_group as, *g;
		uint64_t key = request_group_key(q, q->chosen[i], attribute, &as);
		bool is_new;

		g = array_of_key(q->groups, q->group_count, q->group_cap, &index, key, &is_new);
		if (g && is_new)
			*g = as;
		r = g ? request_group_add(g, &q->spans, q->chosen[i]) : -ENOMEM;
	}
	map_free(&index);
	groups_finish(q);
	return r;
}

const struct requests_group *requests_largest(const struct requests *q)
{
	return q->group_count ? &q->groups[0] : NULL;
}

int64_t requests_percentile(const struct requests *q, const struct requests_group *g, double p)
{
	uint32_t at = (uint32_t)(p * g->count);

	return g->count ? span_dur(&q->spans.all[g->spans[MIN(at, g->count - 1)]]) : -1;
}
