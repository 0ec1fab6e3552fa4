/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transform.c: predict a column from what came before it and from other columns of the row, keep the difference.
 * Both directions keep the same state, so that the reader makes the predictions that the writer made.
 */
#include "store/codec_impl.h"

unsigned int transform_refs(enum transform kind)
{
	static const uint8_t refs[TRANSFORM_COUNT] = {
		[TRANSFORM_SAME] = 1, [TRANSFORM_NEGATED] = 1, [TRANSFORM_LAST] = 1,
		[TRANSFORM_NEXT] = 2, [TRANSFORM_END] = 1,     [TRANSFORM_SWITCH] = 2,
	};

	assert(kind < TRANSFORM_COUNT);
	return refs[kind];
}

/* What a transform knows of the rows before. */
struct state {
	int64_t previous;
	int64_t *last;
	uint8_t *copies;
};

static inline size_t slot(const struct transform_args *t, size_t i)
{
	return (uint64_t)t->key[i] % CODEC_SLOTS;
}

/* The prediction for row i. */
static inline int64_t predict(const struct transform_args *t, const struct state *s, enum transform kind, size_t i)
{
	switch (kind) {
	case TRANSFORM_DELTA:
		return s->previous;
	case TRANSFORM_SAME:
		return t->a[i];
	case TRANSFORM_NEGATED:
		return wrap_sub(0, t->a[i]);
	case TRANSFORM_LAST:
	case TRANSFORM_NEXT:
		return s->last[slot(t, i)];
	case TRANSFORM_END:
		return wrap_sub(s->previous, t->a[i]);
	case TRANSFORM_SWITCH:
		return s->copies[slot(t, i)] ? MAX(t->a[i], (int64_t)0) : s->last[slot(t, i)];
	default:
		return 0;
	}
}

/* Learns the value of row i. */
static inline void learn(const struct transform_args *t, struct state *s, enum transform kind, size_t i, int64_t v)
{
	size_t k;

	switch (kind) {
	case TRANSFORM_DELTA:
		s->previous = v;
		break;
	case TRANSFORM_LAST:
		s->last[slot(t, i)] = v;
		break;
	case TRANSFORM_NEXT:
		s->last[slot(t, i)] = wrap_add(v, t->a[i]);
		break;
	case TRANSFORM_END:
		s->previous = wrap_add(v, t->a[i]);
		break;
	case TRANSFORM_SWITCH:
		k = slot(t, i);
		if (v == MAX(t->a[i], (int64_t)0))
			s->copies[k] = 1;
		else if (v == s->last[k])
			s->copies[k] = 0;
		s->last[k] = v;
		break;
	default:
		break;
	}
}

static inline bool is_null(const struct transform_args *t, size_t i)
{
	return t->nulls && (t->nulls[i / 64] >> (i % 64) & 1);
}

static struct state state_begin(struct codec *c)
{
	memset(c->last, 0, sizeof(c->last));
	memset(c->copies, 0, sizeof(c->copies));
	return (struct state){.last = c->last, .copies = c->copies};
}

/* Inlined once per kind, so that each loop holds only its own work. */
static inline __attribute__((always_inline)) size_t forward(struct codec *c, const struct transform_args *t,
							     enum transform kind, const int64_t *v, int64_t *out)
{
	struct state s = state_begin(c);
	size_t n = 0;

	for (size_t i = 0; i < t->rows; i++) {
		if (is_null(t, i))
			continue;
		out[n++] = wrap_sub(v[i], predict(t, &s, kind, i));
		learn(t, &s, kind, i, v[i]);
	}
	return n;
}

static inline __attribute__((always_inline)) void inverse(struct codec *c, const struct transform_args *t,
							   enum transform kind, const int64_t *residuals, int64_t *v)
{
	struct state s = state_begin(c);
	size_t n = 0;

	for (size_t i = 0; i < t->rows; i++) {
		if (is_null(t, i)) {
			v[i] = 0;
			continue;
		}
		v[i] = wrap_add(residuals[n++], predict(t, &s, kind, i));
		learn(t, &s, kind, i, v[i]);
	}
}

size_t transform_forward(struct codec *c, const struct transform_args *t, const int64_t *v, int64_t *out)
{
	switch (t->kind) {
#define FORWARD(K) case K: return forward(c, t, K, v, out);
	FORWARD(TRANSFORM_NONE)
	FORWARD(TRANSFORM_DELTA)
	FORWARD(TRANSFORM_SAME)
	FORWARD(TRANSFORM_NEGATED)
	FORWARD(TRANSFORM_LAST)
	FORWARD(TRANSFORM_NEXT)
	FORWARD(TRANSFORM_END)
	FORWARD(TRANSFORM_SWITCH)
#undef FORWARD
	default:
		assert(!"a transform of this version");
		return 0;
	}
}

void transform_inverse(struct codec *c, const struct transform_args *t, const int64_t *residuals, int64_t *v)
{
	if (t->kind == TRANSFORM_NONE && !t->nulls) {
		if (v != residuals)
			memcpy(v, residuals, t->rows * sizeof(*v));
		return;
	}
	switch (t->kind) {
#define INVERSE(K) case K: inverse(c, t, K, residuals, v); break;
	INVERSE(TRANSFORM_NONE)
	INVERSE(TRANSFORM_DELTA)
	INVERSE(TRANSFORM_SAME)
	INVERSE(TRANSFORM_NEGATED)
	INVERSE(TRANSFORM_LAST)
	INVERSE(TRANSFORM_NEXT)
	INVERSE(TRANSFORM_END)
	INVERSE(TRANSFORM_SWITCH)
#undef INVERSE
	default:
		assert(!"a transform of this version");
	}
}
