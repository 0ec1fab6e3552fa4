/* SPDX-License-Identifier: Apache-2.0 */
/* privilege.c: what is left to a process after each step; each in a process of its own. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "privilege/privilege.h"

/* Runs the step in a child; what it returns is its exit status, 0 where all was as it must be. */
static void in_child(int (*step)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(step());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define REFUSED(call) (errno = 0, (call) < 0 && errno == ENOSYS)

/* The line of the first that is not refused. */
static int refused(void)
{
	static char *const args[] = {(char *)"true", NULL};
	struct error err = {0};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER};

	if (privilege_settle(&err) < 0)
		return 1;
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != -1 || errno != ENOSYS)
		return 2; /* refused too, and so the filter is there */
	if (!REFUSED(execv("/bin/true", args)))
		return 3;
	if (!REFUSED(syscall(SYS_execveat, AT_FDCWD, "/bin/true", args, NULL, 0)))
		return 4;
	if (!REFUSED(ptrace(PTRACE_TRACEME, 0, NULL, NULL)))
		return 5;
	if (!REFUSED(mount("none", "/mnt", "tmpfs", 0, NULL)) || !REFUSED(umount2("/mnt", 0)))
		return 6;
	if (!REFUSED(syscall(SYS_init_module, "", 0, "")) ||
	    !REFUSED(syscall(SYS_finit_module, 0, "", 0)))
		return 7;
	if (!REFUSED(setuid(1)) || !REFUSED(setgid(1)) || !REFUSED(setresuid(1, 1, 1)))
		return 8;
	if (!REFUSED(unshare(CLONE_NEWUSER)) || !REFUSED(setns(0, 0)) ||
	    !REFUSED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL)))
		return 9;
	if (!REFUSED(socket(AF_INET, SOCK_STREAM, 0)) || !REFUSED(socket(AF_UNIX, SOCK_STREAM, 0)))
		return 10;
	if (!REFUSED(syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr))) ||
	    !REFUSED(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr))) ||
	    !REFUSED(syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr))))
		return 11;
	if (!REFUSED(syscall(SYS_process_vm_writev, getpid(), NULL, 0, NULL, 0, 0)) ||
	    !REFUSED(syscall(SYS_pidfd_getfd, 0, 0, 0)) ||
	    !REFUSED(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0)) ||
	    !REFUSED(syscall(SYS_io_uring_setup, 1, NULL)) ||
	    !REFUSED(syscall(SYS_keyctl, 0, 0, 0, 0, 0)))
		return 12;
	if (!REFUSED(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)) || !REFUSED(chroot("/")))
		return 13;
	return 0;
}

static void *nothing(void *arg)
{
	return arg;
}

/* What a recorder does goes on working. */
static int allowed(void)
{
	struct error err = {0};
	pthread_t thread;
	int pair[2], status;
	pid_t pid;

	if (privilege_settle(&err) < 0)
		return 1;
	if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
		return 2;
	pid = fork();
	if (pid == 0)
		_exit(7);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
		return 3;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
	    send(pair[0], "x", 1, MSG_NOSIGNAL) != 1)
		return 4;
	return close(open("/proc/self/status", O_RDONLY | O_CLOEXEC)) < 0 ? 5 : 0;
}

/* In force: bit by bit, as the kernel says. */
static uint64_t in_force(const char *name)
{
	unsigned long long value = 0;
	char line[256];
	FILE *f = fopen("/proc/thread-self/status", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoull(line + strlen(name), NULL, 16);
	}
	if (f)
		fclose(f);
	return value;
}

static uint64_t more(void)
{
	_privileged_(PRIVILEGE_PROC | PRIVILEGE_SIGNAL | PRIVILEGE_CAP(CAP_SYS_BOOT));

	return in_force("CapEff:\t");
}

static bool nested(void)
{
	_privileged_(PRIVILEGE_PROC);

	return in_force("CapEff:\t") == PRIVILEGE_PROC &&
	       more() == (PRIVILEGE_PROC | PRIVILEGE_SIGNAL) &&
	       in_force("CapEff:\t") == PRIVILEGE_PROC;
}

static int raised_and_lowered(void)
{
	struct error err = {0};

	if (privilege_settle(&err) < 0 || in_force("CapEff:\t"))
		return 1;
	if (!nested())
		return 2;
	if (in_force("CapEff:\t"))
		return 3;
	privilege_drop_thread(PRIVILEGE_SIGNAL);
	if (in_force("CapPrm:\t") != PRIVILEGE_SIGNAL || in_force("CapEff:\t"))
		return 4;
	privilege_drop_thread(PRIVILEGE_NONE);
	return in_force("CapPrm:\t") ? 5 : 0;
}

static int dropped(void)
{
	struct error err = {0};

	if (privilege_drop(PRIVILEGE_FILES, &err) < 0)
		return 1;
	if (in_force("CapPrm:\t") != PRIVILEGE_FILES || in_force("CapEff:\t") != PRIVILEGE_FILES ||
	    in_force("CapBnd:\t") != PRIVILEGE_FILES || in_force("CapInh:\t"))
		return 2;
	return in_force("NoNewPrivs:\t") == 1 ? 0 : 3;
}

/* Somebody without privileges keeps even the right to sudo. */
static int unprivileged(void)
{
	struct error err = {0};

	if (setresuid(65534, 65534, 65534) < 0)
		return 1;
	if (privilege_begin(&err) < 0 || privilege_drop(PRIVILEGE_NONE, &err) < 0 ||
	    privilege_settle(&err) < 0 || privilege_become_caller(&err) < 0)
		return 2;
	return in_force("NoNewPrivs:\t") == 0 ? 0 : 3;
}

static void test_filter_refuses(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* no filter: filter_install() */
#endif
	in_child(refused);
}

static void test_filter_allows(void **state)
{
	in_child(allowed);
}

static void test_raise_and_lower(void **state)
{
	in_child(raised_and_lowered);
}

static void test_drop(void **state)
{
	in_child(dropped);
}

static void test_unprivileged(void **state)
{
	in_child(unprivileged);
}

static void test_caller(void **state)
{
	static const char *const wrong[] = {"",	  "0",	"x",	      "-1",
					    " 1", "1x", "4294967295", "99999999999999999999"};
	struct privilege_user user = {0};

	setenv("SUDO_USER", "somebody", 1);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		setenv("SUDO_UID", wrong[i], 1);
		assert_false(privilege_caller(&user));
	}
	setenv("SUDO_UID", "1000", 1);
	setenv("SUDO_GID", "100", 1);
	assert_true(privilege_caller(&user));
	assert_int_equal(user.uid, 1000);
	assert_int_equal(user.gid, 100);
	assert_string_equal(user.name, "somebody");
	setenv("SUDO_GID", "x", 1);
	assert_true(privilege_caller(&user));
	assert_int_equal(user.gid, 1000);
	unsetenv("SUDO_UID");
	assert_false(privilege_caller(&user));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filter_refuses),	cmocka_unit_test(test_filter_allows),
		cmocka_unit_test(test_raise_and_lower), cmocka_unit_test(test_drop),
		cmocka_unit_test(test_unprivileged),	cmocka_unit_test(test_caller),
	};

	if (geteuid() != 0)
		return 77; /* there is nothing to let go */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
