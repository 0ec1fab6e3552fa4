/* SPDX-License-Identifier: Apache-2.0 */
/* rows_shared.h: a scan of weir_rows(), for its own files alone. */
#pragma once

#include "engine/duckdb/rows/weir_rows.h"
#include "sums/level.h"

/* What the threads of one scan share. */
struct rows_shared {
	const struct rows_bind *bind;
	struct rows_exprs *x,
		*names; /* the bind's, or those of the names that are asked for, which are its own */
	size_t output_count;
	const struct rows_column *outputs[ROWS_COLUMNS_MAX]; /* NULL: only counts rows */
	uint64_t first, rest;	   /* columns to decode before and after rows are chosen */
	bool ends;		   /* a column asks when the rows ended */
	uint64_t sums;		   /* columns of a summary to decode, where it is read instead */
	struct sums_filter filter; /* the bind's, described; what it points to is not its own */
	struct sums_ask ask;	   /* where summaries may be read */
	uint64_t preaggregated;	   /* of them those that go out; 0: they are not added up here */
	struct rows_block {
		size_t block;
		size_t sums; /* the block of its summary; SIZE_MAX: read the rows */
		const struct store_digest *digest; /* of this block and others; NULL: none */
		size_t at; /* dimension tables: which of live's blocks; `numbers`: the first */
	} *blocks;
	size_t block_count, block_cap;
	struct top *top;
	_Atomic size_t next;
};

/* rows_sums.c: chooses summaries and digests, which take the place of their blocks. 0 or -ENOMEM. */
int rows_sums_choose(struct rows_shared *s);
/*
 * Leaves out the blocks of whose digest no row has an operation, class and error that the filter may pass, so that questions for
 * what is rare read a thousandth of the trace. 0 or -ENOMEM.
 */
int rows_sums_leave_out(struct rows_shared *s);
/* The column of a summary behind a cell, as a set. */
uint64_t rows_sums_of_cell(enum rows_cell cell);
/* True where a block of it may have calls that move bytes between two files. */
bool rows_digest_has_seconds(const struct rows_shared *s, const struct store_digest *d);
/* The columns of summary that expressions and sums are made of: a range of time is no matter of single rows there. */
uint64_t rows_digest_columns(const struct rows_shared *s);
