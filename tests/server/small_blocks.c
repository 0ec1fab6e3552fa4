// SPDX-License-Identifier: Apache-2.0
/*
 * small_blocks FROM TO: copies each eighth call of a trace, in blocks of 512: the same time, and as many digests as twice the
 * number of blocks gives, with an eighth of the rows. Prints how many calls, how many digests, and how many blocks are in none.
 */
#include <stdio.h>

#include "../common/copy_trace.h"

#define EACH 8
#define ROWS 512

static int copy_some(void *arg, const struct batch *b, struct store_writer *to, struct error *err)
{
	uint64_t *calls = arg;
	_cleanup_(batch_freep) struct batch *kept = NULL;
	int r;

	if (b->table != TABLE_OP)
		return store_append(to, b, err);
	r = batch_new(&kept, b->table);
	for (size_t row = 0; row < b->rows && r >= 0; row += EACH) {
		r = batch_append(kept, b, row, row + 1);
		if (r < 0 || (kept->rows < ROWS && row + EACH < b->rows))
			continue;
		*calls += kept->rows;
		r = store_append(to, kept, err);
		if (r >= 0)
			r = store_flush(to, true, err);
		batch_clear(kept);
	}
	return r;
}

static int print_digests(const char *path, struct error *err)
{
	_cleanup_(store_freep) struct store *s = NULL;
	const struct store_digest *last = NULL;
	size_t digests = 0, none = 0;
	int r = store_open(&s, &path, 1, err);

	for (size_t i = 0; r >= 0 && i < store_block_count(s); i++) {
		const struct store_digest *d = store_digest_of(s, i);

		if (store_block(s, i)->table != TABLE_OP)
			continue;
		none += !d;
		digests += d && d != last;
		last = d ? d : last;
	}
	printf(" %zu %zu\n", digests, none);
	return r;
}

int main(int argc, char **argv)
{
	struct error err = {0};
	uint64_t calls = 0;
	int r;

	if (argc != 3) {
		fprintf(stderr, "usage: small_blocks FROM TO\n");
		return 2;
	}
	r = copy_trace(argv[1], argv[2], copy_some, &calls, &err);
	if (r >= 0) {
		printf("%llu", (unsigned long long)calls);
		r = print_digests(argv[2], &err);
	}
	if (r < 0)
		fprintf(stderr, "small_blocks: %s\n", err.message);
	return r < 0;
}
