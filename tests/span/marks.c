/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.c: marks spans in one of several ways and prints what must have been recorded, a line each:
 *	span ID PARENT NAME STATUS TID FROM TO	the ids as recorded; ns of CLOCK_MONOTONIC just before its begin and after its end
 *	note SPAN KEY VALUE
 *	call SPAN TID POS			a pread64() at this position, in the innermost span
 *	count NAME NUMBER
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "weir-span.h"

#define THREADS 4
#define TURNS	300

static int file;
static uint64_t positions; /* of calls, so that each has its own */
static pthread_mutex_t print = PTHREAD_MUTEX_INITIALIZER;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static int tid(void)
{
	return (int)syscall(SYS_gettid);
}

/* A span whose truth is printed. */
struct marked {
	struct weir_span s;
	uint64_t id, parent;
	const char *name;
	int64_t from;
	int tid;
};

static void marked_begin(struct marked *m, const char *name, const struct weir_span_context *in)
{
	struct weir_span_context outer;

	m->from = now();
	weir_span_context(NULL, &outer);
	if (in)
		weir_span_begin_in(&m->s, name, WEIR_SPAN_SERVER, in);
	else
		weir_span_begin(&m->s, name);
	m->id = m->s.id;
	m->parent = in ? in->span : outer.span;
	m->name = name;
	m->tid = tid();
}

static void marked_print(const struct marked *m, const char *status, int64_t to)
{
	printf("span %016" PRIx64 " %016" PRIx64 " %s %s %d %" PRId64 " %" PRId64 "\n", m->id,
	       m->parent, m->name, status, m->tid, m->from, to);
}

static void marked_end(struct marked *m)
{
	const char *status = m->s.failed ? "error" : "unset";
	int64_t to;

	weir_span_end(&m->s);
	to = now();
	pthread_mutex_lock(&print);
	marked_print(m, status, to);
	pthread_mutex_unlock(&print);
}

static void call_in(const struct marked *m)
{
	uint64_t pos = __atomic_fetch_add(&positions, 1, __ATOMIC_RELAXED);
	char byte;

	if (pread(file, &byte, 1, (off_t)pos) < 0)
		exit(1);
	pthread_mutex_lock(&print);
	printf("call %016" PRIx64 " %d %" PRIu64 "\n", m->id, tid(), pos);
	pthread_mutex_unlock(&print);
}

static void note_in(const struct marked *m, const char *key, const char *value)
{
	weir_span_note(&m->s, key, value);
	pthread_mutex_lock(&print);
	printf("note %016" PRIx64 " %s %s\n", m->id, key, value);
	pthread_mutex_unlock(&print);
}

static void number_in(const struct marked *m, const char *key, int64_t value)
{
	weir_span_note_int(&m->s, key, value);
	pthread_mutex_lock(&print);
	printf("note %016" PRIx64 " %s %" PRId64 "\n", m->id, key, value);
	pthread_mutex_unlock(&print);
}

/* ---- the ways ---- */

static void nested(int turn)
{
	struct marked outer, inner;
	char name[32];

	snprintf(name, sizeof(name), "turn%d", turn % 7); /* a text that changes at one address */
	marked_begin(&outer, "outer", NULL);
	call_in(&outer);
	marked_begin(&inner, name, NULL);
	number_in(&inner, "turn", turn);
	call_in(&inner);
	if (turn % 5 == 0)
		weir_span_error(&inner.s, NULL);
	marked_end(&inner);
	note_in(&outer, "word", turn & 1 ? "odd" : "even");
	call_in(&outer);
	marked_end(&outer);
}

static void *thread_main(void *arg)
{
	for (int i = 0; i < TURNS; i++)
		nested(i);
	return NULL;
}

static int way_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread_main, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* threads that come one after the other use the rings of those before */
	for (int i = 0; i < 400; i++) {
		struct marked m;

		marked_begin(&m, "starter", NULL);
		marked_end(&m);
		if (i % 40 == 0) {
			pthread_create(&threads[0], NULL, thread_main, NULL);
			pthread_join(threads[0], NULL);
		}
	}
	return 0;
}

