/* SPDX-License-Identifier: Apache-2.0 */
/* common.h: random rows, private folders, comparison; for tests of the store. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/store.h"

/* A stream of pseudo-random numbers; the same seed gives the same rows. */
struct draw {
	uint64_t state;
};

uint64_t draw(struct draw *d, uint64_t below);
/* The seed of this run, from WEIR_SEED or the argument; printed. */
uint64_t test_seed(uint64_t otherwise);

/* Rows of any table with any values: absent columns, nulls, extremes, runs, few or many distinct values. */
struct batch *random_rows(struct draw *d, enum table_id table, size_t rows);
/* Calls like those of a key-value store: 4 threads, 60 files, random and sequential. Advances `*clock`. */
struct batch *likely_ops(struct draw *d, size_t rows, int64_t *clock);
/* A file row for each id below `count`. */
struct batch *file_rows(size_t count);

/* Fails, naming row and column, unless `got` holds rows [at, at + got->rows) of `want`. */
void assert_rows(const struct batch *want, size_t at, const struct batch *got);

struct store *open_trace(const char *path);
/* All readable rows of a table, at most BATCH_ROWS_MAX, in file order; damaged blocks are left out. */
struct batch *read_rows(struct store *s, enum table_id table);
/* Reads a file, which the caller frees, and writes it back. */
uint8_t *load_file(const char *path, size_t *ret_len);
void save_file(const char *path, const uint8_t *data, size_t len);

/* A folder, made on the first call, and a path in it (static storage, one at a time); remove_folder() deletes it. */
const char *make_folder(void);
const char *in_folder(const char *name);
void remove_folder(void);

#define assert_ok(expr, err)                                      \
	do {                                                      \
		if ((expr) < 0)                                   \
			fail_msg("%s: %s", #expr, (err).message); \
	} while (0)
