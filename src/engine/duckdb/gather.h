/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.h: rows of summaries that say the same of every key that is asked for, added up before the
 * library sees them: to group a row costs it several times as much. At most BATCH_ROWS_MAX sums are
 * held: then they go out as they are, and the library adds up the rest.
 */
#pragma once

#include "batch/batch.h"

struct gather;

/* `columns` of a summary: those that are keys and those that are sums. */
int gather_new(struct gather **ret, uint64_t columns);
void gather_free(struct gather *g);
/* Adds rows[0 .. n) of a summary until it is full; how many it took, or -ENOMEM, -EBADMSG. Full
 * with nothing in it cannot be. */
ssize_t gather_add(struct gather *g, const struct batch *summary, const uint32_t *rows, size_t n);
size_t gather_count(const struct gather *g);
/* The sums as a batch of summary, valid until the next gather_clear(). 0 or -ENOMEM. */
int gather_batch(struct gather *g, const struct batch **ret);
void gather_clear(struct gather *g);
