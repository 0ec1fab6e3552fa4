/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql_child.h: a process for the SQL of other people: `weir sql --confined`, which takes everything from
 * itself that it does not need (engine/duckdb/library/confine.c). Its memory, time and files are bounded
 * here, and the folder for its temporary files is made and removed here, whatever becomes of it.
 */
#pragma once

#include "base/buf.h"
#include "engine/spill.h"

#include <sys/types.h>

struct child_limits {
	uint64_t address_space; /* bytes */
	uint64_t cpu_s;		/* of all its threads together */
	uint64_t spill;		/* bytes of its temporary files */
};

struct child {
	pid_t pid;
	int in, out, err;   /* our ends */
	struct spill spill; /* holds its folder */
	int folder; /* for its temporary files: below that of the spill, owned by its user */
	uint64_t spill_max;
};

/*
 * Starts weir itself with these arguments. *ret is set in any case, for child_end(). Any thread;
 * the child ends when the thread that started it does.
 */
int child_start(struct child *ret, char *const args[], const struct child_limits *max,
		struct error *err);
/* True where its temporary files are larger than they may be. */
bool child_over(const struct child *c);
/*
 * Waits until it has ended, after killing it where `at_once`, and removes its files. 0 where it
 * succeeded; the number of the signal that ended it; -1 where it failed by itself.
 */
int child_end(struct child *c, bool at_once);
