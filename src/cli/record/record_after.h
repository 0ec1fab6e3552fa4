/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_after.h: what runs when a recording has ended: `weir diagnose` of the trace. Only for `weir record`.
 *
 * By then the recorder has given up the right to start a program. So a process that will do it is forked before, and waits.
 */
#pragma once

#include <sys/types.h>

#include "base/error.h"

struct record_after {
	pid_t pid;  /* 0: none */
	int fd;	    /* the path goes here */
	char *path; /* of the trace; NULL: there is none */
};

int record_after_prepare(struct record_after *a, struct error *err);
/* Diagnoses the trace of a->path, which nobody has open, and waits for the end of that. Where there is none the process ends. */
void record_after_free(struct record_after *a);
