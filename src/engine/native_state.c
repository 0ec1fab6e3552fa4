// SPDX-License-Identifier: Apache-2.0
/* native_state.c: aggregates, value by value; the same sums, histograms and sets as the engine's. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/strpool.h"
#include "engine/native_internal.h"
#include "schema/vocab.h"

/* ---- texts ---- */

#define CHUNK_SIZE (64u << 10)

struct native_text {
	struct native_text *next;
	size_t cap;
	uint8_t data[];
};

int native_text_add(struct native_texts *t, struct bytes text, struct bytes *ret)
{
	if (!t->chunks || t->chunks->cap - t->used < text.len) {
		size_t cap = MAX(text.len, (size_t)CHUNK_SIZE);
		struct native_text *c = malloc(sizeof(*c) + cap);

		if (!c)
			return -ENOMEM;
		c->next = t->chunks;
		c->cap = cap;
		t->chunks = c;
		t->used = 0;
	}
	*ret = (struct bytes){t->chunks->data + t->used, text.len};
	if (text.len)
		memcpy(t->chunks->data + t->used, text.data, text.len);
	t->used += text.len;
	return 0;
}

void native_texts_free(struct native_texts *t)
{
	while (t->chunks) {
		struct native_text *c = t->chunks;

		t->chunks = c->next;
		free(c);
	}
}

/* ---- adding ---- */

static bool is_float(const struct plan_field *f)
{
	return f->expr && f->expr->type.type == QUERY_FLOAT;
}

