/* SPDX-License-Identifier: Apache-2.0 */
#include "ring.h"

#define IDLE_MS 100 /* so long a thread of the kernel polls for nothing before it sleeps */

static uint32_t *at(uint8_t *base, uint32_t offset)
{
	return (uint32_t *)(base + offset);
}

static void *map(const struct ring *r, size_t size, off_t what)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, what);

	return p == MAP_FAILED ? NULL : p;
}

static size_t sq_bytes(const struct ring *r)
{
	return r->p.sq_off.array + r->p.sq_entries * sizeof(uint32_t);
}

static size_t cq_bytes(const struct ring *r)
{
	return r->p.cq_off.cqes + r->p.cq_entries * sizeof(struct completion);
}

int ring_open(struct ring *r, unsigned int entries, unsigned int flags)
{
	*r = (struct ring){.p = {.flags = flags}};
	if (flags & IORING_SETUP_SQPOLL)
		r->p.sq_thread_idle = IDLE_MS;
	r->fd = (int)syscall(__NR_io_uring_setup, entries, &r->p);
	if (r->fd < 0)
		return -errno;
	r->sq = map(r, sq_bytes(r), IORING_OFF_SQ_RING);
	r->cq = map(r, cq_bytes(r), IORING_OFF_CQ_RING);
	r->sqes = map(r, r->p.sq_entries * sizeof(*r->sqes), IORING_OFF_SQES);
	return r->sq && r->cq && r->sqes ? 0 : -ENOMEM;
}

void ring_close(struct ring *r)
{
	munmap(r->sq, sq_bytes(r));
	munmap(r->cq, cq_bytes(r));
	munmap(r->sqes, r->p.sq_entries * sizeof(*r->sqes));
	close(r->fd);
}

struct io_uring_sqe *ring_sqe(struct ring *r)
{
	uint32_t tail = *at(r->sq, r->p.sq_off.tail) + r->prepared++;
	uint32_t index = tail & (r->p.sq_entries - 1);

	at(r->sq, r->p.sq_off.array)[index] = index;
	r->sqes[index] = (struct io_uring_sqe){0};
	return &r->sqes[index];
}

static unsigned int ring_publish(struct ring *r)
{
	unsigned int count = r->prepared;

	__atomic_add_fetch(at(r->sq, r->p.sq_off.tail), count, __ATOMIC_SEQ_CST);
	r->prepared = 0;
	return count;
}

int ring_submit(struct ring *r, unsigned int wait)
{
	unsigned int count = ring_publish(r), flags = wait ? IORING_ENTER_GETEVENTS : 0;
	long n = syscall(__NR_io_uring_enter, r->fd, count, wait, flags, NULL, 0);

	return n < 0 ? -errno : (int)n;
}

void ring_offer(struct ring *r)
{
	ring_publish(r);
	if (__atomic_load_n(at(r->sq, r->p.sq_off.flags), __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP)
		syscall(__NR_io_uring_enter, r->fd, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
}

bool ring_reap_now(struct ring *r, struct completion *ret)
{
	uint32_t head = *at(r->cq, r->p.cq_off.head);

	if (__atomic_load_n(at(r->cq, r->p.cq_off.tail), __ATOMIC_SEQ_CST) == head)
		return false;
	memcpy(ret,
	       (const struct completion *)(r->cq + r->p.cq_off.cqes) +
		       (head & (r->p.cq_entries - 1)),
	       sizeof(*ret));
	__atomic_add_fetch(at(r->cq, r->p.cq_off.head), 1, __ATOMIC_SEQ_CST);
	return true;
}

struct completion ring_reap(struct ring *r)
{
	struct completion cqe;

	while (!ring_reap_now(r, &cqe)) {
		if (r->p.flags & IORING_SETUP_SQPOLL)
			ring_offer(r);
		else
			ring_submit(r, 1);
	}
	return cqe;
}
