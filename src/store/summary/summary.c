/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.c: groups the rows of a block by a hash of their keys, sorts them by group (counting), then counts each
 * group's histogram buckets. Memory is fixed: a block has at most BATCH_ROWS_MAX rows.
 */
#include "store/summary/summary.h"

#include <errno.h>
#include <string.h>

#include "base/saturate.h"
#include "batch/seconds.h"
#include "hist/sparse.h"
#include "schema/vocab.h"
#include "store/store.h"

#define SLOTS	  (2 * BATCH_ROWS_MAX)
#define SORT_MAX  24 /* up to this many buckets insertion sort is used, above it counting */
#define KEYS	  7
#define KEY_FILE2 6 /* the other keys are columns of op */

/* null keys are KEY_NULL */
#define KEY_NULL INT64_MIN

struct group {
	int64_t key[KEYS];
	uint32_t calls, begin;	  /* its rows are in `order` from there on */
	int64_t bytes, time, max; /* never negative; sums saturate */
};

static const uint8_t key_column[KEYS] = {0,	 OP_OP,	   OP_THREAD_ID, OP_FILE_ID,
					 OP_ERR, OP_CLASS, OP_FILE2_ID};
static const uint8_t out_column[KEYS] = {SUMMARY_WINDOW,  SUMMARY_OP,  SUMMARY_THREAD_ID,
					 SUMMARY_FILE_ID, SUMMARY_ERR, SUMMARY_CLASS,
					 SUMMARY_FILE2_ID};

struct summarizer {
	uint32_t slots[SLOTS]; /* group + 1, 0 is free */
	struct group groups[BATCH_ROWS_MAX];
	size_t count;
	uint32_t group_of[BATCH_ROWS_MAX]; /* by row */
	uint16_t bucket_of[BATCH_ROWS_MAX];
	uint16_t order[BATCH_ROWS_MAX]; /* buckets, group by group */
	uint32_t counts[HIST_BUCKETS];
	uint8_t packed[HIST_PACKED_MAX];
};

static_assert(HIST_BUCKETS <= UINT16_MAX, "buckets fit 16 bits");

