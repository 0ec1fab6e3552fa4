// SPDX-License-Identifier: Apache-2.0
/* each_block.c: reads the blocks of some tables one after another. */
#include <errno.h>

#include "store/store.h"

int store_each(const struct store *s, uint64_t tables, uint64_t columns, store_each_fn *take,
	       void *arg, struct error *err)
{
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	int r = store_cursor_new(&cursor, s);

	for (size_t i = 0; i < store_block_count(s) && r >= 0; i++) {
		const struct store_block *block = store_block(s, i);
		struct error damage = {0};
		const struct batch *b;

		if (!(tables >> block->table & 1) || !store_block_counts(block))
			continue;
		r = store_decode(cursor, i, columns, &b, &damage);
		if (r == -EBADMSG)
			r = 0;
		else
			r = r < 0 ? error_set(err, r, "%s", damage.message) : take(arg, block, b);
	}
	return r;
}
