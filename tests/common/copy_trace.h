/* SPDX-License-Identifier: Apache-2.0 */
/* copy_trace.h: for programs of tests that write a trace anew, with something changed. */
#pragma once

#include "store/store.h"

/* What becomes of a block of the trace: written to `to`, by store_append(), as it is or otherwise. */
typedef int (*copy_block_fn)(void *arg, const struct batch *b, struct store_writer *to,
			     struct error *err);

/* Gives each block of trace `from` to `each`, which writes to the new trace `to`; summaries are made anew. Negative errno, and
 * `err` says why. */
int copy_trace(const char *from, const char *to, copy_block_fn each, void *arg, struct error *err);
