/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transform.c: predicts a column from earlier rows and from other columns of the row, and keeps the difference. Both
 * directions update the same state, so that the reader repeats the writer's predictions.
 */
#include "store/codec/codec_impl.h"

unsigned int transform_refs(enum transform kind)
{
	static const uint8_t refs[TRANSFORM_COUNT] = {
		[TRANSFORM_SAME] = 1, [TRANSFORM_NEGATED] = 1, [TRANSFORM_LAST] = 1,
		[TRANSFORM_NEXT] = 2, [TRANSFORM_END] = 1,     [TRANSFORM_SWITCH] = 2,
	};

	assert(kind < TRANSFORM_COUNT);
	return refs[kind];
}

#define INLINE static inline __attribute__((always_inline))

/* The inputs of a transform, as locals without aliases, so that the loops keep them in registers. */
struct state {
	const int64_t *key, *a;
	int64_t *last;
	uint8_t *copies;
	int64_t previous;
};

INLINE size_t slot(const struct state *s, size_t i)
{
	return (uint64_t)s->key[i] % CODEC_SLOTS;
}

INLINE int64_t positive(int64_t v)
{
	return v < 0 ? 0 : v;
}

/* Selects without a branch: the CPU cannot predict which rows are null or copy another column. */
INLINE int64_t either(bool first, int64_t a, int64_t b)
{
	return b ^ ((a ^ b) & -(int64_t)first);
}

/* The prediction for row i. */
INLINE int64_t predict(const struct state *s, enum transform kind, size_t i)
{
	size_t k;

	switch (kind) {
	case TRANSFORM_DELTA:
		return s->previous;
	case TRANSFORM_SAME:
		return s->a[i];
	case TRANSFORM_NEGATED:
		return wrap_sub(0, s->a[i]);
	case TRANSFORM_LAST:
	case TRANSFORM_NEXT:
		return s->last[slot(s, i)];
	case TRANSFORM_END:
		return wrap_sub(s->previous, s->a[i]);
	case TRANSFORM_SWITCH:
		k = slot(s, i);
		return either(s->copies[k], positive(s->a[i]), s->last[k]);
	default:
		return 0;
	}
}

/* Updates the state with the value of row i, if it has one. */
INLINE void learn(struct state *s, enum transform kind, size_t i, int64_t v, bool valid)
{
	unsigned int same, stays;
	size_t k;

	switch (kind) {
	case TRANSFORM_DELTA:
		s->previous = either(valid, v, s->previous);
		break;
	case TRANSFORM_LAST:
		k = slot(s, i);
		s->last[k] = either(valid, v, s->last[k]);
		break;
	case TRANSFORM_NEXT:
		k = slot(s, i);
		s->last[k] = either(valid, wrap_add(v, s->a[i]), s->last[k]);
		break;
	case TRANSFORM_END:
		s->previous = either(valid, wrap_add(v, s->a[i]), s->previous);
		break;
	case TRANSFORM_SWITCH:
		k = slot(s, i);
		same = v == positive(s->a[i]);
		stays = v != s->last[k];
		/* set if it is a copy from here on; cleared if it is the last value; otherwise unchanged */
		s->copies[k] = (uint8_t)((valid & same) | (s->copies[k] & (same | stays | !valid)));
		s->last[k] = either(valid, v, s->last[k]);
		break;
	default:
		break;
	}
}

static struct state state_begin(struct codec *c, const struct transform_args *t)
{
	unsigned int refs = transform_refs(t->kind);

	assert(t->rows <= STORE_ROWS_MAX);
	assert(t->key || (t->kind != TRANSFORM_LAST && refs < 2));
	assert(t->a || t->kind == TRANSFORM_LAST || !refs);
	if (t->key) {
		memset(c->last, 0, sizeof(c->last));
		memset(c->copies, 0, sizeof(c->copies));
	}
	return (struct state){.key = t->key, .a = t->a, .last = c->last, .copies = c->copies};
}

