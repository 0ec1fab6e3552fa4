/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql_child.h: a process for untrusted SQL: `weir sql --confined`, which drops every privilege that it does not need
 * (engine/duckdb/library/confine.c). Its memory, time and files are limited here, and the folder for its temporary
 * files is created and removed here, however the process ends.
 */
#pragma once

#include "base/buf.h"
#include "engine/spill.h"

#include <sys/types.h>

struct child_limits {
	uint64_t address_space; /* bytes */
	uint64_t cpu_s;		/* over all its threads */
	uint64_t spill;		/* bytes of its temporary files */
};

struct child {
	pid_t pid;
	int in, out, err;   /* our ends of the pipes */
	struct spill spill; /* contains its folder */
	int folder; /* for its temporary files: inside the spill folder, owned by its user */
	uint64_t spill_max;
};

/*
 * Starts weir itself with these arguments. *ret is always set, for child_end(). Callable from any thread; the child
 * ends with the thread that started it.
 */
int child_start(struct child *ret, char *const args[], const struct child_limits *max,
		struct error *err);
/* Closes a descriptor unless it is -1, and sets it to -1. */
void child_shut(int *fd);
/* True if its temporary files exceed their limit. */
bool child_over(const struct child *c);
/*
 * Waits for its end, after killing it if `at_once`, and removes its files. 0 if it succeeded; the number of the
 * signal that ended it; -1 if it failed by itself.
 */
int child_end(struct child *c, bool at_once);
