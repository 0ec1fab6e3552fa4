/* SPDX-License-Identifier: Apache-2.0 */
#include "copy_trace.h"

#include <errno.h>

static int copy_blocks(struct store *from, struct store_writer *to, copy_block_fn each, void *arg,
		       struct error *err)
{
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	int r = store_cursor_new(&c, from);

	for (size_t i = 0; r >= 0 && i < store_block_count(from); i++) {
		const struct batch *b;

		if (store_block(from, i)->table == TABLE_SUMMARY)
			continue;
		r = store_decode(c, i, ~0ull, &b, err);
		if (r >= 0)
			r = each(arg, b, to, err);
	}
	return r;
}

int copy_trace(const char *from, const char *to, copy_block_fn each, void *arg, struct error *err)
{
	_cleanup_(store_freep) struct store *old = NULL;
	struct store_writer *new = NULL;
	int r = store_open(&old, &from, 1, err);

	if (r >= 0)
		r = store_create(&new, to, NULL, err);
	if (r >= 0)
		r = copy_blocks(old, new, each, arg, err);
	if (new &&store_close(new, r < 0 ? NULL : err) < 0 && r >= 0)
		r = err->code ? err->code : -EIO;
	return r;
}
