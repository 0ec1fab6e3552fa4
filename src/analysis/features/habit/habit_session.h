/* SPDX-License-Identifier: Apache-2.0 */
/*
 * habit_session.h: what a thread does with one file from an open to its close, and afterwards until the next open.
 * Sessions seen completely are added to the table of habits; the others are dropped: opened before recording, longer
 * than HABIT_STEPS_MAX operations, or still open at the end.
 */
#pragma once

#include "analysis/features/habit/habit_table.h"

#define HABIT_SESSIONS 8 /* files of a thread with a slot; further open ones are parked */
/* over all threads; beyond it the oldest are dropped, and rows are marked inexact */
#define HABIT_PARKED_MAX 16384
/* operations on a new file before it is opened that belong to the session */
#define HABIT_PREFIX_MAX 4

/* The properties of a call used here. */
struct habit_call {
	uint32_t file;
	uint16_t op;
	bool opens, closes, connects, failed, waits;
	bool by_path; /* it uses a name, not a descriptor */
	int64_t start, stop;
	uint64_t bytes, time;
};

struct habit_session {
	uint32_t file;
	uint32_t depth; /* descriptors opened and not closed yet */
	uint8_t count;	/* length of ops; HABIT_STEPS_MAX + 1: too many */
	bool whole;	/* it began with an open */
	uint16_t ops[HABIT_STEPS_MAX];
	struct habit_sums sums;
};

struct habit_sessions {
	uint64_t recent; /* one byte per slot, the most recently used in the lowest */
	uint32_t files[HABIT_SESSIONS]; /* FEATURE_NONE: free slot */
	struct habit_session at[HABIT_SESSIONS];
};

struct habit_parking {
	struct map of; /* task, file -> index in places */
	struct habit_parked {
		uint64_t key;
		bool taken;
		struct habit_session session;
	} *places;   /* [HABIT_PARKED_MAX], allocated on first use */
	size_t hand; /* where the next one is put, replacing the oldest */
};

/* The thread whose calls they are, and the destination of finished sessions. */
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
/* The thread's state is needed for another, or it ended: closed sessions are counted, open ones parked. 0 or -ENOMEM. */
int habit_sessions_leave(struct habit_sessions *s, const struct habit_owner *o) _must_check_;
