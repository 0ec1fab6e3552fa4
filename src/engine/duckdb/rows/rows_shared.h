/* SPDX-License-Identifier: Apache-2.0 */
/* rows_shared.h: a scan of weir_rows(); private to its files. */
#pragma once

#include "engine/duckdb/rows/weir_rows.h"
#include "sums/level.h"

/* Shared by the threads of one scan. */
struct rows_shared {
	const struct rows_bind *bind;
	struct rows_exprs *x,
		/* x: the bind's; names: expressions of the names that are read, owned by the scan */
		*names;
	size_t output_count;
	const struct rows_column *outputs[ROWS_COLUMNS_MAX]; /* NULL: the scan only counts rows */
	uint64_t first, rest; /* columns to decode before and after rows are selected */
	bool ends;	      /* a column needs the end of rows */
	uint64_t sums;	      /* columns of a summary to decode, if summaries are read instead */
	struct sums_filter filter; /* the bind's filter, described; its pointers are borrowed */
	struct sums_ask ask;	   /* which summaries may be read */
	uint64_t preaggregated;	   /* those of `sums` to output; 0: no preaggregation */
	struct rows_block {
		size_t block;
		size_t sums; /* the block of its summary; SIZE_MAX: read rows */
		const struct store_digest *digest; /* covers this block and others; NULL: none */
		/* dimension tables: index in live's blocks; with `numbers`: the first number */
		size_t at;
	} *blocks;
	size_t block_count, block_cap;
	struct top *top;
	_Atomic size_t next;
};

/* rows_sums.c: replaces blocks with summaries and digests. 0 or -ENOMEM. */
int rows_sums_choose(struct rows_shared *s);
/*
 * Removes blocks whose digest has no row with an operation, class and error that can pass the filter. Queries for rare
 * calls then read a thousandth of the trace. 0 or -ENOMEM.
 */
int rows_sums_leave_out(struct rows_shared *s);
/* The column of a summary from which a cell is computed, as a set. */
uint64_t rows_sums_of_cell(enum rows_cell cell);
/* True if a block of the digest may have calls that move bytes between two files. */
bool rows_digest_has_seconds(const struct rows_shared *s, const struct store_digest *d);
/* The columns of summary needed for expressions and sums. The time range is not tested by row there. */
uint64_t rows_digest_columns(const struct rows_shared *s);
