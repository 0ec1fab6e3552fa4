/* SPDX-License-Identifier: Apache-2.0 */
/* waits.c: calls that wait. */
#include "truth.h"

#include <linux/futex.h>
#include <pthread.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
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
	until_in(getppid(), SYS_read); /* however late the parent gets there */
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

/* ---- which descriptors a call slept on ---- */

#define MANY 500 /* descriptors: more than are looked at of an epoll */

struct waker {
	int fd;
	long nr; /* the call in which the parent sleeps */
};

static int writes_when_asleep(void *arg)
{
	const struct waker *w = arg;

	until_in(getppid(), w->nr);
	MUST(write, w->fd, buf, 1);
	return 0;
}

static int waker(int fd, long nr)
{
	return child(writes_when_asleep, &(struct waker){fd, nr});
}

static void woken(int pid, int fd)
{
	child_join(pid);
	MUST(read, fd, buf, 1);
}

static int run_several_poll(void)
{
	const struct timespec soon = {0, 20000000};
	struct pollfd p[MANY] = {0};
	int a[2], b[2], pid;

	MUST(pipe, a);
	MUST(pipe, b);
	p[0] = (struct pollfd){a[0], POLLIN, 0};
	p[1] = (struct pollfd){-5, POLLIN, 0};
	p[2] = (struct pollfd){b[0], POLLIN | POLLPRI, 0};
	pid = waker(b[1], SYS_poll);
	MUST(poll, p, 3, -1);
	is_found(b[0], POLLIN);
	woken(pid, b[0]);
	MUST(poll, p, 3, 20);
	is_waited(a[0], POLLIN);
	is_waited(b[0], POLLIN | POLLPRI);
	/* The only one is the call's. */
	MUST(poll, p, 2, 20);
	is_waited(a[0], POLLIN);
	is_any("fd", a[0]);
	is_inode(a[0]);
	pid = waker(a[1], SYS_ppoll);
	MUST(ppoll, p, 1, 0, 0, 8);
	is_found(a[0], POLLIN);
	is_any("fd", a[0]);
	is_inode(a[0]);
	woken(pid, a[0]);
	for (int i = 0; i < MANY; i++)
		p[i] = (struct pollfd){a[0], POLLIN, 0};
	MUST(ppoll, p, 12, &soon, 0, 8);
	is_any("rows", 8);
	is_any("left_out", 4);
	p[MANY - 1].fd = b[0];
	pid = waker(b[1], SYS_poll);
	MUST(poll, p, MANY, -1);
	is_found(b[0], POLLIN);
	woken(pid, b[0]);
	pid = waker(a[1], SYS_poll);
	MUST(poll, p, 11, -1);
	is_any("rows", 8);
	is_any("left_out", 3);
	child_join(pid);
	MUST(poll, p, 1, -1); /* slept not */
	is_any("rows", 0);
	return 0;
}

/* A poll of more descriptors than are looked at: there may be others than the one that was seen. */
static int run_several_long(void)
{
	const struct rlimit many = {4096, 4096};
	static struct pollfd p[1500];
	int a[2];

	MUST(pipe, a);
	if (DO(prlimit64, 0, RLIMIT_NOFILE, &many, 0) < 0) {
		skip_reason = "no right to have many descriptors";
		return 77;
	}
	for (size_t i = 0; i < sizeof(p) / sizeof(p[0]); i++)
		p[i] = (struct pollfd){-1, POLLIN, 0};
	p[3].fd = a[0];
	p[1400].fd = a[1];
	MUST(poll, p, 1500, 20);
	is_waited(a[0], POLLIN);
	is_any("left_out", -1);
	is_any("fd", -1);
	return 0;
}

