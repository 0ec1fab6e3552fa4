/* SPDX-License-Identifier: Apache-2.0 */
/*
 * running.h: in which calls threads are, from the kernel programs and from /proc. A call that ran before the recording
 * began and still does has no start; its duration is what is known, at least the time of the recording.
 */
#pragma once

#include "base/map.h"
#include "capture/ebpf/decode.h"

/* Reads what an iterator over all tasks says, the program weir_running: struct wire_op, one behind the other. 0 or negative: some
 * are missing. */
int running_read(int prog, struct buf *out);
/* The same of an iterator over the entries of a map, whose records are its own; map -1: of one that needs none. */
int running_read_map(int prog, int map, struct buf *out);
/* The record at *at of them, which moves behind it; NULL: there is none. */
const struct wire_op *running_next(const struct buf *b, size_t *at);
/* Names a call. */
uint64_t running_key(const struct wire_op *w);
/* Adds those of the calls that run now. 0 or negative: some are missing. */
int running_keys(int prog, struct map *ret);

/*
 * Marks "weir.running" while recording: the calls that have run for a second or longer, as "TID OP START, ..." (ns since the
 * epoch), so that readers of a growing trace need not wait until they return. Each holds until the next, which comes within a
 * second where calls begin or end, else after five, and after an eighth of the time for which nothing changed. Of a whole
 * host, calls that wait for work are left out. Starts as {0}.
 */
struct running_marks {
	int64_t next, at; /* monotonic: when to look again, when the last mark was given */
	int64_t since;	  /* and the first one with its text */
	uint64_t hash;	  /* of its text */
	bool any;	  /* it named calls */
};
/* Whether a mark with this text ("": no calls) is to be given now, which it then counts as. */
bool running_marks_due(struct running_marks *t, struct bytes text, int64_t now);
/* Looks where that is due; *unsent is the program's note that a thread's record had found no room, which it may find before
 * the stop. 0 or negative; what the kernel does not say is left out. */
int running_mark(struct running_marks *t, int prog, uint32_t *unsent, const struct decode *d,
		 struct batch_set *out);

struct running_call {
	int32_t tid, tgid;
	uint16_t nr;	 /* of its plan */
	uint32_t number; /* as the thread gave it */
	int64_t seen;	 /* monotonic; the thread was in it then */
	char comm[WIRE_COMM];
	uint64_t args[WIRE_ARGS];
};

struct running {
	struct running_call *calls;
	size_t count, cap;
};

/* Those of the threads that are selected (pids_fd: the map of processes). Whom the selection takes by name, user or
 * control group is not looked at. */
int running_unseen(struct running *r, const struct select *s, int pids_fd);
/*
 * Gives rows for those whose threads the kernel programs never saw, with thread numbers from *next_thread on. Such a
 * call was entered before `since` (monotonic), when recording began: its start is null, and its duration is at least
 * the time from then on.
 */
int running_give(const struct running *r, struct decode *d, int64_t since, uint32_t *next_thread,
		 const struct wire_plan *plans, struct batch_set *out, uint64_t *ret_ops);
void running_free(struct running *r);
