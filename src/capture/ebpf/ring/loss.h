/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss.h: what is missing, and when. The counters are compared every LOSS_WINDOW_NS; what a counter grew by is a
 * row of that window, so that the rows of a cause add up to its counter.
 */
#pragma once

#include "base/clock.h"
#include "base/map.h"
#include "capture/ebpf/internal.h"

#define LOSS_WINDOW_NS (NSEC_PER_SEC / 2)

/* Causes that are counted for each CPU, and those that are not. */
enum loss_cpu_counter {
	LOSS_CPU_RING,
	LOSS_CPU_COMPAT,
	LOSS_CPU_STORAGE,
	LOSS_CPU_UNREAD,
	LOSS_CPU_UNSENT,
	LOSS_CPU_COUNTERS
};
enum loss_counter {
	LOSS_ALL_RECURSION,
	LOSS_ALL_HOLD,
	LOSS_ALL_DECODE,
	LOSS_ALL_PATH_CUT,
	LOSS_ALL_ARGV_CUT,
	LOSS_ALL_UNPAIRED,
	LOSS_ALL_FAULTS,
	LOSS_ALL_REQUESTS,
	LOSS_ALL_REQUESTS_FULL,
	LOSS_ALL_STACKS, /* calls whose stack found no room */
	LOSS_COUNTERS
};

/* What is missing of a thread so far, at one CPU. */
struct loss_thread {
	struct wire_missing_key key;
	uint64_t count;
};

struct losses {
	uint64_t (*now)[LOSS_CPU_COUNTERS];  /* by CPU, as losses_look() saw them */
	uint64_t (*seen)[LOSS_CPU_COUNTERS]; /* what rows have already */
	uint64_t seen_all[LOSS_COUNTERS];
	struct map seen_beside;	 /* of what is beside calls, by table << 32 | cause: likewise */
	struct map seen_threads; /* of loss_thread.key as a number: what rows have already */
	size_t cpus;
	int64_t since; /* wall time at which the window began */
};

int losses_init(struct losses *l, size_t cpus) _must_check_;
void losses_free(struct losses *l);
/* True when the window is over. */
bool losses_due(const struct losses *l, int64_t now);
/* Notes the counters of the CPUs. True where some of them grew that threads have a share in. */
bool losses_look(struct losses *l, const struct wire_cpu *counters);
/* What the programs counted by thread, from their map `missing`; the caller frees the list. 0 or -ENOMEM. */
int loss_threads(int map, struct loss_thread **ret, size_t *ret_count);
/*
 * Rows for what the counters noted and `all` grew by since the window began; the next one begins at `now`. What
 * `threads` explain of it has rows with the thread; read these after losses_look(), so that they cover no less.
 */
int losses_give(struct losses *l, const struct loss_thread *threads, size_t count,
		const uint64_t all[LOSS_COUNTERS], int64_t now, struct batch_set *out);
/* Rows for what is missing of other tables than op, likewise; before losses_give(), which ends the window. */
int losses_give_beside(struct losses *l, const struct source_beside *now_missing, size_t count,
		       int64_t now, struct batch_set *out);
/* A row for a loss of unknown size, of rows of that table. */
int losses_give_unknown(const struct losses *l, enum loss_cause cause, enum table_id table,
			int64_t now, struct batch_set *out);