static int run_several_select(void)
{
	const struct timespec soon = {0, 20000000};
	int a[2], b[2], high, pid;
	fd_set in, out, except;

	MUST(pipe, a);
	MUST(pipe, b);
	high = (int)MUST(dup2, b[0], 800);
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&except);
	FD_SET(a[0], &in);
	FD_SET(high, &in);
	FD_SET(high, &except);
	pid = waker(b[1], SYS_select);
	MUST(select, high + 1, &in, &out, &except, 0);
	is_found(high, POLLIN);
	woken(pid, high);
	FD_SET(a[0], &in);
	MUST(pselect6, high + 1, &in, 0, &except, &soon, 0);
	is_waited(a[0], POLLIN);
	is_waited(high, POLLIN); /* `except` was emptied by the call before */
	FD_ZERO(&in);
	FD_SET(a[0], &in);
	MUST(select, a[0] + 1, &in, 0, 0, (&(struct timeval){0, 20000}));
	is_waited(a[0], POLLIN);
	is_any("fd", a[0]);
	is_inode(a[0]);
	FD_SET(a[0], &in);
	FD_SET(b[0], &in); /* beyond the count: the kernel does not look at it */
	MUST(select, a[0] + 1, &in, 0, 0, (&(struct timeval){0, 20000}));
	is_waited(a[0], POLLIN);
	is_any("fd", a[0]);
	MUST(select, 0, 0, 0, 0, (&(struct timeval){0, 20000})); /* a sleep */
	is_any("rows", 0);
	return 0;
}

static void watch(int e, int fd, uint64_t data)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = data};

	MUST(epoll_ctl, e, EPOLL_CTL_ADD, fd, &event);
}

static int run_several_epoll(void)
{
	const struct timespec soon = {0, 20000000};
	struct epoll_event out[16];
	int a[2], b[2], c[2], e, pid, again;

	MUST(pipe, a);
	MUST(pipe, b);
	MUST(pipe, c);
	e = (int)MUST(epoll_create1, 0);
	watch(e, a[0], (uint64_t)a[0]);		/* called by its number, */
	watch(e, b[0], (uint64_t)(uintptr_t)b); /* by an address, */
	watch(e, c[0], (uint64_t)a[1]);		/* by the number of another one */
	pid = waker(a[1], SYS_epoll_wait);
	MUST(epoll_wait, e, out, 16, -1);
	is_found(a[0], EPOLLIN);
	woken(pid, a[0]);
	pid = waker(b[1], SYS_epoll_pwait);
	MUST(epoll_pwait, e, out, 16, -1, 0, 8);
	is_found(b[0], EPOLLIN);
	woken(pid, b[0]);
	pid = waker(c[1], SYS_epoll_wait);
	MUST(epoll_wait, e, out, 16, -1);
	is_found(c[0], EPOLLIN);
	woken(pid, c[0]);
	MUST(epoll_wait, e, out, 16, 20);
	is_waited(a[0], EPOLLIN | EPOLLERR | EPOLLHUP); /* which the kernel adds */
	is_waited(b[0], EPOLLIN | EPOLLERR | EPOLLHUP);
	is_waited(c[0], EPOLLIN | EPOLLERR | EPOLLHUP);
	/* Two are called the same: nobody knows which one it was. */
	again = (int)MUST(dup, b[0]);
	watch(e, again, (uint64_t)(uintptr_t)b);
	MUST(epoll_ctl, e, EPOLL_CTL_DEL, c[0], 0);
	pid = waker(b[1], SYS_epoll_wait);
	MUST(epoll_wait, e, out, 1, -1);
	is_found(-1, EPOLLIN);
	woken(pid, b[0]);
	/* The number means another file by now: what is watched is what was. */
	MUST(close, again);
	MUST(epoll_ctl, e, EPOLL_CTL_DEL, a[0], 0);
	if (DO(epoll_pwait2, e, out, 16, &soon, 0, 8) == 0) /* since 5.11 */
		is_any("rows", 2);
	return 0;
}

/* More descriptors than are looked at: those that the program calls by their numbers are found. */
static int run_several_many(void)
{
	struct epoll_event out[16];
	int a[2], e, pid, fd;

	MUST(pipe, a);
	e = (int)MUST(epoll_create1, 0);
	for (int i = 0; i < MANY; i++) {
		fd = (int)MUST(dup, a[1]);
		watch(e, fd, (uint64_t)fd);
	}
	watch(e, a[0], (uint64_t)a[0]);
	MUST(epoll_wait, e, out, 16, 20);
	is_any("rows", 8);
	is_any("left_out", -1);
	pid = waker(a[1], SYS_epoll_wait);
	MUST(epoll_wait, e, out, 16, -1);
	is_found(a[0], EPOLLIN);
	woken(pid, a[0]);
	return 0;
}

/* ---- who woke a futex ---- */

