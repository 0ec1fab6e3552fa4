/* SPDX-License-Identifier: Apache-2.0 */
/* trace_held.h: lines that wait for their turn, the earliest on top: a call is known when it ends, and lines may be ordered by when
 * calls began. */
#pragma once

#include "base/map.h"
#include "base/clock.h"
#include "base/util.h"

/* Calls that take longer may be printed behind others that began later. */
#define TRACE_HOLD_NS (100 * NSEC_PER_MSEC)

struct held_line {
	int64_t turn;	 /* ns since the epoch, by which lines are ordered */
	uint64_t number; /* of those of one time the first came first */
	int64_t at;	 /* the time that the line shows */
	int64_t tid;	 /* -1: of no thread */
	char *text;	 /* without its time */
	size_t len;
};

struct held_lines {
	struct held_line *items; /* a heap */
	size_t count, cap;
	uint64_t added;
	size_t bytes; /* of all texts */
};

/* Copies the text. 0 or -ENOMEM. */
int held_add(struct held_lines *h, int64_t turn, int64_t at, int64_t tid, struct bytes text);
/* Takes the first, if its turn comes before `until`; the caller frees its text. */
bool held_take(struct held_lines *h, int64_t until, struct held_line *ret);
void held_free(struct held_lines *h);
