/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally TRACE VERSION [KILLED]: a small computation over a closed trace: four rows for each call go into the table `tally`
 * (probe_tables.h), which is appended to the trace. With KILLED it kills itself when so many rows were handed over.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/made/made.h"

#define PARTS 4

static unsigned int tally_column(enum table_id table, const char *name)
{
	int column = schema_column_find(table, name);

	if (column < 0)
		abort();
	return (unsigned int)column;
}

static int copy(struct batch *to, const char *name, size_t row, const struct batch *from,
		unsigned int column, size_t at)
{
	return batch_is_null(from, column, at) ? 0
					       : batch_set(to, tally_column(to->table, name), row,
							   from->columns[column].val[at]);
}

static int add_row(struct batch *to, const struct batch *ops, size_t at, int64_t part,
		   int64_t version)
{
	ssize_t added = batch_add_row(to);
	size_t row = (size_t)added;
	int r = added < 0 ? (int)added : copy(to, "began", row, ops, OP_START, at);

	if (r >= 0)
		r = copy(to, "took", row, ops, OP_DUR, at);
	if (r >= 0)
		r = copy(to, "thread_id", row, ops, OP_THREAD_ID, at);
	if (r >= 0)
		r = copy(to, "file_id", row, ops, OP_FILE_ID, at);
	if (r >= 0)
		r = copy(to, "op", row, ops, OP_OP, at);
	if (r >= 0)
		r = batch_set(to, tally_column(to->table, "call_id"), row, batch_row_id(ops, at));
	if (r >= 0)
		r = batch_set(to, tally_column(to->table, "part"), row, part);
	if (r >= 0)
		r = batch_set(to, tally_column(to->table, "made_by"), row, version);
	return r < 0 ? r : batch_set_str(to, tally_column(to->table, "word"), row, "tally");
}

static int tally_block(struct store_writer *w, struct batch *to, const struct batch *ops,
		       int64_t version, uint64_t *rows, uint64_t killed, struct error *err)
{
	for (size_t at = 0; at < ops->rows; at++) {
		batch_clear(to);
		for (int64_t part = 0; part < PARTS; part++) {
			if (add_row(to, ops, at, part, version) < 0)
				return error_set(err, -ENOMEM, "no memory");
		}
		if (store_made_rows(w, to, err) < 0)
			return err->code;
		*rows += to->rows;
		if (killed && *rows >= killed)
			raise(SIGKILL);
	}
	return 0;
}

static int tally(const char *path, int64_t version, uint64_t killed, struct error *err)
{
	int table = schema_table_find("tally");
	struct store_making what = {.table = (enum table_id)table,
				    /* any text, as a stranger's trace has it */
				    .origin = version == 4 ? "test.tally\033[2J" : "test.tally",
				    .options = "parts=4",
				    .version = (uint64_t)version};
	_cleanup_(store_freep) struct store *s = NULL;
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	_cleanup_(store_abandonp) struct store_writer *w = NULL;
	_cleanup_(batch_freep) struct batch *to = NULL;
	uint64_t rows = 0;
	int r = table < 0 ? error_set(err, -ENOENT, "no table tally")
			  : store_open(&s, &path, 1, err);

	if (r >= 0)
		r = store_reopen(&w, s, err);
	if (r >= 0)
		r = store_made_begin(w, &what, err);
	if (r >= 0 && (batch_new(&to, what.table) < 0 || store_cursor_new(&c, s) < 0))
		r = error_set(err, -ENOMEM, "no memory");
	for (size_t i = 0; r >= 0 && i < store_block_count(s); i++) {
		const struct batch *ops;

		if (store_block(s, i)->table != TABLE_OP)
			continue;
		r = store_decode(c, i, ~0ull, &ops, err);
		if (r >= 0)
			r = tally_block(w, to, ops, version, &rows, killed, err);
	}
	if (r >= 0)
		r = store_made_end(w, version == 1, err);
	return r < 0 ? r : store_close(TAKE_PTR(w), err);
}

int main(int argc, char **argv)
{
	struct error err = {0};

	if (argc < 3)
		return 2;
	if (tally(argv[1], strtoll(argv[2], NULL, 10), argc > 3 ? strtoull(argv[3], NULL, 10) : 0,
		  &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	return 0;
}
