/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss.h: what is missing, and when. The counters are compared every LOSS_WINDOW_NS; an increase becomes a row for that
 * window, so that the rows of a cause add up to its counter.
 */
#pragma once

#include "base/clock.h"
#include "base/map.h"
#include "capture/ebpf/internal.h"

#define LOSS_WINDOW_NS (NSEC_PER_SEC / 2)

/* Causes that are counted per CPU, and those that are not. */
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

/* The losses of a thread so far, on one CPU. */
struct loss_thread {
	struct wire_missing_key key;
	uint64_t count;
};

struct losses {
	uint64_t (*now)[LOSS_CPU_COUNTERS];  /* by CPU, at losses_look() */
	uint64_t (*seen)[LOSS_CPU_COUNTERS]; /* already in rows */
	uint64_t seen_all[LOSS_COUNTERS];
	struct map seen_beside;	 /* for tables other than op, by table << 32 | cause: likewise */
	struct map seen_threads; /* loss_thread.key as a number -> already in rows */
	size_t cpus;
	int64_t since; /* wall time at which the window began */
};

int losses_init(struct losses *l, size_t cpus) _must_check_;
void losses_free(struct losses *l);
/* True when the window is over. */
bool losses_due(const struct losses *l, int64_t now);
/* Reads the counters of the CPUs. True if one that is attributed to threads increased. */
bool losses_look(struct losses *l, const struct wire_cpu *counters);
/* The counts by thread in the programs' map `missing`; the caller frees the list. 0 or -ENOMEM. */
int loss_threads(int map, struct loss_thread **ret, size_t *ret_count);
/*
 * Adds rows for increases of the counters read and of `all` since the window began; the next one begins at `now`. The
 * share explained by `threads` has rows with the thread; read these after losses_look(), so that they cover at least as
 * much.
 */
int losses_give(struct losses *l, const struct loss_thread *threads, size_t count,
		const uint64_t all[LOSS_COUNTERS], int64_t now, struct batch_set *out);
/* The same for rows missing in tables other than op; call before losses_give(), which ends the window. */
int losses_give_beside(struct losses *l, const struct source_beside *now_missing, size_t count,
		       int64_t now, struct batch_set *out);
/* A row for a loss of unknown size in a table. */
int losses_give_unknown(const struct losses *l, enum loss_cause cause, enum table_id table,
			int64_t now, struct batch_set *out);
/* A row for calls at the stop that could not be read, of this many threads (0: unknown). */
int losses_give_unread(const struct losses *l, uint64_t threads, int64_t now,
		       struct batch_set *out);