int summarizer_new(struct summarizer **ret)
{
	*ret = malloc(sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void summarizer_free(struct summarizer *s)
{
	free(s);
}

static int64_t summary_at_least_0(int64_t v)
{
	return v < 0 ? 0 : v;
}

/* A column as the loop over the rows sees it. */
struct view {
	const int64_t *val; /* NULL: null in every row */
	const uint64_t *nulls;
};

static struct view view_of(const struct batch *b, unsigned int column)
{
	return (struct view){b->columns[column].val, b->columns[column].nulls};
}

static inline int64_t summary_get(const struct view *v, size_t row, int64_t otherwise)
{
	if (!v->val || (v->nulls && (v->nulls[row / 64] >> (row % 64) & 1)))
		return otherwise;
	return v->val[row];
}

static int64_t summary_window_of(int64_t start, int64_t dur)
{
	int64_t end, rest;

	if (start == KEY_NULL || __builtin_add_overflow(start, dur, &end))
		return KEY_NULL;
	rest = end % SUMMARY_WINDOW_NS;
	return (int64_t)((uint64_t)end - (uint64_t)(rest < 0 ? rest + SUMMARY_WINDOW_NS : rest));
}

static uint32_t group_find(struct summarizer *s, const int64_t key[KEYS])
{
	uint64_t h = 0;
	size_t i;

	for (unsigned int k = 0; k < KEYS; k++)
		h = (h ^ (uint64_t)key[k]) * 0x9e3779b97f4a7c15ull;
	for (i = (h >> 32) % SLOTS; s->slots[i]; i = (i + 1) % SLOTS) {
		if (!memcmp(s->groups[s->slots[i] - 1].key, key, sizeof(s->groups[0].key)))
			return s->slots[i] - 1;
	}
	assert(s->count < ARRAY_SIZE(s->groups));
	s->groups[s->count] = (struct group){0};
	memcpy(s->groups[s->count].key, key, sizeof(s->groups[0].key));
	s->slots[i] = (uint32_t)++s->count;
	return s->slots[i] - 1;
}

static void group_rows(struct summarizer *s, const struct batch *b)
{
	struct view key_view[KEYS], start = view_of(b, OP_START), dur_view = view_of(b, OP_DUR);
	struct view status = view_of(b, OP_STATUS), bytes = view_of(b, OP_BYTES);

	assert(b->rows <= BATCH_ROWS_MAX);
	for (unsigned int k = 1; k < KEYS; k++)
		key_view[k] = view_of(b, key_column[k]);
	for (size_t i = 0; i < b->rows; i++) {
		int64_t dur = summary_get(&dur_view, i, 0), key[KEYS];
		struct group *g;

		s->group_of[i] = UINT32_MAX;
		if (summary_get(&status, i, 0) & STATUS_UNFINISHED)
			continue;
		key[0] = summary_window_of(summary_get(&start, i, KEY_NULL), dur);
		for (unsigned int k = 1; k < KEYS; k++)
			key[k] = summary_get(&key_view[k], i, KEY_NULL);
		if (key[KEY_FILE2] != KEY_NULL && seconds_file(b, i) < 0)
			key[KEY_FILE2] = KEY_NULL;
		s->group_of[i] = group_find(s, key);
		g = &s->groups[s->group_of[i]];
		dur = summary_at_least_0(dur);
		g->calls++;
		g->bytes = add_sat_signed(g->bytes, summary_at_least_0(summary_get(&bytes, i, 0)));
		g->time = add_sat_signed(g->time, dur);
		g->max = MAX(g->max, dur);
		s->bucket_of[i] = (uint16_t)hist_bucket((uint64_t)dur);
	}
}

/* Sorts buckets by group into `order`. */
static void sort_by_group(struct summarizer *s, size_t rows)
{
	uint32_t at = 0;

	for (size_t g = 0; g < s->count; g++) {
		s->groups[g].begin = at;
		at += s->groups[g].calls;
	}
	assert(at <= rows);
	for (size_t i = 0; i < rows; i++) {
		if (s->group_of[i] != UINT32_MAX)
			s->order[s->groups[s->group_of[i]].begin++] = s->bucket_of[i];
	}
	for (size_t g = 0; g < s->count; g++)
		s->groups[g].begin -= s->groups[g].calls;
}

/* Packs sorted buckets in the form of hist/sparse.h. */
static size_t pack_sorted(const uint16_t *b, size_t n, uint8_t *out)
{
	unsigned int before = 0;
	size_t len = 0;

	assert(n > 0 && n <= SORT_MAX);
	for (size_t i = 0; i < n;) {
		size_t from = i;

		while (i < n && b[i] == b[from])
			i++;
		len += varint_put(out + len, b[from] - before);
		len += varint_put(out + len, i - from);
		before = b[from];
	}
	return len;
}

static size_t pack_counted(struct summarizer *s, const uint16_t *b, size_t n)
{
	unsigned int before = 0;
	size_t len = 0;

	memset(s->counts, 0, sizeof(s->counts));
	for (size_t i = 0; i < n; i++)
		s->counts[b[i]]++;
	for (unsigned int k = 0; k < HIST_BUCKETS; k++) {
		if (!s->counts[k])
			continue;
		len += varint_put(s->packed + len, k - before);
		len += varint_put(s->packed + len, s->counts[k]);
		before = k;
	}
	assert(len <= sizeof(s->packed));
	return len;
}

static void sort_buckets(uint16_t *b, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		uint16_t v = b[i];
		size_t k = i;

		for (; k > 0 && b[k - 1] > v; k--)
			b[k] = b[k - 1];
		b[k] = v;
	}
}

static int summary_add_row(struct summarizer *s, const struct group *g, uint64_t block,
			   struct batch *out)
{
	uint16_t *buckets = s->order + g->begin;
	struct batch_row row = batch_row(out);
	size_t len;

	if (g->calls <= SORT_MAX) {
		sort_buckets(buckets, g->calls);
		len = pack_sorted(buckets, g->calls, s->packed);
	} else {
		len = pack_counted(s, buckets, g->calls);
	}
	for (unsigned int k = 0; k < KEYS; k++)
		row_set_if(&row, g->key[k] != KEY_NULL, out_column[k], g->key[k]);
	row_set(&row, SUMMARY_BLOCK, (int64_t)block);
	row_set(&row, SUMMARY_CALLS, g->calls);
	row_set(&row, SUMMARY_BYTES, g->bytes);
	row_set(&row, SUMMARY_TIME, g->time);
	row_set(&row, SUMMARY_MAX, g->max);
	row_set_bytes(&row, SUMMARY_HIST, s->packed, len);
	return row.r;
}

int summarize(struct summarizer *s, const struct batch *ops, uint64_t block, struct batch *out)
{
	int r = 0;

	assert(ops->table == TABLE_OP && out->table == TABLE_SUMMARY);
	memset(s->slots, 0, sizeof(s->slots));
	s->count = 0;
	group_rows(s, ops);
	sort_by_group(s, ops->rows);
	for (size_t g = 0; g < s->count && r >= 0; g++)
		r = summary_add_row(s, &s->groups[g], block, out);
	return r;
}

bool store_summary_row_counts(const struct batch *summary, size_t row)
{
	struct bytes packed = batch_get_bytes(summary, SUMMARY_HIST, row);
	uint64_t total;

	assert(summary->table == TABLE_SUMMARY && row < summary->rows);
	return hist_packed_total(packed.data, packed.len, &total) >= 0 &&
	       total == (uint64_t)batch_get(summary, SUMMARY_CALLS, row, 0);
}

bool store_summary_counts(const struct batch *summary, uint64_t rows, bool hists)
{
	uint64_t sum = 0;

	assert(summary->table == TABLE_SUMMARY);
	for (size_t i = 0; i < summary->rows; i++) {
		sum += (uint64_t)batch_get(summary, SUMMARY_CALLS, i, 0);
		if (hists && !store_summary_row_counts(summary, i))
			return false;
	}
	return sum == rows;
}