static int way_fork(void)
{
	struct marked parent, child;
	int status;
	pid_t pid;

	marked_begin(&parent, "parent", NULL);
	for (int i = 0; i < 5; i++) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			marked_begin(&child, "child", NULL);
			call_in(&child);
			usleep(100000); /* its memory is to be found */
			marked_end(&child);
			fflush(stdout);
			_exit(0);
		}
		positions += 10; /* which the child uses */
		waitpid(pid, &status, 0);
	}
	marked_end(&parent);
	return 0;
}

static int way_exec(const char *self)
{
	struct marked m;

	marked_begin(&m, "before", NULL);
	call_in(&m);
	marked_print(&m, "cut", now());
	fflush(stdout);
	usleep(50000);
	execl(self, self, "after", "/dev/zero", NULL);
	return 1;
}

static int way_after(void)
{
	struct marked m;

	marked_begin(&m, "after", NULL);
	usleep(50000);
	marked_end(&m);
	return 0;
}

/* Spans that are open for as long as the program runs. */
static int way_open(void)
{
	struct marked outer, inner, done;

	marked_begin(&outer, "outer", NULL);
	marked_begin(&done, "done", NULL);
	marked_end(&done);
	marked_begin(&inner, "inner", NULL);
	marked_print(&outer, "running", 0);
	marked_print(&inner, "running", 0);
	printf("count pid %d\n", getpid());
	fflush(stdout);
	pause();
	return 0;
}

/* More than the ring takes; a burst so long that a reader cannot be there in time. */
static int way_overflow(void)
{
	const int count = 300000;
	struct weir_span s;

	for (int i = 0; i < count; i++) {
		weir_span_begin(&s, "burst");
		weir_span_note_int(&s, "i", i);
		weir_span_end(&s);
	}
	printf("count burst %d\n", count);
	usleep(100000);
	return 0;
}

/* A span that another thread ends, and one of another process below it. */
static void *ends(void *span)
{
	marked_end(span);
	return NULL;
}

static int way_handover(const char *self)
{
	struct weir_span_context c;
	char text[WEIR_SPAN_TRACEPARENT];
	struct marked m;
	pthread_t t;
	int status;
	pid_t pid;

	for (int i = 0; i < 100; i++) {
		marked_begin(&m, "request", NULL);
		if (i == 0) {
			weir_span_context(&m.s, &c);
			weir_span_to_traceparent(&c, text);
			fflush(stdout);
			pid = fork();
			if (!pid) {
				setenv("TRACEPARENT", text, 1);
				execl(self, self, "remote", "/dev/zero", NULL);
				_exit(127);
			}
			waitpid(pid, &status, 0);
		}
		pthread_create(&t, NULL, ends, &m);
		pthread_join(t, NULL);
		weir_span_set_current(NULL, NULL); /* it ended elsewhere */
	}
	return 0;
}

static int way_remote(void)
{
	struct weir_span_context c;
	struct marked m;

	if (weir_span_from_traceparent(getenv("TRACEPARENT"), &c) < 0)
		return 1;
	weir_span_service("remote");
	marked_begin(&m, "remote", &c);
	usleep(100000);
	marked_end(&m);
	return 0;
}

/* Begins before it is recorded, waits to be, and marks until it is ended. */
static int way_older(void)
{
	struct weir_span s;

	usleep(1200000); /* longer than it keeps what nobody reads */
	weir_span_begin(&s, "unseen");
	weir_span_end(&s);
	printf("%s\n", weir_span_recorded() ? "recorded" : "idle");
	fflush(stdout);
	for (;;) {
		weir_span_begin(&s, "seen");
		usleep(1000);
		weir_span_end(&s);
	}
	return 0;
}

/* The next process gets a number below this one's, so that who goes through all of them sees it first. For root. */
static void next_pid_lower(void)
{
	FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (!f)
		return;
	fprintf(f, "%d", getpid() > 600 ? getpid() - 300 : 300);
	fclose(f);
}

/* Its child inherits its memory, and is recorded while it is not. */
static int way_older_child(void)
{
	struct weir_span s;
	pid_t pid;

	usleep(1200000);
	weir_span_begin(&s, "unseen"); /* and nobody keeps it any more */
	weir_span_end(&s);
	next_pid_lower();
	pid = fork();
	if (pid)
		printf("%d\n", pid);
	fflush(stdout);
	for (;;) {
		weir_span_begin(&s, pid ? "of the parent" : "seen");
		usleep(1000);
		weir_span_end(&s);
	}
	return 0;
}

