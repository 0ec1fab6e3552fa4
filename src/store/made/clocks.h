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

/*
 * True for times of events by the machine's clock; a file's birth and measurements of the clock itself are not
 * shifted.
 */
bool clocks_is_shifted(const struct table_def *t, unsigned int column);
/* Subtracts `shift` from the times of a batch, in those columns of the set that it has. */
void clocks_shift(const struct batch *b, uint64_t columns, int64_t shift);
/* Subtracts it from the known ranges of a block. */
void clocks_shift_block(struct block *b, int64_t shift);
/*
 * Reads the tables `clock` of all traces and corrects what was read so far. Nothing else may use the store meanwhile.
 */
int clocks_apply(struct store *s) _must_check_;
