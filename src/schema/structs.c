/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/structs.h"

#include <string.h>

#define IN	       0
#define OUT	       WIRE_DETAIL_OUT
#define FIXED(size)    WIRE_DETAIL_FIXED, size, 0
#define TIMES(size, n) WIRE_DETAIL_COUNTED, size, n
#define RETURNED(size) WIRE_DETAIL_RETURNED, size, 0

static const struct {
	const char *name;
	uint8_t arg;
	enum struct_type type;
	uint8_t how; /* enum wire_detail_how */
	uint16_t size;
	uint8_t len, flags;
} struct_args[] = {
	{"stat", 1, STRUCT_STAT, FIXED(144), OUT},
	{"fstat", 1, STRUCT_STAT, FIXED(144), OUT},
	{"lstat", 1, STRUCT_STAT, FIXED(144), OUT},
	{"newfstatat", 2, STRUCT_STAT, FIXED(144), OUT},
	{"statx", 4, STRUCT_STATX, FIXED(256), OUT},
	{"statfs", 1, STRUCT_STATFS, FIXED(120), OUT},
	{"fstatfs", 1, STRUCT_STATFS, FIXED(120), OUT},
	{"poll", 0, STRUCT_POLL, TIMES(8, 1), IN},
	{"ppoll", 0, STRUCT_POLL, TIMES(8, 1), IN},
	{"ppoll", 2, STRUCT_TIMESPEC, FIXED(16), IN},
	{"ppoll", 3, STRUCT_SIGSET, FIXED(8), IN},
	{"select", 1, STRUCT_FD_SET, WIRE_DETAIL_SET, 0, 0, IN},
	{"select", 2, STRUCT_FD_SET, WIRE_DETAIL_SET, 0, 0, IN},
	{"select", 3, STRUCT_FD_SET, WIRE_DETAIL_SET, 0, 0, IN},
	{"select", 4, STRUCT_TIMEVAL, FIXED(16), IN},
	{"pselect6", 1, STRUCT_FD_SET, WIRE_DETAIL_SET, 0, 0, IN},
	{"pselect6", 2, STRUCT_FD_SET, WIRE_DETAIL_SET, 0, 0, IN},
	{"pselect6", 3, STRUCT_FD_SET, WIRE_DETAIL_SET, 0, 0, IN},
	{"pselect6", 4, STRUCT_TIMESPEC, FIXED(16), IN},
	{"epoll_wait", 1, STRUCT_EPOLL, RETURNED(12), OUT},
	{"epoll_pwait", 1, STRUCT_EPOLL, RETURNED(12), OUT},
	{"epoll_pwait", 4, STRUCT_SIGSET, FIXED(8), IN},
	{"epoll_pwait2", 1, STRUCT_EPOLL, RETURNED(12), OUT},
	{"epoll_pwait2", 3, STRUCT_TIMESPEC, FIXED(16), IN},
	{"epoll_pwait2", 4, STRUCT_SIGSET, FIXED(8), IN},
	{"sched_setaffinity", 2, STRUCT_CPUS, TIMES(1, 1), IN},
	{"sched_getaffinity", 2, STRUCT_CPUS, RETURNED(1), OUT},
	{"getgroups", 1, STRUCT_IDS, RETURNED(4), OUT},
	{"setgroups", 1, STRUCT_IDS, TIMES(4, 0), IN},
	{"times", 0, STRUCT_TMS, FIXED(32), OUT},
	{"prctl", 1, STRUCT_PRCTL, WIRE_DETAIL_STRING, 16, 0, IN},
	{"mount", 4, STRUCT_TEXT, WIRE_DETAIL_STRING, WIRE_DETAIL_TEXT, 0, IN},
	{"bind", 1, STRUCT_ADDRESS, TIMES(1, 2), IN},
	{"connect", 1, STRUCT_ADDRESS, TIMES(1, 2), IN},
	{"getsockname", 1, STRUCT_ADDRESS, FIXED(12), OUT},
	{"getpeername", 1, STRUCT_ADDRESS, FIXED(12), OUT},
	{"epoll_ctl", 3, STRUCT_EPOLL, FIXED(12), IN},
	{"rt_sigaction", 1, STRUCT_SIGACTION, FIXED(32), IN},
	{"rt_sigaction", 2, STRUCT_SIGACTION, FIXED(32), OUT},
	{"rt_sigprocmask", 1, STRUCT_SIGSET, FIXED(8), IN},
	{"rt_sigprocmask", 2, STRUCT_SIGSET, FIXED(8), OUT},
	{"rt_sigpending", 0, STRUCT_SIGSET, FIXED(8), OUT},
	{"rt_sigsuspend", 0, STRUCT_SIGSET, FIXED(8), IN},
	{"rt_sigtimedwait", 0, STRUCT_SIGSET, FIXED(8), IN},
	{"rt_sigtimedwait", 1, STRUCT_SIGINFO, FIXED(48), OUT},
	{"rt_sigtimedwait", 2, STRUCT_TIMESPEC, FIXED(16), IN},
	{"signalfd4", 1, STRUCT_SIGSET, FIXED(8), IN},
	{"sigaltstack", 0, STRUCT_STACK, FIXED(24), IN},
	{"sigaltstack", 1, STRUCT_STACK, FIXED(24), OUT},
	{"ioctl", 2, STRUCT_IOCTL, FIXED(64), IN},
	{"fcntl", 2, STRUCT_FCNTL, FIXED(32), IN},
	{"nanosleep", 0, STRUCT_TIMESPEC, FIXED(16), IN},
	{"nanosleep", 1, STRUCT_TIMESPEC, FIXED(16), IN},
	{"clock_nanosleep", 2, STRUCT_TIMESPEC, FIXED(16), IN},
	{"clock_nanosleep", 3, STRUCT_TIMESPEC, FIXED(16), IN},
	{"clock_gettime", 1, STRUCT_TIMESPEC, FIXED(16), OUT},
	{"clock_getres", 1, STRUCT_TIMESPEC, FIXED(16), OUT},
	{"clock_settime", 1, STRUCT_TIMESPEC, FIXED(16), IN},
	{"gettimeofday", 0, STRUCT_TIMEVAL, FIXED(16), OUT},
	{"utimensat", 2, STRUCT_TIMESPECS, FIXED(32), IN},
	{"utimes", 1, STRUCT_TIMEVALS, FIXED(32), IN},
	{"futimesat", 2, STRUCT_TIMEVALS, FIXED(32), IN},
	{"futex", 3, STRUCT_TIMESPEC, FIXED(16), IN},
	{"getitimer", 1, STRUCT_ITIMERVAL, FIXED(32), OUT},
	{"setitimer", 1, STRUCT_ITIMERVAL, FIXED(32), IN},
	{"setitimer", 2, STRUCT_ITIMERVAL, FIXED(32), OUT},
	{"timer_settime", 2, STRUCT_ITIMERSPEC, FIXED(32), IN},
	{"timer_settime", 3, STRUCT_ITIMERSPEC, FIXED(32), OUT},
	{"timer_gettime", 1, STRUCT_ITIMERSPEC, FIXED(32), OUT},
	{"timerfd_settime", 2, STRUCT_ITIMERSPEC, FIXED(32), IN},
	{"timerfd_settime", 3, STRUCT_ITIMERSPEC, FIXED(32), OUT},
	{"timerfd_gettime", 1, STRUCT_ITIMERSPEC, FIXED(32), OUT},
	{"getrlimit", 1, STRUCT_RLIMIT, FIXED(16), OUT},
	{"setrlimit", 1, STRUCT_RLIMIT, FIXED(16), IN},
	{"prlimit64", 2, STRUCT_RLIMIT, FIXED(16), IN},
	{"prlimit64", 3, STRUCT_RLIMIT, FIXED(16), OUT},
	{"getrusage", 1, STRUCT_RUSAGE, FIXED(144), OUT},
	{"wait4", 1, STRUCT_STATUS, FIXED(4), OUT},
	{"wait4", 3, STRUCT_RUSAGE, FIXED(144), OUT},
	{"waitid", 2, STRUCT_SIGINFO, FIXED(48), OUT},
	{"uname", 0, STRUCT_UNAME, FIXED(390), OUT},
	{"sysinfo", 0, STRUCT_SYSINFO, FIXED(112), OUT},
	{"execve", 1, STRUCT_STRINGS, WIRE_DETAIL_STRINGS, 0, 0, IN},
	{"execveat", 2, STRUCT_STRINGS, WIRE_DETAIL_STRINGS, 0, 0, IN},
	{"getcwd", 0, STRUCT_TEXT, WIRE_DETAIL_STRING, WIRE_DETAIL_MOST, 0, OUT},
	{"readlink", 1, STRUCT_BYTES, RETURNED(1), OUT},
	{"readlinkat", 2, STRUCT_BYTES, RETURNED(1), OUT},
	{"getrandom", 0, STRUCT_RANDOM, RETURNED(1), OUT | WIRE_DETAIL_DATA},
	{"accept", 2, STRUCT_ROOM, WIRE_DETAIL_ROOM, 4, 0, OUT},
	{"accept4", 2, STRUCT_ROOM, WIRE_DETAIL_ROOM, 4, 0, OUT},
	{"recvfrom", 5, STRUCT_ROOM, WIRE_DETAIL_ROOM, 4, 0, OUT},
	{"getsockname", 2, STRUCT_ROOM, WIRE_DETAIL_ROOM, 4, 0, OUT},
	{"getpeername", 2, STRUCT_ROOM, WIRE_DETAIL_ROOM, 4, 0, OUT},
	{"setsockopt", 3, STRUCT_OPTION, TIMES(1, 4), IN},
	{"getsockopt", 3, STRUCT_OPTION, WIRE_DETAIL_LENGTH_AT, 1, 4, OUT},
	{"getsockopt", 4, STRUCT_INT, FIXED(4), OUT},
	{"openat2", 2, STRUCT_HOW, FIXED(24), IN},
	{"clone3", 0, STRUCT_CLONE, FIXED(88), IN},
	{"setxattr", 2, STRUCT_BYTES, TIMES(1, 3), WIRE_DETAIL_DATA},
	{"lsetxattr", 2, STRUCT_BYTES, TIMES(1, 3), WIRE_DETAIL_DATA},
	{"fsetxattr", 2, STRUCT_BYTES, TIMES(1, 3), WIRE_DETAIL_DATA},
	{"getxattr", 2, STRUCT_BYTES, RETURNED(1), OUT | WIRE_DETAIL_DATA},
	{"lgetxattr", 2, STRUCT_BYTES, RETURNED(1), OUT | WIRE_DETAIL_DATA},
	{"fgetxattr", 2, STRUCT_BYTES, RETURNED(1), OUT | WIRE_DETAIL_DATA},
	{"listxattr", 1, STRUCT_BYTES, RETURNED(1), OUT | WIRE_DETAIL_DATA},
	{"llistxattr", 1, STRUCT_BYTES, RETURNED(1), OUT | WIRE_DETAIL_DATA},
	{"flistxattr", 1, STRUCT_BYTES, RETURNED(1), OUT | WIRE_DETAIL_DATA},
};

