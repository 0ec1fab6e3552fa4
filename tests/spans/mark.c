// SPDX-License-Identifier: Apache-2.0
/*
 * mark.c: MARK FROM TO < SPANS: a copy of a recorded trace with rows of `span` and `context` added. A line each, fields apart by
 * tabs, "-" for null:
 *   span START DUR NUMBER PARENT NAME STATUS THREAD_ID TRACE_ID SPAN_ID PARENT_ID ATTRIBUTES
 *   context START DUR THREAD_ID TRACE_ID SPAN_ID UNSURE
 * Also MARK --many TO SPANS CALLS: a trace of that many, nested three deep on eight threads, for measuring.
 */
#include <inttypes.h>
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

static void put(struct batch *b, unsigned int column, size_t row, const char *text)
{
	const struct column_def *c = &b->def->columns[column];

	if (!text || !strcmp(text, "-"))
		return;
	if (column_is_bytes(c->type))
		need(batch_set_bytes(b, column, row, text, strlen(text)), "text");
	else
		need(batch_set(b, column, row, strtoll(text, NULL, 10)), "number");
}

static void take_line(struct batch *spans, struct batch *contexts, char *line)
{
	static const unsigned int of_span[] = {SPAN_START,    SPAN_DUR,	    SPAN_NUMBER,
					       SPAN_PARENT,   SPAN_NAME,    SPAN_SPAN_STATUS,
					       SPAN_THREAD_ID, SPAN_TRACE_ID, SPAN_SPAN_ID,
					       SPAN_PARENT_ID, SPAN_ATTRIBUTES};
	static const unsigned int of_context[] = {CONTEXT_START,    CONTEXT_DUR,     CONTEXT_THREAD_ID,
						  CONTEXT_TRACE_ID, CONTEXT_SPAN_ID, CONTEXT_UNSURE};
	char *rest = line, *kind = strsep(&rest, "\t");
	bool span = !strcmp(kind, "span");
	struct batch *b = span ? spans : contexts;
	ssize_t row = batch_add_row(b);

	need((int)row, "row");
	for (size_t i = 0; i < (span ? ARRAY_SIZE(of_span) : ARRAY_SIZE(of_context)); i++) {
		char *field = strsep(&rest, "\t");

		if (span && of_span[i] == SPAN_SPAN_STATUS && field && *field != '-')
			need(batch_set(b, SPAN_SPAN_STATUS, (size_t)row, vocab_code("span_status", field)), "status");
		else
			put(b, span ? of_span[i] : of_context[i], (size_t)row, field);
	}
	need(batch_set(b, span ? SPAN_SOURCE : CONTEXT_SOURCE, (size_t)row, span ? SPAN_SOURCE_WEIR : SPAN_SOURCE_OTEL), "source");
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

			if ((kind == TABLE_IS_DIMENSION) != dimensions || (!dimensions && kind != TABLE_IS_EVENTS))
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
	int64_t requests = spans / DEPTH, each = calls / requests, origin = 1700000000000000000, number = 0,
		read = vocab_code("op", "read");

	need(batch_new(&b, TABLE_OP), "op");
	need(batch_new(&k, TABLE_SPAN), "span");
	many_threads(w);
	for (int64_t i = 0; i < calls; i++) {
		int64_t thread = i % THREADS, turn = i / THREADS, start = origin + turn * TICK + thread * 10;
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
				need(batch_set(k, SPAN_PARENT, (size_t)row, number + d - 1), "parent");
			need(batch_set_str(k, SPAN_NAME, (size_t)row, d ? d > 1 ? "query" : "render" : "request"), "name");
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
	_cleanup_(batch_freep) struct batch *spans = NULL, *contexts = NULL;
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
	copy(argv[1], w);
	need(batch_new(&spans, TABLE_SPAN), "spans");
	need(batch_new(&contexts, TABLE_CONTEXT), "contexts");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		take_line(spans, contexts, line);
	}
	need(store_append(w, spans, &err), "spans");
	need(store_append(w, contexts, &err), "contexts");
	need(store_close(w, &err), "close");
	return 0;
}
