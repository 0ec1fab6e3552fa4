/* SPDX-License-Identifier: Apache-2.0 */
/* copy_trace.h: for test programs that rewrite a trace with changes. */
#pragma once

#include "store/store.h"

/* Writes a block of the trace to `to`, by store_append(), unchanged or modified. */
typedef int (*copy_block_fn)(void *arg, const struct batch *b, struct store_writer *to,
			     struct error *err);

/*
 * Passes each block of trace `from` to `each`, which writes to the new trace `to`; summaries are made again. Negative
 * errno, with a message in `err`.
 */
int copy_trace(const char *from, const char *to, copy_block_fn each, void *arg, struct error *err);
