/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles_out.h: calls as profiles of OTLP (v1development, as of opentelemetry-proto 1.10.0: an
 * ExportProfilesServiceRequest), in JSON or protobuf. Each process is a resource with these profiles:
 *   io_time    nanoseconds in calls that do not wait for work
 *   wait_time  nanoseconds in calls that do (class wait)
 *   io_bytes   bytes moved
 *   io_calls   number of calls
 * Samples are aggregated by stack, class (attribute weir.io.class) and span (link). The leaf of a stack is the name of
 * the call; below it are the functions that led to it if the call has a stack, else its file. The link is the span that
 * the call belongs to, with the ids under which spans_out.h exports it.
 *
 * Output is written in pieces of PROFILE_SAMPLES_MAX samples, so that memory does not grow with the number of links. In
 * JSON each piece is a request of its own, on one line. In protobuf the pieces form one message: each adds the entries
 * that earlier pieces lack to the tables of the dictionary, as parsers merge the parts of a message. Samples with equal
 * keys may appear in several pieces; their values add up.
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

struct expr; /* query/expr.h */

#define PROFILE_SAMPLES_MAX 16384u /* samples in a piece: about 30 MiB of memory, 6 MB of JSON */

struct profiles_options {
	int64_t from, to;	  /* calls that ended in [from, to); INT64_MIN, INT64_MAX: open */
	const struct expr *where; /* calls for which this holds; NULL: all */
	bool protobuf;
	/* Writes out the buffer and clears it. 0 or negative. */
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
