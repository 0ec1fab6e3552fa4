// SPDX-License-Identifier: Apache-2.0
/*
 * work.c FILE [contend]: a program with spans that prints its own truth. Each call that counts is a pread() of one byte at a
 * position of its own. Lines: "span NUMBER PARENT NAME TID START STOP", times of CLOCK_REALTIME; "call POSITION NUMBER VIA" with -
 * for none. Nested spans, threads with spans of their own, a pool whose worker is given work through a condition variable, mutexes
 * that pass between threads and hand on nothing, and requests of io_uring. With `contend` two threads that share one CPU.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../programs/ring.h"
#include "span_clock.h"

static int file;
static atomic_int positions, numbers;
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

static struct mark begin(const char *name, int parent)
{
	struct mark m = {atomic_fetch_add(&numbers, 1) + 1, parent, name, apart()};

	return m;
}

static void end(const struct mark *m)
{
	long long stop = apart();

	pthread_mutex_lock(&printing);
	printf("span %d %d %s %ld %lld %lld\n", m->number, m->parent, m->name, syscall(SYS_gettid),
	       m->start, stop);
	pthread_mutex_unlock(&printing);
}

static int place(int number, const char *via)
{
	int at = atomic_fetch_add(&positions, 1);

	pthread_mutex_lock(&printing);
	printf("call %d %d %s\n", at, number, via);
	pthread_mutex_unlock(&printing);
	return at;
}

static void call(int number, const char *via)
{
	char c;

	if (pread(file, &c, 1, place(number, via)) < 0)
		exit(3);
}

static void calls(int number, int count)
{
	for (int i = 0; i < count; i++)
		call(number, number ? "thread" : "-");
}

/* ---- nested, and after one another ---- */

static void *nested(void *arg)
{
	(void)arg;
	for (int round = 0; round < 5; round++) {
		struct mark outer = begin("nested", 0), inner, innermost;

		calls(outer.number, 2);
		inner = begin("inner", outer.number);
		calls(inner.number, 3);
		innermost = begin("innermost", inner.number);
		calls(innermost.number, 1);
		end(&innermost);
		calls(inner.number, 1);
		end(&inner);
		calls(outer.number, 2);
		end(&outer);
		calls(0, 2);
	}
	return NULL;
}

/* ---- a pool of one ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int job, jobs_done; /* number of the span; -1: stop */
static atomic_int asleep;

static void *worker(void *arg)
{
	(void)arg;
	for (;;) {
		int number;

		pthread_mutex_lock(&lock);
		while (!job) {
			atomic_store(&asleep, 1);
			pthread_cond_wait(&filled, &lock);
		}
		number = job;
		pthread_mutex_unlock(&lock);
		if (number < 0)
			return NULL;
		apart();
		for (int i = 0; i < 3; i++)
			call(number, "work");
		apart();
		pthread_mutex_lock(&lock);
		job = 0;
		jobs_done++;
		atomic_store(&asleep, 0);
		pthread_cond_signal(&emptied);
		pthread_mutex_unlock(&lock);
	}
}

/* The worker sleeps: it was seen to be about to, and has been given time. */
static void until_asleep(void)
{
	while (!atomic_load(&asleep))
		usleep(1000);
	usleep(5000);
}

static void pool(void)
{
	pthread_t t;

	pthread_create(&t, NULL, worker, NULL);
	for (int i = 0; i < 6; i++) {
		struct mark m;
		int done = i + 1;

		until_asleep();
		m = begin("pooled", 0);
		calls(m.number, 1);
		pthread_mutex_lock(&lock);
		job = m.number;
		pthread_cond_signal(&filled);
		while (jobs_done < done)
			pthread_cond_wait(&emptied, &lock);
		pthread_mutex_unlock(&lock);
		calls(m.number, 1);
		end(&m);
		calls(0, 1);
	}
	until_asleep();
	pthread_mutex_lock(&lock);
	job = -1;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
	pthread_join(t, NULL);
}

/* ---- a lock that two threads fight for: it hands on no work ---- */

static pthread_mutex_t fought = PTHREAD_MUTEX_INITIALIZER;

static void *fighter(void *arg)
{
	for (int i = 0; i < 20; i++) {
		struct mark m = {0};

		if (arg)
			m = begin("locked", 0);
		pthread_mutex_lock(&fought);
		calls(m.number, 1);
		usleep(500);
		pthread_mutex_unlock(&fought);
		calls(m.number, 1);
		if (arg)
			end(&m);
	}
	return NULL;
}

/* ---- io_uring ---- */

static void uring(void)
{
	static char got[8];
	struct ring r;

	if (ring_open(&r, 8, 0) < 0) {
		printf("no io_uring\n");
		return;
	}
	for (int round = 0; round < 3; round++) {
		struct mark m = begin("ring", 0);

		for (int i = 0; i < 4; i++) {
			struct io_uring_sqe *e = ring_sqe(&r);

			e->opcode = IORING_OP_READ;
			e->fd = file;
			e->addr = (uintptr_t)&got[i];
			e->len = 1;
			e->off = (unsigned int)place(m.number, "work");
		}
		if (ring_submit(&r, 4) != 4)
			exit(4);
		for (int i = 0; i < 4; i++)
			ring_reap(&r);
		end(&m);
	}
	ring_close(&r);
}

/* ---- two threads on one CPU ---- */

static void *contender(void *arg)
{
	cpu_set_t one;

	(void)arg;
	for (int i = 0; i < 4; i++) {
		struct mark m;
		long long until;

		/* both on the first that the process may use */
		sched_getaffinity(getpid(), sizeof(one), &one);
		for (int c = 0, found = 0; c < CPU_SETSIZE; c++) {
			if (CPU_ISSET(c, &one) && found++)
				CPU_CLR(c, &one);
		}
		sched_setaffinity(0, sizeof(one), &one);
		m = begin("spin", 0);
		until = now() + 30000000;
		while (now() < until)
			;
		end(&m);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[2];

	file = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	if (file < 0)
		return 2;
	if (argc > 2) {
		for (int i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, contender, NULL);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
		return 0;
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, nested, NULL);
	nested(NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	pool();
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, fighter, i ? argv : NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	uring();
	printf("end\n");
	return 0;
}
