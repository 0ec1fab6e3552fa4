// SPDX-License-Identifier: Apache-2.0
/*
 * confine.c: removes everything from this process that untrusted SQL does not need. DuckDB runs with settings that
 * refuse files and networks; this is the second line of defence, should a statement bypass them. What remains: the
 * process's memory, files in one folder, the open descriptors.
 *
 * Runs once, in a process with one thread, after the trace is open and DuckDB is loaded. Parts that the kernel does not
 * offer (user namespaces are often forbidden, Landlock needs Linux 5.13) are skipped, since the parts are independent;
 * a part that is offered but fails is an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "engine/duckdb/internal.h"
#include "privilege/privilege.h"

#define FILES_MAX 64 /* descriptors in addition to those open: DuckDB's temporary files */
#define SPACES	  (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

/* ---- hiding the rest of the host ---- */

/*
 * Makes the parent of the working directory the root of the file system: no other files, no devices, no /proc. The
 * folder itself is not the root because DuckDB may use everything below it; this way it still refuses every other name.
 * Needs CAP_SYS_ADMIN in a mount namespace of its own. Uses paths, because a descriptor opened before belongs to the
 * old mounts. pivot_root() does not work from an initramfs; chroot() does.
 */
static void shrink_root(void)
{
	struct mount_attr alone = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					       MOUNT_ATTR_NOEXEC};
	_cleanup_close_ int mnt = -1;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return;
	mnt = open_tree(AT_FDCWD, "..", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (mnt < 0 || mount_setattr(mnt, "", AT_EMPTY_PATH, &alone, sizeof(alone)) < 0 ||
	    move_mount(mnt, "", AT_FDCWD, "..", MOVE_MOUNT_F_EMPTY_PATH) < 0 || fchdir(mnt) < 0)
		return;
	if (syscall(SYS_pivot_root, ".", ".") == 0)
		umount2(".", MNT_DETACH);
	else
		(void)!chroot(".");
	(void)!chdir("/" ENGINE_FOLDER_NAME);
}

/* The creator of the folder chose its owner: a user that owns nothing else. */
static int become_owner(const struct stat *folder, struct error *err)
{
	if (folder->st_uid == geteuid())
		return 0;
	if (setgroups(0, NULL) < 0 ||
	    setresgid(folder->st_gid, folder->st_gid, folder->st_gid) < 0 ||
	    setresuid(folder->st_uid, folder->st_uid, folder->st_uid) < 0)
		return error_errno(err, -errno, "cannot run SQL as another user");
	return 0;
}

/*
 * Creates namespaces: with the privilege to do so if there is one, else within a user namespace, which grants it. In
 * either case the user namespace comes last, after the final change of user.
 */
static int leave_host(int folder, struct error *err)
{
	bool made = unshare(SPACES) == 0;
	struct stat st;
	int r;

	if (fstat(folder, &st) < 0)
		return error_errno(err, -errno, "cannot examine the temporary folder");
	if (made)
		shrink_root();
	r = become_owner(&st, err);
	if (r < 0)
		return r;
	if (unshare(made ? CLONE_NEWUSER : CLONE_NEWUSER | SPACES) == 0 && !made)
		shrink_root();
	return 0;
}

/* ---- files ---- */

/* Limits descriptors: removed files that are kept open use disk space that no tool shows. */
static void limit_files(void)
{
	_cleanup_close_ int next = dup(STDERR_FILENO);
	const struct rlimit l = {(rlim_t)next + FILES_MAX, (rlim_t)next + FILES_MAX};

	if (next >= 0)
		setrlimit(RLIMIT_NOFILE, &l);
}

/* Allows opening only files below the folder, whatever their mode. */
static void restrict_files(int folder)
{
	struct landlock_ruleset_attr all = {.handled_access_fs =
						    LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1};
	struct landlock_path_beneath_attr here = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
				  LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
				  LANDLOCK_ACCESS_FS_REMOVE_FILE,
		.parent_fd = folder};
	_cleanup_close_ int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);

	if (rules >= 0 &&
	    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &here, 0) == 0)
		(void)!syscall(SYS_landlock_restrict_self, rules, 0);
}

/* ---- system calls ---- */

