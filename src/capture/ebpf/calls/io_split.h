/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io_split.h: what the requests of a call did while its thread was blocked on I/O. Requests overlap and some are not waited for,
 * so their times cannot be summed: of each wait that part counts in which at least one request was in the device, and of the
 * rest that in which at least one was queued.
 *
 * Requests come before the row of the call that waited for them, as they were complete when it ended. One that comes later
 * was read ahead, or written for others: it is not waited for.
 */
#pragma once

#include "base/map.h"
#include "schema/wire.h"

#define IO_SPLIT_REQUESTS_MAX 256 /* of a call; of one with more nothing is known */
#define IO_SPLIT_CALLS_MAX \
	16384 /* threads; with more all calls so far are forgotten, of which nothing is known then */

struct io_request {
	uint64_t queued, issued, end; /* monotonic ns; 0: not known */
};

/* Requests of the present call of each thread. Starts as {0}. */
struct io_split {
	struct map calls;   /* version of a thread -> struct io_split_call * */
	uint64_t forgotten; /* the last start of a call that was; 0: none */
};
void io_split_free(struct io_split *s);
/* A request of the call that the thread began at `start` is complete. 0 or -ENOMEM. */
int io_split_request(struct io_split *s, uint32_t thread, uint64_t start,
		     const struct io_request *request) _must_check_;

struct io_parts {
	uint64_t queued, device; /* ns */
};
/* The parts of the waits of a call that ended, in their order; its requests are forgotten. False where they are not known. */
bool io_split_take(struct io_split *s, uint32_t thread, uint64_t start,
		   const struct wire_wait *waits, size_t count, struct io_parts *ret);
