/* SPDX-License-Identifier: Apache-2.0 */
/* block_scan.h: finding blocks; shared by block_scan.c and block_index.c. */
#pragma once

#include "store/file/read/reader.h"

/* What is at an offset. */
enum found {
	FOUND_BLOCK,
	FOUND_END_OF_FILE, /* nothing, or an incomplete block */
	FOUND_DAMAGE,
};

struct found_block {
	uint8_t *header; /* freed by found_block_free(), unless a block took it */
	struct block_view view;
	const char *why;
	size_t checked; /* bytes read for the checksum */
};
static inline void found_block_free(struct found_block *c)
{
	free(c->header);
}
#define _cleanup_found_ _cleanup_(found_block_free)

/*
 * Reads and checks the header at an offset; a block must lie wholly within the file. Returns an enum found, or
 * negative.
 */
int scan_look_at(const struct trace *t, uint64_t offset, struct found_block *ret);
/* Finds the next valid header after damage at t->next. Returns as scan_look_at(); *ret_offset is its position. */
int scan_skip(struct trace *t, struct found_block *c, uint64_t *ret_offset);
/* Takes the block at an offset, and expects the next after it: 1 if it holds rows, 0 if not, or negative. */
int scan_take(struct store *s, struct trace *t, uint64_t offset, struct found_block *c);
/* Takes the blocks named by the index blocks of a closed file. Returns the number of blocks of rows, or -ENOMEM. */
ssize_t index_load(struct store *s, struct trace *t);
/* The table of a block, and the mapping of its columns. */
struct block_of {
	enum table_id table;
	const struct table_def *def;
	const uint8_t *to_ours;
};
/* Makes a block that is in no list yet; it takes the header of `c`. NULL: no memory. */
struct block *scan_new_block(const struct store *s, struct trace *t, uint64_t offset,
			     const struct block_of *of, struct found_block *c);
/* The same for a block of a table that the file's names declare. */
struct block *scan_named_block(const struct store *s, struct trace *t, uint64_t offset,
			       struct found_block *c);
/* Appends a block to the list, which owns it from then on, even on failure. 0, -ENOMEM, or -EFBIG. */
int scan_list(struct store *s, struct block *b) _must_check_;
