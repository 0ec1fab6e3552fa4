/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h: the trace that a command writes. A trace of that name is moved aside first, as perf does, and
 * comes back where nothing is written.
 *
 *   _cleanup_(output_free) struct output out = {0};
 *   r = output_open(&out, path, &store, &err);
 */
#pragma once

#include "store/store.h"

struct output {
	const char *path;
	char *old; /* where an existing trace went; NULL: there was none */
	struct store_writer *writer;
};

/* 0, or negative with a message that begins with "-o" where the name is what is wrong. */
int output_open(struct output *o, const char *path, const struct store_options *opt,
		struct error *err);
/* Nothing was recorded: the trace that was there before comes back. */
void output_undo(struct output *o);
/* Closes what is still open. */
void output_free(struct output *o);
