// SPDX-License-Identifier: Apache-2.0
/* load_loop.c: passes the blocks of a trace to the target, one after the other, as they are committed. */
#include "load/load.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "schema/vocab.h"
#include "store/made/made.h"
#include "sums/order.h"

#define FOLLOW_NS    (250 * NSEC_PER_MSEC)
#define UNCLOSED_SEQ ((1ull << ORDER_BLOCK_BITS) - 1) /* above that of any block */

struct load {
	struct load_target *target;
	const struct load_loop *loop;
	struct load_totals *totals;
	struct store *store;
	struct store_cursor *cursor;
	uint64_t part;
	size_t next; /* the next block */
	int64_t *ends;
	bool other_clock;	      /* differs from the clock of the rows present: those stay */
	const struct store_made *own; /* last given to the target, and whether it takes it */
	bool own_taken;
};

static void load_close(struct load *l)
{
	store_cursor_free(l->cursor);
	store_free(l->store);
	free(l->ends);
}

static bool load_is_stopped(const struct load *l)
{
	return l->loop->stopped && l->loop->stopped(l->loop->arg);
}

/* True for tables made after recording, if the target takes them. */
static bool load_wants_made(const struct load *l, enum table_id table)
{
	return (table == TABLE_OWN ? l->target->ops->own != NULL : l->target->ops->made != NULL) &&
	       !(table == TABLE_CLOCK && l->other_clock);
}

/*
 * Summaries are derived from the rows, so they are not loaded; of tables made after recording only the newest
 * generation is.
 */
static bool load_wants(const struct load *l, const struct store_block *b)
{
	if (!store_block_counts(b))
		return false;
	if (b->table == TABLE_OWN)
		return load_wants_made(l, TABLE_OWN);
	switch (schema_table(b->table)->kind) {
	case TABLE_IS_MADE:
		return load_wants_made(l, b->table);
	case TABLE_IS_SUMS:
		return false;
	default:
		return true;
	}
}

/* The generation of a block; NULL: none. */
static const struct store_made *load_made_of(const struct load *l, size_t block)
{
	for (size_t i = 0; i < store_made_count(l->store); i++) {
		const struct store_made *m = store_made(l->store, i);

		if (m && block - m->first_block < m->block_count)
			return m;
	}
	return NULL;
}

/* Gives the target a user's table: 1, or 0 if it refuses it, with the reason in *why. */
static int load_own(struct load *l, const struct store_made *m, struct error *why)
{
	int r;

	if (m == l->own)
		return l->own_taken;
	r = l->target->ops->own(l->target, m, why);
	if (r < 0 && r != -EINVAL)
		return r;
	l->own = m;
	l->own_taken = r >= 0;
	return l->own_taken;
}

static int load_made_own(struct load *l, const struct store_made *m, struct error *err)
{
	struct error why = {0};
	int r;

	l->own = NULL;
	r = load_own(l, m, &why);
	if (r < 0)
		*err = why;
	if (r != 0)
		return r < 0 ? r : l->target->ops->made(l->target, m, err);
	atomic_fetch_add(&l->totals->made, 1);
	if (l->loop->refused)
		l->loop->refused(why.message);
	return 0;
}

/* Passes on the tables made of the file, whose rows are all present by now. */
static int load_made(struct load *l, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < store_made_count(l->store) && r >= 0; i++) {
		const struct store_made *m = store_made(l->store, i), *dropped = NULL;

		if (!m)
			dropped = store_made_dropped(l->store, i);
		if (dropped && dropped->table == TABLE_OWN && load_wants_made(l, TABLE_OWN))
			r = l->target->ops->made(l->target, dropped, err);
		else if (m && !load_wants_made(l, m->table))
			atomic_fetch_add(&l->totals->made, 1);
		else if (m)
			r = m->table == TABLE_OWN ? load_made_own(l, m, err)
						  : l->target->ops->made(l->target, m, err);
	}
	return r;
}

