/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles_out.h: calls as profiles of OTLP (v1development, as of opentelemetry-proto 1.10.0: an
 * ExportProfilesServiceRequest), in JSON or protobuf. A resource for each process; of it a profile for each of
 *
 *   io_time    nanoseconds of calls that do not wait for work
 *   wait_time  of those that do (class wait)
 *   io_bytes   bytes that they moved
 *   io_calls   how many
 *
 * Samples are summed up by stack, class (attribute weir.io.class) and span (link). The leaf of a stack is the name of the call;
 * below it are the functions that led to it where the call has a stack, else its file. The link is the span that the call belongs
 * to, with the ids under which spans_out.h exports it.
 *
 * Written in pieces of PROFILE_SAMPLES_MAX samples, so that memory does not grow with the links. In JSON a piece is a request of
 * its own, on a line; in protobuf the pieces are one message: each adds to the tables of the dictionary what the earlier ones lack,
 * as parsers put the parts of a message together. What is alike may then stand in several pieces; its values add up.
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

struct expr; /* query/plan/expr.h */

#define PROFILE_SAMPLES_MAX 16384u /* of a piece: some 30 MiB of memory, 6 MB of JSON */

struct profiles_options {
	int64_t from, to;	  /* calls that ended in [from, to); INT64_MIN, INT64_MAX: open */
	const struct expr *where; /* those for which this holds; NULL: all */
	bool protobuf;
	/* Takes what was written, and clears it. 0 or negative. */
	int (*flush)(void *arg, struct buf *out);
	void *arg;
};

struct profiles_stats {
	uint64_t calls, samples, linked; /* linked: calls that belong to a span */
	uint64_t stacked;		 /* calls that have a stack */
};

/* 0, -ENOMEM, -EIO, ... with a message. */
int profiles_write(struct store *s, const struct profiles_options *opt, struct profiles_stats *ret,
		   struct error *err);
