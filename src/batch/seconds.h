/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seconds.h: calls that move bytes between two files, as calls on the second of them.
 *
 * When calls are grouped by file, such a call counts for each of its files: once as it is stored, and once as batch_seconds()
 * returns it. In sums over all calls it counts once, as it is stored.
 */
#pragma once

#include "batch/batch.h"

/* `columns` of op or summary, and those that batch_seconds() needs to fill them. */
uint64_t seconds_columns(enum table_id table, uint64_t columns);
/* The second file of a row of op or summary; -1: the call moves nothing from one file to another. */
int64_t seconds_file(const struct batch *b, size_t row);
/*
 * Fills `to`, of the same table, with the calls of b that have a second file, in which the second file, descriptor and position
 * are exchanged with the first. to->numbers holds their row numbers in b. 0 or -ENOMEM.
 */
int batch_seconds(const struct batch *b, struct batch *to) _must_check_;
