/* SPDX-License-Identifier: Apache-2.0 */
/* process.c: fork, exec, exit; processes that die in a call; calls that never return; signals. */
#include "truth.h"

#include <ctype.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/resource.h>

static char buf[4096];

static int exits(void *arg)
{
	MUST(getppid);
	BEFORE(exit_group, 0);
	syscall(SYS_exit_group, 0);
	return 1;
}

static int executes(void *arg)
{
	char *argv[] = {"workload", "--after-exec", NULL};

	MUST(write, 50, buf, 5);
	is_file("kept");
	FAILS(ENOENT, execve, "./none", argv, environ);
	is_file("./none");
	BEFORE(execve, "/proc/self/exe", argv, environ);
	is_any("exec", 1);
	syscall(SYS_execve, "/proc/self/exe", argv, environ);
	return 1;
}

static int run_family(void)
{
	int fd = (int)MUST(openat, AT_FDCWD, "kept", O_RDWR | O_CREAT | O_TRUNC, 0600), pid, status;
	char *none[] = {"none", NULL};

	child_join(child(exits, NULL));
	MUST(dup2, fd, 50);
	child_join(child(executes, NULL));
	MUST(close, 50);
	MUST(close, fd);
	pid = vfork();
	if (pid == 0) {
		syscall(SYS_execve, "/nonexistent/program", none, environ);
		_exit(7);
	}
	fact_note("vfork", SYS_vfork, 0, 0, 0, 0, 0, 0, 0, pid);
	MUST(wait4, pid, &status, 0, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	FAILS(ECHILD, wait4, -1, &status, 0, 0);
	FAILS(ECHILD, waitid, P_ALL, 0, buf, WEXITED, 0);
	FAILS(ESRCH, kill, 0x3fffffff, 0);
	MUST(getpid);
	MUST(getrusage, RUSAGE_SELF, buf);
	MUST(prlimit64, 0, RLIMIT_NOFILE, 0, buf);
	return 0;
}

/* Killed while it waits in read(2): no exit from the call is ever seen. */
static int dies_reading(void *arg)
{
	int *pipes = arg;

	MUST(write, pipes[3], buf, 1);
	BEFORE(read, pipes[0], buf, 10);
	is_any("dies", 1);
	syscall(SYS_read, pipes[0], buf, 10);
	return 1;
}

static int dies_by_fault(void *arg)
{
	MUST(getppid);
	raise(SIGSEGV);
	return 1;
}

static int dies_by_seccomp(void *arg)
{
	MUST(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	MUST(prctl, PR_SET_SECCOMP, 1, 0, 0, 0); /* read, write, exit only */
	MUST(write, *(int *)arg, buf, 3);
	syscall(SYS_getppid); /* killed before the kernel tells a tracer of the call */
	return 1;
}

static int run_dies(void)
{
	int pipes[4], pid, status, fd;

	MUST(pipe, pipes);
	MUST(pipe, pipes + 2);
	pid = child(dies_reading, pipes);
	MUST(read, pipes[2], buf, 1);
	pause_ms(50);
	MUST(kill, pid, SIGKILL);
	MUST(wait4, pid, &status, 0, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	pid = child(dies_by_fault, NULL);
	MUST(wait4, pid, &status, 0, 0);
	CHECK(WIFSIGNALED(status));
	fd = (int)MUST(openat, AT_FDCWD, "strict", O_RDWR | O_CREAT, 0600);
	pid = child(dies_by_seccomp, &fd);
	MUST(wait4, pid, &status, 0, 0);
	CHECK(WIFSIGNALED(status));
	for (int i = 0; i < 4; i++)
		MUST(close, pipes[i]);
	MUST(close, fd);
	return 0;
}

/* Calls that go on when the program's parent has long printed its facts. */
static int never(void *arg)
{
	int *pipes = arg;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	MUST(write, pipes[3], buf, 1);
	BEFORE(read, pipes[0], buf, 10);
	is_any("unfinished", 1);
	syscall(SYS_read, pipes[0], buf, 10);
	return 1;
}

static int run_never(void)
{
	int pipes[4];

	MUST(pipe, pipes);
	MUST(pipe, pipes + 2);
	child(never, pipes);
	MUST(read, pipes[2], buf, 1);
	pause_ms(50);
	facts_print();
	printf("ready\n");
	fflush(stdout);
	BEFORE(nanosleep, (&(struct timespec){60, 0}), 0);
	syscall(SYS_nanosleep, &(struct timespec){60, 0}, NULL);
	_exit(0);
}

static volatile int *handled; /* signals; shared with children */

static void on_signal(int sig)
{
	++*handled;
}

/* Until the parent waits in a read. */
static void parent_reads(void)
{
	char path[64], line[64] = "x";

	snprintf(path, sizeof(path), "/proc/%d/syscall", getppid());
	while (!isdigit((unsigned char)*line) || strtol(line, NULL, 10) != SYS_read) {
		int fd = open(path, O_RDONLY);
		ssize_t n = read(fd, line, sizeof(line) - 1);

		line[n > 0 ? n : 0] = 0;
		close(fd);
		usleep(1000);
	}
}

/* Signals interrupt reads: once EINTR, once restarted by the kernel (seen as -512 by a tracer). */
static int run_signals(void)
{
	/* Again and again: the first may come before the call that it is for. */
	struct itimerval soon = {.it_value = {0, 30000}, .it_interval = {0, 30000}}, none = {0};
	int pipes[2], pid;

	handled = mmap(NULL, sizeof(*handled), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	CHECK(handled != MAP_FAILED);
	MUST(pipe, pipes);
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_signal}, NULL);
	MUST(setitimer, ITIMER_REAL, &soon, 0);
	FAILS(EINTR, read, pipes[0], buf, 10);
	is_any("interrupted", 1);
	MUST(setitimer, ITIMER_REAL, &soon, 0);
	FAILS(EINTR, pause);
	is_any("interrupted", 1);
	sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_RESTART},
		  NULL);
	MUST(setitimer, ITIMER_REAL, &none, 0);
	*handled = 0;
	pid = fork();
	if (pid == 0) {
		parent_reads();
		kill(getppid(), SIGALRM);
		while (!*handled)
			usleep(1000);
		_exit(write(pipes[1], buf, 5) == 5 ? 0 : 1);
	}
	MUST(read, pipes[0], buf, 10); /* two calls: interrupted, then again */
	is_any("restarted", 1);
	child_join(pid);
	MUST(close, pipes[0]);
	MUST(close, pipes[1]);
	return 0;
}

/* Numbers that no call has: too large, the first one that shares its plan with them, negative, of x32. */
static int run_numbers(void)
{
	static const int numbers[] = {5000, 1023, 1024, 700, -5, -1, 0x40000000 + 5000};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		int n = numbers[i];
		char name[24] = "syscall";

		if (n == 700)
			snprintf(name, sizeof(name), "syscall_0x%x", n);
		must_fail(fact_call(name, n, 6, 1, 2, -3, 4, 5, 6), ENOSYS, __FILE__, __LINE__);
		if (n != 700)
			is_flags((uint32_t)n);
	}
	return 0;
}

const struct work_case process_cases[] = {
	{"family", run_family, "fork, vfork, exec, exit, wait"},
	{"dies", run_dies, "processes that die in a call"},
	{"never", run_never, "a call that never returns (prints \"ready\" and stays)"},
	{"signals", run_signals, "signals that interrupt a read"},
	{"numbers", run_numbers, "calls that do not exist"},
	{0},
};
