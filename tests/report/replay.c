/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <errno.h>

struct replay {
	struct source source;
	const struct store *store;
	struct store_cursor *cursor;
	size_t next;	 /* block */
	bool dimensions; /* first pass: dimension tables alone */
	bool stopped;
	struct source_stats stats;
};

static int replay_start(struct source *source, struct error *err)
{
	struct replay *r = (struct replay *)source;

	r->dimensions = true;
	r->next = 0;
	return 0;
}

static int add_damage(struct replay *r, const struct store_block *block, struct batch_set *out)
{
	struct batch *b;
	size_t row;
	int e = batch_set_add_row(out, TABLE_LOSS, &b, &row);

	if (e < 0)
		return e;
	e = batch_set(b, LOSS_CAUSE, row, CAUSE_CORRUPT);
	if (e >= 0 && block->table == TABLE_OP) {
		e = batch_set(b, LOSS_EVENTS, row, block->rows);
		r->stats.lost += block->rows;
	}
	return e;
}

/* One block, appended to the set. 1 where it had rows. */
static int give_block(struct replay *r, size_t i, struct batch_set *out, struct error *err)
{
	const struct store_block *block = store_block(r->store, i);
	const struct batch *b;
	struct error unread = {0};
	struct batch *to;
	int e = store_decode(r->cursor, i, ~0ull, &b, &unread);

	if (e == -EBADMSG) {
		e = add_damage(r, block, out);
		return e < 0 ? error_errno(err, e, "replay") : 1;
	}
	if (e < 0)
		return error_set(err, e, "%s", unread.message);
	e = batch_set_table(out, block->table, &to);
	if (e >= 0)
		e = batch_append(to, b, 0, b->rows);
	if (e < 0)
		return error_errno(err, e, "replay");
	if (block->table == TABLE_OP)
		r->stats.ops += b->rows;
	return b->rows > 0;
}

static int replay_read(struct source *source, struct batch_set *out, int timeout_ms,
		       struct error *err)
{
	struct replay *r = (struct replay *)source;

	for (;;) {
		const struct store_block *block;
		int e;

		if (r->stopped)
			return SOURCE_END;
		if (r->next == store_block_count(r->store)) {
			if (!r->dimensions)
				return SOURCE_END;
			r->dimensions = false;
			r->next = 0;
			continue;
		}
		block = store_block(r->store, r->next++);
		if (block->table == TABLE_SUMMARY ||
		    schema_is_dimension(block->table) != r->dimensions)
			continue;
		e = give_block(r, r->next - 1, out, err);
		if (e)
			return e < 0 ? e : SOURCE_ROWS;
	}
}

static int replay_stop(struct source *source, struct error *err)
{
	((struct replay *)source)->stopped = true;
	return 0;
}

static void replay_stats(const struct source *source, struct source_stats *ret)
{
	*ret = ((const struct replay *)source)->stats;
}

static void replay_free(struct source *source)
{
	struct replay *r = (struct replay *)source;

	if (r->cursor)
		store_cursor_free(r->cursor);
	free(r);
}

static const struct source_ops replay_ops = {
	.name = "replay",
	.start = replay_start,
	.read = replay_read,
	.stop = replay_stop,
	.stats = replay_stats,
	.free = replay_free,
};

int replay_source_new(struct source **ret, const struct store *store, struct error *err)
{
	struct replay *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return error_errno(err, -ENOMEM, "replay");
	r->source.ops = &replay_ops;
	r->store = store;
	e = store_cursor_new(&r->cursor, store);
	if (e < 0) {
		free(r);
		return error_errno(err, e, "replay");
	}
	*ret = &r->source;
	return 0;
}
