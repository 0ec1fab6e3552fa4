/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preaggregate.h: adds up summary rows that agree in all requested keys before the library sees them, because grouping
 * a row there costs several times as much. At most BATCH_ROWS_MAX sums are held; a full table is flushed and the
 * library adds up its rows. Each thread has its own table. Of thirteen million groups of summaries, two million remain
 * by file and a few thousand by call.
 */
#pragma once

#include "batch/batch.h"

struct preagg;

/* `columns`: the key and sum columns of summary that are wanted. */
int preagg_new(struct preagg **ret, uint64_t columns);
void preagg_free(struct preagg *g);
/*
 * Adds rows[0 .. n) of a summary until the table is full. Returns the number of rows added, at least one if the table
 * was empty, or -ENOMEM, -EBADMSG.
 */
ssize_t preagg_add(struct preagg *g, const struct batch *summary, const uint32_t *rows, size_t n);
size_t preagg_count(const struct preagg *g);
/* The sums as a batch of summary, valid until the next preagg_clear(). 0 or -ENOMEM. */
int preagg_batch(struct preagg *g, const struct batch **ret);
void preagg_clear(struct preagg *g);
