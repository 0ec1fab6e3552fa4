/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_dump: what a trace's blocks hold and what they cost. For people who work on the encodings.
 *
 *   store_dump TRACE...           a line per block
 *   store_dump --sum TRACE...     bytes per column and table, bytes per row of op
 *   store_dump --time TRACE...    decodes everything, writes it again beside the first trace, and times both
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/file/block_events.h"
#include "store/file/read/reader.h"

static const char *const transforms[TRANSFORM_COUNT] = {"-",	"delta", "same", "negated",
							"last", "next",	 "end",	 "switch"};
static const char *const codecs[] = {"const", "planes", "dict"};

struct sums {
	uint64_t rows, blocks, headers, nulls, column[SCHEMA_COLUMNS_MAX];
	unsigned int how[SCHEMA_COLUMNS_MAX][TRANSFORM_COUNT][3];
};

/* "  cpu 1: events 100-199, 3 missing, 7 calls filtered" */
static void list_events(const struct block *b)
{
	const struct block_extra *x = NULL;

	while ((x = block_extra(&b->view, x))) {
		const uint8_t *p = (const uint8_t *)(x + 1), *end = p + x->len;
		struct event_range e;

		while (x->kind == EXTRA_EVENTS && events_next(&p, end, &e)) {
			printf("  cpu %" PRIu64 ":", e.cpu);
			if (e.numbers)
				printf(" events %" PRIu64 "-%" PRIu64, e.first,
				       e.first + e.numbers - 1);
			if (e.numbers != e.came)
				printf(", %" PRIu64 " missing", e.numbers - e.came);
			if (e.filtered)
				printf(", %" PRIu64 " calls filtered", e.filtered);
		}
	}
}

static void list_block(const struct block *b)
{
	printf("%8" PRIu64 " %12" PRIu64 "  %-8s %6u rows %8u bytes%s", b->pub.seq, b->pub.offset,
	       b->view.head->kind == BLOCK_DIGEST ? "digest" : b->pub.def->name, b->pub.rows,
	       b->pub.bytes, b->pub.long_calls ? "  long calls" : "");
	list_events(b);
	putchar('\n');
}

static void sum_block(const struct store *s, const struct block *b, struct sums *t)
{
	t->rows += b->pub.rows;
	t->blocks++;
	t->headers += b->view.head->header_len;
	for (unsigned int i = 0; i < b->view.head->entries; i++) {
		const struct block_entry *e = &b->view.entries[i];
		uint8_t codec = 0;

		if (e->kind == ENTRY_NULLS)
			t->nulls += e->len;
		if (e->kind != ENTRY_COLUMN)
			continue;
		t->column[e->column] += e->len;
		if (pread(s->traces[b->pub.trace].fd, &codec, 1,
			  (off_t)(b->pub.offset + b->view.head->header_len + e->offset)) == 1 &&
		    codec < 3 && e->transform < TRANSFORM_COUNT)
			t->how[e->column][e->transform][codec]++;
	}
}

static void print_sums(const struct store *s, const struct sums *sums)
{
	for (unsigned int i = 0; i < TABLE_COUNT + 2; i++) {
		const struct sums *x = &sums[i];
		unsigned int t = i < TABLE_COUNT ? i : TABLE_SUMMARY;

		if (!x->rows)
			continue;
		if (i >= TABLE_COUNT)
			printf("digest %s: ", i == TABLE_COUNT ? "by time" : "by file");
		printf("%s: %" PRIu64 " rows in %" PRIu64
		       " blocks, per row: header %.2f nulls %.2f\n",
		       schema_table(t)->name, x->rows, x->blocks,
		       (double)x->headers / (double)x->rows, (double)x->nulls / (double)x->rows);
		for (unsigned int c = 0; c < schema_table(t)->column_count; c++) {
			if (!x->column[c])
				continue;
			printf("  %-12s %7.3f ", schema_table(t)->columns[c].name,
			       (double)x->column[c] / (double)x->rows);
			for (unsigned int k = 0; k < TRANSFORM_COUNT * 3; k++) {
				if (x->how[c][k / 3][k % 3])
					printf(" %s/%s:%u", transforms[k / 3], codecs[k % 3],
					       x->how[c][k / 3][k % 3]);
			}
			printf("\n");
		}
	}
	printf("%.3f bytes per row of op, all told\n",
	       (double)store_bytes(s) / (double)MAX(sums[TABLE_OP].rows, 1ull));
}

static int time_trace(struct store *s, const char *again)
{
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	int64_t decode = 0, encode = 0, t0;
	struct store_writer *w;
	struct error err = {0};
	uint64_t rows = 0;

	if (store_cursor_new(&c, s) < 0 || store_create(&w, again, NULL, &err) < 0)
		return fprintf(stderr, "%s\n", err.message);
	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct batch *b;

		t0 = clock_cpu_ns();
		if (store_decode(c, i, ~0ull, &b, &err) < 0)
			return fprintf(stderr, "%s\n", err.message);
		decode += b->table == TABLE_OP ? clock_cpu_ns() - t0 : 0;
		if (b->table == TABLE_SUMMARY)
			continue;
		t0 = clock_cpu_ns();
		if (store_append(w, b, &err) < 0)
			return fprintf(stderr, "%s\n", err.message);
		encode += b->table == TABLE_OP ? clock_cpu_ns() - t0 : 0;
		rows += b->table == TABLE_OP ? b->rows : 0;
	}
	if (store_close(w, &err) < 0)
		return fprintf(stderr, "%s\n", err.message);
	printf("%" PRIu64 " rows of op: %.1f ns per row to decode, %.1f to encode and write\n",
	       rows, (double)decode / (double)rows, (double)encode / (double)rows);
	return 0;
}

int main(int argc, char **argv)
{
	static struct sums sums[TABLE_COUNT + 2];
	_cleanup_(store_freep) struct store *s = NULL;
	const char *mode = argc > 1 && !strncmp(argv[1], "--", 2) ? argv[1] : "";
	int first = *mode ? 2 : 1;
	struct error err = {0};

	if (argc <= first ||
	    store_open(&s, (const char *const *)argv + first, (size_t)(argc - first), &err) < 0) {
		fprintf(stderr, "%s\n",
			argc > first ? err.message : "store_dump [--sum|--time] TRACE...");
		return 2;
	}
	if (!strcmp(mode, "--time")) {
		char again[4096];

		snprintf(again, sizeof(again), "%s.again", argv[first]);
		unlink(again);
		return time_trace(s, again) != 0;
	}
	for (size_t i = 0; i < store_block_count(s); i++) {
		if (*mode && store_block(s, i)->table != TABLE_OWN)
			sum_block(s, reader_block(s, i), &sums[store_block(s, i)->table]);
		else if (!*mode)
			list_block(reader_block(s, i));
	}
	for (const struct digest *d = s->digests; d; d = d->before) {
		for (unsigned int k = 0; k < (d->files ? 2u : 1u); k++) {
			const struct block *b = k ? d->files : d->times;

			if (*mode)
				sum_block(s, b, &sums[TABLE_COUNT + k]);
			else
				list_block(b);
		}
	}
	if (*mode)
		print_sums(s, sums);
	return 0;
}
