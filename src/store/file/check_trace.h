/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_trace.h: reads every byte of a trace and checks everything that can be checked: the checksums of headers and
 * sections, that columns unpack, that block numbers have no gap, that index blocks name the blocks that exist, that
 * every id in a row has its dimension row. Prints nothing.
 */
#pragma once

#include "store/store.h"

#define CHECK_WHAT_MAX 160

/* One damaged place. */
struct check_fault {
	uint64_t seq;	 /* number of the block, or of the first missing one */
	uint64_t offset; /* in the file */
	uint64_t bytes;	 /* unreadable bytes from there on; 0: the fault costs no bytes */
	uint64_t blocks; /* unreadable blocks; 0 likewise */
	/* The table of a block of rows, "op", "file", ...; "names", "index", "end", "made table", "digest"; "" where unknown. */
	const char *kind;
	uint32_t rows;	     /* rows of the unreadable block */
	bool rows_unknown;   /* more rows may be missing */
	int64_t first, last; /* time of the unreadable calls, as far as known; INT64_MIN: unknown */
	char what[CHECK_WHAT_MAX]; /* "checksum of column dur" */
};

struct check_result {
	uint64_t faults;
	uint64_t blocks, bad_blocks;
	uint64_t bytes, bad_bytes; /* of the file; of which unreadable */
	uint64_t rows[TABLE_COUNT + 1],
		bad_rows[TABLE_COUNT +
			 1]; /* readable; unreadable, if headers still count them; last: TABLE_OWN */
	bool rows_unknown;   /* more rows are missing than bad_rows counts */
	int64_t first, last; /* of the readable calls; INT64_MIN: none */
	bool closed;	     /* it has an end mark */
	bool growing;	     /* its recorder has it open: blocks so far were checked */
	int64_t until;	     /* if not closed: complete up to then; INT64_MIN: unknown */
};

struct check_options {
	/*
	 * Called for each fault, by any thread but never concurrently. The fault is valid during the call. NULL:
	 * faults are only counted.
	 */
	void (*found)(void *arg, const struct check_fault *f);
	/*
	 * Called now and then by the caller's thread with the work done so far. A nonzero result ends the check with
	 * -EINTR. May be NULL.
	 */
	int (*progress)(void *arg, uint64_t done, uint64_t all);
	bool quick; /* only checksums, numbers and references: blocks of calls are not unpacked */
	void *arg;
};

/*
 * Checks one trace of an open store. Blocks found damaged count as damage for all readers of this store
 * (store_damage()). Other threads may use cursors meanwhile, but not store_refresh(). Returns 0 whether or not there
 * is damage; -EINTR, -ENOMEM, or the reason why the file cannot be read at all.
 */
int store_check(struct store *s, size_t trace, const struct check_options *opt,
		struct check_result *ret, struct error *err);

/* True if nothing is wrong: no fault, and closed or still growing. */
static inline bool check_is_intact(const struct check_result *r)
{
	return !r->faults && (r->closed || r->growing);
}
