/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_calls.h: rows of op, collected from several blocks of a trace and written as one block in the order of the
 * table's sort key. The server then neither joins blocks nor sorts, which is half of its work; each column is a frame of
 * its own, which it decompresses in place.
 */
#pragma once

#include "clickhouse/native.h"

struct native_calls {
	size_t rows, cap;
	uint32_t *recording; /* [cap], also the others */
	uint64_t *block_no, *row_no;
	int64_t *ended, *start_odd;
	uint16_t *day;
	uint8_t *start_kind;
	/* of columns without a value in any row: NULL; a null value is 0 */
	int64_t *values[OP_COLUMNS];
	uint8_t *nulls[OP_COLUMNS];
};

void native_calls_free(struct native_calls *c);
int native_calls_add(struct native_calls *c, const struct batch *b,
		     const struct native_keys *keys) _must_check_;
/* The columns with values, for native_columns(). */
uint64_t native_calls_columns(const struct native_calls *c);
/* Appends the block as frames of ClickHouse's compression, and empties `c`. */
int native_calls_write(struct native_calls *c, struct buf *out) _must_check_;
