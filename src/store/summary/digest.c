/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.c: collects rows of summaries until a digest is due, then groups them twice by a hash of their keys, and
 * merges the histograms of each group.
 */
#include "store/summary/digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "hist/sparse.h"
#include "schema/vocab.h"

/* Files that keep op, thread and histograms. */
#define HOT_BLOCKS 4u	 /* they occur in at least this many of the blocks */
#define HOT_FILES  128u	 /* the ones with the most time */
#define HOT_ROWS   4096u /* with at most this many rows of summaries in total */

enum key {
	KEY_FILE,
	KEY_FILE2,
	KEY_CLASS,
	KEY_ERR,
	KEY_OP,
	KEY_THREAD,
	KEY_WINDOW,
	KEYS,
};
#define KEY_NULL INT64_MIN /* sorts first */

static const uint8_t key_column[KEYS] = {
	[KEY_FILE] = SUMMARY_FILE_ID, [KEY_FILE2] = SUMMARY_FILE2_ID,
	[KEY_CLASS] = SUMMARY_CLASS,  [KEY_ERR] = SUMMARY_ERR,
	[KEY_OP] = SUMMARY_OP,	      [KEY_THREAD] = SUMMARY_THREAD_ID,
	[KEY_WINDOW] = SUMMARY_WINDOW};

/* A row of a summary. */
struct fact {
	int64_t key[KEYS];
	int64_t calls, bytes, time, max;
	uint32_t hist;	   /* offset in digester.hists */
	uint16_t hist_len; /* HIST_PACKED_MAX at most */
	uint16_t block;	   /* its index in the digest */
	bool second;	   /* the same calls as the row before, under their second file */
	bool hot;	   /* its file keeps op, thread and histograms */
};
static_assert(HIST_PACKED_MAX <= UINT16_MAX, "the length of a packed histogram");

struct group {
	int64_t key[KEYS];
	int64_t calls, bytes, time, max;
	uint32_t facts, begin; /* begin: of its facts in `order` */
	uint16_t blocks, last_block;
	bool hot;
};

struct digester {
	struct fact *facts;
	size_t count, facts_cap;
	struct buf hists;
	uint64_t blocks[DIGEST_BLOCKS_MAX];
	int64_t io_max[DIGEST_BLOCKS_MAX]; /* the longest I/O call of each; -1: none */
	size_t block_count;
	uint64_t calls, seconds; /* seconds: calls of facts under a second file */

	uint32_t *slots; /* [slot_count]: group + 1, 0 is free */
	size_t slot_count;
	struct group *groups;
	size_t group_count, groups_cap;
	uint32_t *group_of, *order; /* group of each fact; facts, group by group */
	uint32_t *sorted;	    /* groups in sorted order */
	size_t index_cap;
	struct batch *times, *files;
	uint8_t packed[HIST_PACKED_MAX];
};

int digester_new(struct digester **ret)
{
	_cleanup_(digester_freep) struct digester *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	r = batch_new(&d->times, TABLE_SUMMARY);
	if (r < 0)
		return r;
	r = batch_new(&d->files, TABLE_SUMMARY);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(d);
	return 0;
}

void digester_free(struct digester *d)
{
	if (!d)
		return;
	free(d->facts);
	buf_free(&d->hists);
	free(d->slots);
	free(d->groups);
	free(d->group_of);
	free(d->order);
	free(d->sorted);
	batch_free(d->times);
	batch_free(d->files);
	free(d);
}

void digest_clear(struct digester *d)
{
	buf_clear(&d->hists);
	d->count = d->block_count = 0;
	d->calls = d->seconds = 0;
}

/* ---- taking summaries ---- */

bool digest_is_due(const struct digester *d, size_t rows)
{
	return d->block_count && (d->calls >= DIGEST_CALLS || d->block_count == DIGEST_BLOCKS_MAX ||
				  d->count + rows > DIGEST_FACTS_MAX);
}

