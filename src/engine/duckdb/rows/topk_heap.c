// SPDX-License-Identifier: Apache-2.0
/* topk_heap.c: a bounded heap of the best values, the worst at the root. */
#include "engine/duckdb/rows/topk_heap.h"
#include "base/array.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

struct top {
	pthread_mutex_t lock;
	size_t max, count;
	bool desc;
	uint64_t flip;	       /* XORed with a value so that it sorts as signed */
	_Atomic bool full;     /* `worst` is valid */
	_Atomic int64_t worst; /* as a rank */
	int64_t *heap;	       /* ranks: larger is better; the smallest is at index 0 */
};

int top_new(struct top **ret, size_t count, bool desc, bool is_unsigned)
{
	struct top *t;

	*ret = NULL;
	if (count > TOP_COUNT_MAX)
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->heap = calloc(count, sizeof(*t->heap));
	if (!t->heap) {
		free(t);
		return -ENOMEM;
	}
	pthread_mutex_init(&t->lock, NULL);
	t->max = count;
	t->desc = desc;
	t->flip = is_unsigned ? 1ull << 63 : 0;
	*ret = t;
	return 0;
}

void top_free(struct top *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t->heap);
	free(t);
}

/* Larger is better in either sort direction. ~x is -x - 1, which reverses the order without overflow. */
static inline int64_t rank_of(const struct top *t, int64_t value)
{
	int64_t v = (int64_t)((uint64_t)value ^ t->flip);

	return t->desc ? v : ~v;
}

static void sift_down(int64_t *heap, size_t count)
{
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;
		int64_t v;

		if (child >= count)
			return;
		if (child + 1 < count && heap[child + 1] < heap[child])
			child++;
		if (heap[at] <= heap[child])
			return;
		v = heap[at];
		heap[at] = heap[child];
		heap[child] = v;
		at = child;
	}
}

static void topk_heap_push(struct top *t, int64_t rank)
{
	size_t at;

	if (t->count == t->max) {
		if (rank <= t->heap[0])
			return;
		t->heap[0] = rank;
		sift_down(t->heap, t->count);
		return;
	}
	for (at = t->count++; at && t->heap[(at - 1) / 2] > rank; at = (at - 1) / 2)
		t->heap[at] = t->heap[(at - 1) / 2];
	t->heap[at] = rank;
}

size_t top_choose(struct top *t, const int64_t *values, const uint64_t *nulls, const uint32_t *in,
		  size_t n, uint32_t *out, bool by_row)
{
	bool full = atomic_load(&t->full);
	int64_t worst = atomic_load(&t->worst);
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		size_t at = by_row ? in[i] : i;
		bool null = !values || (nulls && (nulls[at / 64] >> (at % 64) & 1));

		if (full && (null || rank_of(t, values[at]) < worst))
			continue;
		if (!full || (!null && rank_of(t, values[at]) > worst)) {
			pthread_mutex_lock(&t->lock);
			if (!null)
				topk_heap_push(t, rank_of(t, values[at]));
			if (t->count == t->max) {
				worst = t->heap[0];
				atomic_store(&t->worst, worst);
				atomic_store(&t->full, true);
				full = true;
			}
			pthread_mutex_unlock(&t->lock);
		}
		out[count++] = in[i];
	}
	return count;
}

/* The best rank that a column of the block can have. */
static bool block_best(const struct top *t, const struct store_block *b, unsigned int column,
		       int64_t *ret)
{
	if (b->min[column] > b->max[column])
		return false;
	/* signed bounds do not apply to unsigned values */
	*ret = t->flip && b->min[column] < 0 && b->max[column] >= 0
		       ? INT64_MAX
		       : rank_of(t, t->desc ? b->max[column] : b->min[column]);
	return true;
}

bool top_block(const struct top *t, const struct store_block *b, unsigned int column)
{
	int64_t best;

	if (!atomic_load(&t->full))
		return true;
	return block_best(t, b, column, &best) && best >= atomic_load(&t->worst);
}

struct ranking {
	const struct top *top;
	const struct store *store;
	unsigned int column;
};

static int compare_blocks(const void *a, const void *b, void *arg)
{
	const struct ranking *k = arg;
	int64_t x, y;
	bool has_x = block_best(k->top, store_block(k->store, *(const size_t *)a), k->column, &x);
	bool has_y = block_best(k->top, store_block(k->store, *(const size_t *)b), k->column, &y);

	return ORDER(has_y, has_x) ?: has_x ? ORDER(y, x) : 0;
}

void top_sort_blocks(const struct top *t, const struct store *s, unsigned int column, void *blocks,
		     size_t count, size_t size)
{
	struct ranking k = {t, s, column};

	if (t)
		qsort_r(blocks, count, size, compare_blocks, &k);
}
