/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_held.h: lines that wait for their turn, in a heap: a call is known only when it ends, but lines may be
 * ordered by when calls began.
 */
#pragma once

#include "base/map.h"
#include "base/clock.h"
#include "base/util.h"

/* A call that takes longer may be printed after others that began later. */
#define TRACE_HOLD_NS (100 * NSEC_PER_MSEC)

struct held_line {
	int64_t turn;	 /* ns since the epoch, the sort key */
	uint64_t number; /* breaks ties: in order of arrival */
	int64_t at;	 /* the time to print */
	int64_t tid;	 /* -1: no thread */
	char *text;	 /* without the time */
	size_t len;
};

struct held_lines {
	struct held_line *items; /* a heap */
	size_t count, cap;
	uint64_t added;
	size_t bytes; /* of all texts */
};

/* Adds a line, copying the text. 0 or -ENOMEM. */
int held_add(struct held_lines *h, int64_t turn, int64_t at, int64_t tid, struct bytes text);
/* Takes the first line if its turn is before `until`; the caller frees its text. */
bool held_take(struct held_lines *h, int64_t until, struct held_line *ret);
void held_free(struct held_lines *h);
