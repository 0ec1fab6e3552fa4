// SPDX-License-Identifier: Apache-2.0
/*
 * with_spans.c: WITH_SPANS FROM TO < SPANS: a copy of a recorded trace with spans, a line each: start, dur (-1: running), number,
 * parent (0: none), the id of the thread, the name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "schema/vocab.h"
#include "store/store.h"

static struct error err;

static void need(int r)
{
	if (r >= 0)
		return;
	fprintf(stderr, "with_spans: %d %s\n", r, err.message);
	exit(1);
}

static void copy_kind(struct store *s, struct store_cursor *c, struct store_writer *to,
		      unsigned int kind)
{
	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct batch *b;

		if (store_block(s, i)->def->kind != kind)
			continue;
		need(store_decode(c, i, ~0ull, &b, &err));
		need(store_append(to, b, &err));
	}
}

static void add_span(struct batch *b, const char *line)
{
	int64_t start, dur, number, parent, thread;
	size_t row = (size_t)batch_add_row(b);
	char name[64];

	if (sscanf(line, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %63s", &start,
		   &dur, &number, &parent, &thread, name) != 6)
		exit(2);
	need(batch_set(b, SPAN_START, row, start));
	if (dur >= 0)
		need(batch_set(b, SPAN_DUR, row, dur));
	need(batch_set(b, SPAN_NUMBER, row, number));
	if (parent)
		need(batch_set(b, SPAN_PARENT, row, parent));
	need(batch_set(b, SPAN_THREAD_ID, row, thread));
	need(batch_set(b, SPAN_SOURCE, row, SPAN_SOURCE_WEIR));
	need(batch_set(b, SPAN_SPAN_STATUS, row,
		       dur < 0 ? SPAN_STATUS_RUNNING : SPAN_STATUS_UNSET));
	need(batch_set_str(b, SPAN_NAME, row, name));
}

int main(int argc, char **argv)
{
	_cleanup_(store_freep) struct store *s = NULL;
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	_cleanup_(batch_freep) struct batch *b = NULL;
	struct store_writer *to;
	char line[256];

	if (argc != 3)
		return 2;
	need(store_open(&s, (const char *const *)&argv[1], 1, &err));
	need(store_cursor_new(&c, s));
	need(store_create(&to, argv[2], &(struct store_options){.owner = (uid_t)-1}, &err));
	copy_kind(s, c, to, TABLE_IS_DIMENSION);
	copy_kind(s, c, to, TABLE_IS_EVENTS);
	need(batch_new(&b, TABLE_SPAN));
	while (fgets(line, sizeof(line), stdin))
		add_span(b, line);
	need(store_append(to, b, &err));
	need(store_close(to, &err));
	return 0;
}
