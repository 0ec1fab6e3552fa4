/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lost.h: from when to when calls are missing, as moments in order of time. What a thread has open when calls of it begin to be
 * missing may have ended among them; what it begins until they are complete again may be wrong. So each row of loss is two
 * moments at which what is open is cut.
 */
#pragma once

#include "analysis/analysis.h"

struct period_lost {
	int64_t at;	/* when it is cut */
	int64_t known;	/* up to when all is known of it */
	int64_t thread; /* the entity's id; -1: any */
};

struct period_losses {
	struct period_lost *items;
	size_t count, cap, at;
	uint64_t rows; /* of loss that were read */
};

/* Rows of loss of the run's store that stand for calls, in its range; again, of a trace that grows: those that came since. */
int period_losses_read(struct period_losses *ret, const struct analysis_run *run,
		       const struct dims *dims, struct error *err);
void period_losses_free(struct period_losses *l);
/* The next moment up to and with `until`. */
bool period_losses_next(struct period_losses *l, int64_t until, struct period_lost *ret);
