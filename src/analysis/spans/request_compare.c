// SPDX-License-Identifier: Apache-2.0
/*
 * request_compare.c: compares the slowest requests of a name with those around the median: parts of the time, files,
 * attributes.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/spans/requests.h"
#include "base/array.h"
#include "base/json.h"
#include "base/map.h"
#include "names/file_lines.h"
#include "base/saturate.h"
#include "schema/vocab.h"

#define TRAITS_MAX 64

/* The side to which a span belongs. */
enum compare_side { COMPARE_NEITHER, COMPARE_USUAL, COMPARE_SLOW };

struct comparing {
	struct requests *q;
	uint8_t *side;	  /* [spans] */
	struct map index; /* file line and part of the time -> sum */
	struct compare_sum {
		int64_t line;
		unsigned int time;
		int64_t usual, slow;
	} *sums;
	size_t count, cap;
};

static void comparing_free(struct comparing *k)
{
	free(k->side);
	free(k->sums);
	map_free(&k->index);
}

static int compare_call(void *arg, const struct span_call *c)
{
	struct comparing *k = arg;
	const struct spans *s = &k->q->spans;
	uint32_t at = c->span;
	int64_t file = batch_get(c->b, OP_FILE_ID, c->row, -1), line, *sum;
	enum span_time time = span_time_of(c->b, c->row);
	struct compare_sum *of;
	uint64_t key;

	while (at != SPAN_NONE && !k->side[at])
		at = s->all[at].parent;
	if (at == SPAN_NONE || c->via == VIA_WAIT) /* another thread's time */
		return 0;
	line = file < 0 ? -1 - batch_get(c->b, OP_OP, c->row, 0)
			: file_lines_line(k->q->files, k->q->dims, file);
	key = hash_u64((uint64_t)line ^ hash_u64(time));
	of = array_of_key(k->sums, k->count, k->cap, &k->index, key, NULL);
	if (!of)
		return -ENOMEM;
	of->line = line;
	of->time = time;
	sum = k->side[at] == COMPARE_SLOW ? &of->slow : &of->usual;
	*sum = add_sat_signed(*sum, c->part);
	return 0;
}

/* ---- differences ---- */

static int difference_order(const void *a, const void *b)
{
	const struct requests_difference *x = a, *y = b;
	int64_t m = llabs(x->slow - x->usual), n = llabs(y->slow - y->usual);

	return ORDER(n, m) ?: bytes_compare(x->what, y->what);
}

/* "orders.ibd: data", or for calls without a file "futex: lock". */
static int compare_name(struct requests *q, const struct compare_sum *sum, uint32_t *ret)
{
	_cleanup_buf_ struct buf text = {0};
	int r;

	if (sum->line < 0)
		buf_printf(&text, "%s", vocab_word("op", -1 - sum->line) ?: "other calls");
	else
		file_lines_name(q->files, q->dims, sum->line, &text);
	r = buf_printf(&text, ": %s", span_time_word(sum->time));
	return r < 0 ? r : intern_add(&q->memory, text.data, text.len, ret);
}

static int compare_files(struct comparing *k)
{
	struct requests_compare *c = &k->q->compare;
	_cleanup_free_ uint32_t *names = calloc(k->count + 1, sizeof(*names));
	int r = names ? 0 : -ENOMEM;

	c->files = calloc(k->count + 1, sizeof(*c->files));
	if (!c->files)
		return -ENOMEM;
	for (size_t i = 0; i < k->count && r >= 0; i++)
		r = compare_name(k->q, &k->sums[i], &names[i]);
	for (size_t i = 0; i < k->count && r >= 0; i++)
		c->files[c->file_count++] = (struct requests_difference){
			.what = intern_get(&k->q->memory, names[i]),
			.usual = k->sums[i].usual / c->usual_count,
			.slow = k->sums[i].slow / c->slow_count,
		};
	array_sort(c->files, c->file_count, difference_order);
	return r;
}

/* The average of these requests. */
static void compare_time(const struct requests *q, const uint32_t *spans, uint32_t count,
			 int64_t ret[static SPAN_TIMES])
{
	int64_t time[SPAN_TIMES];

	memset(ret, 0, SPAN_TIMES * sizeof(*ret));
	for (uint32_t i = 0; i < count; i++) {
		spanset_times(&q->spans.all[spans[i]], time);
		for (unsigned int t = 0; t < SPAN_TIMES; t++)
			ret[t] = add_sat_signed(ret[t], time[t]);
	}
	for (unsigned int t = 0; t < SPAN_TIMES; t++)
		ret[t] /= count;
}