/* The argument of a call with this role; OP_ARGS: none. */
static uint8_t arg_of_role(const struct op_def *def, enum arg_role role)
{
	uint8_t i = 0;

	while (i < def->arg_count && def->args[i].role != role)
		i++;
	return i < def->arg_count ? i : OP_ARGS;
}

/* What the role alone implies. */
static struct struct_arg struct_by_role(uint32_t code, const struct op_def *def, unsigned int i)
{
	bool out = op_way(code) != OP_WAY_OUT;
	uint8_t next = (uint8_t)(i + 1), flags = out ? WIRE_DETAIL_OUT : 0;

	switch (def->args[i].role) {
	case ARG_PATH:
	case ARG_PATH2:
	case ARG_TARGET:
		return (struct struct_arg){
			STRUCT_TEXT, {WIRE_DETAIL_STRING, (uint8_t)i, 0, 0, WIRE_DETAIL_MOST, 0}};
	case ARG_STR:
		return (struct struct_arg){
			STRUCT_TEXT, {WIRE_DETAIL_STRING, (uint8_t)i, 0, 0, WIRE_DETAIL_TEXT, 0}};
	case ARG_BUF:
		return (struct struct_arg){STRUCT_BYTES,
					   {out ? WIRE_DETAIL_RETURNED : WIRE_DETAIL_COUNTED,
					    (uint8_t)i, arg_of_role(def, ARG_SIZE),
					    flags | WIRE_DETAIL_DATA, 1, 0}};
	case ARG_IOV:
		return (struct struct_arg){STRUCT_VECTOR,
					   {WIRE_DETAIL_VECTOR, (uint8_t)i, next, flags, 0, 0}};
	case ARG_MSG:
		return (struct struct_arg){STRUCT_MESSAGE,
					   {WIRE_DETAIL_MESSAGE, (uint8_t)i, 0, flags, 0, 0}};
	case ARG_MMSG:
		return (struct struct_arg){STRUCT_MESSAGES,
					   {WIRE_DETAIL_MESSAGES, (uint8_t)i, next, flags, 0, 0}};
	default:
		return (struct struct_arg){.type = STRUCT_NONE};
	}
}

struct struct_arg struct_arg(uint32_t code, unsigned int i)
{
	const struct op_def *def = op_def(code);

	if (!def || !def->decoded || i >= def->arg_count)
		return (struct struct_arg){.type = STRUCT_NONE};
	for (size_t n = 0; n < ARRAY_SIZE(struct_args); n++) {
		if (struct_args[n].arg == i && !strcmp(struct_args[n].name, def->name))
			return (struct struct_arg){struct_args[n].type,
						   {struct_args[n].how, (uint8_t)i,
						    struct_args[n].len, struct_args[n].flags,
						    struct_args[n].size, 0}};
	}
	return struct_by_role(code, def, i);
}
