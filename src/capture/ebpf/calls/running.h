/* SPDX-License-Identifier: Apache-2.0 */
/*
 * running.h: the calls that threads are in, from the kernel programs and from /proc. A call that began before the
 * recording and is still running has no start; its duration is a lower bound, at least the time of the recording.
 */
#pragma once

#include "base/map.h"
#include "capture/ebpf/calls/decode.h"

/* Reads the output of weir_running, an iterator over all tasks: consecutive struct wire_op. 0 or negative: some are
 * missing. */
int running_read(int prog, struct buf *out);
/* The same for an iterator over the entries of a map, with its own records; map -1: for one without a map. */
int running_read_map(int prog, int map, struct buf *out);
/* The record at *at, which advances; NULL: none is left. */
const struct wire_op *running_next(const struct buf *b, size_t *at);
/* Identifies a call. */
uint64_t running_key(const struct wire_op *w);
/* Adds the keys of the calls that are running now. 0 or negative: some are missing. */
int running_keys(int prog, struct map *ret);

/*
 * Marks "weir.running" while recording: the calls that have run for a second or longer, as "TID OP START, ..." (ns
 * since the epoch), so that readers of a growing trace need not wait until they return. Each is valid until the next,
 * which follows within a second if calls begin or end, else after five seconds, and later after an eighth of the time
 * without a change. In recordings of the whole host, calls that wait for work are left out. Starts as {0}.
 */
struct running_marks {
	int64_t next, at; /* monotonic: when to look again, time of the last mark */
	int64_t since;	  /* and of the first mark with its text */
	uint64_t hash;	  /* of its text */
	bool any;	  /* it contained calls */
};
/* Whether a mark with this text ("": no calls) is due; if so, counts it as added. */
bool running_marks_due(struct running_marks *t, struct bytes text, int64_t now);
/* Looks if due. *unsent is increased by the program if a thread's record found no room, which it may find before the stop. 0
 * or negative; data that the kernel does not provide is left out. */
int running_mark(struct running_marks *t, int prog, uint32_t *unsent, const struct decode *d,
		 struct batch_set *out);

struct running_call {
	int32_t tid, tgid;
	uint16_t nr;	 /* call number of its plan */
	uint32_t number; /* as reported by the thread */
	int64_t seen;	 /* monotonic: when the thread was seen in it */
	char comm[WIRE_COMM];
	uint64_t args[WIRE_ARGS];
};

struct running {
	struct running_call *calls;
	size_t count, cap;
	uint64_t unread; /* further threads, whose calls could not be read */
	bool more;	 /* there may be more of these */
};

/* The same for the selected threads (pids_fd: the map of processes). Selections by name, user or control group are not
 * considered. */
int running_unseen(struct running *r, const struct select *s, int pids_fd);
/*
 * Adds rows for those whose threads the kernel programs never saw, with thread numbers from *next_thread on. Such a
 * call began before `since` (monotonic), when recording began: its start is null, and its duration is at least the time
 * since then.
 */
int running_give(const struct running *r, struct decode *d, int64_t since, uint32_t *next_thread,
		 const struct wire_plan *plans, struct batch_set *out, uint64_t *ret_ops);
void running_free(struct running *r);
