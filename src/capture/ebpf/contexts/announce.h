/* SPDX-License-Identifier: Apache-2.0 */
/*
 * announce.h: processes that announce memory for others to read, by a name that they give to it with prctl(PR_SET_VMA). The
 * kernel programs see the call (bpf/lib/thread/announce.h); whoever wants to read that memory has a row in the table of announce.c.
 * An announcement comes within some ms, as the reader is woken for it, and before what happened earlier was given: its thread
 * may have no row yet. The end of a process comes in its turn.
 */
#pragma once

#include "capture/ebpf/calls/decode.h"
#include "schema/wire_context.h"

enum announce_event {
	ANNOUNCE_MADE, /* also again, whenever the program repeats it */
	ANNOUNCE_EXEC, /* the process runs another program: what it announced before is gone */
	ANNOUNCE_EXIT, /* it ended */
};

struct announcement {
	enum wire_announce_kind kind;
	enum announce_event event;
	int32_t pid;		/* of the process, in the recorder's pid namespace */
	uint64_t process_start; /* with pid it names the process, as in struct wire_thread */
	uint32_t thread;	/* key in table thread: who made the call */
	uint64_t addr, len;	/* as the program said, of ANNOUNCE_MADE: to be checked */
	int64_t time;		/* of the kernel's monotonic clock */
	uint64_t name;		/* where the name is that has to be compared yet; 0: it was */
};

/* Hands the announcement to whoever wants its kind. 0 or negative. */
int decode_announce(struct decode *d, const struct wire_announce *w, struct batch_set *out);
/* A process that is seen for the first time: where it is older than the recording, what it announced before is looked for. */
int decode_announcer_older(struct decode *d, const struct wire_thread *w, struct batch_set *out);
/* True of a process that announced memory of this kind, and whose end has not been taken for it. */
bool decode_announcer_has(const struct decode *d, enum wire_announce_kind kind, int32_t pid,
			  uint64_t process_start);
/* Notes that a process announced this kind, as was found without its call. 0 or -ENOMEM. */
int decode_announcer_add(struct decode *d, enum wire_announce_kind kind, int32_t pid,
			 uint64_t process_start, int64_t time);
/* A process ran exec, or ended: whoever got an announcement of it learns that. 0 or negative. */
int decode_announcer_exec(struct decode *d, const struct wire_thread *w, struct batch_set *out);
int decode_announcer_end(struct decode *d, const struct wire_thread_end *w, struct batch_set *out);
