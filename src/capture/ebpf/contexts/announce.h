/* SPDX-License-Identifier: Apache-2.0 */
/*
 * announce.h: processes that announce memory for others to read, by naming it with prctl(PR_SET_VMA). The kernel
 * programs see the call (bpf/lib/thread/announce.h); each reader of such memory has a row in the table of announce.c.
 * An announcement arrives within milliseconds, because it wakes the reader, and before earlier events were delivered:
 * its thread may have no row yet. The end of a process arrives in its turn.
 */
#pragma once

#include "capture/ebpf/calls/decode.h"
#include "schema/wire_context.h"

enum announce_event {
	ANNOUNCE_MADE, /* repeated if the program repeats it */
	ANNOUNCE_EXEC, /* the process executes another program: earlier announcements are void */
	ANNOUNCE_EXIT, /* it ended */
};

struct announcement {
	enum wire_announce_kind kind;
	enum announce_event event;
	int32_t pid;		/* in the recorder's pid namespace */
	uint64_t process_start; /* with pid it identifies the process, as in struct wire_thread */
	uint32_t thread;	/* key in table thread: the caller */
	uint64_t addr, len;	/* as passed by the program, for ANNOUNCE_MADE: must be checked */
	int64_t time;		/* on the kernel's monotonic clock */
	uint64_t name;		/* address of the name, which must still be compared; 0: done */
};

/* Passes the announcement to the reader of its kind. 0 or negative. */
int decode_announce(struct decode *d, const struct wire_announce *w, struct batch_set *out);
/* A process is seen for the first time: if it is older than the recording, looks for earlier announcements. */
int decode_announcer_older(struct decode *d, const struct wire_thread *w, struct batch_set *out);
/* True if a process announced memory of this kind, and its end was not processed yet. */
bool decode_announcer_has(const struct decode *d, enum wire_announce_kind kind, int32_t pid,
			  uint64_t process_start);
/* Records that a process announced this kind, detected without its call. 0 or -ENOMEM. */
int decode_announcer_add(struct decode *d, enum wire_announce_kind kind, int32_t pid,
			 uint64_t process_start, int64_t time);
/* A process called exec, or ended: informs the readers of its announcements. 0 or negative. */
int decode_announcer_exec(struct decode *d, const struct wire_thread *w, struct batch_set *out);
int decode_announcer_end(struct decode *d, const struct wire_thread_end *w, struct batch_set *out);
