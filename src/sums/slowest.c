// SPDX-License-Identifier: Apache-2.0
#include "sums/slowest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/heap.h"
#include "schema/vocab.h"

static bool slowest_counts(const struct slowest *s, int64_t class)
{
	return s->classes >> (class >= 0 && class < CLASS_COUNT ? class : CLASS_OTHER) & 1;
}

void slowest_free(struct slowest *s)
{
	free(s->blocks);
	*s = (struct slowest){0};
}

/* ---- while blocks are summed ---- */

static int slowest_note_block(struct slowest *s, size_t block, int64_t max)
{
	struct slowest_block *last = s->count ? &s->blocks[s->count - 1] : NULL;

	if (last && last->block == block) {
		last->max = MAX(last->max, max);
		return 0;
	}
	return array_add(s->blocks, s->count, s->cap, (struct slowest_block){block, max});
}

int slowest_note(struct slowest *s, const struct walk_rows *rows)
{
	const struct batch *b = rows->batch;
	bool sums = b->table == TABLE_SUMMARY;
	unsigned int class = sums ? SUMMARY_CLASS : OP_CLASS, dur = sums ? SUMMARY_MAX : OP_DUR;
	const struct store_digest *g = rows->digest;
	int64_t max = -1;
	int r = 0;

	assert(!g || (rows->part == STORE_DIGEST_TIMES && !(s->classes & ~SLOWEST_IO)));
	for (size_t k = 0; k < rows->count; k++) {
		size_t i = rows->rows[k];
		int64_t took = MAX(batch_get(b, dur, i, 0), (int64_t)0);

		if (took > max && slowest_counts(s, batch_get(b, class, i, CLASS_OTHER)) &&
		    (sums || !(batch_get(b, OP_STATUS, i, 0) & STATUS_UNFINISHED)))
			max = took;
	}
	if (max < 0 || !g)
		return max < 0 ? 0 : slowest_note_block(s, rows->block, max);
	/* it is not known which of the digest's blocks has the longest call that passed */
	for (size_t k = 0; k < g->count && r >= 0; k++) {
		if (g->io_max[k] >= 0)
			r = slowest_note_block(s, g->blocks[k], MIN(max, g->io_max[k]));
	}
	return r;
}

int slowest_merge(struct slowest *s, const struct slowest *other)
{
	int r = 0;

	for (size_t i = 0; i < other->count && r >= 0; i++)
		r = slowest_note_block(s, other->blocks[i].block, other->blocks[i].max);
	return r;
}

/* ---- the calls ---- */

int slowest_order(const void *a, const void *b)
{
	const struct call_ref *x = a, *y = b;

	return ORDER(y->dur, x->dur) ?: ORDER(x->block, y->block) ?: ORDER(x->row, y->row);
}

static int slowest_by_max(const void *a, const void *b)
{
	const struct slowest_block *x = a, *y = b;

	return ORDER(y->max, x->max) ?: ORDER(x->block, y->block);
}

struct slowest_search {
	const struct slowest *noted;
	struct slowest_block *blocks; /* longest first; at: the next one to read */
	size_t block_count, at;
	struct call_ref *heap; /* the least slow first */
	size_t count, max;
};

static int slowest_take(void *state, const struct walk_rows *rows)
{
	struct slowest_search *s = state;

	for (size_t k = 0; k < rows->count; k++) {
		uint32_t i = rows->rows[k];
		int64_t dur = MAX(batch_get(rows->batch, OP_DUR, i, 0), (int64_t)0);

		if (s->count == s->max && dur < s->heap[0].dur)
			continue;
		if (slowest_counts(s->noted, batch_get(rows->batch, OP_CLASS, i, CLASS_OTHER)) &&
		    !(batch_get(rows->batch, OP_STATUS, i, 0) & STATUS_UNFINISHED))
			s->count =
				heap_keep(s->heap, s->count, s->max, sizeof(*s->heap),
					  &(struct call_ref){dur, rows->block, i}, slowest_order);
	}
	return 0;
}

/* False once no further block can have a call slower than those found. Relies on blocks coming in the order of s->blocks. */
static bool slowest_wants(void *arg, const struct store_block *b _unused_, size_t block)
{
	struct slowest_search *s = arg;

	while (s->at < s->block_count && s->blocks[s->at].block != block)
		s->at++;
	return s->at < s->block_count &&
	       (s->count < s->max || s->heap[0].dur <= s->blocks[s->at].max);
}

/* Removes duplicates from the noted blocks and sorts them, those with the longest calls first. */
static size_t slowest_sort(struct slowest_block *blocks, size_t count, size_t *order,
			   uint8_t *known)
{
	size_t n = 0;

	array_sort(blocks, count, slowest_by_max);
	for (size_t i = 0; i < count; i++) {
		if (known[blocks[i].block])
			continue;
		known[blocks[i].block] = 1;
		order[n] = blocks[i].block;
		blocks[n++] = blocks[i];
	}
	return n;
}

