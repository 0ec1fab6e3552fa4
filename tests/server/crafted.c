// SPDX-License-Identifier: Apache-2.0
/* crafted.c KIND TRACE: a whole trace whose values no kernel would give: `ops`, `early`, `late`, `deep`, `hist`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/vocab.h"
#include "store/store.h"

#define START	 1700000000000000000ll
#define DEEP	 50000u /* folders in one another */
#define MANY	 200
#define MUST(OK) ((OK) < 0 ? fail(#OK) : (void)0)

static void fail(const char *what)
{
	fprintf(stderr, "crafted: %s\n", what);
	exit(1);
}

static size_t add(struct batch_set *s, enum table_id table, struct batch **b)
{
	size_t row;

	MUST(batch_set_add_row(s, table, b, &row));
	return row;
}

static void add_who(struct batch_set *s, const char *path)
{
	struct batch *b;
	size_t r = add(s, TABLE_PROCESS, &b);

	MUST(batch_set(b, PROCESS_ID, r, 0));
	MUST(batch_set(b, PROCESS_PID, r, 100));
	r = add(s, TABLE_THREAD, &b);
	MUST(batch_set(b, THREAD_ID, r, 0));
	MUST(batch_set(b, THREAD_TASK, r, 0));
	MUST(batch_set(b, THREAD_TID, r, 100));
	MUST(batch_set(b, THREAD_PROCESS_ID, r, 0));
	MUST(batch_set_str(b, THREAD_COMM, r, "crafted"));
	r = add(s, TABLE_FILE, &b);
	MUST(batch_set(b, FILE_ID, r, 0));
	MUST(batch_set(b, FILE_INODE, r, 0));
	MUST(batch_set(b, FILE_TYPE, r, FILE_TYPE_REGULAR));
	MUST(batch_set_str(b, FILE_PATH, r, path));
}

static void add_call(struct batch_set *s, int64_t start, int64_t dur, int64_t op)
{
	struct batch *b;
	size_t r = add(s, TABLE_OP, &b);

	MUST(batch_set(b, OP_START, r, start));
	MUST(batch_set(b, OP_DUR, r, dur));
	MUST(batch_set(b, OP_OP, r, op));
	MUST(batch_set(b, OP_TID, r, 100));
	MUST(batch_set(b, OP_THREAD_ID, r, 0));
	MUST(batch_set(b, OP_FILE_ID, r, 0));
	MUST(batch_set(b, OP_CLASS, r, CLASS_DATA));
	MUST(batch_set(b, OP_RET, r, 10));
	MUST(batch_set(b, OP_BYTES, r, 10));
}

static void add_calls(struct batch_set *s, const char *kind)
{
	if (strcmp(kind, "early") == 0)
		add_call(s, INT64_MIN + 5, 10, 0);
	if (strcmp(kind, "late") == 0)
		add_call(s, INT64_MAX, 0, 0);
	add_call(s, START, 10, 0);
	/* more operations in one pixel than it has room for */
	for (int i = 0; strcmp(kind, "ops") == 0 && i < MANY; i++)
		add_call(s, START + 1000 + i, 1, i % 2 ? i : INT32_MAX - i);
	if (strcmp(kind, "late") != 0)
		add_call(s, START + 1000000, 10, 0);
}

/* Sums of the block of calls, all right but for their histogram. */
static void add_sums(struct batch_set *s, const char *trace)
{
	struct error err = {0};
	struct store *store;
	struct batch *b;
	size_t r;

	MUST(store_open(&store, &trace, 1, &err));
	for (size_t i = 0; i < store_block_count(store); i++) {
		const struct store_block *block = store_block(store, i);

		if (block->table != TABLE_OP)
			continue;
		r = add(s, TABLE_SUMMARY, &b);
		MUST(batch_set(b, SUMMARY_BLOCK, r, (int64_t)block->seq));
		MUST(batch_set(b, SUMMARY_CALLS, r, block->rows));
		MUST(batch_set(b, SUMMARY_OP, r, 0));
		MUST(batch_set(b, SUMMARY_CLASS, r, CLASS_DATA));
		MUST(batch_set(b, SUMMARY_THREAD_ID, r, 0));
		MUST(batch_set(b, SUMMARY_FILE_ID, r, 0));
		MUST(batch_set(b, SUMMARY_WINDOW, r, START));
		MUST(batch_set_bytes(b, SUMMARY_HIST, r, "\xff\xff\xff", 3));
	}
	store_free(store);
}

int main(int argc, char **argv)
{
	struct store_options opt = {.owner = (uid_t)-1};
	static char deep[2 * DEEP + 1];
	struct store_writer *w;
	struct batch_set s = {0};
	struct error err = {0};

	if (argc != 3)
		fail("KIND TRACE");
	for (size_t i = 0; i < DEEP; i++)
		memcpy(deep + 2 * i, "/a", 2);
	opt.no_summary = strcmp(argv[1], "hist") == 0;
	MUST(store_create(&w, argv[2], &opt, &err));
	add_who(&s, strcmp(argv[1], "deep") == 0 ? deep : "/a");
	add_calls(&s, argv[1]);
	MUST(store_append_set(w, &s, &err));
	if (opt.no_summary) {
		MUST(store_flush(w, true, &err));
		batch_set_clear(&s);
		add_sums(&s, argv[2]);
		MUST(store_append_set(w, &s, &err));
	}
	MUST(store_close(w, &err));
	batch_set_free(&s);
	return 0;
}
