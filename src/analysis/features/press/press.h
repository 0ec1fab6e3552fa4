/* SPDX-License-Identifier: Apache-2.0 */
/*
 * press.h: the tables `press` and `rival`, for features/press/ only.
 *
 *   press.c        the feature: which calls reach a device, and whose they are
 *   press_cells.c  sums by window and group
 *   press_rival.c  which group another one slows down
 *
 * Which calls reach a device is not recorded. Those that cannot be answered by the page cache alone count: syncs, writes (what
 * they write goes there sooner or later), calls on files opened with O_DIRECT, and all others during which the thread slept,
 * waits for locks of files excepted. A read that did not sleep was in the cache.
 *
 * A group is the threads of a process with one name. At the end each device has the 64 that took most time, and one group for
 * all others, without a process.
 */
#pragma once

#include "analysis/features/feature.h"
#include "base/map.h"

#define PRESS_WINDOW_NS	 100000000ll
#define PRESS_GROUPS	 64    /* of a device that have a name */
#define PRESS_GROUPS_MAX 16384 /* at any time; then all but those are folded */
#define PRESS_CELLS_MAX \
	(512u << 10) /* 64 bytes each; then groups are folded, else windows doubled */
#define PRESS_DEVICES  4095
#define PRESS_SPAN_MAX 1200 /* windows that one call fills; beyond it windows are made longer */

/* A kind of call has its own typical duration. */
enum press_kind { PRESS_SYNC, PRESS_WRITE, PRESS_OTHER, PRESS_KINDS };

/* A window of a group. */
struct press_cell {
	uint32_t window;	     /* since press.origin */
	uint32_t calls[PRESS_KINDS]; /* that ended */
	int64_t durs[PRESS_KINDS];   /* their durations without `runq`, ns */
	int64_t time;		     /* of calls within the window, ns */
	int64_t bytes, longest;
};

struct press_group {
	uint64_t key;
	uint32_t device;  /* number of the device */
	uint32_t process; /* FEATURE_NONE: those that have no group of their own */
	int64_t thread_id;
	int64_t time;
	struct press_cell *cells; /* [count], by window */
	size_t count, cap;
};

struct press_cells {
	int64_t origin, width; /* of windows, ns */
	struct press_group *groups;
	size_t group_count, group_cap;
	struct map by_key; /* key -> number of the group */
	size_t count;	   /* cells of all groups */
	uint32_t epoch;	   /* rises when groups change their numbers */
};

/* A call of a group. */
struct press_call {
	int64_t start, stop, bytes;
	int64_t runq; /* part of it in which the thread had no CPU, though ready to run */
	enum press_kind kind;
	bool ended;
};

void press_cells_free(struct press_cells *p);
/* The number of the group with this key, which is made where it is new. 0 or -ENOMEM. */
int press_group_find(struct press_cells *p, uint64_t key, uint32_t device, uint32_t process,
		     uint32_t *ret) _must_check_;
/* 0 or -ENOMEM. Groups may have other numbers afterwards (epoch). */
int press_cells_add(struct press_cells *p, uint32_t group,
		    const struct press_call *call) _must_check_;
/* Folds all but the largest PRESS_GROUPS groups of each device, and sorts groups by device, the largest first. 0 or -ENOMEM. */
int press_cells_fold(struct press_cells *p) _must_check_;

static inline uint32_t press_calls(const struct press_cell *c)
{
	return c->calls[PRESS_SYNC] + c->calls[PRESS_WRITE] + c->calls[PRESS_OTHER];
}

/* The rows of `rival`, of folded cells. `devs`: the number of the kernel, by that of the device. 0 or negative. */
int press_rivals(const struct press_cells *p, const struct feature_world *w, const int64_t *devs,
		 struct feature_rows *out) _must_check_;
