// SPDX-License-Identifier: Apache-2.0
/*
 * mark.c: MARK FROM TO < ROWS: a copy of a recorded trace (-: nothing) with rows added, a line each: the table, then fields apart
 * by tabs, each COLUMN=VALUE. MARK --many TO SPANS CALLS: a trace of that many, nested three deep on eight threads, for measuring.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/vocab.h"
#include "store/store.h"

static struct error err;

static void need(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "mark: %s: %d %s\n", what, r, err.message);
	exit(1);
}

/* A value as text; a word of the vocabulary where the column has one. */
static void put(struct batch *b, size_t row, const char *name, const char *text)
{
	for (unsigned int i = 0; i < b->def->column_count; i++) {
		const struct column_def *c = &b->def->columns[i];

		if (strcmp(c->name, name) != 0)
			continue;
		if (column_is_bytes(c->type))
			need(batch_set_bytes(b, i, row, text, strlen(text)), name);
		else
			need(batch_set(b, i, row,
				       c->type == COLUMN_CODE ? vocab_code(name, text)
							      : strtoll(text, NULL, 10)),
			     name);
		return;
	}
	fprintf(stderr, "mark: no column %s\n", name);
	exit(1);
}

static void take_line(struct store_writer *to, struct batch_set *set, char *line)
{
	char *rest = line, *table = strsep(&rest, "\t"), *field;
	struct batch *b = NULL;
	size_t row;

	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		if (strcmp(schema_table(i)->name, table) != 0)
			continue;
		need(batch_set_table(set, i, &b), table);
		if (b->rows == BATCH_ROWS_MAX) {
			need(store_append_set(to, set, &err), "append");
			batch_set_clear(set);
		}
		need(batch_set_add_row(set, i, &b, &row), table);
	}
	if (!b) {
		fprintf(stderr, "mark: no table %s\n", table);
		exit(1);
	}
	while ((field = strsep(&rest, "\t"))) {
		char *value = strchr(field, '=');

		*value++ = '\0';
		put(b, row, field, value);
	}
}

static void copy(const char *from, struct store_writer *to)
{
	_cleanup_(store_freep) struct store *s = NULL;
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;

	need(store_open(&s, &from, 1, &err), from);
	need(store_cursor_new(&c, s), "cursor");
	for (int dimensions = 1; dimensions >= 0; dimensions--) {
		for (size_t i = 0; i < store_block_count(s); i++) {
			unsigned int kind = store_block(s, i)->def->kind;
			const struct batch *b;

			if ((kind == TABLE_IS_DIMENSION) != dimensions ||
			    (!dimensions && kind != TABLE_IS_EVENTS))
				continue;
			need(store_decode(c, i, ~0ull, &b, &err), "decode");
			need(store_append(to, b, &err), "append");
		}
	}
}

/* ---- many ---- */

#define THREADS 8
#define DEPTH	3
#define TICK	1000 /* ns between the starts of a thread's calls */

static void many_threads(struct store_writer *w)
{
	_cleanup_(batch_freep) struct batch *b = NULL;

	need(batch_new(&b, TABLE_THREAD), "threads");
	for (size_t i = 0; i < THREADS; i++) {
		need((int)batch_add_row(b), "row");
		need(batch_set(b, THREAD_ID, i, (int64_t)i), "id");
		need(batch_set(b, THREAD_TASK, i, (int64_t)i), "task");
		need(batch_set(b, THREAD_TID, i, 100 + (int64_t)i), "tid");
		need(batch_set_str(b, THREAD_COMM, i, "many"), "comm");
	}
	need(store_append(w, b, &err), "threads");
}

/* Each thread makes a call every TICK, and a request every `calls` of them, with DEPTH - 1 nested spans at its quarters. */
static void many(struct store_writer *w, int64_t spans, int64_t calls)
{
	_cleanup_(batch_freep) struct batch *b = NULL, *k = NULL;
	int64_t requests = spans / DEPTH, each = calls / requests, origin = 1700000000000000000,
		number = 0, read = vocab_code("op", "read");

	need(batch_new(&b, TABLE_OP), "op");
	need(batch_new(&k, TABLE_SPAN), "span");
	many_threads(w);
	for (int64_t i = 0; i < calls; i++) {
		int64_t thread = i % THREADS, turn = i / THREADS,
			start = origin + turn * TICK + thread * 10;
		ssize_t row = batch_add_row(b);

		need((int)row, "row");
		need(batch_set(b, OP_START, (size_t)row, start), "start");
		need(batch_set(b, OP_DUR, (size_t)row, 300 + i % 7), "dur");
		need(batch_set(b, OP_THREAD_ID, (size_t)row, thread), "thread");
		need(batch_set(b, OP_TID, (size_t)row, 100 + thread), "tid");
		need(batch_set(b, OP_OP, (size_t)row, read), "op");
		need(batch_set(b, OP_CLASS, (size_t)row, CLASS_DATA), "class");
		need(batch_set(b, OP_RET, (size_t)row, 1), "ret");
		need(batch_set(b, OP_BYTES, (size_t)row, 1), "bytes");
		if (b->rows == BATCH_ROWS_MAX) {
			need(store_append(w, b, &err), "ops");
			batch_clear(b);
		}
		if (turn % each != each - 1)
			continue;
		for (int64_t d = DEPTH - 1; d >= 0; d--) { /* the inner ones end first */
			int64_t from = start - (each - 1) * TICK + d * each * TICK / 8 - 50,
				to = start + 500 - d * each * TICK / 8;

			row = batch_add_row(k);
			need((int)row, "row");
			need(batch_set(k, SPAN_START, (size_t)row, from), "start");
			need(batch_set(k, SPAN_DUR, (size_t)row, to - from), "dur");
			need(batch_set(k, SPAN_NUMBER, (size_t)row, number + d), "number");
			if (d)
				need(batch_set(k, SPAN_PARENT, (size_t)row, number + d - 1),
				     "parent");
			need(batch_set_str(k, SPAN_NAME, (size_t)row,
					   d ? d > 1 ? "query" : "render" : "request"),
			     "name");
			need(batch_set(k, SPAN_THREAD_ID, (size_t)row, thread), "thread");
		}
		number += DEPTH;
		if (k->rows > BATCH_ROWS_MAX - DEPTH) {
			need(store_append(w, k, &err), "spans");
			batch_clear(k);
		}
	}
	need(store_append(w, b, &err), "ops");
	need(store_append(w, k, &err), "spans");
}

int main(int argc, char **argv)
{
	_cleanup_batch_set_ struct batch_set set = {0};
	struct store_writer *w;
	char line[8192];

	if (argc < 3)
		return 2;
	need(store_create(&w, argv[2], &(struct store_options){.owner = (uid_t)-1}, &err), argv[2]);
	if (!strcmp(argv[1], "--many")) {
		many(w, strtoll(argv[3], NULL, 10), strtoll(argv[4], NULL, 10));
		need(store_close(w, &err), "close");
		return 0;
	}
	if (strcmp(argv[1], "-") != 0)
		copy(argv[1], w);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		take_line(w, &set, line);
	}
	need(store_append_set(w, &set, &err), "append");
	need(store_close(w, &err), "close");
	return 0;
}
