/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.c: the system calls that a recorder may make once its programs are loaded.
 *
 * It lists permitted calls, so that calls added to the kernel later are refused. Other calls fail with ENOSYS, as on an
 * older kernel: libc then falls back (from clone3, for example), and a recording that makes an unforeseen call
 * continues. `privilege.py filter_refuses_nothing` looks for such calls.
 */
#include "privilege/internal.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* clang-format off */
static const char *const filter_calls[] = {
	/* files: the trace, text output, /proc, the store's */
	"access", "chmod", "close", "close_range", "copy_file_range", "creat", "dup", "dup2", "dup3", "faccessat",
	"faccessat2", "fadvise64", "fallocate", "fchmod", "fchmodat", "fcntl", "fdatasync", "flock", "fstat", "fstatfs",
	"fsync", "ftruncate", "getcwd", "getdents", "getdents64", "ioctl", "link", "linkat", "lseek", "lstat", "mkdir",
	"mkdirat", "name_to_handle_at", "newfstatat", "open", "open_by_handle_at", "openat", "openat2", "pread64", "preadv",
	"preadv2", "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat", "readv", "rename",
	"renameat", "renameat2", "rmdir", "sendfile", "stat", "statfs", "statx", "sync_file_range", "syncfs", "truncate",
	"umask", "unlink", "unlinkat", "write", "writev",
	/* waiting */
	"epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd2", "futex", "futex_waitv",
	"inotify_add_watch", "inotify_init1", "inotify_rm_watch", "pause", "pipe", "pipe2", "poll", "ppoll", "pselect6",
	"select", "signalfd4", "timerfd_create", "timerfd_gettime", "timerfd_settime",
	/* the socket to the command */
	"getsockopt", "recvfrom", "recvmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
	/* memory */
	"brk", "madvise", "membarrier", "mincore", "mlock", "mlock2", "mmap", "mprotect", "mremap", "msync", "munlock",
	"munmap",
	/* threads, and existing processes: priorities, signals, exits */
	"exit", "exit_group", "get_robust_list", "getcpu", "getpriority", "ioprio_get", "ioprio_set", "kill", "pidfd_open",
	"pidfd_send_signal", "process_vm_readv", "rseq", "sched_get_priority_max", "sched_get_priority_min",
	"sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler", "sched_setaffinity", "sched_setattr",
	"sched_setparam", "sched_setscheduler", "sched_yield", "set_robust_list", "set_tid_address", "setpriority", "setsid",
	"tgkill", "wait4", "waitid",
	"restart_syscall", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn",
	"rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "sigaltstack",
	/* itself: identity and permissions */
	"capget", "capset", "getegid", "geteuid", "getgid", "getgroups", "getpgid", "getpgrp", "getpid", "getppid",
	"getresgid", "getresuid", "getrlimit", "getrusage", "getsid", "gettid", "getuid", "prlimit64", "setrlimit", "sysinfo",
	"times", "uname",
	/* time, random numbers */
	"clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "getrandom", "gettimeofday", "nanosleep",
	"setitimer", "time",
};
/* clang-format on */

/* bpf(2) commands on existing programs and maps. */
static const int filter_bpf[] = {
	BPF_MAP_LOOKUP_ELEM,
	BPF_MAP_UPDATE_ELEM,
	BPF_MAP_DELETE_ELEM,
	BPF_MAP_GET_NEXT_KEY,
	BPF_MAP_LOOKUP_AND_DELETE_ELEM,
	BPF_MAP_LOOKUP_BATCH,
	BPF_MAP_LOOKUP_AND_DELETE_BATCH,
	BPF_MAP_UPDATE_BATCH,
	BPF_MAP_DELETE_BATCH,
	BPF_OBJ_GET_INFO_BY_FD,
	BPF_RAW_TRACEPOINT_OPEN,
	BPF_LINK_CREATE,
	BPF_LINK_DETACH,
	BPF_ITER_CREATE,
};

static const int filter_prctl[] = {PR_SET_NAME, PR_GET_NAME, PR_CAPBSET_READ};

#define NAMESPACES                                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

/* Permits a call if its first argument is one of the values. */
static int filter_value_list(scmp_filter_ctx f, int call, const int *values, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 1,
				     SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)values[i]));
	return r;
}

static int filter_fill(scmp_filter_ctx f)
{
	static const int unix_only[] = {AF_UNIX};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(filter_calls) && r == 0; i++) {
		int call = seccomp_syscall_resolve_name(filter_calls[i]);

		/* negative: the call is unknown on this machine or to this library */
		if (call >= 0)
			r = seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 0);
	}
	if (r == 0)
		r = filter_value_list(f, SCMP_SYS(bpf), filter_bpf, ARRAY_SIZE(filter_bpf));
	if (r == 0)
		r = filter_value_list(f, SCMP_SYS(prctl), filter_prctl, ARRAY_SIZE(filter_prctl));
	if (r == 0)
		r = filter_value_list(f, SCMP_SYS(socketpair), unix_only, ARRAY_SIZE(unix_only));
	/* Permits threads and forks, which inherit this filter, in the existing namespaces. */
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, NAMESPACES, 0));
	return r;
}

/* Passes no filter: a kernel with filters fails to read it (EFAULT), others do not know the mode. */
bool privilege_can_filter(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) < 0 && errno == EFAULT;
}

/* Installs the rules of `fill`, with `otherwise` for all other calls. */
static int filter_load(uint32_t otherwise, int (*fill)(scmp_filter_ctx f))
{
	scmp_filter_ctx f = seccomp_init(otherwise);
	int r = f ? seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1) : -ENOMEM;

	/* Older kernels enable a mitigation along with filters, which protects against untrusted code in the same process:
	 * there is none. */
	if (r == 0)
		r = seccomp_attr_set(f, SCMP_FLTATR_CTL_SSB, 1);
	if (r == 0)
		r = fill(f);
	if (r == 0)
		r = seccomp_load(f);
	seccomp_release(f);
	return r;
}

int filter_install(struct error *err)
{
	int r = 0;

	if (!SANITIZED && privilege_can_filter())
		r = filter_load(SCMP_ACT_ERRNO(ENOSYS), filter_fill);
	return r < 0 ? error_errno(err, r, "cannot install the recorder's filter of system calls")
		     : 0;
}

static int fill_no_modules(scmp_filter_ctx f)
{
	return seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOENT), SCMP_SYS(bpf), 1,
				SCMP_A0(SCMP_CMP_EQ, BPF_BTF_GET_NEXT_ID));
}

int filter_hide_modules(struct error *err)
{
	int r = privilege_can_filter() ? filter_load(SCMP_ACT_ALLOW, fill_no_modules) : 0;

	return r < 0 ? error_errno(err, r, "cannot do without the types of kernel modules") : 0;
}
