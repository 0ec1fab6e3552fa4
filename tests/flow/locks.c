// SPDX-License-Identifier: Apache-2.0
/*
 * locks.c: threads and processes that lock files and ranges of files, and print what they did in the order in which it happened,
 * a line per lock that was taken, or released or weakened:
 *   NUMBER held|freed whole|range OWNER FROM TO exclusive|shared TID COUNT
 * NUMBER rises; it is drawn after a lock is taken, and before one is released. The call is the thread's COUNT-th, from 0, of
 * fcntl, flock, close, close_range and exit_group. OWNER: a process, or an open file description.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINES  20000
#define ROUNDS 60
#define CELLS  8
#define CELL   10
#define END    1000000 /* of the file, as far as the test is concerned */

struct lock {
	bool whole, exclusive;
	int owner;
	long from, to;
};

static struct shared {
	atomic_int lines, number, owners;
	struct line {
		int number, tid, count;
		bool freed;
		struct lock of;
	} line[LINES];
} *shared;

static __thread int calls;

static void say(bool freed, struct lock of)
{
	int n = atomic_fetch_add(&shared->number, 1);

	shared->line[n] = (struct line){n, (int)syscall(SYS_gettid), calls, freed, of};
}

static void range_call(int fd, int command, short type, const struct lock *of)
{
	struct flock l = {.l_type = type,
			  .l_start = of->from,
			  .l_len = of->to == END ? 0 : of->to - of->from};

	if (fcntl(fd, command, &l))
		abort();
}

static void take(int fd, int command, struct lock of)
{
	if (!of.whole)
		range_call(fd, command, of.exclusive ? F_WRLCK : F_RDLCK, &of);
	else if (flock(fd, of.exclusive ? LOCK_EX : LOCK_SH))
		abort();
	say(false, of);
	calls++;
}

static void drop(int fd, int command, struct lock of)
{
	say(true, of);
	if (of.whole)
		flock(fd, LOCK_UN);
	else
		range_call(fd, command, F_UNLCK, &of);
	calls++;
}

static void shut(int fd, const struct lock *of)
{
	if (of)
		say(true, *of);
	close(fd);
	calls++;
}

static void shut_range(int first, int last, const struct lock *of)
{
	say(true, *of);
	syscall(SYS_close_range, first, last, 0);
	calls++;
}

static void leave(const struct lock *of)
{
	if (of)
		say(true, *of);
	_exit(0);
}

static pid_t child(void)
{
	pid_t pid = fork();

	if (!pid)
		calls = 0;
	return pid;
}

/* ---- ranges ---- */

/* One lock at a time, so that nobody waits in a circle; it is given up in parts, weakened, or released by a close. */
static void rounds(int fd, int again, int twice, int command, int owner)
{
	unsigned int seed = (unsigned int)owner;

	for (int i = 0; i < ROUNDS; i++) {
		long from = rand_r(&seed) % CELLS * CELL;
		struct lock all = {.exclusive = rand_r(&seed) % 3,
				   .owner = owner,
				   .from = from,
				   .to = from + CELL * (1 + rand_r(&seed) % 4)},
			    left = all, right = all;
		int how = rand_r(&seed) % 8;

		if (how == 7)
			all.to = END;
		left.to = right.from = from + CELL / 2;
		take(fd, command, all);
		usleep((useconds_t)(rand_r(&seed) % 300));
		if (how == 1 && all.exclusive) {
			say(true, right);
			right.exclusive = false;
			take(fd, command, right);
			drop(fd, command, left);
			drop(fd, command, right);
		} else if (how == 2) {
			drop(fd, command, right);
			drop(fd, command, left);
		} else if (how == 3 && again >= 0) { /* any descriptor of the file will do */
			shut(again, &all);
			again = -1;
		} else if (how == 4 && twice >= 0) {
			shut_range(twice, twice, &all);
			twice = -1;
		} else {
			drop(fd, command, all);
		}
		usleep((useconds_t)(rand_r(&seed) % 100));
	}
}

/* Its close releases what its process has of the file, too: at a time when that has nothing. */
static void *by_description(void *arg)
{
	int owner = 1000 + atomic_fetch_add(&shared->owners, 1), fd = open("ranges", O_RDWR);
	struct lock last = {.exclusive = true, .owner = owner, .to = CELL};

	rounds(fd, -1, -1, F_OFD_SETLKW, owner);
	pthread_barrier_wait(arg);
	take(fd, F_OFD_SETLKW, last);
	shut(fd, &last);
	return NULL;
}

static void by_process(int owner)
{
	int fd = open("ranges", O_RDWR), again = open("ranges", O_RDONLY),
	    twice = open("ranges", O_RDONLY);
	struct lock last = {.exclusive = true, .owner = owner, .to = END};
	pthread_barrier_t all;
	pthread_t t[2];

	pthread_barrier_init(&all, NULL, 3);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, by_description, &all);
	rounds(fd, again, twice, F_SETLKW, owner);
	pthread_barrier_wait(&all);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	take(fd, F_SETLKW, last);
	usleep(2000);
	leave(&last);
}

/* ---- whole files ---- */

static void by_flock(int owner)
{
	int fd = open("whole", O_RDWR);
	unsigned int seed = (unsigned int)owner;

	for (int i = 0; i < ROUNDS; i++) {
		struct lock all = {true, rand_r(&seed) % 2, owner, 0, END};

		take(fd, 0, all);
		usleep((useconds_t)(rand_r(&seed) % 300));
		drop(fd, 0, all);
		usleep((useconds_t)(rand_r(&seed) % 300));
	}
	leave(NULL);
}

/* What a child inherits is its lock too, until one of them unlocks it or both have closed it. */
static void by_heirs(int first)
{
	unsigned int seed = (unsigned int)first;

	for (int i = 0; i < 30; i++) {
		int fd = open("whole", O_RDWR), other = dup(fd);
		struct lock all = {true, true, first + i, 0, END};

		take(other, 0, all);
		if (i % 2)
			shut(other, NULL); /* fd is of the same description: nothing is released */
		if (!child()) {
			usleep((useconds_t)(rand_r(&seed) % 2000));
			if (i % 2)
				drop(fd, 0, all);
			else if (i % 4)
				shut(fd, &all), shut(other, &all);
			leave(i % 4 ? NULL : &all);
		}
		if (i % 4 == 0)
			shut_range(fd, other, &all);
		else if (i % 2 == 0)
			shut(other, &all), shut(fd, &all);
		usleep((useconds_t)(rand_r(&seed) % 1000));
		wait(NULL);
		if (i % 2)
			shut(fd, NULL);
	}
	leave(NULL);
}

int main(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	close(open("ranges", O_CREAT | O_RDWR, 0600));
	close(open("whole", O_CREAT | O_RDWR, 0600));
	for (int i = 0; i < 6; i++) {
		if (child())
			continue;
		if (i < 2)
			by_process(i + 1);
		else if (i < 5)
			by_flock(2000 + i);
		else
			by_heirs(3000);
	}
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < shared->number; i++) {
		const struct line *l = &shared->line[i];

		printf("%d %s %s %d %ld %ld %s %d %d\n", l->number, l->freed ? "freed" : "held",
		       l->of.whole ? "whole" : "range", l->of.owner, l->of.from, l->of.to,
		       l->of.exclusive ? "exclusive" : "shared", l->tid, l->count);
	}
	return 0;
}
