/* SPDX-License-Identifier: Apache-2.0 */
/* waits.c: calls that wait. */
#include "truth.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

static char buf[4096];

static int run_poll(void)
{
	int pipes[2], e;
	struct epoll_event event = {.events = EPOLLIN}, out[8];
	struct pollfd p;
	struct timespec none = {0, 0};
	fd_set set;

	MUST(pipe, pipes);
	e = (int)MUST(epoll_create1, EPOLL_CLOEXEC);
	MUST(close, (int)MUST(epoll_create, 1));
	MUST(epoll_ctl, e, EPOLL_CTL_ADD, pipes[0], &event);
	FAILS(EEXIST, epoll_ctl, e, EPOLL_CTL_ADD, pipes[0], &event);
	MUST(epoll_wait, e, out, 8, 0);
	MUST(write, pipes[1], buf, 3);
	MUST(epoll_wait, e, out, 8, -1);
	MUST(epoll_pwait, e, out, 8, 10, 0, 8);
	p = (struct pollfd){pipes[0], POLLIN, 0};
	MUST(poll, &p, 1, 10);
	MUST(ppoll, &p, 1, &none, 0, 8);
	FD_ZERO(&set);
	FD_SET(pipes[0], &set);
	MUST(select, pipes[0] + 1, &set, 0, 0, (&(struct timeval){0, 0}));
	MUST(pselect6, pipes[0] + 1, &set, 0, 0, &none, 0);
	MUST(read, pipes[0], buf, 10);
	MUST(poll, &p, 1, 20); /* times out */
	MUST(epoll_ctl, e, EPOLL_CTL_DEL, pipes[0], 0);
	FAILS(EBADF, epoll_wait, 77, out, 8, 0);
	FAILS(EINVAL, epoll_wait, pipes[0], out, 8, 0);
	FAILS(EINVAL, poll, &p, 1 << 30, 0);
	MUST(close, e);
	MUST(close, pipes[0]);
	MUST(close, pipes[1]);
	MUST(nanosleep, (&(struct timespec){0, 1000000}), 0);
	MUST(clock_nanosleep, CLOCK_MONOTONIC, 0, (&(struct timespec){0, 1000000}), 0);
	FAILS(EAGAIN, futex, (&(uint32_t){5}), FUTEX_WAIT_PRIVATE, 4, 0, 0, 0);
	FAILS(ETIMEDOUT, futex, (&(uint32_t){5}), FUTEX_WAIT_PRIVATE, 5,
	      (&(struct timespec){0, 1000000}), 0, 0);
	MUST(sched_yield);
	return 0;
}

static int late_writer(void *arg)
{
	pause_ms(100);
	MUST(write, ((int *)arg)[1], buf, 4);
	return 0;
}

/* The descriptor is closed, or becomes another file, while a read waits in it. */
static int run_closed_under(void)
{
	int pipes[2], pid;

	MUST(pipe, pipes);
	pid = child(late_writer, pipes);
	MUST(read, pipes[0], buf, 10);
	is_any("at_least_ns", 80000000);
	child_join(pid);
	MUST(close, pipes[0]);
	MUST(close, pipes[1]);
	return 0;
}

const struct work_case wait_cases[] = {
	{"poll", run_poll, "epoll, poll, select, sleeps, futex"},
	{"slow_read", run_closed_under, "a read that waits 100 ms for its data"},
	{0},
};
