// SPDX-License-Identifier: Apache-2.0
/* live_rows.c: the current rows of a dimension table. */
#include "engine/live_rows.h"

#include <errno.h>

#include "base/array.h"
#include "base/map.h"

void live_free(struct live *l)
{
	free(l->rows);
	free(l->from);
	free(l->blocks);
	free(l->ids);
	*l = (struct live){0};
}

/* False if the known row belongs to a recording that began after that of block i: it is kept. */
static bool live_replaces(const struct live *l, const struct store *s, size_t i, uint64_t known)
{
	const struct store_block *old = store_block(s, l->blocks[known / BATCH_ROWS_MAX]);

	return store_trace_began(s, old->trace) <= store_trace_began(s, store_block(s, i)->trace);
}

/* Notes where the row of each id of block i is, the last of l->blocks; a later row replaces an earlier one. */
static int live_add_block(const struct live *l, const struct store *s, struct store_cursor *cursor,
			  struct map *last, struct error *err)
{
	uint64_t first = (l->block_count - 1) * BATCH_ROWS_MAX, known;
	size_t i = l->blocks[l->block_count - 1];
	const struct batch *b;
	int r = store_decode(cursor, i, 1, &b, err);

	if (r == -EBADMSG) {
		if (err)
			err->code = 0; /* counted by the store, reported as damage */
		return 0;
	}
	if (r < 0)
		return r;
	for (size_t row = 0; row < b->rows; row++) {
		if (batch_is_null(b, 0, row))
			continue;
		if (map_get(last, (uint64_t)b->columns[0].val[row], &known) &&
		    !live_replaces(l, s, i, known))
			continue;
		if (map_set(last, (uint64_t)b->columns[0].val[row], first + row) < 0)
			return error_errno(err, -ENOMEM, "cannot index the dimension rows");
	}
	return 0;
}

/* Converts the map id -> position to rows by block, and ids. */
static int live_fill(struct live *l, const struct map *last)
{
	_cleanup_free_ uint64_t *places = calloc(last->count + 1, sizeof(*places));
	uint64_t id, place;
	size_t pos = 0, n = 0;

	l->rows = calloc(last->count + 1, sizeof(*l->rows));
	l->ids = calloc(last->count + 1, sizeof(*l->ids));
	l->from = calloc(l->block_count + 1, sizeof(*l->from));
	if (!places || !l->rows || !l->ids || !l->from)
		return -ENOMEM;
	while (map_next(last, &pos, &id, &place)) {
		places[n] = place;
		l->ids[n++] = (int64_t)id;
	}
	assert(n == last->count);
	l->count = n;
	array_sort(places, n, order_u64);
	array_sort(l->ids, n, order_u64);
	for (size_t i = 0; i < n; i++) {
		l->rows[i] = (uint32_t)(places[i] % BATCH_ROWS_MAX);
		l->from[places[i] / BATCH_ROWS_MAX + 1]++;
	}
	for (size_t k = 0; k < l->block_count; k++)
		l->from[k + 1] += l->from[k];
	return 0;
}

int live_make(struct live *l, struct store *s, size_t pin, enum table_id table, struct error *err)
{
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	_cleanup_(map_free) struct map last = {0};
	size_t cap = 0;
	int r = store_cursor_new(&cursor, s);

	l->pin = pin;
	for (size_t i = 0; i < pin && r >= 0; i++) {
		const struct store_block *block = store_block(s, i);

		if (block->table != table || block->damaged)
			continue;
		r = array_add(l->blocks, l->block_count, cap, i);
		if (r >= 0)
			r = live_add_block(l, s, cursor, &last, err);
	}
	if (r >= 0)
		r = live_fill(l, &last);
	if (r < 0) {
		live_free(l);
		return error_errno(err, r, "cannot index the rows of %s",
				   schema_table(table)->name);
	}
	return 0;
}
