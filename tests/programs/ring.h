/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h: an io_uring used only through system calls. */
#pragma once

#include <linux/io_uring.h>

#include "truth.h"

struct ring {
	int fd;
	uint8_t *sq, *cq;
	struct io_uring_sqe *sqes;
	struct io_uring_params p;
	unsigned int prepared; /* entries not submitted yet */
};

struct completion { /* struct io_uring_cqe */
	uint64_t user_data;
	int32_t res;
	uint32_t flags;
};

/* Opens a ring; `flags` are IORING_SETUP_*. 0 or negative errno. */
int ring_open(struct ring *r, unsigned int entries, unsigned int flags);
void ring_close(struct ring *r);
/* The next entry of the submission queue, empty; the queue must have room. */
struct io_uring_sqe *ring_sqe(struct ring *r);
/*
 * Submits the prepared entries and waits until `wait` completions are available. Returns the number submitted, or
 * negative errno.
 */
int ring_submit(struct ring *r, unsigned int wait);
/* Takes the oldest completion, waiting for it. */
struct completion ring_reap(struct ring *r);
/* Takes the oldest completion, if there is one. */
bool ring_reap_now(struct ring *r, struct completion *ret);
/* For a ring with a kernel thread: publishes the entries, and wakes the thread if it sleeps. */
void ring_offer(struct ring *r);
