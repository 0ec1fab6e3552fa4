/* SPDX-License-Identifier: Apache-2.0 */
/*
 * habit_session.h: what a thread does with one file from an open to its close, and after it until the next open. Sessions
 * that were seen whole go to the table of habits; the others are forgotten: opened before recording, longer than
 * HABIT_STEPS_MAX operations, or still open at the end.
 */
#pragma once

#include "analysis/features/habit/habit_table.h"

#define HABIT_SESSIONS 8 /* files of a thread at hand; further open ones are parked */
#define HABIT_PARKED_MAX \
	16384 /* of all threads; beyond it the oldest are forgotten, and rows are inexact */
#define HABIT_PREFIX_MAX 4 /* operations on a new file before it is opened that belong to it */

/* A call, as habits see it. */
struct habit_call {
	uint32_t file;
	uint16_t op;
	bool opens, closes, connects, failed, waits;
	bool by_path; /* it is on a name, not on a descriptor */
	int64_t start, stop;
	uint64_t bytes, time;
};

struct habit_session {
	uint32_t file;
	uint32_t depth; /* descriptors that were opened and not closed */
	uint8_t count;	/* of ops; HABIT_STEPS_MAX + 1: too many */
	bool whole;	/* it began with an open */
	uint16_t ops[HABIT_STEPS_MAX];
	struct habit_sums sums;
};

struct habit_sessions {
	uint64_t recent; /* a byte per place, the one that was used last is the lowest */
	uint32_t files[HABIT_SESSIONS]; /* FEATURE_NONE: the place is free */
	struct habit_session at[HABIT_SESSIONS];
};

struct habit_parking {
	struct map of; /* task, file -> place */
	struct habit_parked {
		uint64_t key;
		bool taken;
		struct habit_session session;
	} *places;   /* [HABIT_PARKED_MAX], made on first use */
	size_t hand; /* where the next is put: the oldest is there */
};

/* Whose calls they are, and where sessions that are over go. */
struct habit_owner {
	struct habit_table *table;
	struct habit_parking *parking;
	uint32_t task, process;
	int64_t thread_id;
};

void habit_sessions_init(struct habit_sessions *s);
void habit_parking_free(struct habit_parking *p);
/* A call on a file. 0 or -ENOMEM. */
int habit_sessions_call(struct habit_sessions *s, const struct habit_owner *o,
			const struct habit_call *c) _must_check_;
/* The thread makes room for another, or ended: what is closed is counted, what is open is parked. 0 or -ENOMEM. */
int habit_sessions_leave(struct habit_sessions *s, const struct habit_owner *o) _must_check_;
