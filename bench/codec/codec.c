/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec: measures the cost of the trace file's codec.
 *
 *   codec TRACE...
 *
 * For each column of `op`: ns per row to decode it, together with the columns that predict it (the least of several
 * passes over the trace); at the end all columns together, and encoding the same rows again. CPU time of one thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "store/file/block.h"
#include "store/store.h"
#include "store/summary/summary.h"

#define PASSES	  7
#define ROWS_MOST 1000000ull /* of a trace */

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "codec: %s\n", what);
	exit(1);
}

/* The least of several times for the same work: the machine may be busy otherwise. */
static int64_t least(int64_t best, int64_t start)
{
	int64_t spent = cpu_ns() - start;

	return spent < best ? spent : best;
}

/* ns per row to decode these columns. */
static double decode_ns(struct store *s, uint64_t columns)
{
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	struct error err = {0};
	uint64_t rows = 0;
	int64_t sum = 0;

	if (store_cursor_new(&c, s) < 0)
		fail("out of memory");
	for (size_t i = 0; i < store_block_count(s) && rows < ROWS_MOST; i++) {
		const struct batch *b;
		int64_t best = INT64_MAX;

		if (store_block(s, i)->table != TABLE_OP)
			continue;
		for (int pass = 0; pass < PASSES; pass++) {
			int64_t start = cpu_ns();

			if (store_decode(c, i, columns, &b, &err) < 0)
				fail(err.message);
			best = least(best, start);
		}
		sum += best;
		rows += b->rows;
	}
	return (double)sum / (double)(rows ? rows : 1);
}

struct written {
	double encode_ns, summary_ns, bytes; /* per row */
	uint64_t rows;
};

/* Does what the writer does with each block: encodes it and sums it up. */
static void write_again(struct store *s, struct written *ret)
{
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	_cleanup_(summarizer_freep) struct summarizer *sums = NULL;
	_cleanup_(encoder_freep) struct encoder *e = NULL;
	_cleanup_(batch_freep) struct batch *out = NULL;
	const struct block_facts nothing = {.until = UNTIL_UNKNOWN};
	int64_t encode = 0, summary = 0;
	struct error err = {0};

	if (store_cursor_new(&c, s) < 0 || encoder_new(&e, true) < 0 || summarizer_new(&sums) < 0 ||
	    batch_new(&out, TABLE_SUMMARY) < 0)
		fail("out of memory");
	*ret = (struct written){0};
	for (size_t i = 0; i < store_block_count(s) && ret->rows < ROWS_MOST; i++) {
		int64_t best = INT64_MAX, best_summary = INT64_MAX;
		const struct batch *b;
		struct buf *block;

		if (store_block(s, i)->table != TABLE_OP)
			continue;
		if (store_decode(c, i, ~0ull, &b, &err) < 0)
			fail(err.message);
		for (int pass = 0; pass < PASSES; pass++) {
			int64_t start = cpu_ns();

			if (encode_rows(e, (struct batch *)b, 0, &nothing, &block) < 0)
				fail("cannot encode");
			best = least(best, start);
			batch_clear(out);
			start = cpu_ns();
			if (summarize(sums, b, 0, out) < 0)
				fail("cannot sum up");
			best_summary = least(best_summary, start);
		}
		encode += best;
		summary += best_summary;
		ret->rows += b->rows;
		ret->bytes += (double)block->len;
	}
	if (!ret->rows)
		return;
	ret->encode_ns = (double)encode / (double)ret->rows;
	ret->summary_ns = (double)summary / (double)ret->rows;
	ret->bytes /= (double)ret->rows;
}

static void measure(const char *path)
{
	_cleanup_(store_freep) struct store *s = NULL;
	const struct table_def *def = schema_table(TABLE_OP);
	struct error err = {0};
	struct written w;

	if (store_open(&s, &path, 1, &err) < 0)
		fail(err.message);
	printf("%s\n", path);
	for (unsigned int i = 0; i < def->column_count; i++) {
		bool there = false;

		for (size_t k = 0; k < store_block_count(s) && !there; k++) {
			const struct store_block *b = store_block(s, k);

			there = b->table == TABLE_OP && b->nulls[i] < b->rows;
		}
		if (there)
			printf("  %-12s decode %6.2f ns\n", def->columns[i].name,
			       decode_ns(s, 1ull << i));
	}
	write_again(s, &w);
	printf("  all          decode %6.2f ns   encode %6.2f ns   summary %6.2f ns   %.2f bytes a "
	       "row   %llu "
	       "rows\n",
	       decode_ns(s, ~0ull), w.encode_ns, w.summary_ns, w.bytes, (unsigned long long)w.rows);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: codec TRACE...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		measure(argv[i]);
	return 0;
}
