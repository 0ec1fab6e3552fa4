/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h: the trace that a command writes. An existing trace of that name is moved aside first, as perf does, and
 * restored if nothing is written. If any other file has that name, it is left alone and the command is refused. Text
 * output overwrites files, like a shell's `>`, strace and perf stat, but not traces.
 *
 *   _cleanup_(output_free) struct output out = {0};
 *   r = output_open(&out, path, &store, &err);
 */
#pragma once

#include <stdio.h>

#include "store/store.h"

struct output {
	const char *path; /* as named by the user; a recording in several files has PATH.1, ... */
	bool parts;
	char *old; /* where an existing trace was moved; NULL: there was none */
	struct store_writer *writer;
};

/*
 * 0, or negative with a message if the path may not be written. Changes nothing. `parts`: also checks PATH.1, PATH.2,
 * ...
 */
int output_check(const char *path, bool parts, struct error *err);
/* 0, or negative with a message, which begins with "-o" if the name is the problem. */
int output_open(struct output *o, const char *path, const struct store_options *opt,
		struct error *err);
/* Restores the previous trace, as nothing was recorded. */
void output_undo(struct output *o);
/* Closes what is still open. */
void output_free(struct output *o);

/* -EINVAL, with a message, if the file is a trace: for commands that would overwrite it with something else. */
int output_spare_trace(const char *option, const char *path, struct error *err);
/* Opens a file for text, which the caller closes; NULL with a message. */
FILE *output_text(const char *path, struct error *err);