/* Adds a row of loss under the number of the block that is missing; `events` 0: unknown. `of`: NULL for calls. */
static int load_put_loss(struct load *l, uint64_t seq, int64_t cause, uint64_t events,
			 const char *of, struct error *err)
{
	_cleanup_(batch_freep) struct batch *rows = NULL;
	int64_t end = 0;
	struct batch_row row;
	int r;

	if (l->target->ops->has(l->target, TABLE_LOSS, seq))
		return 0;
	r = batch_new(&rows, TABLE_LOSS);
	if (r < 0)
		return error_errno(err, r, "a loss");
	row = batch_row(rows);
	row_set(&row, LOSS_CAUSE, cause);
	row_set_if(&row, events, LOSS_EVENTS, (int64_t)events);
	if (of)
		row_set_str(&row, LOSS_OF, of);
	if (row.r < 0)
		return error_errno(err, row.r, "a loss");
	return l->target->ops->put(l->target,
				   &(struct load_block){.table = TABLE_LOSS,
							.part = l->part,
							.seq = seq,
							.generation = UINT64_MAX,
							.rows = rows,
							.ends = &end,
							.store = l->store},
				   err);
}

/* Records the contents of an unreadable block as loss. */
static int load_put_damage(struct load *l, const struct store_block *b, struct error *err)
{
	atomic_fetch_add(&l->totals->damaged, 1);
	if (b->def->kind == TABLE_IS_DIMENSION)
		return 0;
	return load_put_loss(l, b->seq, CAUSE_CORRUPT, b->rows,
			     b->table == TABLE_OP ? NULL : b->def->name, err);
}

/* Records as loss that calls may be missing at the end of a file; or no longer, as a copy of it was loaded during the recording. */
static int load_put_unclosed(struct load *l, struct error *err)
{
	const struct load_target_ops *ops = l->target->ops;
	struct store_unclosed unclosed;
	int r;

	store_unclosed(l->store, &unclosed);
	if (!unclosed.traces)
		return ops->has(l->target, TABLE_LOSS, UNCLOSED_SEQ)
			       ? ops->drop(l->target, TABLE_LOSS, UNCLOSED_SEQ, err)
			       : 0;
	atomic_fetch_add(&l->totals->unclosed, 1);
	r = load_put_loss(l, UNCLOSED_SEQ, CAUSE_TORN, 0, NULL, err);
	return r < 0 ? r : ops->flush(l->target, err);
}

static int load_block(struct load *l, size_t i, struct error *err)
{
	const struct store_block *b = store_block(l->store, i);
	struct load_block out = {.table = b->table,
				 .part = l->part,
				 .seq = b->seq,
				 .generation = UINT64_MAX,
				 .long_calls = b->long_calls,
				 .ends = l->ends,
				 .store = l->store};
	const struct store_made *made = load_made_of(l, i);
	int r;

	if (!load_wants(l, b))
		return b->damaged && b->table != TABLE_OWN ? load_put_damage(l, b, err) : 0;
	if (b->table == TABLE_OWN) {
		r = made ? load_own(l, made, err) : 0;
		if (r == 0)
			*err = (struct error){0}; /* load_made() reports it */
		if (r <= 0)
			return r;
	}
	if (l->target->ops->has(l->target, b->table, b->seq)) {
		atomic_fetch_add(&l->totals->known, 1);
		return 0;
	}
	r = store_decode(l->cursor, i, ~0ull, &out.rows, err);
	if (r == -EBADMSG) {
		err->code = 0;
		return load_put_damage(l, b, err);
	}
	if (r < 0)
		return r;
	order_ends(out.rows, l->ends);
	if (b->def->kind == TABLE_IS_MADE)
		out.generation = made ? load_generation(made) : 0;
	r = l->target->ops->put(l->target, &out, err);
	if (r < 0)
		return r;
	atomic_fetch_add(&l->totals->blocks, 1);
	atomic_fetch_add(&l->totals->rows, out.rows->rows);
	if (b->table == TABLE_OP)
		atomic_fetch_add(&l->totals->calls, out.rows->rows);
	return 0;
}

/* Loads the blocks committed so far. */
static int load_blocks(struct load *l, struct error *err)
{
	int r = 0;

	atomic_fetch_add(&l->totals->all, store_block_count(l->store) - l->next);
	for (; l->next < store_block_count(l->store) && r >= 0; l->next++) {
		if (load_is_stopped(l))
			return error_set(err, -EINTR, "interrupted");
		r = load_block(l, l->next, err);
		atomic_fetch_add(&l->totals->seen, 1);
	}
	return r < 0 ? r : l->target->ops->flush(l->target, err);
}