int slowest_find(const struct slowest *noted, const struct walk *w, size_t max,
		 struct call_ref **ret, size_t *ret_count, struct error *err)
{
	_cleanup_free_ struct slowest_block *blocks = calloc(noted->count + 1, sizeof(*blocks));
	_cleanup_free_ size_t *order = calloc(noted->count + 1, sizeof(*order));
	_cleanup_free_ uint8_t *known = calloc(store_block_count(w->ask.store) + 1, 1);
	_cleanup_free_ struct call_ref *heap = calloc(max + 1, sizeof(*heap));
	struct slowest_search s = {.noted = noted, .blocks = blocks, .heap = heap, .max = max};
	struct walk pass = {
		.ask = w->ask,
		.columns = 1ull << OP_DUR | 1ull << OP_CLASS | 1ull << OP_STATUS,
		.wants = slowest_wants,
		.arg = &s,
		.only = order,
		.stopped = w->stopped,
		.stopped_arg = w->stopped_arg,
		.take = slowest_take,
		.states = {&s},
		.workers = 1,
	};
	int r = 0;

	if (!blocks || !order || !known || !heap)
		return error_errno(err, -ENOMEM, "finding the slowest calls");
	for (size_t i = 0; i < noted->count; i++)
		blocks[i] = noted->blocks[i];
	s.block_count = pass.only_count = slowest_sort(blocks, noted->count, order, known);
	pass.ask.summaries = pass.ask.seconds = false;
	if (max && pass.only_count)
		r = walk_run(&pass, err);
	if (r < 0)
		return r;
	assert(s.count <= max);
	qsort(heap, s.count, sizeof(*heap), slowest_order);
	*ret = TAKE_PTR(heap);
	*ret_count = s.count;
	return 0;
}

/* ---- complete rows ---- */

static int slowest_by_place(const void *a, const void *b)
{
	const struct call_ref *x = a, *y = b;

	return ORDER(x->block, y->block) ?: ORDER(x->row, y->row);
}

/* Appends the calls refs[0 .. n) of one block to `found`; ranks[] maps each new row to the rank in `dur` of its ref. */
static int slowest_fetch_block(struct store_cursor *cursor, const struct call_ref *refs, size_t n,
			       struct batch *found, uint32_t *ranks, struct error *err)
{
	struct error unread = {0};
	const struct batch *b;
	int r = store_decode(cursor, refs[0].block, ~0ull, &b, &unread);

	if (r == -EBADMSG) /* already counted as damage */
		return 0;
	for (size_t i = 0; i < n && r >= 0; i++) {
		ranks[refs[i].dur] = (uint32_t)found->rows;
		r = batch_append_rows(found, b, &refs[i].row, 1);
	}
	return r < 0 ? error_errno(err, r, "fetching rows") : 0;
}

static int slowest_fetch_all(const struct store *s, struct call_ref *sorted, size_t count,
			     struct batch *found, uint32_t *ranks, struct error *err)
{
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	int r = store_cursor_new(&cursor, s);

	qsort(sorted, count, sizeof(*sorted), slowest_by_place);
	for (size_t i = 0, end; i < count && r >= 0; i = end) {
		for (end = i; end < count && sorted[end].block == sorted[i].block;)
			end++;
		r = slowest_fetch_block(cursor, &sorted[i], end - i, found, ranks, err);
	}
	return r;
}

int slowest_fetch(const struct store *s, struct call_ref *refs, size_t *count, struct batch **ret,
		  struct error *err)
{
	_cleanup_(batch_freep) struct batch *found = NULL, *out = NULL;
	_cleanup_free_ struct call_ref *sorted = calloc(*count + 1, sizeof(*sorted));
	_cleanup_free_ uint32_t *ranks = calloc(*count + 1, sizeof(*ranks));
	size_t kept = 0;
	int r = sorted && ranks ? batch_new(&found, TABLE_OP) : -ENOMEM;

	if (r >= 0)
		r = batch_new(&out, TABLE_OP);
	if (r < 0)
		return error_errno(err, r, "fetching rows");
	for (size_t i = 0; i < *count; i++) {
		sorted[i] = (struct call_ref){(int64_t)i, refs[i].block, refs[i].row};
		ranks[i] = UINT32_MAX;
	}
	r = slowest_fetch_all(s, sorted, *count, found, ranks, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < *count; i++) {
		if (ranks[i] == UINT32_MAX)
			continue;
		assert(kept <= i && ranks[i] < found->rows);
		refs[kept] = refs[i];
		ranks[kept++] = ranks[i];
	}
	r = batch_append_rows(out, found, ranks, kept);
	if (r < 0)
		return error_errno(err, r, "fetching rows");
	*count = kept;
	*ret = TAKE_PTR(out);
	return 0;
}
