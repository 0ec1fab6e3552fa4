/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h: the trace that a command writes. A trace of that name is moved aside first, as perf does, and
 * comes back where nothing is written. Any other file of that name is left alone, and the command refused.
 * Output of text overwrites files, as a shell's `>` does and strace and perf stat do, but no traces.
 *
 *   _cleanup_(output_free) struct output out = {0};
 *   r = output_open(&out, path, &store, &err);
 */
#pragma once

#include <stdio.h>

#include "store/store.h"

struct output {
	const char
		*path; /* as it was named; of a recording in several files they are PATH.1, ... */
	bool parts;
	char *old; /* where an existing trace went; NULL: there was none */
	struct store_writer *writer;
};

/* 0, or negative with a message: nothing may be written there. Changes nothing. `parts`: PATH.1, PATH.2, ... neither. */
int output_check(const char *path, bool parts, struct error *err);
/* 0, or negative with a message that begins with "-o" where the name is what is wrong. */
int output_open(struct output *o, const char *path, const struct store_options *opt,
		struct error *err);
/* Nothing was recorded: the trace that was there before comes back. */
void output_undo(struct output *o);
/* Closes what is still open. */
void output_free(struct output *o);

/* -EINVAL, with a message, where the file is a trace: for what would overwrite it with something else. */
int output_spare_trace(const char *option, const char *path, struct error *err);
/* A file for text, for the caller to close; NULL with a message. */
FILE *output_text(const char *path, struct error *err);
