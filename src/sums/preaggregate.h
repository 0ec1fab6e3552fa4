/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preaggregate.h: rows of summaries that say the same of every key that is asked for, added up before the
 * library sees them: to group a row costs it several times as much. At most BATCH_ROWS_MAX sums are
 * held: then they go out as they are, and the library adds up the rest. Each thread has its own sums. Of thirteen
 * million groups of summaries two million are left by file, a few thousand by call.
 */
#pragma once

#include "batch/batch.h"

struct preagg;

/* `columns` of a summary: those that are keys and those that are sums. */
int preagg_new(struct preagg **ret, uint64_t columns);
void preagg_free(struct preagg *g);
/* Adds rows[0 .. n) of a summary until it is full; how many it took, or -ENOMEM, -EBADMSG. Full
 * with nothing in it cannot be. */
ssize_t preagg_add(struct preagg *g, const struct batch *summary, const uint32_t *rows, size_t n);
size_t preagg_count(const struct preagg *g);
/* The sums as a batch of summary, valid until the next preagg_clear(). 0 or -ENOMEM. */
int preagg_batch(struct preagg *g, const struct batch **ret);
void preagg_clear(struct preagg *g);
