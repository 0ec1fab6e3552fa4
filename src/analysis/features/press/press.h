/* SPDX-License-Identifier: Apache-2.0 */
/*
 * press.h: the tables `press` and `rival`; private to features/press/.
 *   press.c        the feature: which calls reach a device, and the groups that make them
 *   press_cells.c  sums by window and group
 *   press_rival.c  which group slows down which other one
 * It is not recorded which calls reach a device. Calls that the page cache alone cannot serve are counted: syncs,
 * writes (the data is written to the device sooner or later), calls on files opened with O_DIRECT, and all others
 * during which the thread slept, except waits for file locks. A read that did not sleep was served by the cache.
 *
 * A group is the threads of a process with one name. At the end each device has the 64 groups with the most time, and
 * one group without a process for all others.
 */
#pragma once

#include "analysis/features/feature.h"
#include "base/map.h"

#define PRESS_WINDOW_NS	 100000000ll
#define PRESS_GROUPS	 64    /* named groups per device */
#define PRESS_GROUPS_MAX 16384 /* at any time; at this number all but those above are folded */
/* 64 bytes each; at this number groups are folded, otherwise windows are doubled */
#define PRESS_CELLS_MAX (512u << 10)
#define PRESS_DEVICES	4095
/* windows covered by one call; if it covers more, windows are doubled */
#define PRESS_SPAN_MAX 1200

/* Each kind of call has its own typical duration. */
enum press_kind { PRESS_SYNC, PRESS_WRITE, PRESS_OTHER, PRESS_KINDS };

/* Sums of a group in one window. */
struct press_cell {
	uint32_t window;	     /* index from press.origin */
	uint32_t calls[PRESS_KINDS]; /* number that ended in it */
	int64_t durs[PRESS_KINDS];   /* their durations minus `runq`, ns */
	int64_t time;		     /* time of calls within the window, ns */
	int64_t bytes, longest;
};

struct press_group {
	uint64_t key;
	uint32_t device;  /* number of the device */
	uint32_t process; /* FEATURE_NONE: all groups without one of their own */
	int64_t thread_id;
	int64_t time;
	struct press_cell *cells; /* [count], sorted by window */
	size_t count, cap;
};

struct press_cells {
	int64_t origin, width; /* of windows, ns */
	struct press_group *groups;
	size_t group_count, group_cap;
	struct map by_key; /* key -> index of the group */
	size_t count;	   /* number of cells of all groups */
	uint32_t epoch;	   /* incremented when indexes of groups change */
};

/* A call of a group. */
struct press_call {
	int64_t start, stop, bytes;
	int64_t runq; /* part of it during which the thread was runnable but had no CPU */
	enum press_kind kind;
	bool ended;
};

void press_cells_free(struct press_cells *p);
/* The index of the group with this key, created if it is new. 0 or -ENOMEM. */
int press_group_find(struct press_cells *p, uint64_t key, uint32_t device, uint32_t process,
		     uint32_t *ret) _must_check_;
/* 0 or -ENOMEM. Indexes of groups may change (epoch). */
int press_cells_add(struct press_cells *p, uint32_t group,
		    const struct press_call *call) _must_check_;
/* Folds all but the PRESS_GROUPS largest groups of each device, and sorts groups by device, the largest first. 0 or -ENOMEM. */
int press_cells_fold(struct press_cells *p) _must_check_;

static inline uint32_t press_calls(const struct press_cell *c)
{
	return c->calls[PRESS_SYNC] + c->calls[PRESS_WRITE] + c->calls[PRESS_OTHER];
}

/* Writes the rows of `rival`, from folded cells. `devs`: the kernel's device number, by device. 0 or negative. */
int press_rivals(const struct press_cells *p, const struct feature_world *w, const int64_t *devs,
		 struct feature_rows *out) _must_check_;
