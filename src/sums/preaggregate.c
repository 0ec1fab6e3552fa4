// SPDX-License-Identifier: Apache-2.0
/* preaggregate.c: aggregates summary rows by key in a table of bounded size. */
#include "sums/preaggregate.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "hist/sparse.h"

#define SLOTS	      (2 * BATCH_ROWS_MAX)
#define HIST_HEAP_MAX (16u << 20) /* bytes of histograms; at this size the sums are flushed */
#define NONE	      INT64_MIN	  /* a null in a key column */

static const unsigned int key_columns[] = {SUMMARY_WINDOW,    SUMMARY_OP,      SUMMARY_CLASS,
					   SUMMARY_THREAD_ID, SUMMARY_FILE_ID, SUMMARY_ERR};
static const unsigned int sum_columns[] = {SUMMARY_CALLS, SUMMARY_BYTES, SUMMARY_TIME};

#define KEYS ARRAY_SIZE(key_columns)
#define SUMS ARRAY_SIZE(sum_columns)

struct preagg {
	uint64_t columns;
	size_t key_count, sum_count;
	unsigned int key_column[KEYS], sum_column[SUMS];
	int64_t *keys[KEYS]; /* [BATCH_ROWS_MAX] each */
	int64_t *sums[SUMS];
	int64_t *max;
	struct hist *hists;
	size_t hist_heap;
	uint64_t *nulls[KEYS]; /* made by preagg_batch() */
	uint32_t *ends;	       /* end offsets of the packed histograms */
	uint8_t *packed;
	size_t packed_cap;
	uint32_t *slots; /* index of a sum + 1; 0: free */
	size_t count;
	size_t last; /* the sum used last: neighbouring rows often share a key */
	struct batch *batch;
};

static bool has(const struct preagg *g, unsigned int column)
{
	return g->columns >> column & 1;
}