/* 1, 0 if no writer can have made the row, or -ENOMEM. */
static int digest_add_row(struct digester *d, const struct batch *b, size_t row)
{
	struct bytes hist = batch_get_bytes(b, SUMMARY_HIST, row);
	struct fact *f = &d->facts[d->count];

	assert(d->count + 2 <= d->facts_cap && d->block_count < DIGEST_BLOCKS_MAX);
	*f = (struct fact){.calls = batch_get(b, SUMMARY_CALLS, row, 0),
			   .bytes = batch_get(b, SUMMARY_BYTES, row, 0),
			   .time = batch_get(b, SUMMARY_TIME, row, 0),
			   .max = batch_get(b, SUMMARY_MAX, row, 0),
			   .hist = (uint32_t)d->hists.len,
			   .hist_len = (uint16_t)hist.len,
			   .block = (uint16_t)d->block_count};
	for (unsigned int k = 0; k < KEYS; k++)
		f->key[k] = batch_get(b, key_column[k], row, KEY_NULL);
	if (f->calls <= 0 || f->calls > STORE_ROWS_MAX || f->bytes < 0 || f->time < 0 ||
	    hist.len > HIST_PACKED_MAX)
		return 0;
	if (buf_append(&d->hists, hist.data, hist.len) < 0)
		return -ENOMEM;
	d->count++;
	if (f->key[KEY_FILE2] == KEY_NULL || f->key[KEY_ERR] != KEY_NULL)
		return 1;
	d->facts[d->count] = *f;
	d->facts[d->count].second = true;
	d->facts[d->count++].key[KEY_FILE] = f->key[KEY_FILE2];
	d->seconds += (uint64_t)f->calls;
	return 1;
}

int digest_add(struct digester *d, const struct batch *summary, uint64_t block, uint64_t calls)
{
	size_t count = d->count, hists = d->hists.len;
	int64_t io_max = -1;
	uint64_t sum = 0, seconds = d->seconds;
	int r;

	assert(summary->table == TABLE_SUMMARY && !digest_is_due(d, summary->rows));
	if (summary->rows > DIGEST_BLOCK_FACTS_MAX)
		return 0;
	if (d->block_count && block <= d->blocks[d->block_count - 1])
		return 0;
	r = grow((void **)&d->facts, &d->facts_cap, count + 2 * summary->rows, sizeof(*d->facts));
	r = r < 0 ? r : 1;
	for (size_t i = 0; i < summary->rows && r > 0; i++) {
		const struct fact *f = &d->facts[d->count];

		r = digest_add_row(d, summary, i);
		sum += (uint64_t)f->calls;
		if (class_is_io(f->key[KEY_CLASS]))
			io_max = MAX(io_max, f->max);
	}
	if (r <= 0 || sum != calls) {
		d->count = count;
		d->seconds = seconds;
		d->hists.len = hists;
		return MIN(r, 0);
	}
	d->blocks[d->block_count] = block;
	d->io_max[d->block_count++] = io_max;
	d->calls += calls;
	return 1;
}

/* ---- groups ---- */

/* The grouping key. */
enum grouping {
	BY_TIME,  /* the first part */
	BY_FILE,  /* the second */
	OF_FILES, /* the file alone, to find those that keep op and thread */
};

static void digest_mask(int64_t key[KEYS], const struct fact *f, enum grouping by)
{
	memcpy(key, f->key, sizeof(f->key));
	if (by == BY_TIME) {
		key[KEY_FILE] = key[KEY_FILE2] = KEY_NULL;
		return;
	}
	key[KEY_WINDOW] = KEY_NULL;
	if (by == OF_FILES) {
		for (unsigned int k = KEY_FILE2; k < KEYS; k++)
			key[k] = KEY_NULL;
		return;
	}
	if (!f->hot)
		key[KEY_THREAD] = KEY_NULL;
	if (key[KEY_ERR] != KEY_NULL)
		return;
	key[KEY_FILE2] = KEY_NULL; /* its calls are in another fact */
	if (!f->hot)
		key[KEY_OP] = KEY_NULL;
}

