/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c: who did it: 1,000 threads, names that change, exec from a thread. */
#include "truth.h"

#include <pthread.h>
#include <sys/prctl.h>

static char buf[4096];

static void *small_thread(void *arg)
{
	long i = (long)arg;
	int fd = (int)MUST(openat, AT_FDCWD, "shared", O_RDWR);

	is_file("shared");
	MUST(pwrite64, fd, buf, 1 + i % 100, i * 100);
	is_file("shared");
	is_pos(i * 100);
	MUST(close, fd);
	is_file("shared");
	return NULL;
}

static int run_threads(void)
{
	static pthread_t threads[1000];
	pthread_attr_t attr;

	MUST(close, (int)MUST(openat, AT_FDCWD, "shared", O_RDWR | O_CREAT, 0600));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 512 * 1024);
	for (long i = 0; i < 1000; i++)
		CHECK(pthread_create(&threads[i], &attr, small_thread, (void *)i) == 0);
	for (int i = 0; i < 1000; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static void *renamed_thread(void *arg)
{
	MUST(pwrite64, *(int *)arg, buf, 1, 0);
	MUST(prctl, PR_SET_NAME, "second-name", 0, 0, 0);
	for (int i = 0; i < 100; i++)
		MUST(pwrite64, *(int *)arg, buf, 2, 1 + i);
	MUST(prctl, PR_SET_NAME, "third-name", 0, 0, 0);
	for (int i = 0; i < 100; i++)
		MUST(pwrite64, *(int *)arg, buf, 3, 200 + i);
	return NULL;
}

static int run_thread_name(void)
{
	pthread_t t;
	int fd = (int)MUST(openat, AT_FDCWD, "n", O_RDWR | O_CREAT, 0600);

	MUST(prctl, PR_SET_NAME, "first name", 0, 0, 0);
	CHECK(pthread_create(&t, NULL, renamed_thread, &fd) == 0);
	pthread_join(t, NULL);
	MUST(pwrite64, fd, buf, 4, 400);
	MUST(close, fd);
	return 0;
}

/* After exec: the same facts, a new program; the descriptor 50 was kept. */
int after_exec(int argc, char **argv)
{
	facts_open();
	facts_tid(getpid());
	MUST(write, 50, buf, 17);
	is_file("kept");
	is_pos(5);
	MUST(close, 50);
	if (argc > 2 && strcmp(argv[2], "print") == 0)
		facts_print();
	return 0;
}

static void *exec_thread(void *arg)
{
	char *argv[] = {"workload", "--after-exec", "print", NULL};

	MUST(write, 50, buf, 5);
	is_file("kept");
	/* The kernel gives this thread the leader's id on the way: the record says the id at enter.
	 */
	BEFORE(execve, "/proc/self/exe", argv, environ);
	is_any("exec", 1);
	syscall(SYS_execve, "/proc/self/exe", argv, environ);
	perror("execve");
	exit(1);
}

static int run_exec_thread(void)
{
	pthread_t t;
	int fd = (int)MUST(openat, AT_FDCWD, "kept", O_RDWR | O_CREAT | O_TRUNC, 0600);

	MUST(dup2, fd, 50);
	MUST(close, fd);
	fd = (int)MUST(openat, AT_FDCWD, "cloexec", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	fflush(NULL);
	CHECK(pthread_create(&t, NULL, exec_thread, NULL) == 0);
	pthread_join(t, NULL);
	return 1;
}

const struct work_case thread_cases[] = {
	{"threads", run_threads, "1,000 threads"},
	{"thread_name", run_thread_name, "a thread that renames itself"},
	{"exec_thread", run_exec_thread, "exec from a thread that is not the leader"},
	{0},
};
