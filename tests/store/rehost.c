/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehost FROM TO BOOT: copies a trace as if another boot of its machine had been recorded.
 */
#include <stdio.h>
#include <string.h>

#include "store/store.h"

static int copy_block(struct store_cursor *c, size_t i, const char *boot, struct store_writer *w,
		      struct error *err)
{
	_cleanup_(batch_freep) struct batch *copy = NULL;
	const struct batch *rows;
	int r = store_decode(c, i, ~0ull, &rows, err);

	if (r < 0 || rows->table == TABLE_SUMMARY)
		return r;
	r = batch_new(&copy, rows->table);
	for (size_t k = 0; k < rows->rows && r >= 0; k++) {
		r = batch_append(copy, rows, k, k + 1);
		if (rows->table == TABLE_HOST && r >= 0)
			r = batch_replace_bytes(copy, HOST_BOOT, k, boot, strlen(boot));
	}
	return r < 0 ? r : store_append(w, copy, err);
}

int main(int argc, char **argv)
{
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	_cleanup_(store_freep) struct store *s = NULL;
	const char *from = argc == 4 ? argv[1] : "";
	struct store_writer *w;
	struct error err = {0};
	int r = store_open(&s, &from, 1, &err);

	if (r >= 0)
		r = store_create(&w, argv[2], NULL, &err);
	if (r >= 0)
		r = store_cursor_new(&c, s);
	for (size_t i = 0; r >= 0 && i < store_block_count(s); i++)
		r = copy_block(c, i, argv[3], w, &err);
	if (r >= 0)
		r = store_close(w, &err);
	if (r < 0)
		fprintf(stderr, "rehost: %s\n", err.message);
	return r < 0;
}
