/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seconds.h: calls that move bytes between two files, as calls on the second of them.
 *
 * Whoever groups calls by file counts such a call for each of its files: once as it stands, and once as batch_seconds() gives it.
 * In sums over all calls it counts once, as it stands.
 */
#pragma once

#include "batch/batch.h"

/* The columns of op or summary that batch_seconds() needs, where columns[] are read of them. */
uint64_t seconds_columns(enum table_id table, uint64_t columns);
/* The second file of a row of op or summary; -1: the call moves nothing from one file to another. */
int64_t seconds_file(const struct batch *b, size_t row);
/*
 * Fills `to`, of the same table, with those rows of b, the second file in the place of the first, and so are descriptors and
 * positions. to->numbers has their numbers in b. 0 or -ENOMEM.
 */
int batch_seconds(const struct batch *b, struct batch *to) _must_check_;