/* Used by DuckDB, by libc for memory and threads, and for reading an open trace. */
static const int allowed[] = {
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(pwrite64),
	SCMP_SYS(pwritev),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(dup),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(fcntl),
	SCMP_SYS(flock),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(ftruncate),
	SCMP_SYS(fallocate),
	SCMP_SYS(fadvise64),
	/* by path: Landlock and the root folder decide which */
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getcwd),
	SCMP_SYS(getdents64),
	SCMP_SYS(statfs),
	SCMP_SYS(fstatfs),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	/* memory: without PROT_EXEC, see below */
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	/* threads, signals, times */
	SCMP_SYS(futex),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(membarrier),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_setaffinity),
	SCMP_SYS(sched_getparam),
	SCMP_SYS(sched_getscheduler),
	SCMP_SYS(getcpu),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(times),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(getrusage),
	SCMP_SYS(getrlimit),
	/* identity and working directory */
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getrandom),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
};

/* No statement leads to one of these. The process was compromised and is killed. */
static const int deadly[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(mount),
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(kexec_load),
};

/* Calls allowed depending on an argument. */
static int add_conditional(scmp_filter_ctx f)
{
	const struct scmp_arg_cmp not_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
				  thread = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD),
				  name = SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME),
				  ask = SCMP_A2(SCMP_CMP_EQ, 0),
				  self = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()),
				  tty = SCMP_A1(SCMP_CMP_EQ, TCGETS);
	int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, not_exec);

	if (r >= 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, not_exec);
	if (r >= 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, thread);
	if (r < 0)
		return r;
	/* its flags are in memory, which a filter cannot read; libc falls back to clone() */
	r = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (r < 0)
		return r;
	r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, name);
	if (r < 0)
		return r;
	r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, ask);
	if (r < 0)
		return r;
	r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, self); /* abort() */
	return r < 0 ? r : seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, tty);
}

/* All other calls fail with EPERM, which the library reports like any other failure. */
static int filter_calls(struct error *err)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = f ? 0 : -ENOMEM;

	for (size_t i = 0; i < ARRAY_SIZE(allowed) && r >= 0; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(deadly) && r >= 0; i++)
		r = seccomp_rule_add(f, SCMP_ACT_KILL_PROCESS, deadly[i], 0);
	if (r >= 0)
		r = add_conditional(f);
	if (r >= 0)
		r = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);
	if (r >= 0)
		r = seccomp_load(f);
	if (f)
		seccomp_release(f);
	/* a kernel without seccomp */
	if (r == -EINVAL && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
		return 0;
	return r < 0 ? error_errno(err, r, "cannot restrict system calls") : 0;
}

/* ---- end of the process ---- */

/* The first process of a pid namespace ignores signals without a handler, even its own. */
static void end_by_signal(int sig)
{
	_exit(ENGINE_STATUS_SIGNAL + sig);
}

static void handle_signals(void)
{
	const struct sigaction end = {.sa_handler = end_by_signal},
			       ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGABRT, &end, NULL); /* an uncaught exception */
	sigaction(SIGXCPU, &end, NULL);
	sigaction(SIGXFSZ, &ignore, NULL); /* writing then fails with EFBIG, which DuckDB reports */
}

/* Ends this process with its parent. The change of user made the kernel drop that request, and the parent may be gone by now. */
static int end_with_parent(struct error *err)
{
	struct pollfd reader = {.fd = STDERR_FILENO};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (poll(&reader, 1, 0) > 0 && reader.revents & POLLERR)
		return error_set(err, -EPIPE, "nobody reads the result");
	return 0;
}

int confine_process(int folder, struct error *err)
{
	int r;

	if (fchdir(folder) < 0)
		return error_errno(err, -errno, "descriptor %d is not the temporary folder",
				   folder);
	handle_signals();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (SANITIZED)
		return 0;
	r = leave_host(folder, err);
	if (r < 0)
		return r;
	limit_files();
	restrict_files(folder);
	r = privilege_drop(PRIVILEGE_NONE, err);
	if (r < 0)
		return r;
	prctl(PR_SET_DUMPABLE, 0); /* prevents tracing, and core files that contain the trace */
	r = end_with_parent(err);
	return r < 0 ? r : filter_calls(err);
}
