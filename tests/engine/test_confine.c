// SPDX-License-Identifier: Apache-2.0
/*
 * test_confine.c: a process that was confined tries what one that was taken over would. Once with
 * all that the kernel offers, once where it makes no namespaces (as in many containers).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "engine/duckdb/internal.h"
#include "engine/spill.h"
#include "fixture.h"

#define OTHER_USER	 61999
#define LANDLOCK_VERSION 1

static struct spill spill;
static int folder;
static pid_t test;

/* ---- what is tried; each returns true where it was done ---- */

static bool can_open(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	return fd >= 0 && close(fd) == 0;
}

static bool read_others(void)
{
	return can_open("/etc/passwd", O_RDONLY) || can_open("../../../../etc/passwd", O_RDONLY);
}

static bool write_others(void)
{
	return can_open("/var/tmp/weir-test-confine", O_WRONLY | O_CREAT) ||
	       can_open("../beside", O_WRONLY | O_CREAT);
}

static bool use_folder(void)
{
	int fd = open("spilled", O_RDWR | O_CREAT | O_EXCL, 0600);
	char text[4] = "";

	return fd >= 0 && pwrite(fd, "abc", 3, 0) == 3 && ftruncate(fd, 2) == 0 &&
	       pread(fd, text, 3, 0) == 2 && strcmp(text, "ab") == 0 && unlink("spilled") == 0;
}

static bool use_network(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static bool signal_others(void)
{
	return kill(test, 0) == 0 || syscall(SYS_tgkill, test, test, 0) == 0;
}

static bool start_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static void *nothing(void *arg)
{
	return arg;
}

static bool start_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

static bool run_own_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		       MAP_FAILED ||
	       mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0;
}

static bool become_root(void)
{
	return geteuid() == 0 || setresuid(0, 0, 0) == 0;
}

static bool raise_limits(void)
{
	const struct rlimit l = {1 << 20, 1 << 20};

	return setrlimit(RLIMIT_NOFILE, &l) == 0;
}

static bool execute(void)
{
	char *args[] = {(char *)"true", NULL};

	return execv("/bin/true", args) == 0;
}

static bool trace(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

static bool give_up(void)
{
	abort();
}

/* ---- running it ---- */

static void forbid_namespaces(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);

	if (!f || seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 0) < 0 ||
	    seccomp_load(f) < 0)
		_exit(3);
	seccomp_release(f);
}

/* The status of a process that was confined and tried it: 0 done, 1 refused. */
static int attempt(bool (*what)(void), bool namespaces)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct error err = {0};

		if (!namespaces)
			forbid_namespaces();
		if (confine_process(folder, &err) < 0) {
			fprintf(stderr, "%s\n", err.message);
			_exit(2);
		}
		_exit(what() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void assert_done(bool (*what)(void), bool namespaces)
{
	assert_int_equal(attempt(what, namespaces), 0);
}

static void assert_refused(bool (*what)(void), bool namespaces)
{
	int status = attempt(what, namespaces);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

static void assert_killed(bool (*what)(void), bool namespaces)
{
	int status = attempt(what, namespaces);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

static void try_all(bool namespaces)
{
	assert_done(use_folder, namespaces);
	assert_done(start_thread, namespaces);
	assert_refused(use_network, namespaces);
	assert_refused(signal_others, namespaces);
	assert_refused(start_process, namespaces);
	assert_refused(run_own_code, namespaces);
	assert_refused(raise_limits, namespaces);
	assert_killed(execute, namespaces);
	assert_killed(trace, namespaces);
	assert_int_equal(WEXITSTATUS(attempt(give_up, namespaces)), 128 + SIGABRT);
	if (geteuid() == 0)
		assert_refused(become_root, namespaces);
	/* namespaces may be forbidden here as well */
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION) > 0) {
		assert_refused(read_others, namespaces);
		assert_refused(write_others, namespaces);
	}
}

static void with_namespaces(void **state)
{
	try_all(true);
}

static void without_namespaces(void **state)
{
	try_all(false);
}

static void not_a_folder(void **state)
{
	int before = folder;

	folder = 1000;
	assert_int_equal(WEXITSTATUS(attempt(use_folder, true)), 2);
	folder = before;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_namespaces),
		cmocka_unit_test(without_namespaces),
		cmocka_unit_test(not_a_folder),
	};
	struct error err = {0};
	int r;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return 77; /* a sanitizer needs what is taken away */
#endif
	test = getpid();
	spill = SPILL_NONE;
	if (spill_make(&spill, &err) < 0 || mkdirat(spill.fd, ENGINE_FOLDER_NAME, 0700) < 0)
		return 1;
	folder = openat(spill.fd, ENGINE_FOLDER_NAME, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (geteuid() == 0 && fchown(folder, OTHER_USER, OTHER_USER) == 0)
		(void)!fchmod(spill.fd, 0711);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	close(folder);
	spill_free(&spill);
	return r;
}
