/* SPDX-License-Identifier: Apache-2.0 */
/* --lossless: programs are held up while the recorder is late, and go on whatever becomes of it. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "session.h"

#include "base/clock.h"

#define WAIT_STEPS  6000 /* of 10 ms, for what must happen on however slow a machine */
#define LOAD_READS  50000
#define READERS	    2
#define MANY_READS  300000
#define CROWD	    200
#define CROWD_READS 2000
#define RING_SMALL  65536
#define RING_ENOUGH (4u << 20) /* back-pressure makes it last for the whole limit */
#define BACKLOG_MIN (2u << 20) /* 24,000 records of a pread */

struct load {
	int reads;   /* of each thread */
	int threads; /* beside the first */
	int done;    /* a pipe: ends only when a byte comes */
	int tell;    /* its other end */
};

static void *only_reads(void *arg)
{
	const struct load *l = arg;
	int fd = open("/dev/zero", O_RDONLY);
	char x;

	for (int i = 0; i < l->reads; i++) {
		if (pread(fd, &x, 1, 0) != 1)
			exit(1);
	}
	return NULL;
}

static int many_reads(void *arg)
{
	struct load *l = arg;
	pthread_t threads[CROWD];
	char x;

	for (int i = 0; i < l->threads; i++) {
		if (pthread_create(&threads[i], NULL, only_reads, l))
			return 1;
	}
	only_reads(l);
	for (int i = 0; i < l->threads; i++)
		pthread_join(threads[i], NULL);
	return read(l->done, &x, 1) == 1 ? 0 : 1;
}

/* Forks `count` loads, which wait. */
static void load_fork(struct session *s, struct load *l, int count, int *ret_pids,
		      struct select *ret)
{
	int done[2];

	*ret = (struct select){0};
	assert_int_equal(pipe(done), 0);
	l->done = done[0];
	l->tell = done[1];
	for (int i = 0; i < count; i++) {
		ret_pids[i] = session_child(s, many_reads, l);
		ret->pids[ret->pid_count++] = ret_pids[i];
	}
}

/* Starts `count` loads and their recording. */
static void load_start(struct session *s, struct load *l, int count, struct ebpf_options opt,
		       int *ret_pids)
{
	/* static: borrowed by the source */
	static struct select select;

	load_fork(s, l, count, ret_pids, &select);
	opt.lossless = true;
	session_start(s, &select, opt);
	session_go(s, count);
}

static void load_let_end(struct load *l, int count)
{
	for (int i = 0; i < count; i++)
		assert_int_equal(write(l->tell, "x", 1), 1);
}

/* Reads until all have ended. */
static void load_end(struct session *s, struct load *l, int count, const int *pids)
{
	int status;

	load_let_end(l, count);
	for (int i = 0; i < count; i++) {
		while (waitpid(pids[i], &status, WNOHANG) == 0)
			session_read(s, 10);
		assert_int_equal(status, 0);
	}
	session_end(s);
	close(l->tell);
	close(l->done);
}

static bool was_held(const struct source_stats *stats)
{
	return stats->held_ns > 0;
}

static bool was_lossy(const struct source_stats *stats)
{
	return stats->lost > 0;
}

/* Waits, without reading. */
static bool becomes(struct session *s, bool (*what)(const struct source_stats *))
{
	for (int i = 0; i < WAIT_STEPS; i++) {
		source_stats(s->source, &s->stats);
		if (what(&s->stats))
			return true;
		usleep(10000);
	}
	return false;
}

/* The recorder comes late: what it did not take in time waits in programs that are held up, and nothing is lost. */
static void test_late(void **state)
{
	struct load l = {.reads = MANY_READS};
	struct session s = {.counting = true};
	int pids[READERS];

	load_start(&s, &l, READERS,
		   (struct ebpf_options){.ring_bytes = RING_ENOUGH, .backlog_bytes = BACKLOG_MIN},
		   pids);
	assert_true(becomes(&s, was_held));
	usleep(100000);
	load_end(&s, &l, READERS, pids);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), READERS * MANY_READS);
	assert_int_equal(s.stats.lost, 0);
	assert_true(s.stats.sequence_proved);
	assert_int_equal(session_loss(&s, CAUSE_HOLD_LIMIT), 0);
	session_free(&s);
}