/* The null bits of rows [i, i + 64). */
INLINE uint64_t null_word(const uint64_t *nulls, size_t i)
{
	return nulls ? nulls[i / 64] : 0;
}

/* Inlined once per kind, so that each loop holds only its own work. */
INLINE size_t forward(struct codec *c, const struct transform_args *t, enum transform kind,
		      const int64_t *v, int64_t *restrict out)
{
	struct state s = state_begin(c, t);
	const uint64_t *nulls = t->nulls;
	const size_t rows = t->rows;
	int64_t *restrict to = out;

	for (size_t i = 0; i < rows;) {
		const size_t end = MIN(rows, i + 64);
		uint64_t skip = null_word(nulls, i);

		for (; !skip && i < end; i++) {
			*to++ = wrap_sub(v[i], predict(&s, kind, i));
			learn(&s, kind, i, v[i], true);
		}
		for (; i < end; i++) {
			bool valid = !(skip >> (i % 64) & 1);

			*to = wrap_sub(v[i], predict(&s, kind, i));
			to += valid;
			learn(&s, kind, i, v[i], valid);
		}
	}
	assert(to <= out + rows);
	return (size_t)(to - out);
}

/* In place: each row's residual becomes its value. */
INLINE void inverse_all(struct codec *c, const struct transform_args *t, enum transform kind,
			int64_t *restrict v)
{
	struct state s = state_begin(c, t);
	const size_t rows = t->rows;

	for (size_t i = 0; i < rows; i++) {
		v[i] = wrap_add(v[i], predict(&s, kind, i));
		learn(&s, kind, i, v[i], true);
	}
}

#define FEW_VALUES \
	16 /* nulls per 64 rows, which are then visited one by one, at the cost of one mispredicted branch per word */

/*
 * For columns with null rows, which do not update the state. If the last row is null, one residual past the end is
 * read.
 */
INLINE void inverse_some(struct codec *c, const struct transform_args *t, enum transform kind,
			 const int64_t *residuals, int64_t *restrict v)
{
	struct state s = state_begin(c, t);
	const size_t rows = t->rows;

	for (size_t i = 0; i < rows;) {
		const size_t end = MIN(rows, i + 64);
		uint64_t skip = t->nulls[i / 64], values = ~skip;

		if (end - i < 64)
			values &= (1ull << (end - i)) - 1;
		for (; !skip && i < end; i++) {
			const int64_t x = wrap_add(*residuals++, predict(&s, kind, i));

			v[i] = x;
			learn(&s, kind, i, x, true);
		}
		if (i < end && __builtin_popcountll(values) <= FEW_VALUES) {
			memset(&v[i], 0, (end - i) * sizeof(*v));
			for (; values; values &= values - 1) {
				const size_t k = i + (size_t)__builtin_ctzll(values);

				v[k] = wrap_add(*residuals++, predict(&s, kind, k));
				learn(&s, kind, k, v[k], true);
			}
			i = end;
		}
		for (; i < end; i++) {
			bool valid = !(skip >> (i % 64) & 1);
			const int64_t x = wrap_add(*residuals, predict(&s, kind, i));

			residuals += valid;
			v[i] = either(valid, x, 0);
			learn(&s, kind, i, x, valid);
		}
	}
}

size_t transform_forward(struct codec *c, const struct transform_args *t, const int64_t *v,
			 int64_t *out)
{
	switch (t->kind) {
#define FORWARD(K) \
	case K:    \
		return forward(c, t, K, v, out);
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

void transform_inverse(struct codec *c, const struct transform_args *t, const int64_t *residuals,
		       int64_t *v)
{
	assert(t->nulls ? residuals != v : residuals == v);
	switch (t->kind) {
#define INVERSE(K)                                           \
	case K:                                              \
		if (t->nulls)                                \
			inverse_some(c, t, K, residuals, v); \
		else if (K != TRANSFORM_NONE)                \
			inverse_all(c, t, K, v);             \
		break;
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
