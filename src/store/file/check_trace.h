/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_trace.h: reads every byte of a trace and checks all that can be checked: the checksums of headers and sections,
 * that columns unpack, that blocks are numbered without a gap, that index blocks name the blocks that are there, that
 * every id in a row has its dimension row. Prints nothing.
 */
#pragma once

#include "store/store.h"

#define CHECK_WHAT_MAX 160

/* One damaged place. */
struct check_fault {
	uint64_t seq;	 /* number of the block, or of the first of those that are missing */
	uint64_t offset; /* in the file */
	uint64_t bytes;	 /* from there on that cannot be read; 0: what is wrong costs no byte */
	uint64_t blocks; /* that cannot be read; 0 likewise */
	/* The table of a block of rows, "op", "file", ...; "names", "index", "end", "made table", "digest"; "" where unknown. */
	const char *kind;
	uint32_t rows;	   /* of the block that cannot be read */
	bool rows_unknown; /* more may be missing than `rows` */
	int64_t first,
		last; /* time of the calls that cannot be read, as far as known; INT64_MIN: unknown */
	char what[CHECK_WHAT_MAX]; /* "checksum of column dur" */
};

struct check_result {
	uint64_t faults;
	uint64_t blocks, bad_blocks;
	uint64_t bytes, bad_bytes; /* of the file; of these not readable */
	uint64_t rows[TABLE_COUNT + 1],
		bad_rows[TABLE_COUNT +
			 1]; /* that can be read; that cannot, where headers still count them; last: TABLE_OWN */
	bool rows_unknown;   /* more are missing than bad_rows has */
	int64_t first, last; /* of the calls that can be read; INT64_MIN: none */
	bool closed;	     /* it has an end mark */
	bool growing;	     /* its recorder has it open: blocks so far were checked */
	int64_t until;	     /* not closed: complete up to then, INT64_MIN: unknown */
};

struct check_options {
	/* Called for each fault, one after another, by any thread; it is valid during the call. NULL: they are only counted. */
	void (*found)(void *arg, const struct check_fault *f);
	/* Called by the caller's thread now and then with how much of the work is done; nonzero ends it with -EINTR. NULL: not. */
	int (*progress)(void *arg, uint64_t done, uint64_t all);
	bool quick; /* checksums, numbers and references alone: blocks of calls are not unpacked */
	void *arg;
};

/*
 * Checks one trace of an open store. Blocks found damaged then count as damage for all readers of this store
 * (store_damage()). Cursors of other threads may be in use, but not store_refresh(). 0 whether or not there
 * is damage; -EINTR, -ENOMEM, or why the file cannot be read at all.
 */
int store_check(struct store *s, size_t trace, const struct check_options *opt,
		struct check_result *ret, struct error *err);

/* True where nothing is wrong: no fault, and closed or still growing. */
static inline bool check_is_intact(const struct check_result *r)
{
	return !r->faults && (r->closed || r->growing);
}
