/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_after.h: runs `weir diagnose` on the trace after a recording has ended. Only for `weir record`.
 *
 * By then the recorder has given up the privilege to start a program. So a process is forked in advance, and waits.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"

struct record_after {
	pid_t pid;  /* 0: none */
	int fd;	    /* the path is sent here */
	char *path; /* path of the trace; NULL: there is none */
};

int record_after_prepare(struct record_after *a, struct error *err);
/*
 * Diagnoses the trace a->path, which must be closed, and waits for the diagnosis. Without a path the process just
 * ends.
 */
void record_after_free(struct record_after *a);