/* More threads than CPUs, and the smallest ring. */
static void test_crowd(void **state)
{
	struct load l = {.reads = CROWD_READS, .threads = CROWD};
	struct session s = {.counting = true};
	int pid;

	load_start(&s, &l, 1, (struct ebpf_options){.ring_bytes = RING_SMALL}, &pid);
	load_end(&s, &l, 1, &pid);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), (CROWD + 1) * CROWD_READS);
	assert_int_equal(s.stats.lost, 0);
	assert_true(s.stats.sequence_proved);
	session_free(&s);
}

/* Nobody reads for longer than the limit: the program goes on, and what is lost from then on is counted. */
static void test_limit(void **state)
{
	struct load l = {.reads = 2 * LOAD_READS};
	struct session s = {.counting = true};
	size_t reads;
	int pid;

	load_start(&s, &l, 1,
		   (struct ebpf_options){.ring_bytes = RING_SMALL,
					 .backlog_bytes = BACKLOG_MIN,
					 .hold_limit_ns = NSEC_PER_SEC / 2},
		   &pid);
	assert_true(becomes(&s, was_lossy));
	load_end(&s, &l, 1, &pid);
	assert_true(session_loss(&s, CAUSE_HOLD_LIMIT) >= 1);
	assert_int_equal(session_loss(&s, CAUSE_RING_FULL), s.stats.lost);
	assert_false(s.stats.sequence_proved);
	reads = session_count(&s, "pread64", 0, NULL);
	/* Beside preads: the pipe that is read last, that read, the exit and the thread's end. */
	assert_in_range(reads + s.stats.lost, 2 * LOAD_READS, 2 * LOAD_READS + 4);
	session_free(&s);
}

/* A recorder that reads nothing: says in a pipe that programs are held up, and waits for its end. */
static void __attribute__((noreturn))
recorder_main(struct session *s, const struct select *select, int count, int tell)
{
	session_start(s, select,
		      (struct ebpf_options){.ring_bytes = RING_SMALL,
					    .backlog_bytes = BACKLOG_MIN,
					    .hold_limit_ns = NSEC_PER_SEC,
					    .lossless = true});
	session_go(s, count);
	if (becomes(s, was_held))
		(void)!write(tell, "h", 1);
	for (;;)
		pause();
}

/* The loads make all their calls after the recorder got a signal while they were held up. */
static void go_on_after(int sig)
{
	struct load l = {.reads = MANY_READS};
	struct session s = {.counting = true};
	struct select select;
	int pids[READERS], held[2], recorder, status;
	char x;

	load_fork(&s, &l, READERS, pids, &select);
	assert_int_equal(pipe(held), 0);
	recorder = fork();
	if (!recorder)
		recorder_main(&s, &select, READERS, held[1]);
	close(held[1]);
	assert_int_equal(read(held[0], &x, 1), 1);
	close(held[0]);
	assert_int_equal(kill(recorder, sig), 0);
	load_let_end(&l, READERS);
	for (int i = 0; i < READERS; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	kill(recorder, SIGKILL);
	assert_int_equal(waitpid(recorder, &status, 0), recorder);
	close(l.tell);
	close(l.done);
	session_free(&s);
}

static void test_killed(void **state)
{
	go_on_after(SIGKILL);
}

static void test_stopped(void **state)
{
	go_on_after(SIGSTOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late),	cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_limit),	cmocka_unit_test(test_killed),
		cmocka_unit_test(test_stopped),
	};

	if (geteuid() != 0) {
		printf("skipped: needs root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
