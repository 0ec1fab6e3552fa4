/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seconds.h: calls that move bytes between two files, seen as calls on the second file.
 *
 * When calls are grouped by file, such a call counts for both files: once as stored, and once as batch_seconds()
 * returns it. In totals over all calls it counts once, as stored.
 */
#pragma once

#include "batch/batch.h"

/* `columns` of op or summary, plus those that batch_seconds() needs to fill them. */
uint64_t seconds_columns(enum table_id table, uint64_t columns);
/* The second file of a row of op or summary; -1: the call does not move bytes between files. */
int64_t seconds_file(const struct batch *b, size_t row);
/*
 * Fills `to`, of the same table, with those calls of b that have a second file, with the first and second file,
 * descriptor and position exchanged. to->numbers holds their row numbers in b. 0 or -ENOMEM.
 */
int batch_seconds(const struct batch *b, struct batch *to) _must_check_;