static int compare_texts(struct bytes a, struct bytes b)
{
	int order = memcmp(a.data ? a.data : (const uint8_t *)"",
			   b.data ? b.data : (const uint8_t *)"", MIN(a.len, b.len));

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Words by their texts, as everything that is printed as one. */
static int compare(struct query_kind k, const struct value *a, const struct value *b)
{
	const char *x, *y;

	switch (k.type) {
	case QUERY_TEXT:
		return compare_texts(a->t, b->t);
	case QUERY_FLOAT:
		return (a->f > b->f) - (a->f < b->f);
	case QUERY_UINT:
		return ((uint64_t)a->i > (uint64_t)b->i) - ((uint64_t)a->i < (uint64_t)b->i);
	case QUERY_CODE:
		x = vocab_word(k.vocab, a->i);
		y = vocab_word(k.vocab, b->i);
		return x && y ? strcmp(x, y) : (a->i > b->i) - (a->i < b->i);
	default:
		return (a->i > b->i) - (a->i < b->i);
	}
}

/* A text is copied over the one before it. */
static int keep(const struct plan_field *f, struct native_state *s, const struct value *v)
{
	int r;

	s->value = *v;
	if (v->null || f->expr->type.type != QUERY_TEXT)
		return 0;
	r = grow((void **)&s->text, &s->text_cap, v->t.len + 1, 1);
	if (r < 0)
		return r;
	if (v->t.len)
		memcpy(s->text, v->t.data, v->t.len);
	s->value.t.data = s->text;
	return 0;
}

static int add_set(const struct plan_field *f, struct native_state *s, const struct value *v)
{
	uint64_t bits;

	if (f->expr->type.type == QUERY_TEXT)
		return distinct_add(&s->set, hash_bytes(v->t.data, v->t.len));
	memcpy(&bits, &v->f, sizeof(bits));
	return distinct_add(&s->set, hash_u64(is_float(f) ? bits : (uint64_t)v->i));
}

static int add_hist(const struct plan_field *f, struct native_state *s, const struct value *v)
{
	if (f->expr->type.type == QUERY_HIST)
		return hist_unpack(&s->hist, v->t.data, v->t.len);
	s->most = s->count == 1 ? v->i : MAX(s->most, v->i);
	return hist_add(&s->hist, (uint64_t)MAX(v->i, (int64_t)0), 1);
}

static int add_tally(const struct plan_field *f, struct native_state *s, int64_t v)
{
	const int64_t *p = f->param;

	switch (f->aggregate) {
	case AGGREGATE_QUANTIZE:
		return tally_add(&s->tally, tally_quantize(v), 1);
	case AGGREGATE_LQUANTIZE:
		return tally_add(&s->tally, tally_lquantize(v, p[0], p[1], p[2]), 1);
	default:
		return tally_add(&s->tally, tally_llquantize(v, p[0], p[1], p[2], p[3]), 1);
	}
}

static uint64_t memory(const struct plan_field *f, const struct native_state *s)
{
	switch (f->aggregate) {
	case AGGREGATE_PERCENTILE:
	case AGGREGATE_HIST:
		return hist_memory(&s->hist);
	case AGGREGATE_QUANTIZE:
	case AGGREGATE_LQUANTIZE:
	case AGGREGATE_LLQUANTIZE:
		return s->tally.cap * sizeof(struct tally_entry);
	case AGGREGATE_DISTINCT:
		return distinct_memory(&s->set);
	case AGGREGATE_MIN:
	case AGGREGATE_MAX:
	case AGGREGATE_ANY:
	case AGGREGATE_FIRST:
	case AGGREGATE_LAST:
		return s->text_cap;
	default:
		return 0;
	}
}

static void add_mean(struct native_state *s, double v)
{
	double delta = v - s->mean;

	s->mean += delta / (double)s->count;
	s->m2 += delta * (v - s->mean);
}

static int keep_end(const struct plan_field *f, struct native_state *s, const struct value *v,
		    int64_t end)
{
	bool better = f->aggregate == AGGREGATE_FIRST ? end < s->end : end >= s->end;

	if (s->count > 1 && !better)
		return 0;
	s->end = end;
	return keep(f, s, v);
}

static int add_value(const struct plan_field *f, struct native_state *s, const struct value *v,
		     int64_t end)
{
	switch (f->aggregate) {
	case AGGREGATE_COUNT:
	case AGGREGATE_COUNTIF:
		return 0;
	case AGGREGATE_SUM:
	case AGGREGATE_AVG:
	case AGGREGATE_RATE:
		if (is_float(f))
			s->fsum += v->f;
		else if (f->expr)
			s->sum += v->i;
		return 0;
	case AGGREGATE_STDDEV:
		add_mean(s, is_float(f) ? v->f : (double)v->i);
		return 0;
	case AGGREGATE_MIN:
	case AGGREGATE_ANY:
		return s->count == 1 || compare(f->expr->type, v, &s->value) < 0 ? keep(f, s, v)
										 : 0;
	case AGGREGATE_MAX:
		return s->count == 1 || compare(f->expr->type, v, &s->value) > 0 ? keep(f, s, v)
										 : 0;
	case AGGREGATE_FIRST:
	case AGGREGATE_LAST:
		return keep_end(f, s, v, end);
	case AGGREGATE_DISTINCT:
		return add_set(f, s, v);
	case AGGREGATE_PERCENTILE:
	case AGGREGATE_HIST:
		return add_hist(f, s, v);
	default:
		return add_tally(f, s, v->i);
	}
}

int native_add(const struct plan_field *f, struct native_state *s, const struct value *v,
	       int64_t end, uint64_t *held, struct error *err)
{
	uint64_t before = memory(f, s);
	bool ends = f->aggregate == AGGREGATE_FIRST || f->aggregate == AGGREGATE_LAST;
	int r;

	if ((f->expr && v->null && !ends) || (f->aggregate == AGGREGATE_COUNTIF && !v->i))
		return 0;
	s->count++;
	r = add_value(f, s, v, end);
	*held += memory(f, s) - before;
	return r == -EBADMSG ? error_set(err, -EIO, "a histogram of the trace is damaged") : r;
}

/* ---- what comes out ---- */

static struct value null_value(void)
{
	return (struct value){.null = true};
}

static struct value float_value(double v)
{
	return (struct value){.null = !isfinite(v), .f = isfinite(v) ? v : 0};
}

/* Averages and deviations of durations and sizes are whole. */
static struct value mean_value(const struct plan_field *f, double v)
{
	if (f->type.type == QUERY_FLOAT)
		return float_value(v);
	if (!(fabs(v) < 0x1p63))
		return null_value();
	return (struct value){.i = (int64_t)llround(v)};
}

static struct value sum_value(const struct native_state *s)
{
	if (s->sum < INT64_MIN || s->sum > INT64_MAX)
		return null_value();
	return (struct value){.i = (int64_t)s->sum};
}

static int pack(struct native_texts *texts, const void *data, size_t len, struct value *ret)
{
	*ret = (struct value){0};
	return native_text_add(texts, (struct bytes){data, len}, &ret->t);
}

static int hist_value(const struct plan_field *f, const struct native_state *s,
		      struct native_texts *texts, struct value *ret)
{
	uint8_t packed[HIST_PACKED_MAX];

	if (f->aggregate == AGGREGATE_HIST)
		return pack(texts, packed, hist_pack(&s->hist, packed), ret);
	ret->i = (int64_t)MIN(hist_quantile(&s->hist, f->quantile), (uint64_t)INT64_MAX);
	if (f->expr->type.type != QUERY_HIST)
		ret->i = MIN(ret->i, s->most);
	return 0;
}

static int tally_value(const struct native_state *s, struct native_texts *texts, struct value *ret)
{
	size_t len = s->tally.count * (size_t)TALLY_ENTRY_BYTES;
	_cleanup_free_ uint8_t *packed = malloc(len + 1);

	if (!packed)
		return -ENOMEM;
	tally_pack(&s->tally, packed);
	return pack(texts, packed, len, ret);
}

static struct value rate_value(const struct plan_field *f, const struct native_state *s,
			       double seconds)
{
	double sum = !f->expr ? (double)s->count : is_float(f) ? s->fsum : (double)s->sum;

	return seconds > 0 && (s->count || !f->expr) ? float_value(sum / seconds) : null_value();
}

int native_finish(const struct plan_field *f, struct native_state *s, double seconds,
		  struct native_texts *texts, struct value *ret, bool *ret_estimated)
{
	double count = (double)s->count;

	*ret = (struct value){0};
	*ret_estimated = false;
	switch (f->aggregate) {
	case AGGREGATE_COUNT:
	case AGGREGATE_COUNTIF:
		ret->i = (int64_t)s->count;
		return 0;
	case AGGREGATE_DISTINCT:
		ret->i = (int64_t)distinct_count(&s->set);
		*ret_estimated = distinct_estimated(&s->set);
		return 0;
	case AGGREGATE_RATE:
		*ret = rate_value(f, s, seconds);
		return 0;
	case AGGREGATE_STDDEV:
		*ret = s->count < 2 ? null_value() : mean_value(f, sqrt(s->m2 / (count - 1)));
		return 0;
	default:
		break;
	}
	if (!s->count) {
		*ret = null_value();
		return 0;
	}
	switch (f->aggregate) {
	case AGGREGATE_SUM:
		*ret = is_float(f) ? float_value(s->fsum) : sum_value(s);
		return 0;
	case AGGREGATE_AVG:
		*ret = mean_value(f, (is_float(f) ? s->fsum : (double)s->sum) / count);
		return 0;
	case AGGREGATE_PERCENTILE:
	case AGGREGATE_HIST:
		return hist_value(f, s, texts, ret);
	case AGGREGATE_QUANTIZE:
	case AGGREGATE_LQUANTIZE:
	case AGGREGATE_LLQUANTIZE:
		return tally_value(s, texts, ret);
	default:
		*ret = s->value;
		return s->text && !ret->null ? native_text_add(texts, s->value.t, &ret->t) : 0;
	}
}

void native_state_free(const struct plan_field *f, struct native_state *s)
{
	switch (f->aggregate) {
	case AGGREGATE_PERCENTILE:
	case AGGREGATE_HIST:
		hist_free(&s->hist);
		return;
	case AGGREGATE_QUANTIZE:
	case AGGREGATE_LQUANTIZE:
	case AGGREGATE_LLQUANTIZE:
		tally_free(&s->tally);
		return;
	case AGGREGATE_DISTINCT:
		distinct_free(&s->set);
		return;
	case AGGREGATE_MIN:
	case AGGREGATE_MAX:
	case AGGREGATE_ANY:
	case AGGREGATE_FIRST:
	case AGGREGATE_LAST:
		free(s->text);
		return;
	default:
		return;
	}
}
