/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.h: times of several machines on one clock. As blocks are read, the shift in a trace's table `clock` is
 * subtracted from every time: ranges in headers, columns, dimension rows. One shift applies to a whole recording, so
 * that nothing within it changes: order, durations, nesting, references to a call by its start. Sums of windows stay
 * valid too, though their windows begin elsewhere. Drift is part of the bound (schema/flow_tables.h). Inside store/
 * only.
 */
#pragma once

#include "store/file/read/reader.h"

/* Subtracts `shift` from the times of a batch, in those columns of the set that it has. */
void clocks_shift(const struct batch *b, uint64_t columns, int64_t shift);
/* Subtracts it from the known ranges of a block. */
void clocks_shift_block(struct block *b, int64_t shift);
