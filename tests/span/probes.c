/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes.c truth|jumps|costs N [WAIT]: a program with probes (USDT) and functions, for probes.py. truth: its threads print what
 * they did, a line each: a span that begins, with its values, one that ends, a file that is opened. costs: what a hit costs.
 * With WAIT it prints its number and goes on when it is given something to read.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3

int work(int depth, const char *why, long big);
int deep(int n);
int outer(int depth);
void nothing(void);

/* Written at the end, so that a thread makes no call for it between its probes. */
struct lines {
	size_t len;
	char text[1 << 20];
};

static _Thread_local struct lines *lines;

static void line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void line(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	lines->len += (size_t)vsnprintf(lines->text + lines->len, sizeof(lines->text) - lines->len,
					fmt, args);
	va_end(args);
}

static void opens(const char *what, int number)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/null/%s%d-%d", what, gettid(), number);
	fd = open(path, O_RDONLY); /* fails, as every path below /dev/null */
	line("open\t%s\t%d\n", path, fd);
}

__attribute__((noipa)) int work(int depth, const char *why, long big)
{
	line("begin\twork\t%d,%s,%ld\n", depth, why, big);
	line("begin\tlevel\t%d\n", depth);
	DTRACE_PROBE1(probes, level__start, depth);
	opens("work", depth);
	if (depth > 0)
		work(depth - 1, "again", -big);
	DTRACE_PROBE(probes, level__done);
	line("end\tlevel\t\n");
	line("end\twork\t%d\n", -depth);
	return -depth;
}

static void request(int i)
{
	const char *key = i % 2 ? "odd" : "even";
	short small = (short)-i;

	line("begin\trequest\t%s,%d,%ld\n", key, small, (long)i << 33);
	DTRACE_PROBE3(probes, request__start, key, small, (long)i << 33);
	opens("before", i);
	for (int k = 0; k < i % 3; k++) {
		line("begin\tstep\t%d\n", k);
		DTRACE_PROBE1(probes, step__start, k);
		opens("step", i * 10 + k);
		DTRACE_PROBE(probes, step__done);
		line("end\tstep\t\n");
	}
	work(i % 4, "request", (long)i << 40);
	opens("after", i);
	DTRACE_PROBE1(probes, request__done, i);
	line("end\trequest\t%d\n", i);
}

static void *thread(void *arg)
{
	lines = calloc(1, sizeof(*lines));
	for (int i = 0; i < *(int *)arg; i++)
		request(i);
	opens("none", 0);
	printf("thread\t%d\t\n%s", gettid(), lines->text);
	fflush(stdout);
	return NULL;
}

/* ---- what is left without an end ---- */

static jmp_buf back;

__attribute__((noipa)) int deep(int n)
{
	volatile int last = 0; /* so that the compiler does not say that it never ends */

	if (n == last)
		longjmp(back, 1);
	n = n < last ? 0 : deep(n - 1);
	__asm__ volatile("" : "+r"(n)); /* no loop is made of it */
	return n;
}

__attribute__((noipa)) int outer(int depth)
{
	return setjmp(back) ? 0 : deep(depth);
}

static void jumps(int rounds)
{
	for (int i = 0; i < rounds; i++)
		outer(3);
	for (int i = 0; i < rounds; i++) { /* from here on nobody returns but by a jump */
		if (!setjmp(back))
			deep(2);
	}
	DTRACE_PROBE1(probes, request__done, 0); /* no such span is open */
	DTRACE_PROBE3(probes, request__start, NULL, 1, 1l);
	DTRACE_PROBE3(probes, request__start, (char *)8, 2, 2l);
}

/* ---- what a probe costs ---- */

/* Its first instruction is one that most functions begin with, and that the kernel need not single-step. */
__attribute__((noipa)) void nothing(void)
{
	__asm__ volatile("push %%rax\n\tpop %%rax" ::: "memory");
}

static void hit(int i)
{
	DTRACE_PROBE1(probes, hit, i);
}

static void call(int i)
{
	(void)i;
	(void)!getppid();
}

static void function(int i)
{
	(void)i;
	nothing();
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* CPU time of one, ns: the least of ten loops. */
static void costs(int rounds)
{
	static const struct {
		const char *name;
		void (*once)(int i);
	} what[] = {{"call", call}, {"usdt", hit}, {"function", function}};

	for (size_t w = 0; w < sizeof(what) / sizeof(*what); w++) {
		double least = 1e18;

		for (int k = 0; k < 10; k++) {
			double before = now_ns(), ns;

			for (int i = 0; i < rounds / 10; i++)
				what[w].once(i);
			ns = (now_ns() - before) / (rounds / 10.0);
			least = ns < least ? ns : least;
		}
		printf("%s %.1f ns\n", what[w].name, least);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
	pthread_t threads[THREADS];
	char c;

	if (argc < 3)
		return 2;
	if (argc > 3) { /* it runs before it is recorded: goes on when something is to be read */
		printf("%d\n", getpid());
		fflush(stdout);
		if (read(STDIN_FILENO, &c, 1) < 0)
			return 1;
	}
	if (!strcmp(argv[1], "jumps")) {
		jumps(rounds);
		return 0;
	}
	if (!strcmp(argv[1], "costs")) {
		costs(rounds);
		return 0;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, &rounds);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