static uint32_t digest_find(struct digester *d, const int64_t key[KEYS])
{
	uint64_t h = 0;
	size_t i;

	assert(2 * d->group_count <= d->slot_count);
	for (unsigned int k = 0; k < KEYS; k++)
		h = (h ^ (uint64_t)key[k]) * 0x9e3779b97f4a7c15ull;
	for (i = (h >> 32) & (d->slot_count - 1); d->slots[i]; i = (i + 1) & (d->slot_count - 1)) {
		if (!memcmp(d->groups[d->slots[i] - 1].key, key, sizeof(d->groups[0].key)))
			return d->slots[i] - 1;
	}
	assert(d->group_count < d->groups_cap);
	d->groups[d->group_count] = (struct group){.last_block = UINT16_MAX};
	memcpy(d->groups[d->group_count].key, key, sizeof(d->groups[0].key));
	d->slots[i] = (uint32_t)++d->group_count;
	return d->slots[i] - 1;
}

/* Allocates as many groups as there are facts, and twice as many slots. */
static int digest_make_room(struct digester *d)
{
	size_t slots = 1024;
	void *p;

	while (slots < 2 * d->count)
		slots *= 2;
	if (grow((void **)&d->groups, &d->groups_cap, d->count, sizeof(*d->groups)) < 0)
		return -ENOMEM;
	if (slots > d->slot_count) {
		free(d->slots);
		d->slot_count = 0;
		d->slots = malloc(slots * sizeof(*d->slots));
		if (!d->slots)
			return -ENOMEM;
		d->slot_count = slots;
	}
	for (unsigned int i = 0; i < 3 && d->count > d->index_cap; i++) {
		uint32_t **to = i == 0 ? &d->group_of : i == 1 ? &d->order : &d->sorted;

		p = reallocarray(*to, d->facts_cap, sizeof(**to));
		if (!p)
			return -ENOMEM;
		*to = p;
	}
	d->index_cap = MAX(d->index_cap, d->facts_cap);
	assert(d->index_cap >= d->count);
	return 0;
}

static void digest_group(struct digester *d, enum grouping by)
{
	memset(d->slots, 0, d->slot_count * sizeof(*d->slots));
	d->group_count = 0;
	for (size_t i = 0; i < d->count; i++) {
		const struct fact *f = &d->facts[i];
		int64_t key[KEYS];
		struct group *g;

		if (f->second && by == BY_TIME) {
			d->group_of[i] = UINT32_MAX;
			continue;
		}
		digest_mask(key, f, by);
		d->group_of[i] = digest_find(d, key);
		g = &d->groups[d->group_of[i]];
		g->facts++;
		g->calls += f->calls; /* both parts: DIGEST_BLOCKS_MAX * STORE_ROWS_MAX at most */
		g->bytes = add_sat_signed(g->bytes, f->bytes);
		g->time = add_sat_signed(g->time, f->time);
		g->max = MAX(g->max, f->max);
		g->hot |= f->hot;
		g->blocks += g->last_block != f->block;
		g->last_block = f->block;
	}
}

/* Sorts facts by group into `order`. */
static void digest_order(struct digester *d)
{
	uint32_t at = 0;

	for (size_t g = 0; g < d->group_count; g++) {
		d->groups[g].begin = at;
		at += d->groups[g].facts;
	}
	assert(at <= d->count);
	for (size_t i = 0; i < d->count; i++) {
		if (d->group_of[i] != UINT32_MAX)
			d->order[d->groups[d->group_of[i]].begin++] = (uint32_t)i;
	}
	for (size_t g = 0; g < d->group_count; g++)
		d->groups[g].begin -= d->groups[g].facts;
}

/* ---- which files keep op and thread ---- */

static int digest_by_time(const void *a, const void *b, void *arg)
{
	const struct group *groups = arg, *x = &groups[*(const uint32_t *)a],
			   *y = &groups[*(const uint32_t *)b];

	return ORDER(y->time, x->time) ?: ORDER(x, y);
}

static void digest_choose_hot(struct digester *d)
{
	size_t n = 0, rows = 0;

	digest_group(d, OF_FILES);
	for (uint32_t g = 0; g < d->group_count; g++) {
		if (d->groups[g].blocks >= HOT_BLOCKS && d->groups[g].key[KEY_FILE] != KEY_NULL)
			d->sorted[n++] = g;
	}
	array_sort_by(d->sorted, n, digest_by_time, d->groups);
	for (size_t i = 0; i < MIN(n, (size_t)HOT_FILES); i++) {
		struct group *g = &d->groups[d->sorted[i]];

		g->hot = rows + g->facts <= HOT_ROWS;
		rows += g->hot ? g->facts : 0;
	}
	assert(n <= d->group_count);
	for (size_t i = 0; i < d->count; i++)
		d->facts[i].hot = d->groups[d->group_of[i]].hot;
}

