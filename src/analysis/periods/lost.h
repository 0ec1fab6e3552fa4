/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lost.h: intervals in which calls are missing, as points in time, sorted. A period that a thread has open when its
 * calls begin to be missing may have ended among them; a period that it begins before they are complete again may be
 * wrong. Each row of loss therefore becomes two points at which open periods are cut.
 */
#pragma once

#include "analysis/analysis.h"

struct period_lost {
	int64_t at;	/* time at which periods are cut */
	int64_t known;	/* time up to which the losses are known */
	int64_t thread; /* the entity's id; -1: any */
};

struct period_losses {
	struct period_lost *items;
	size_t count, cap, at;
	uint64_t rows; /* rows of loss read */
};

/*
 * Reads the rows of loss of the run's store that stand for calls, in its range. Called again for a growing trace it
 * adds those that came since.
 */
int period_losses_read(struct period_losses *ret, const struct analysis_run *run,
		       const struct dims *dims, struct error *err);
void period_losses_free(struct period_losses *l);
/* The next point not after `until`. */
bool period_losses_next(struct period_losses *l, int64_t until, struct period_lost *ret);
