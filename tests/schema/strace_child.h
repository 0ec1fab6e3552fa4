/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strace_child.h: gets the output of the installed strace for calls, without making them: a child is traced with
 * every call replaced by ENOSYS (-e inject), so that exit, reboot and the like are possible too.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct asked_call {
	long nr;
	unsigned long args[6];
};

/* Shared by the child and the test. */
struct strace_page {
	volatile int ready, go, done;
};

/* Makes the calls once strace is attached; no other call in between. */
static inline void strace_child_run(struct strace_page *p, const struct asked_call *calls,
				    size_t count)
{
	p->ready = 1;
	while (!p->go)
		;
	for (size_t i = 0; i < count; i++) {
		const unsigned long *a = calls[i].args;

		syscall(calls[i].nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	}
	p->done = 1;
	for (;;)
		;
}

static inline int strace_wait(volatile int *flag, const char *what)
{
	for (int i = 0; i < 600 && !*flag; i++)
		usleep(5000);
	if (!*flag)
		fprintf(stderr, "strace_child: no %s within 3 s\n", what);
	return *flag ? 0 : -ETIMEDOUT;
}

static inline int strace_is_attached(pid_t pid)
{
	char path[64], line[128];
	FILE *f;
	int tracer = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "TracerPid: %d", &tracer);
	if (f)
		fclose(f);
	return tracer != 0;
}

/*
 * The lines that strace prints of these calls, in a file; those of the set "fail" with EDOM, all others with ENOSYS.
 * Every call is traced, because strace lets untraced calls happen. NULL if this is impossible.
 */
static inline FILE *strace_ask(const char *set, const struct asked_call *calls, size_t count)
{
	struct strace_page *p =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char out[] = "/tmp/weir-strace-XXXXXX", expr[64], pid_text[16];
	int fd = mkstemp(out), status;
	pid_t child, tracer;

	if (p == MAP_FAILED || fd < 0)
		return NULL;
	child = fork();
	if (child == 0)
		strace_child_run(p, calls, count);
	strace_wait(&p->ready, "child");
	snprintf(expr, sizeof(expr), "inject=%s:error=EDOM", set);
	snprintf(pid_text, sizeof(pid_text), "%d", (int)child);
	tracer = fork();
	if (tracer == 0) {
		execlp("strace", "strace", "-qq", "-a", "1", "-o", out, "-e",
		       "inject=all:error=ENOSYS", "-e", expr, "-e", "signal=none", "-p", pid_text,
		       NULL);
		_exit(127);
	}
	for (int i = 0; i < 1000 && !strace_is_attached(child); i++) {
		if (waitpid(tracer, &status, WNOHANG) == tracer) {
			tracer = 0;
			break;
		}
		usleep(2000);
	}
	if (tracer) {
		usleep(20000); /* strace is attached before it has resumed the child */
		p->go = 1;
		strace_wait(&p->done, "end of the calls");
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	if (tracer)
		waitpid(tracer, &status, 0);
	munmap(p, 4096);
	unlink(out);
	if (!tracer) {
		close(fd);
		return NULL;
	}
	return fdopen(fd, "r");
}
