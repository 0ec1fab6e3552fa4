/* SPDX-License-Identifier: Apache-2.0 */
/* sqpoll.c: writes through an io_uring that a thread of the kernel polls: no call is made for them. */
#include "ring.h"

#define ENTRIES 8

/* Writes a number at its place and waits; what the write returned. */
static int ring_write(struct ring *r, int fd, int64_t number)
{
	*ring_sqe(r) = (struct io_uring_sqe){.opcode = IORING_OP_WRITE,
					     .fd = fd,
					     .addr = (uintptr_t)&number,
					     .len = sizeof(number),
					     .off = (uint64_t)number * sizeof(number)};
	ring_offer(r);
	return ring_reap(r).res;
}

/* WORK_CALLS writes, or until there is a file "end"; a file "ready" says that the ring is there. */
int run_sqpoll(void)
{
	int fd = open("count", O_RDWR | O_CREAT | O_TRUNC, 0600), r;
	const char *calls = getenv("WORK_CALLS");
	int64_t n = 0, count = calls ? strtoll(calls, NULL, 10) : INT64_MAX;
	struct ring ring;

	r = ring_open(&ring, ENTRIES, IORING_SETUP_SQPOLL);
	if (r < 0) {
		skip_reason = "io_uring is not allowed here";
		return 77;
	}
	close(open("ready", O_WRONLY | O_CREAT, 0600));
	while (access("end", F_OK) && n < count) {
		for (int i = 0; i < 100; i++) {
			if (ring_write(&ring, fd, n++) != sizeof(n))
				return 1;
		}
	}
	printf("load calls=%lld\n", (long long)n);
	return 0;
}