static int wakes(void *arg)
{
	until_in(getppid(), SYS_futex);
	MUST(futex, arg, FUTEX_WAKE, 1, 0, 0, 0);
	return 0;
}

struct ending {
	uint32_t word; /* of which the thread's end makes 0, and wakes who waits for it */
	int tid, leader;
};

static void *ends(void *arg)
{
	struct ending *e = arg;

	e->tid = gettid();
	MUST(set_tid_address, &e->word);
	until_in(e->leader, SYS_futex);
	return NULL;
}

static int run_wakers(void)
{
	uint32_t *word =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ending ending = {1, 0, getpid()};
	pthread_t t;
	int pid;

	CHECK(word != MAP_FAILED);
	*word = 5;
	pid = child(wakes, word);
	MUST(futex, word, FUTEX_WAIT, 5, 0, 0, 0);
	is_any("waker", pid);
	/* Nobody wakes this one: tests/record/where.sh leaves the futex out, of which it then has the number. */
	MUST(nanosleep, (&(struct timespec){0, 10000000}), 0);
	is_any("waker", 0);
	child_join(pid);
	pid = child(wakes, word);
	MUST(futex, word, FUTEX_WAIT_BITSET, 5, 0, 0, 6);
	is_any("waker", pid);
	child_join(pid);
	/* A timer ends it, whatever thread that comes upon. */
	FAILS(ETIMEDOUT, futex, word, FUTEX_WAIT, 5, (&(struct timespec){0, 1000000}), 0, 0);
	is_any("waker", 0);
	CHECK(pthread_create(&t, NULL, ends, &ending) == 0);
	pthread_detach(t);
	MUST(futex, &ending.word, FUTEX_WAIT, 1, 0, 0, 0);
	is_any("waker", ending.tid);
	return 0;
}

/* ---- time without a CPU ---- */

#define YIELDS 10000 /* at most; a scheduler need not heed each */
#define WAITS  10    /* for a CPU, that suffice */

static int spins(void *arg)
{
	while (!__atomic_load_n((int *)arg, __ATOMIC_RELAXED))
		;
	return 0;
}

/* How long this thread was ready to run and had no CPU, as the kernel tells it. */
static long run_delay(int fd)
{
	char text[128] = "";
	unsigned long long ran, waited;

	MUST(pread64, fd, text, sizeof(text) - 1, 0);
	CHECK(sscanf(text, "%llu %llu", &ran, &waited) == 2);
	return (long)waited;
}

static int run_queue(void)
{
	int *end = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = open("/proc/self/schedstat", O_RDONLY), pid, cpu = sched_getcpu();
	long first, before, after;
	struct later most;
	cpu_set_t one;

	if (fd < 0) {
		skip_reason = "the kernel does not count: no CONFIG_SCHED_INFO";
		return 77;
	}
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	MUST(sched_setaffinity, 0, sizeof(one), &one);
	first = before = run_delay(fd);
	pid = child(spins, end);
	for (int i = 0, waits = 0; i < YIELDS && waits < WAITS; i++) {
		MUST(sched_yield);
		is_later("runq_most", &most);
		after = run_delay(fd);
		is_now(most, after - before);
		waits += after > before;
		before = after;
	}
	*end = 1;
	child_join(pid);
	/* long enough that the timer cannot expire before the thread has left its CPU */
	MUST(nanosleep, (&(struct timespec){0, 50000000}), 0);
	is_any("runq_known", 1);
	MUST(getppid);
	is_later("thread_runq", &most);
	is_now(most, run_delay(fd) - first);
	return 0;
}

const struct work_case wait_cases[] = {
	{"poll", run_poll, "epoll, poll, select, sleeps, futex"},
	{"slow_read", run_closed_under, "a read that waits 100 ms for its data"},
	{"wakers", run_wakers, "futex calls that others wake, a thread's end and a timer"},
	{"run_queue", run_queue, "a thread that shares its CPU with one that never sleeps"},
	{"several_poll", run_several_poll, "poll and ppoll that sleep on several descriptors"},
	{"several_long", run_several_long, "poll with more descriptors than are looked at"},
	{"several_select", run_several_select, "select and pselect6 that do"},
	{"several_epoll", run_several_epoll,
	 "epoll_wait that does, whatever the program calls them"},
	{"several_many", run_several_many, "an epoll of 501 descriptors"},
	{0},
};
