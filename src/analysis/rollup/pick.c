/* SPDX-License-Identifier: Apache-2.0 */
/* pick.c: finds single rows again: the slowest calls, those still running. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/rollup/rollup_scan_internal.h"

/* Slowest first; the order in the trace decides between equals. */
static int ref_order(const void *a, const void *b)
{
	const struct row_ref *x = a, *y = b;

	if (x->dur != y->dur)
		return x->dur > y->dur ? -1 : 1;
	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* By place; `dur` holds the rank. */
static int place_order(const void *a, const void *b)
{
	const struct row_ref *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* The rows that refs name, all columns, in the order of refs (which is lost). Each block is decoded
 * once. */
static int pick_fetch(struct scan *scan, struct row_ref *refs, size_t count, struct batch **ret,
		      struct error *err)
{
	_cleanup_(batch_freep) struct batch *found = NULL, *out = NULL;
	_cleanup_free_ uint32_t *order = calloc(MAX(count, (size_t)1), sizeof(*order));
	struct error unread = {0};
	size_t kept = 0;
	int r = order ? batch_new(&found, TABLE_OP) : -ENOMEM;

	for (size_t i = 0; i < count; i++)
		refs[i].dur = (int64_t)i;
	qsort(refs, count, sizeof(*refs), place_order);
	for (size_t i = 0; i < count; i++)
		order[i] = UINT32_MAX;
	for (size_t i = 0, end; i < count && r >= 0; i = end) {
		const struct batch *b;

		r = store_decode(scan->workers[0].cursor, refs[i].block, ~0ull, &b, &unread);
		for (end = i; end < count && refs[end].block == refs[i].block; end++) {
			if (r < 0)
				continue;
			r = batch_append_rows(found, b, &refs[end].row, 1);
			if (r >= 0)
				order[refs[end].dur] = (uint32_t)found->rows - 1;
		}
		if (r == -EBADMSG)
			r = 0;
	}
	for (size_t i = 0; r >= 0 && i < count; i++) {
		if (order[i] != UINT32_MAX)
			order[kept++] = order[i];
	}
	if (r >= 0)
		r = batch_new(&out, TABLE_OP);
	if (r >= 0)
		r = batch_append_rows(out, found, order, kept);
	if (r < 0)
		return error_errno(err, r, "fetching rows");
	*ret = TAKE_PTR(out);
	return 0;
}

int pick_running(struct scan *scan, struct scan_result *ret, struct error *err)
{
	_cleanup_free_ struct row_ref *all = NULL;
	size_t count = 0, cap = 0;

	for (unsigned int i = 0; i < scan->worker_count; i++) {
		struct worker *w = &scan->workers[i];

		if (grow((void **)&all, &cap, count + w->running_count + 1, sizeof(*all)) < 0)
			return error_errno(err, -ENOMEM, "fetching rows");
		for (size_t k = 0; k < w->running_count; k++)
			all[count++] = w->running[k];
	}
	qsort(all, count, sizeof(*all), ref_order);
	return pick_fetch(scan, all, MIN(count, (size_t)BATCH_ROWS_MAX), &ret->running, err);
}

/* ---- the slowest ---- */

struct top {
	struct row_ref *refs; /* a heap: the least slow first */
	size_t count, max;
};

static void top_sift(struct top *t, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;
		struct row_ref swap;

		if (child >= t->count)
			return;
		if (child + 1 < t->count && ref_order(&t->refs[child + 1], &t->refs[child]) > 0)
			child++;
		if (ref_order(&t->refs[child], &t->refs[i]) <= 0)
			return;
		swap = t->refs[i];
		t->refs[i] = t->refs[child];
		t->refs[child] = swap;
		i = child;
	}
}

static void top_offer(struct top *t, struct row_ref ref)
{
	if (t->count < t->max) {
		size_t i = t->count++;

		t->refs[i] = ref;
		while (i && ref_order(&t->refs[i], &t->refs[(i - 1) / 2]) > 0) {
			struct row_ref swap = t->refs[i];

			t->refs[i] = t->refs[(i - 1) / 2];
			t->refs[(i - 1) / 2] = swap;
			i = (i - 1) / 2;
		}
	} else if (ref_order(&ref, &t->refs[0]) < 0) {
		t->refs[0] = ref;
		top_sift(t, 0);
	}
}

static int top_block(struct scan *scan, struct top *t, size_t block)
{
	struct worker *w = &scan->workers[0];
	const struct batch *b;
	const uint32_t *rows;
	ssize_t count;
	struct error unread = {0};
	int r = store_decode(w->cursor, block, rollup_scan_columns(scan), &b, &unread);

	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	count = scan_rows(w, b, &rows, &unread);
	if (count < 0)
		return (int)count;
	for (size_t k = 0; k < (size_t)count; k++) {
		size_t i = rows ? rows[k] : k;
		struct row_ref ref = {batch_get(b, OP_DUR, i, 0), (uint32_t)block, (uint32_t)i};

		if (t->count == t->max && ref.dur < t->refs[0].dur)
			continue;
		if (class_counts(scan->opt, batch_get(b, OP_CLASS, i, CLASS_OTHER)) &&
		    !(batch_get(b, OP_STATUS, i, 0) & STATUS_UNFINISHED) &&
		    scan_filter_time(scan->opt->filter, b, i))
			top_offer(t, ref);
	}
	return 0;
}

/* Blocks by their longest call: when the next one cannot hold a slower call than those found, all
 * are found. */
static int top_blocks(struct scan *scan, struct top *t, struct error *err)
{
	_cleanup_free_ struct row_ref *blocks = calloc(scan->item_count + 1, sizeof(*blocks));

	if (!blocks)
		return error_errno(err, -ENOMEM, "finding the slowest calls");
	for (size_t i = 0; i < scan->item_count; i++) {
		size_t block = scan->items[i].block;

		blocks[i] =
			(struct row_ref){(int64_t)MIN(scan->block_max[block], (uint64_t)INT64_MAX),
					 (uint32_t)block, 0};
	}
	qsort(blocks, scan->item_count, sizeof(*blocks), ref_order);
	for (size_t i = 0; i < scan->item_count && blocks[i].dur > 0; i++) {
		int r;

		if (t->count == t->max && blocks[i].dur - 1 < t->refs[0].dur)
			break;
		r = top_block(scan, t, blocks[i].block);
		if (r < 0)
			return error_errno(err, r, "finding the slowest calls");
	}
	return 0;
}

int pick_slowest(struct scan *scan, struct scan_result *ret, struct error *err)
{
	size_t max = MIN(scan->opt->slowest, (size_t)BATCH_ROWS_MAX);
	_cleanup_free_ struct row_ref *refs = calloc(max + 1, sizeof(*refs));
	struct top t = {.refs = refs, .max = max};
	int r;

	if (!refs)
		return error_errno(err, -ENOMEM, "finding the slowest calls");
	if (max) {
		r = top_blocks(scan, &t, err);
		if (r < 0)
			return r;
	}
	qsort(refs, t.count, sizeof(*refs), ref_order);
	return pick_fetch(scan, refs, t.count, &ret->slowest, err);
}