void load_describe(struct store *s, struct load_recording *ret, uint64_t *ret_part)
{
	const struct dims *d = store_dims_few(s);
	const struct dims_host *h =
		dims_rows(d, TABLE_HOST) ? dims_host(d, dims_id_at(d, TABLE_HOST, 0)) : NULL;

	*ret = (struct load_recording){.began = store_trace_began(s, 0),
				       .ahead = store_recording_clock(s, 0).ahead};
	store_trace_identity(s, 0, &ret->key, ret_part);
	store_range(s, &ret->first, &ret->last);
	if (h) {
		ret->host = h->name;
		ret->boot = h->boot;
	}
}

static int load_open(struct load *l, const char *path, struct error *err)
{
	int r = store_open_corrected(&l->store, &path, 1, err);

	if (r >= 0)
		r = store_cursor_new(&l->cursor, l->store);
	l->ends = calloc(BATCH_ROWS_MAX, sizeof(*l->ends));
	if (r < 0 || !l->ends)
		return error_errno(err, r < 0 ? r : -ENOMEM, "%.500s", path);
	return 0;
}

static int load_begin(struct load *l, struct error *err)
{
	struct load_recording rec;
	int r;

	l->own = NULL;
	load_describe(l->store, &rec, &l->part);
	l->target->ahead = rec.ahead;
	r = l->target->ops->begin(l->target, &rec, l->part, err);
	if (r < 0 || l->target->ahead == rec.ahead)
		return r;
	/* all times of a recording must be on one clock */
	l->other_clock = true;
	r = store_correct(l->store, l->target->ahead);
	return r < 0 ? error_errno(err, r, "the clock of the recording") : 0;
}

static int load_follow(struct load *l, struct error *err)
{
	while (!load_is_stopped(l)) {
		bool growing = store_is_growing(l->store);
		ssize_t n = store_refresh(l->store, err);
		int r = n < 0 ? (int)n : n > 0 ? load_blocks(l, err) : 0;

		if (r < 0 || (!n && !growing))
			return r;
		if (!n)
			nanosleep(&(struct timespec){.tv_nsec = FOLLOW_NS}, NULL);
	}
	return 0;
}

/* True for errors that may be temporary: a node is restarted, a connection broke. */
static bool load_may_pass(int r)
{
	return r == -EIO || r == -ECONNREFUSED || r == -ETIMEDOUT;
}

/* Only for a complete file that is not being followed. */
static int load_finish(struct load *l, struct error *err)
{
	uint64_t spans = 0;
	int r;

	if (store_is_growing(l->store))
		return 0;
	r = load_put_unclosed(l, err);
	if (r >= 0)
		r = load_made(l, err);
	if (r >= 0 && l->target->ops->finish && !load_is_stopped(l))
		r = l->target->ops->finish(l->target, l->store, &spans, err);
	atomic_fetch_add(&l->totals->spans, spans);
	return r;
}

static int load_try(struct load *l, struct error *err)
{
	int r = load_begin(l, err);

	if (r >= 0)
		r = load_blocks(l, err);
	if (r >= 0 && l->loop->follow)
		r = load_follow(l, err);
	return r < 0 ? r : load_finish(l, err);
}

int load_trace(struct load_target *t, const char *path, const struct load_loop *loop,
	       struct load_totals *totals, struct error *err)
{
	_cleanup_(load_close) struct load l = {.target = t, .loop = loop, .totals = totals};
	int64_t until = clock_monotonic_ns() + loop->patience_ns;
	int r = load_open(&l, path, err);

	while (r >= 0) {
		size_t before = l.next;
		struct error why = {0};

		r = load_try(&l, &why);
		if (r >= 0)
			break;
		if (l.next > before)
			until = clock_monotonic_ns() + loop->patience_ns;
		if (!load_may_pass(r) || clock_monotonic_ns() >= until || load_is_stopped(&l))
			return error_set(err, r, "%s", why.message);
		/* the sent rows may be present or not: the target must look again */
		atomic_fetch_add(&totals->retries, 1);
		nanosleep(&(struct timespec){.tv_nsec = FOLLOW_NS}, NULL);
		l.next = 0;
		r = 0;
	}
	if (r < 0)
		return r;
	atomic_fetch_add(&totals->clocks, l.other_clock);
	atomic_fetch_add(&totals->traces, 1);
	return r;
}
