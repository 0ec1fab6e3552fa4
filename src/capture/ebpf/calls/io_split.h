/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_split.h: what the requests of a call did while its thread was blocked on I/O. Requests overlap and some are not
 * waited for, so their times cannot be summed. The device time of a wait is the part in which at least one request was
 * in the device; the queue time is the part of the rest in which at least one was queued.
 *
 * Requests precede the row of the call that waited for them, as they were complete when it ended. One that arrives
 * later was read-ahead, or a write for others: no one waited for it.
 */
#pragma once

#include "base/map.h"
#include "schema/wire.h"

#define IO_SPLIT_REQUESTS_MAX 256 /* per call; if there are more, nothing is known */
#define IO_SPLIT_CALLS_MAX \
	16384 /* threads; at the limit all calls so far are forgotten, and nothing is known of them */

struct io_request {
	uint64_t queued, issued, end; /* monotonic ns; 0: unknown */
};

/* Requests of the current call of each thread. Starts as {0}. */
struct io_split {
	struct map calls;   /* version of a thread -> struct io_split_call * */
	uint64_t forgotten; /* the last start of a forgotten call; 0: none */
};
void io_split_free(struct io_split *s);
/* Adds a completed request of the call that the thread began at `start`. 0 or -ENOMEM. */
int io_split_request(struct io_split *s, uint32_t thread, uint64_t start,
		     const struct io_request *request) _must_check_;

struct io_parts {
	uint64_t queued, device; /* ns */
};
/* The parts of the waits of a call that ended, in their order; forgets its requests. False if unknown. */
bool io_split_take(struct io_split *s, uint32_t thread, uint64_t start,
		   const struct wire_wait *waits, size_t count, struct io_parts *ret);