static int column_new(int64_t **ret)
{
	*ret = malloc(BATCH_ROWS_MAX * sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static int arrays_new(struct preagg *g)
{
	int r = 0;

	for (size_t i = 0; i < KEYS && r >= 0; i++) {
		if (!has(g, key_columns[i]))
			continue;
		g->key_column[g->key_count] = key_columns[i];
		g->nulls[g->key_count] = malloc(BATCH_ROWS_MAX / 8);
		r = g->nulls[g->key_count] ? column_new(&g->keys[g->key_count]) : -ENOMEM;
		g->key_count++;
	}
	for (size_t i = 0; i < SUMS && r >= 0; i++) {
		if (!has(g, sum_columns[i]))
			continue;
		g->sum_column[g->sum_count] = sum_columns[i];
		r = column_new(&g->sums[g->sum_count++]);
	}
	if (r >= 0 && has(g, SUMMARY_MAX))
		r = column_new(&g->max);
	if (r >= 0 && has(g, SUMMARY_HIST)) {
		g->hists = calloc(BATCH_ROWS_MAX, sizeof(*g->hists));
		g->ends = malloc(BATCH_ROWS_MAX * sizeof(*g->ends));
		r = g->hists && g->ends ? 0 : -ENOMEM;
	}
	return r;
}

int preagg_new(struct preagg **ret, uint64_t columns)
{
	struct preagg *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	assert(!(columns >> SUMMARY_COLUMNS));
	g->columns = columns | 1ull << SUMMARY_CALLS;
	g->slots = calloc(SLOTS, sizeof(*g->slots));
	g->batch = calloc(1, sizeof(*g->batch) + SUMMARY_COLUMNS * sizeof(g->batch->columns[0]));
	if (!g->slots || !g->batch || arrays_new(g) < 0) {
		preagg_free(g);
		return -ENOMEM;
	}
	g->batch->table = TABLE_SUMMARY;
	g->batch->def = schema_table(TABLE_SUMMARY);
	*ret = g;
	return 0;
}

static void preaggregate_drop_hists(struct preagg *g)
{
	for (size_t i = 0; g->hists && i < g->count; i++)
		hist_free(&g->hists[i]);
	g->hist_heap = 0;
}

void preagg_free(struct preagg *g)
{
	if (!g)
		return;
	preaggregate_drop_hists(g);
	for (size_t i = 0; i < KEYS; i++) {
		free(g->keys[i]);
		free(g->nulls[i]);
	}
	for (size_t i = 0; i < SUMS; i++)
		free(g->sums[i]);
	free(g->max);
	free(g->hists);
	free(g->ends);
	free(g->packed);
	free(g->slots);
	free(g->batch); /* not batch_free(): the columns are borrowed */
	free(g);
}

size_t preagg_count(const struct preagg *g)
{
	return g->count;
}

void preagg_clear(struct preagg *g)
{
	preaggregate_drop_hists(g);
	memset(g->slots, 0, SLOTS * sizeof(*g->slots));
	g->count = g->last = 0;
}

/* ---- adding ---- */

static bool preaggregate_is_key(const struct preagg *g, size_t at, const int64_t *key)
{
	for (size_t k = 0; k < g->key_count; k++) {
		if (g->keys[k][at] != key[k])
			return false;
	}
	return true;
}

/* The sum of a key, added if it is new; BATCH_ROWS_MAX if the table is full. */
static size_t preaggregate_find(struct preagg *g, const int64_t *key)
{
	uint64_t hash = 0;
	size_t slot;

	if (g->count && preaggregate_is_key(g, g->last, key))
		return g->last;
	for (size_t k = 0; k < g->key_count; k++)
		hash = hash_u64(hash ^ (uint64_t)key[k]);
	for (slot = hash % SLOTS; g->slots[slot]; slot = (slot + 1) % SLOTS) {
		if (preaggregate_is_key(g, g->slots[slot] - 1, key))
			return g->last = g->slots[slot] - 1;
	}
	if (g->count == BATCH_ROWS_MAX)
		return BATCH_ROWS_MAX;
	for (size_t k = 0; k < g->key_count; k++)
		g->keys[k][g->count] = key[k];
	for (size_t i = 0; i < g->sum_count; i++)
		g->sums[i][g->count] = 0;
	if (g->max)
		g->max[g->count] = NONE;
	if (g->hists)
		g->hists[g->count] = (struct hist){0};
	g->slots[slot] = (uint32_t)(g->count + 1);
	return g->last = g->count++;
}

/* False, with nothing changed, if a sum would overflow: the caller flushes first. */
static bool add_sums(struct preagg *g, size_t at, const struct batch *summary, size_t row)
{
	int64_t sums[SUMS];

	for (size_t i = 0; i < g->sum_count; i++) {
		if (__builtin_add_overflow(g->sums[i][at],
					   batch_get(summary, g->sum_column[i], row, 0), &sums[i]))
			return false;
	}
	for (size_t i = 0; i < g->sum_count; i++)
		g->sums[i][at] = sums[i];
	if (g->max)
		g->max[at] = MAX(g->max[at], batch_get(summary, SUMMARY_MAX, row, 0));
	return true;
}

static int preaggregate_add_hist(struct preagg *g, size_t at, const struct batch *summary,
				 size_t row)
{
	struct bytes packed = batch_get_bytes(summary, SUMMARY_HIST, row);
	size_t before = hist_memory(&g->hists[at]);
	int r = hist_unpack(&g->hists[at], packed.data, packed.len);

	g->hist_heap += hist_memory(&g->hists[at]) - before;
	return r;
}

ssize_t preagg_add(struct preagg *g, const struct batch *summary, const uint32_t *rows, size_t n)
{
	int64_t key[KEYS];

	assert(summary->table == TABLE_SUMMARY && n <= summary->rows);
	for (size_t i = 0; i < n; i++) {
		size_t at;
		int r = 0;

		if (g->hist_heap > HIST_HEAP_MAX)
			return (ssize_t)i;
		for (size_t k = 0; k < g->key_count; k++)
			key[k] = batch_get(summary, g->key_column[k], rows[i], NONE);
		at = preaggregate_find(g, key);
		if (at == BATCH_ROWS_MAX || !add_sums(g, at, summary, rows[i]))
			return (ssize_t)i;
		if (g->hists)
			r = preaggregate_add_hist(g, at, summary, rows[i]);
		if (r < 0)
			return r;
	}
	return (ssize_t)n;
}

/* ---- output ---- */

static void preaggregate_put_nulls(struct preagg *g, size_t k, struct column *c)
{
	bool any = false;

	memset(g->nulls[k], 0, BATCH_ROWS_MAX / 8);
	for (size_t i = 0; i < g->count; i++) {
		if (g->keys[k][i] != NONE)
			continue;
		g->nulls[k][i / 64] |= 1ull << (i % 64);
		g->keys[k][i] = 0;
		any = true;
	}
	c->val = g->keys[k];
	c->nulls = any ? g->nulls[k] : NULL;
}

static int put_hists(struct preagg *g, struct column *c)
{
	uint8_t one[HIST_PACKED_MAX];
	size_t len = 0;

	for (size_t i = 0; i < g->count; i++) {
		size_t n = hist_pack(&g->hists[i], one);

		if (grow((void **)&g->packed, &g->packed_cap, len + n + 1, 1) < 0)
			return -ENOMEM;
		memcpy(g->packed + len, one, n);
		len += n;
		g->ends[i] = (uint32_t)len;
	}
	c->data = g->packed;
	c->data_len = len;
	c->ends = g->ends;
	return 0;
}

int preagg_batch(struct preagg *g, const struct batch **ret)
{
	struct batch *b = g->batch;

	assert(g->count <= BATCH_ROWS_MAX);
	for (size_t k = 0; k < g->key_count; k++)
		preaggregate_put_nulls(g, k, &b->columns[g->key_column[k]]);
	for (size_t i = 0; i < g->sum_count; i++)
		b->columns[g->sum_column[i]].val = g->sums[i];
	b->columns[SUMMARY_MAX].val = g->max;
	b->rows = g->count;
	*ret = b;
	return g->hists ? put_hists(g, &b->columns[SUMMARY_HIST]) : 0;
}
