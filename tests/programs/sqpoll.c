/* SPDX-License-Identifier: Apache-2.0 */
/* sqpoll.c: writes through an io_uring that a thread of the kernel polls: no call is made for them. */
#include "truth.h"

#include <linux/io_uring.h>
#include <sys/mman.h>

#define ENTRIES 8
#define IDLE_MS 100 /* so long the thread polls for nothing before it sleeps */

struct ring {
	int fd;
	uint8_t *sq, *cq;
	struct io_uring_sqe *sqes;
	struct io_uring_params p;
};

static uint32_t *at(uint8_t *base, uint32_t offset)
{
	return (uint32_t *)(base + offset);
}

static void *map(const struct ring *r, size_t size, off_t what)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, what);

	return p == MAP_FAILED ? NULL : p;
}

static int ring_open(struct ring *r)
{
	*r = (struct ring){.p = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = IDLE_MS}};
	r->fd = (int)syscall(__NR_io_uring_setup, ENTRIES, &r->p);
	if (r->fd < 0)
		return -errno;
	r->sq = map(r, r->p.sq_off.array + r->p.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
	r->cq = map(r, r->p.cq_off.cqes + r->p.cq_entries * sizeof(struct io_uring_cqe),
		    IORING_OFF_CQ_RING);
	r->sqes = map(r, r->p.sq_entries * sizeof(*r->sqes), IORING_OFF_SQES);
	return r->sq && r->cq && r->sqes ? 0 : -ENOMEM;
}

/* Writes a number at its place and waits; what the write returned. */
static int ring_write(struct ring *r, int fd, int64_t number)
{
	uint32_t tail = *at(r->sq, r->p.sq_off.tail), index = tail & (r->p.sq_entries - 1);
	uint32_t head = *at(r->cq, r->p.cq_off.head);
	const struct io_uring_cqe *cqe;

	r->sqes[index] = (struct io_uring_sqe){.opcode = IORING_OP_WRITE,
					       .fd = fd,
					       .addr = (uintptr_t)&number,
					       .len = sizeof(number),
					       .off = (uint64_t)number * sizeof(number)};
	at(r->sq, r->p.sq_off.array)[index] = index;
	__atomic_store_n(at(r->sq, r->p.sq_off.tail), tail + 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(at(r->cq, r->p.cq_off.tail), __ATOMIC_SEQ_CST) == head) {
		if (__atomic_load_n(at(r->sq, r->p.sq_off.flags), __ATOMIC_SEQ_CST) &
		    IORING_SQ_NEED_WAKEUP)
			syscall(__NR_io_uring_enter, r->fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
	}
	cqe = (const struct io_uring_cqe *)(r->cq + r->p.cq_off.cqes) +
	      (head & (r->p.cq_entries - 1));
	head = (uint32_t)cqe->res;
	__atomic_add_fetch(at(r->cq, r->p.cq_off.head), 1, __ATOMIC_SEQ_CST);
	return (int)head;
}

/* WORK_CALLS writes, or until there is a file "end"; a file "ready" says that the ring is there. */
int run_sqpoll(void)
{
	int fd = open("count", O_RDWR | O_CREAT | O_TRUNC, 0600), r;
	const char *calls = getenv("WORK_CALLS");
	int64_t n = 0, count = calls ? strtoll(calls, NULL, 10) : INT64_MAX;
	struct ring ring;

	r = ring_open(&ring);
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
