/* SPDX-License-Identifier: Apache-2.0 */
#include "store/made/clocks.h"

#include <errno.h>
#include <string.h>

#define SHIFT_MAX (INT64_MAX / 8) /* ns; a shift beyond this, as in a crafted file, is ignored */

bool clocks_is_shifted(const struct table_def *t, unsigned int column)
{
	if (t->columns[column].type != COLUMN_TIME)
		return false;
	if (t == schema_table(TABLE_HOST))
		return column != HOST_CLOCK_AT && column != HOST_END_AT;
	return t != schema_table(TABLE_FILE) || column != FILE_BIRTH;
}

/* Wraps if a crafted time overflows, so that the shift can be undone. */
static int64_t clocks_less(int64_t t, int64_t shift)
{
	return (int64_t)((uint64_t)t - (uint64_t)shift);
}

void clocks_shift(const struct batch *b, uint64_t columns, int64_t shift)
{
	for (unsigned int i = 0; shift && i < b->def->column_count; i++) {
		int64_t *val = b->columns[i].val;

		if (!(columns >> i & 1) || !val || !clocks_is_shifted(b->def, i))
			continue;
		for (size_t row = 0; row < b->rows; row++) {
			if (!batch_is_null(b, i, row))
				val[row] = clocks_less(val[row], shift);
		}
	}
}

static void clocks_shift_range(int64_t *min, int64_t *max, int64_t shift)
{
	if (*min > *max)
		return;
	*min = clocks_less(*min, shift);
	*max = clocks_less(*max, shift);
	if (*min > *max) {
		*min = INT64_MIN;
		*max = INT64_MAX;
	}
}

void clocks_shift_block(struct block *b, int64_t shift)
{
	const struct table_def *t = b->pub.def;

	if (!shift)
		return;
	clocks_shift_range(&b->first, &b->last, shift);
	for (unsigned int i = 0; i < t->column_count; i++) {
		if (clocks_is_shifted(t, i))
			clocks_shift_range(&b->stats[i], &b->stats[t->column_count + i], shift);
	}
}

/* ---- the shifts in the traces ---- */

/* All files of a recording are corrected by the row that one of them has. */
static bool clocks_take_row(struct store *s, const struct batch *b, size_t row)
{
	int64_t ahead = batch_get(b, CLOCK_AHEAD, row, 0);
	bool any = false;

	if (ahead < -SHIFT_MAX || ahead > SHIFT_MAX || batch_is_null(b, CLOCK_OF_RECORDING, row))
		return false;
	for (size_t i = 0; i < s->trace_count; i++) {
		uint64_t key, part;

		store_trace_identity(s, i, &key, &part);
		if (key != (uint64_t)batch_get(b, CLOCK_OF_RECORDING, row, 0))
			continue;
		s->traces[i].clock = (struct store_clock){
			.known = true,
			.ahead = ahead,
			.bound = batch_get(b, CLOCK_BOUND, row, 0),
		};
		any = true;
	}
	return any;
}

/* 1 if a recording is corrected. */
static int clocks_read(struct store *s)
{
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	int r = store_cursor_new(&cursor, s), any = 0;

	for (size_t i = 0; r >= 0 && i < store_block_count(s); i++) {
		const struct store_block *b = store_block(s, i);
		const struct batch *rows;

		if (b->table != TABLE_CLOCK || !store_block_counts(b) || b->trace == TRACE_ASIDE)
			continue;
		r = store_decode(cursor, i, ~0ull, &rows, NULL);
		if (r == -EBADMSG) /* was counted as damage */
			r = 0;
		else if (r >= 0)
			for (size_t row = 0; row < rows->rows; row++)
				any |= clocks_take_row(s, rows, row);
	}
	return r < 0 ? r : any;
}

/* Subtracts each trace's shift from its blocks, `sign` 1, or adds it back, -1. */
static void clocks_shift_blocks(struct store *s, int sign)
{
	for (size_t i = 0; i < store_block_count(s); i++) {
		struct block *b = reader_block(s, i);

		clocks_shift_block(b, sign * reader_trace(s, b->pub.trace)->clock.ahead);
	}
}

int store_correct(struct store *s, int64_t ahead)
{
	assert(s->recordings == 1);
	clocks_shift_blocks(s, -1);
	for (size_t i = 0; i < s->trace_count; i++)
		s->traces[i].clock.ahead = ahead;
	clocks_shift_blocks(s, 1);
	return reader_apply_again(s);
}

/* Takes a row of table clock if it is about this host. */
static void clocks_take_host(const struct batch *b, size_t row, struct bytes host,
			     struct store_clock *ret)
{
	struct bytes of = batch_get_bytes(b, CLOCK_OF_HOST, row);
	int64_t ahead = batch_get(b, CLOCK_AHEAD, row, 0);

	if (bytes_compare(of, host) != 0)
		return;
	ret->several |= ret->known && ret->ahead != ahead;
	ret->known = true;
	ret->ahead = ahead;
	ret->bound = MAX(ret->bound, batch_get(b, CLOCK_BOUND, row, 0));
}

struct store_clock store_host_clock(struct store *s, size_t recording, struct bytes host)
{
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	struct store_clock ret = store_recording_clock(s, recording);

	for (size_t i = 0; !ret.known && i < store_made_count(s); i++) {
		const struct store_made *m = store_made(s, i);
		const struct batch *b;

		if (!m || m->table != TABLE_CLOCK || strcmp(m->origin, MADE_CLOCKS_APPLIED) != 0 ||
		    store_cursor_new(&cursor, s) < 0)
			continue;
		for (size_t k = 0; k < m->block_count; k++) {
			if (store_decode(cursor, m->first_block + k, ~0ull, &b, NULL) < 0)
				continue;
			for (size_t row = 0; row < b->rows; row++)
				clocks_take_host(b, row, host, &ret);
		}
		break;
	}
	return ret;
}

int clocks_apply(struct store *s)
{
	int r = clocks_read(s);

	if (r <= 0)
		return r;
	clocks_shift_blocks(s, 1);
	return reader_apply_again(s);
}

int store_open_corrected(struct store **ret, const char *const *paths, size_t count,
			 struct error *err)
{
	_cleanup_(store_freep) struct store *s = NULL;
	int r = store_open(&s, paths, count, err);

	if (r < 0)
		return r;
	r = clocks_apply(s);
	if (r < 0)
		return error_errno(err, r, "cannot correct the times of %s", paths[0]);
	*ret = TAKE_PTR(s);
	return 0;
}
