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
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

struct expr; /* query/plan/expr.h */

struct profiles_options {
	int64_t from, to;	  /* calls that ended in [from, to); INT64_MIN, INT64_MAX: open */
	const struct expr *where; /* those for which this holds; NULL: all */
	bool protobuf;
};

struct profiles_stats {
	uint64_t calls, samples, linked; /* linked: calls that belong to a span */
	uint64_t stacked;		 /* calls that have a stack */
};

/* Appends the request. 0, -ENOMEM, -EIO, ... with a message. */
int profiles_write(struct store *s, const struct profiles_options *opt, struct buf *out,
		   struct profiles_stats *ret, struct error *err);