/* ---- the parts ---- */

static int digest_by_key(const void *a, const void *b, void *arg)
{
	const struct group *groups = arg, *x = &groups[*(const uint32_t *)a],
			   *y = &groups[*(const uint32_t *)b];

	for (unsigned int k = 0; k < KEYS; k++) {
		if (x->key[k] != y->key[k])
			return x->key[k] < y->key[k] ? -1 : 1;
	}
	return 0;
}

static int digest_put_hist(struct digester *d, const struct group *g, struct batch *to, size_t row)
{
	_cleanup_(hist_free) struct hist sum = {0};
	const struct fact *f = &d->facts[d->order[g->begin]];
	int r = 0;

	assert(g->facts > 0 && (size_t)f->hist + f->hist_len <= d->hists.len);
	if (g->facts == 1)
		return batch_set_bytes(to, SUMMARY_HIST, row, d->hists.data + f->hist, f->hist_len);
	for (uint32_t i = 0; i < g->facts && r >= 0; i++) {
		f = &d->facts[d->order[g->begin + i]];
		r = hist_unpack(&sum, d->hists.data + f->hist, f->hist_len);
	}
	return r < 0 ? r
		     : batch_set_bytes(to, SUMMARY_HIST, row, d->packed,
				       hist_pack(&sum, d->packed));
}

static int digest_put_row(struct digester *d, const struct group *g, enum grouping by,
			  struct batch *to)
{
	struct batch_row row = batch_row(to);

	assert(g->calls > 0 && g->bytes >= 0 && g->time >= 0);
	for (unsigned int k = 0; k < KEYS; k++)
		row_set_if(&row, g->key[k] != KEY_NULL, key_column[k], g->key[k]);
	row_set(&row, SUMMARY_CALLS, g->calls);
	row_set(&row, SUMMARY_BYTES, g->bytes);
	row_set(&row, SUMMARY_TIME, g->time);
	row_set(&row, SUMMARY_MAX, g->max);
	return row.r < 0 || (by == BY_FILE && !g->hot) ? row.r : digest_put_hist(d, g, to, row.at);
}

/* 1, 0 if it would save nothing, or negative. */
static int digest_make_part(struct digester *d, enum grouping by, struct batch *to)
{
	int r = 1;

	digest_group(d, by);
	if (d->group_count > d->count / 2 || d->group_count > STORE_ROWS_MAX)
		return 0;
	digest_order(d);
	for (uint32_t g = 0; g < d->group_count; g++)
		d->sorted[g] = g;
	array_sort_by(d->sorted, d->group_count, digest_by_key, d->groups);
	batch_clear(to);
	for (size_t i = 0; i < d->group_count && r >= 0; i++)
		r = digest_put_row(d, &d->groups[d->sorted[i]], by, to);
	return r < 0 ? r : 1;
}

int digest_make(struct digester *d, struct batch **ret_times, struct batch **ret_files)
{
	int r;

	assert(d->block_count);
	*ret_times = *ret_files = NULL;
	r = digest_make_room(d);
	if (r < 0)
		return r;
	r = digest_make_part(d, BY_TIME, d->times);
	if (r <= 0)
		return r;
	*ret_times = d->times;
	digest_choose_hot(d);
	r = digest_make_part(d, BY_FILE, d->files);
	if (r > 0)
		*ret_files = d->files;
	return MIN(r, 0);
}

int digest_put_extra(const struct digester *d, enum store_digest_part part, struct buf *to)
{
	uint64_t before = 0;

	buf_varint(to, part);
	assert(d->block_count);
	if (part == STORE_DIGEST_FILES)
		return buf_varint(to, d->seconds);
	buf_varint(to, d->block_count);
	for (size_t i = 0; i < d->block_count; i++) {
		assert(d->blocks[i] >= before && d->io_max[i] >= -1);
		buf_varint(to, d->blocks[i] - before);
		buf_varint(to, (uint64_t)d->io_max[i] + 1);
		before = d->blocks[i];
	}
	return buf_status(to);
}