static void compare_times(struct requests *q)
{
	struct requests_compare *c = &q->compare;
	int64_t usual[SPAN_TIMES], slow[SPAN_TIMES];

	compare_time(q, c->usual, c->usual_count, usual);
	compare_time(q, c->slow, c->slow_count, slow);
	for (unsigned int t = 0; t < SPAN_TIMES; t++) {
		struct requests_difference *d = &c->times[t];

		d->what = bytes_of(span_time_word(t));
		d->usual = usual[t];
		d->slow = slow[t];
	}
}

/* ---- attributes ---- */

static double trait_weight(const struct requests_compare *c, const struct requests_trait *t)
{
	double d = (double)t->slow / c->slow_count - (double)t->usual / c->usual_count;

	return d < 0 ? -d : d;
}

static int trait_order(const void *a, const void *b, void *arg)
{
	double x = trait_weight(arg, a), y = trait_weight(arg, b);
	const struct requests_trait *m = a, *n = b;
	int keys = bytes_compare(m->key, n->key);

	return ORDER(y, x) ?: keys ?: bytes_compare(m->value, n->value);
}

static int compare_count_traits(struct requests *q, struct map *index, size_t *cap, uint32_t span,
				bool slow)
{
	struct requests_compare *c = &q->compare;
	struct bytes object = spanset_text(&q->spans, q->spans.all[span].attributes), key, value;

	for (size_t at = 0; json_next_member(object, &at, &key, &value);) {
		uint64_t hash = hash_u64(hash_bytes(key.data, key.len) ^
					 hash_u64(hash_bytes(value.data, value.len)));
		struct requests_trait *t =
			array_of_key(c->traits, c->trait_count, *cap, index, hash, NULL);

		if (!t)
			return -ENOMEM;
		t->key = key;
		t->value = value;
		(*(slow ? &t->slow : &t->usual))++;
	}
	return 0;
}

/*
 * Finds values that more, or fewer, slow requests have than usual ones: by at least a fifth, and by more than chance
 * explains with this few requests.
 */
static int compare_traits(struct requests *q)
{
	struct requests_compare *c = &q->compare;
	struct map index = {0};
	size_t cap = 0, kept = 0;
	double least = MAX(0.2, 1 / sqrt(c->slow_count));
	int r = 0;

	for (uint32_t i = 0; i < c->usual_count && r >= 0; i++)
		r = compare_count_traits(q, &index, &cap, c->usual[i], false);
	for (uint32_t i = 0; i < c->slow_count && r >= 0; i++)
		r = compare_count_traits(q, &index, &cap, c->slow[i], true);
	map_free(&index);
	for (size_t i = 0; i < c->trait_count; i++) {
		if (trait_weight(c, &c->traits[i]) >= least)
			c->traits[kept++] = c->traits[i];
	}
	array_sort_by(c->traits, kept, trait_order, c);
	c->trait_count = MIN(kept, (size_t)TRAITS_MAX);
	return r;
}

/* ---- both sides ---- */

/* The slowest hundredth, and a tenth on either side of the median; with few requests, the slowest and the median. */
static void compare_sides(struct requests_compare *c, const struct requests_group *g)
{
	uint32_t from = g->count * 2ull / 5, to = (uint32_t)((g->count * 3ull + 4) / 5);

	c->name = g->name;
	c->slow_count = MAX(g->count / 100, 1u);
	c->slow = g->spans + g->count - c->slow_count;
	if (g->count < 10) {
		from = (g->count - 1) / 2;
		to = from + 1;
	}
	to = MIN(to, g->count - c->slow_count);
	from = MIN(from, to - 1);
	c->usual = g->spans + from;
	c->usual_count = to - from;
}

int requests_make_compare(struct requests *q, const struct analysis_input *in, struct error *err)
{
	_cleanup_(comparing_free) struct comparing k = {.q = q};
	const struct requests_group *g = requests_largest(q);
	struct requests_compare *c = &q->compare;
	struct span_pass p = {.from = INT64_MAX,
			      .to = INT64_MIN,
			      .of = SPAN_NONE,
			      .columns = 1ull << OP_FILE_ID,
			      .call = compare_call,
			      .arg = &k};
	int r;

	if (!g || g->count < 2)
		return 0;
	compare_sides(c, g);
	k.side = calloc(q->spans.count + 1, 1);
	if (!k.side)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->usual_count; i++)
		k.side[c->usual[i]] = COMPARE_USUAL;
	for (uint32_t i = 0; i < c->slow_count; i++)
		k.side[c->slow[i]] = COMPARE_SLOW;
	for (uint32_t i = 0; i < q->spans.count; i++) {
		if (!k.side[i])
			continue;
		p.from = MIN(p.from, q->spans.all[i].start);
		p.to = MAX(p.to, q->spans.all[i].stop);
	}
	r = spanset_pass(&q->spans, in, &in->runs[0], &p, err);
	if (r >= 0)
		r = compare_files(&k);
	compare_times(q);
	return r < 0 ? r : compare_traits(q);
}