/* Its child marks its first span when the process that made the memory has ended. */
static int way_daemon(void)
{
	struct marked m;

	marked_begin(&m, "starter", NULL);
	marked_end(&m);
	usleep(100000);
	fflush(stdout);
	if (fork())
		return 0;
	weir_span_set_current(NULL, NULL);
	usleep(300000);
	for (int i = 0; i < 5; i++) {
		marked_begin(&m, "daemon", NULL);
		call_in(&m);
		marked_end(&m);
	}
	fflush(stdout);
	usleep(100000);
	return 0;
}

/* Its child outlives it, makes calls, which show it to recorders, and marks spans whenever it finds a line to read. */
static int way_orphan(void)
{
	struct pollfd line = {.events = POLLIN};
	struct marked m;
	char c;

	marked_begin(&m, "starter", NULL);
	marked_end(&m);
	usleep(100000);
	fflush(stdout);
	if (fork()) {
		usleep(100000); /* a recorder has seen the child before this ends */
		return 0;
	}
	weir_span_set_current(NULL, NULL);
	printf("orphan %d\n", getpid());
	fflush(stdout);
	for (;;) {
		if (!poll(&line, 1, 10))
			continue;
		if (read(0, &c, 1) < 1)
			return 0;
		for (int i = 0; i < 5; i++) {
			marked_begin(&m, "orphan", NULL);
			marked_end(&m);
		}
	}
}

/* Ends at once. */
static int way_brief(void)
{
	struct marked m;

	marked_begin(&m, "brief", NULL);
	marked_end(&m);
	return 0;
}

/* Values and names of all lengths, and bytes that are no text. */
static int way_values(void)
{
	static char value[5000], name[300];
	struct marked m;

	memset(value, 'v', sizeof(value) - 1);
	memset(name, 'n', sizeof(name) - 1);
	marked_begin(&m, "values", NULL);
	note_in(&m, "short", "s");
	weir_span_note(&m.s, "long", value);
	weir_span_note(&m.s, name, "of a long key");
	weir_span_note(&m.s, "bytes", "\xff\x80\"\\\n");
	weir_span_event(&m.s, "moment");
	weir_span_note(NULL, "here", "innermost");
	weir_span_error(&m.s, "it failed");
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "key%d", i);
		weir_span_note_int(&m.s, name, -i);
	}
	marked_end(&m);
	usleep(50000);
	return 0;
}

/* ---- what a library must not do ---- */

#define FORKS 30
static volatile int forked,
	broken; /* forked: below 0 in a child, where it is -1 less those before */

static void count_child(int status)
{
	forked++;
	broken += !WIFEXITED(status) || WEXITSTATUS(status);
}

/* Comes upon records; the child goes on with what was interrupted, and marks spans of its own then. */
static void fork_here(int sig)
{
	int status, saved = errno;
	pid_t pid = forked < 0 || forked == FORKS ? -1 : fork();

	if (!pid)
		forked = -1 - forked;
	else if (pid > 0 && waitpid(pid, &status, 0) == pid)
		count_child(status);
	errno = saved;
}

static int way_interrupted(void)
{
	const struct sigaction act = {.sa_handler = fork_here};
	const struct itimerval often = {.it_interval = {0, 1000}, .it_value = {0, 1000}};
	struct weir_span s;

	sigaction(SIGPROF, &act, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	for (int i = 0; forked >= 0 && forked < FORKS; i++) {
		weir_span_begin(&s, "interrupted");
		weir_span_note_int(&s, "i", i);
		weir_span_end(&s);
	}
	if (forked < 0) {
		for (int i = 0; i < 10; i++) {
			weir_span_begin(&s, "child");
			weir_span_end(&s);
		}
		if (forked == -FORKS) /* its memory is to be found */
			usleep(2000000);
		_exit(0);
	}
	setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
	printf("count forked %d\ncount broken %d\n", forked, broken);
	return 0;
}

/* The calls of a thread's first span fail. */
static void *errno_main(void *arg)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the call's number */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
	struct weir_span s;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		exit(1);
	errno = 77;
	weir_span_begin(&s, "first");
	weir_span_end(&s);
	weir_span_new_id();
	printf("count errno %d\n", errno);
	return NULL;
}

