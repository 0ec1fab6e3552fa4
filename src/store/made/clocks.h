/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.h: times of several machines on one clock. What a trace's table `clock` says of its recording is taken from every time
 * as blocks are read: ranges in headers, columns, dimension rows. One shift holds for a whole recording, so that nothing within
 * it changes: order, durations, what lies in what, which call another row names by its start; and sums of windows still hold,
 * though their windows begin elsewhere. A drift is part of the bound (schema/flow_tables.h). Inside store/ only.
 */
#pragma once

#include "store/file/reader.h"

/* Takes `shift` from the times of a batch, in the columns of the set that it has. */
void clocks_shift(const struct batch *b, uint64_t columns, int64_t shift);
/* Takes it from the ranges that are known of a block. */
void clocks_shift_block(struct block *b, int64_t shift);
