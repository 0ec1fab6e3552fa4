/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject FROM TO CHANGE: copies a trace and changes what its program did.
 *
 *   slow OP PERCENT  calls of this number take so much longer
 *   twice OP [PERCENT]  each call of this number is made a second time, right after; both take so
 *                    much of its time (100)
 *   file OP EVERY    every so-many-th call of this number that is not on a socket is on a file that
 *                    the trace did not have, /srv/new.log
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "schema/vocab.h"
#include "store/store.h"

struct change {
	char kind;
	int64_t op, amount, file;
	uint64_t seen;
};

static int copy_row(struct batch *to, const struct batch *from, size_t row)
{
	return batch_append(to, from, row, row + 1);
}

/* Changes the last row of the batch; adds another where there is one more. */
static int change_row(struct batch *b, struct change *c)
{
	size_t row = b->rows - 1;
	int64_t dur = batch_get(b, OP_DUR, row, 0), start = batch_get(b, OP_START, row, 0);
	int r;

	if (batch_get(b, OP_OP, row, -1) != c->op)
		return 0;
	if (c->kind == 's')
		return batch_set(b, OP_DUR, row, dur + dur * c->amount / 100);
	if (c->kind == 't') {
		dur = dur * c->amount / 100;
		r = batch_set(b, OP_DUR, row, dur);
		if (r < 0)
			return r;
	}
	if (c->kind == 'f')
		return c->seen++ % (uint64_t)c->amount ? 0 : batch_set(b, OP_FILE_ID, row, c->file);
	r = copy_row(b, b, row);
	return r < 0 ? r : batch_set(b, OP_START, row + 1, start + dur);
}

/* Rows of op in halves, so that doubled ones fit. */
static int copy_ops(struct store_writer *to, const struct batch *from, struct change *c,
		    struct error *err)
{
	_cleanup_(batch_freep) struct batch *b = NULL;
	int r = batch_new(&b, TABLE_OP);

	for (size_t i = 0; r >= 0 && i < from->rows; i++) {
		r = copy_row(b, from, i);
		if (r >= 0)
			r = change_row(b, c);
		if (r >= 0 && (b->rows > BATCH_ROWS_MAX / 2 || i + 1 == from->rows)) {
			r = store_append(to, b, err);
			batch_clear(b);
		}
	}
	return r;
}

static int add_file(struct store_writer *to, int64_t id, struct error *err)
{
	static const char path[] = "/srv/new.log";
	_cleanup_(batch_freep) struct batch *b = NULL;
	int r = batch_new(&b, TABLE_FILE);

	if (r >= 0 && batch_add_row(b) == 0 && batch_set(b, FILE_ID, 0, id) >= 0 &&
	    batch_set(b, FILE_INODE, 0, id) >= 0 &&
	    batch_set(b, FILE_TYPE, 0, FILE_TYPE_REGULAR) >= 0 &&
	    batch_set_bytes(b, FILE_PATH, 0, path, sizeof(path) - 1) >= 0)
		r = store_append(to, b, err);
	return r;
}

static int copy(struct store *from, struct store_writer *to, struct change *c, struct error *err)
{
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	int r = store_cursor_new(&cursor, from);

	c->file = (int64_t)dims_count(store_dims(from), TABLE_FILE, 0);
	if (r >= 0 && c->kind == 'f')
		r = add_file(to, c->file, err);
	for (size_t i = 0; r >= 0 && i < store_block_count(from); i++) {
		enum table_id table = store_block(from, i)->table;
		const struct batch *b;

		if (table == TABLE_SUMMARY)
			continue;
		r = store_decode(cursor, i, ~0ull, &b, err);
		if (r >= 0)
			r = table == TABLE_OP ? copy_ops(to, b, c, err) : store_append(to, b, err);
	}
	return r;
}

int main(int argc, char **argv)
{
	_cleanup_(store_freep) struct store *from = NULL;
	struct store_options options = {.owner = (uid_t)-1, .block_ns = INT64_MAX / 2};
	struct store_writer *to = NULL;
	struct change change = {0};
	struct error err = {0};
	const char *path = argc > 1 ? argv[1] : "";
	int r;

	if (argc < 5) {
		fprintf(stderr, "usage: inject FROM TO slow|twice|file OP [AMOUNT]\n");
		return 2;
	}
	change = (struct change){.kind = argv[3][0], .op = strtol(argv[4], NULL, 10)};
	change.amount = argc > 5 ? strtol(argv[5], NULL, 10) : change.kind == 't' ? 100 : 1;
	r = store_open(&from, &path, 1, &err);
	if (r >= 0)
		r = store_create(&to, argv[2], &options, &err);
	if (r >= 0)
		r = copy(from, to, &change, &err);
	if (to && store_close(to, r < 0 ? NULL : &err) < 0)
		r = -EIO;
	if (r < 0)
		fprintf(stderr, "inject: %s\n", err.message);
	return r < 0;
}