static int way_errno(void)
{
	pthread_t t;

	pthread_create(&t, NULL, errno_main, NULL);
	pthread_join(t, NULL);
	return 0;
}

/* A child that the kernel kills at any call but read, write, exit, and at the counter of time. */
static int way_strict(void)
{
	struct weir_span s;
	struct marked m;
	int status;

	marked_begin(&m, "parent", NULL);
	fflush(stdout);
	if (!fork()) {
		weir_span_leave();
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			syscall(SYS_exit, 1);
		for (int i = 0; i < 10; i++) {
			weir_span_begin(&s, "unmarked");
			weir_span_note(&s, "key", "value");
			weir_span_note(NULL, "key", "value");
			weir_span_end(&s);
		}
		syscall(SYS_exit, 0);
	}
	wait(&status);
	marked_end(&m);
	printf("count status %d\n", status);
	return 0;
}

/* What other readers see, in memory: after each step the record, as text. */
static void published_print(const char *step, const struct weir_span_context *want)
{
	void **variable = dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1");
	const uint8_t *record = variable ? *variable : NULL;
	char text[WEIR_SPAN_TRACEPARENT];

	weir_span_to_traceparent(want, text);
	printf("published %s %s %d ", step, *text ? text : "-", record ? record[24] : -1);
	for (int i = 0; record && i < 24; i++)
		printf("%02x", record[i]);
	printf("\n");
}

static void *published_main(void *arg)
{
	struct weir_span outer, inner;
	struct weir_span_context c, none = {0};

	weir_span_begin(&outer, "outer");
	weir_span_context(&outer, &c);
	published_print("outer", &c);
	weir_span_begin(&inner, "inner");
	weir_span_context(&inner, &c);
	published_print("inner", &c);
	weir_span_note(&inner, "key", "value");
	weir_span_end(&inner);
	weir_span_context(&outer, &c);
	published_print("outer", &c);
	weir_span_end(&outer);
	published_print("none", &none);
	weir_span_set_current(&c, NULL);
	published_print("given", &c);
	weir_span_set_current(NULL, NULL);
	published_print("none", &none);
	return NULL;
}

static int way_published(void)
{
	pthread_t t;
	int status;

	published_main(NULL);
	pthread_create(&t, NULL, published_main, NULL);
	pthread_join(t, NULL);
	fflush(stdout);
	if (!fork()) {
		published_main(NULL);
		fflush(stdout);
		_exit(0);
	}
	wait(&status);
	return status;
}

int main(int argc, char **argv)
{
	const char *way = argc > 2 ? argv[1] : "";

	file = argc > 2 ? open(argv[2], O_RDONLY) : -1;
	if (file < 0)
		return 2;
	weir_span_service("marks");
	return !strcmp(way, "threads")	     ? way_threads()
	       : !strcmp(way, "fork")	     ? way_fork()
	       : !strcmp(way, "exec")	     ? way_exec(argv[0])
	       : !strcmp(way, "after")	     ? way_after()
	       : !strcmp(way, "open")	     ? way_open()
	       : !strcmp(way, "overflow")    ? way_overflow()
	       : !strcmp(way, "handover")    ? way_handover(argv[0])
	       : !strcmp(way, "remote")	     ? way_remote()
	       : !strcmp(way, "interrupted") ? way_interrupted()
	       : !strcmp(way, "errno")	     ? way_errno()
	       : !strcmp(way, "strict")	     ? way_strict()
	       : !strcmp(way, "published")   ? way_published()
	       : !strcmp(way, "older")	     ? way_older()
	       : !strcmp(way, "older_child") ? way_older_child()
	       : !strcmp(way, "daemon")	     ? way_daemon()
	       : !strcmp(way, "orphan")	     ? way_orphan()
	       : !strcmp(way, "brief")	     ? way_brief()
	       : !strcmp(way, "values")	     ? way_values()
					     : 2;
}
