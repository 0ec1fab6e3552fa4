/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_struct.c: prints structures that calls take or fill, like strace. Layouts are those of 64-bit Linux, which are
 * the same on all machines that weir supports, except struct stat, which is that of x86-64.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "cli/trace/call_memory.h"
#include "cli/trace/call_struct_text.h"
#include "schema/flags.h"
#include "schema/structs.h"

#define POLL_BYTES  8
#define EPOLL_BYTES 12

static void put_words_of(struct call_writer *w, const char *name, enum word_set words,
			 uint64_t value)
{
	call_put(w, "%s=", name);
	flags_print(w->to, words, value);
}

/* Structures that are pairs of numbers, or pairs of such pairs. */
static void put_pair_of(struct call_writer *w, struct bytes b, size_t at, const char *second)
{
	call_put(w, "{tv_sec=%lld, %s=%lld}", (long long)memory_u64(b, at), second,
		 (long long)memory_u64(b, at + 8));
}

static void put_times(struct call_writer *w, struct bytes b, const char *second)
{
	call_put(w, "[");
	for (size_t at = 0; at < 32; at += 16) {
		uint64_t ns = memory_u64(b, at + 8);

		call_put(w, "%s", at ? ", " : "");
		if (*second == 't' && second[3] == 'n' && ns == UTIME_NOW)
			call_put(w, "UTIME_NOW");
		else if (*second == 't' && second[3] == 'n' && ns == UTIME_OMIT)
			call_put(w, "UTIME_OMIT");
		else
			put_pair_of(w, b, at, second);
	}
	call_put(w, "]");
}

static void put_interval(struct call_writer *w, struct bytes b, const char *second)
{
	call_put(w, "{it_interval=");
	put_pair_of(w, b, 0, second);
	call_put(w, ", it_value=");
	put_pair_of(w, b, 16, second);
	call_put(w, "}");
}

static void put_stat(struct call_writer *w, struct bytes b)
{
	uint32_t mode = memory_u32(b, 24);

	call_put(w, "{st_mode=");
	flags_print_mode(w->to, mode);
	if (S_ISCHR(mode) || S_ISBLK(mode)) {
		call_put(w, ", st_rdev=");
		flags_print_dev(w->to, memory_u64(b, 40));
	} else {
		call_put(w, ", st_size=%lld", (long long)memory_u64(b, 48));
	}
	call_put(w, ", ...}");
}

static void put_statx(struct call_writer *w, struct bytes b)
{
	put_words_of(w, "{stx_mask", WORDS_STATX, memory_u32(b, 0));
	call_put(w, ", stx_attributes=%s%llx, stx_mode=", memory_u64(b, 8) ? "0x" : "",
		 (unsigned long long)memory_u64(b, 8));
	flags_print_mode(w->to, memory_u16(b, 28));
	call_put(w, ", stx_size=%llu, ...}", (unsigned long long)memory_u64(b, 40));
}

static void put_statfs(struct call_writer *w, struct bytes b)
{
	static const struct {
		const char *name;
		size_t at;
	} numbers[] = {{"f_bsize", 8},	 {"f_blocks", 16}, {"f_bfree", 24},
		       {"f_bavail", 32}, {"f_files", 40},  {"f_ffree", 48}};
	const char *type = struct_fs_name(memory_u64(b, 0));

	if (type)
		call_put(w, "{f_type=%s", type);
	else
		call_put(w, "{f_type=%#llx", (unsigned long long)memory_u64(b, 0));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		call_put(w, ", %s=%llu", numbers[i].name,
			 (unsigned long long)memory_u64(b, numbers[i].at));
	call_put(w, ", f_fsid={val=[%#x, %#x]}, f_namelen=%llu, f_frsize=%llu, f_flags=",
		 memory_u32(b, 56), memory_u32(b, 60), (unsigned long long)memory_u64(b, 64),
		 (unsigned long long)memory_u64(b, 72));
	struct_put_mount_flags(w, memory_u64(b, 80));
	call_put(w, "}");
}

static void put_limit(struct call_writer *w, const char *name, uint64_t v)
{
	call_put(w, "%s=", name);
	if (v == UINT64_MAX)
		call_put(w, "RLIM64_INFINITY");
	else if (v > 1024 && v % 1024 == 0)
		call_put(w, "%llu*1024", (unsigned long long)(v / 1024));
	else
		call_put(w, "%llu", (unsigned long long)v);
}

static void put_rlimit(struct call_writer *w, struct bytes b)
{
	call_put(w, "{");
	put_limit(w, "rlim_cur", memory_u64(b, 0));
	put_limit(w, ", rlim_max", memory_u64(b, 8));
	call_put(w, "}");
}

static void put_rusage(struct call_writer *w, struct bytes b)
{
	call_put(w, "{ru_utime=");
	put_pair_of(w, b, 0, "tv_usec");
	call_put(w, ", ru_stime=");
	put_pair_of(w, b, 16, "tv_usec");
	call_put(w, ", ...}");
}

static void put_poll(struct call_writer *w, struct bytes b)
{
	uint64_t count = (uint64_t)call_value(w, OP_A1, 0);

	call_put(w, "[");
	for (size_t at = 0; at + POLL_BYTES <= b.len; at += POLL_BYTES) {
		call_put(w, "%s{fd=%d", at ? ", " : "", (int32_t)memory_u32(b, at));
		if ((int32_t)memory_u32(b, at) >= 0)
			put_words_of(w, ", events", WORDS_POLL, memory_u16(b, at + 4));
		call_put(w, "}");
	}
	call_put(w, count > b.len / POLL_BYTES ? ", ...]" : "]");
}

static void put_epoll_event(struct call_writer *w, struct bytes b, size_t at)
{
	put_words_of(w, "{events", WORDS_EPOLL_EVENT, memory_u32(b, at));
	call_put(w, ", data={u32=%u, u64=%llu}}", memory_u32(b, at + 4),
		 (unsigned long long)memory_u64(b, at + 4));
}

static void put_epoll(struct call_writer *w, struct bytes b)
{
	int64_t ret = call_value(w, OP_RET, 0);

	if (call_is(w, "epoll_ctl")) {
		put_epoll_event(w, b, 0);
		return;
	}
	call_put(w, "[");
	for (size_t at = 0; at + EPOLL_BYTES <= b.len; at += EPOLL_BYTES) {
		call_put(w, "%s", at ? ", " : "");
		put_epoll_event(w, b, at);
	}
	call_put(w, ret > 0 && (size_t)ret > b.len / EPOLL_BYTES ? ", ...]" : "]");
}

/* The numbers of the first count bits that are set: "[3 5]" */
static void put_set_bits(struct call_writer *w, struct bytes b, uint64_t count)
{
	const char *separator = "[";

	for (uint64_t i = 0; i < MIN(count, b.len * 8); i++) {
		if (!(b.data[i / 8] >> (i % 8) & 1))
			continue;
		call_put(w, "%s%llu", separator, (unsigned long long)i);
		separator = " ";
	}
	if (count > b.len * 8)
		call_put(w, "%s...", separator);
	call_put(w, *separator == '[' && count <= b.len * 8 ? "[]" : "]");
}

static void put_sigaction(struct call_writer *w, struct bytes b)
{
	uint64_t handler = memory_u64(b, 0), flags = memory_u64(b, 8);

	call_put(w, "{sa_handler=");
	if (handler > 1)
		call_put(w, "%#llx", (unsigned long long)handler);
	else
		call_put(w, handler ? "SIG_IGN" : "SIG_DFL");
	call_put(w, ", sa_mask=");
	struct_put_sigset(w, memory_u64(b, 24));
	call_put(w, ", sa_flags=");
	struct_put_action_flags(w, flags);
	if (flags & 0x04000000)
		call_put(w, ", sa_restorer=%#llx", (unsigned long long)memory_u64(b, 16));
	call_put(w, "}");
}

static void put_stack(struct call_writer *w, struct bytes b)
{
	uint32_t flags = memory_u32(b, 8);

	call_put(w, "{ss_sp=");
	if (memory_u64(b, 0))
		call_put(w, "%#llx", (unsigned long long)memory_u64(b, 0));
	else
		call_put(w, "NULL");
	call_put(w, ", ss_flags=%s", flags == 1 ? "SS_ONSTACK" : flags == 2 ? "SS_DISABLE" : "0");
	call_put(w, ", ss_size=%#llx}", (unsigned long long)memory_u64(b, 16));
}

/* The status of a child from wait4(). */
static void struct_put_status(struct call_writer *w, struct bytes b)
{
	int status = (int)memory_u32(b, 0);

	call_put(w, "[{");
	if (WIFSTOPPED(status)) {
		call_put(w, "WIFSTOPPED(s) && WSTOPSIG(s) == ");
		flags_print(w->to, WORDS_SIGNAL, (uint64_t)WSTOPSIG(status));
	} else if (WIFSIGNALED(status)) {
		call_put(w, "WIFSIGNALED(s) && WTERMSIG(s) == ");
		flags_print(w->to, WORDS_SIGNAL, (uint64_t)WTERMSIG(status));
		call_put(w, WCOREDUMP(status) ? " && WCOREDUMP(s)" : "");
	} else if (WIFCONTINUED(status)) {
		call_put(w, "WIFCONTINUED(s)");
	} else {
		call_put(w, "WIFEXITED(s) && WEXITSTATUS(s) == %d", WEXITSTATUS(status));
	}
	call_put(w, "}]");
}

static void struct_put_text(struct call_writer *w, struct bytes b)
{
	const uint8_t *end = memchr(b.data, 0, b.len);

	call_put(w, "\"");
	call_text_escape(w->to, (struct bytes){b.data, end ? (size_t)(end - b.data) : b.len}, "\"");
	call_put(w, end ? "\"" : "\"...");
}

static void put_uname(struct call_writer *w, struct bytes b)
{
	size_t field = sizeof(((struct utsname *)NULL)->sysname);

	call_put(w, "{sysname=");
	struct_put_text(w, (struct bytes){b.data, MIN(field, b.len)});
	call_put(w, ", nodename=");
	if (b.len > field)
		struct_put_text(w, (struct bytes){b.data + field, MIN(field, b.len - field)});
	call_put(w, ", ...}");
}

static void put_sysinfo(struct call_writer *w, struct bytes b)
{
	static const struct {
		const char *name;
		size_t at;
	} numbers[] = {{"totalram", 32},  {"freeram", 40},   {"sharedram", 48},
		       {"bufferram", 56}, {"totalswap", 64}, {"freeswap", 72}};

	call_put(w, "{uptime=%llu, loads=[%llu, %llu, %llu]", (unsigned long long)memory_u64(b, 0),
		 (unsigned long long)memory_u64(b, 8), (unsigned long long)memory_u64(b, 16),
		 (unsigned long long)memory_u64(b, 24));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		call_put(w, ", %s=%llu", numbers[i].name,
			 (unsigned long long)memory_u64(b, numbers[i].at));
	call_put(w, ", procs=%u, totalhigh=%llu, freehigh=%llu, mem_unit=%u}", memory_u16(b, 80),
		 (unsigned long long)memory_u64(b, 88), (unsigned long long)memory_u64(b, 96),
		 memory_u32(b, 104));
}

static void put_random(struct call_writer *w, struct bytes b)
{
	uint64_t whole = (uint64_t)MAX(call_value(w, OP_RET, 0), 0);

	call_put(w, "\"");
	for (size_t i = 0; i < b.len; i++)
		call_put(w, "\\x%02x", b.data[i]);
	call_put(w, b.len < whole ? "\"..." : "\"");
}

static void struct_put_option(struct call_writer *w, struct bytes b)
{
	bool linger = call_value(w, OP_A1, -1) == SOL_SOCKET &&
		      call_value(w, OP_A2, -1) == SO_LINGER && b.len == 8;

	if (linger)
		call_put(w, "{l_onoff=%d, l_linger=%d}", (int32_t)memory_u32(b, 0),
			 (int32_t)memory_u32(b, 4));
	else if (b.len == 4)
		call_put(w, "[%d]", (int32_t)memory_u32(b, 0));
	else
		call_put_content(w, b, b.len);
}

static void put_how(struct call_writer *w, struct bytes b)
{
	put_words_of(w, "{flags", WORDS_OPEN, memory_u64(b, 0));
	if (memory_u64(b, 8)) {
		call_put(w, ", mode=");
		flags_print_mode(w->to, memory_u64(b, 8));
	}
	put_words_of(w, ", resolve", WORDS_RESOLVE, memory_u64(b, 16));
	call_put(w, "}");
}

static void put_clone_args(struct call_writer *w, struct bytes b)
{
	static const struct {
		const char *name;
		size_t at;
		uint64_t flags; /* the field is unused unless one of these flags is set */
	} ids[] = {{"pidfd", 8, CLONE_PIDFD},
		   {"child_tid", 16, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID},
		   {"parent_tid", 24, CLONE_PARENT_SETTID}};
	uint64_t flags = memory_u64(b, 0);

	put_words_of(w, "{flags", WORDS_CLONE, flags);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		if (flags & ids[i].flags)
			call_put(w, ", %s=%#llx", ids[i].name,
				 (unsigned long long)memory_u64(b, ids[i].at));
	}
	call_put(w, ", exit_signal=");
	if (memory_u64(b, 32))
		flags_print(w->to, WORDS_SIGNAL, memory_u64(b, 32));
	else
		call_put(w, "0");
	if (memory_u64(b, 40))
		call_put(w, ", stack=%#llx", (unsigned long long)memory_u64(b, 40));
	else
		call_put(w, ", stack=NULL");
	call_put(w, ", stack_size=%#llx", (unsigned long long)memory_u64(b, 48));
	if (flags & CLONE_SETTLS)
		call_put(w, ", tls=%#llx", (unsigned long long)memory_u64(b, 56));
	call_put(w, "}");
}

static bool put_fcntl(struct call_writer *w, struct bytes b)
{
	int64_t command = call_value(w, OP_A1, -1) & UINT32_MAX;
	bool get = command == F_GETLK || command == F_OFD_GETLK;
	bool set = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
		   command == F_OFD_SETLKW;
	uint16_t type = memory_u16(b, 0);

	if (!get && !set)
		return false;
	call_put(w, "{l_type=%s, l_whence=",
		 type == F_RDLCK   ? "F_RDLCK"
		 : type == F_WRLCK ? "F_WRLCK"
				   : "F_UNLCK");
	flags_print(w->to, WORDS_WHENCE, memory_u16(b, 2));
	call_put(w, ", l_start=%lld, l_len=%lld", (long long)memory_u64(b, 8),
		 (long long)memory_u64(b, 16));
	if (get)
		call_put(w, ", l_pid=%d", (int32_t)memory_u32(b, 24));
	call_put(w, "}");
	return true;
}

/* A pointer to a length that the call updates. */
static void put_room(struct call_writer *w, uint64_t address, struct bytes b)
{
	int64_t was = 0;

	call_memory_was(w, address, &was);
	if (was && was != UINT32_MAX && (uint32_t)was != memory_u32(b, 0))
		call_put(w, "[%lld => %u]", (long long)was, memory_u32(b, 0));
	else
		call_put(w, "[%u]", memory_u32(b, 0));
}

/* The number of bytes in a buffer that a call moved, or was to move. */
static uint64_t buffer_bytes(const struct call_writer *w, const struct wire_detail_step *s)
{
	int64_t ret = call_value(w, OP_RET, 0);

	if (s->flags & WIRE_DETAIL_OUT || s->how == WIRE_DETAIL_RETURNED)
		return ret > 0 ? (uint64_t)ret : 0;
	return (uint64_t)call_value(w, OP_SIZE, 0);
}

static bool put_buffer(struct call_writer *w, const struct wire_detail_step *s, struct bytes b)
{
	uint64_t whole = buffer_bytes(w, s);

	if (!b.data)
		b = call_memory_content(w);
	/* an empty buffer has nothing to print */
	if (!b.data && (whole || !call_memory_recorded(w) || call_value(w, OP_RET, -1) < 0 ||
			!w->style->content_max))
		return false;
	call_put_content(w, b, whole);
	return true;
}

/* True if the call left the argument unchanged: nanosleep() fills in the remainder only when interrupted. */
static bool is_left_alone(const struct call_writer *w, unsigned int i)
{
	bool rest =
		(call_is(w, "nanosleep") && i == 1) || (call_is(w, "clock_nanosleep") && i == 3);
	/* on exit, select's timeout holds the remaining time */
	bool left = call_is(w, "select") && i == 4;

	/* EPOLL_CTL_DEL ignores the event */
	bool unused = call_is(w, "epoll_ctl") && call_value(w, OP_A1, 0) == EPOLL_CTL_DEL;

	return (rest && call_value(w, OP_RET, 0) >= 0) || left || unused ||
	       (call_is(w, "wait4") && i == 1 && call_value(w, OP_RET, 0) == 0);
}

/* Structures whose bytes are sufficient to print them. */
static void put_timespec(struct call_writer *w, struct bytes b)
{
	put_pair_of(w, b, 0, "tv_nsec");
}

static void put_timeval(struct call_writer *w, struct bytes b)
{
	put_pair_of(w, b, 0, "tv_usec");
}

static void put_timespecs(struct call_writer *w, struct bytes b)
{
	put_times(w, b, "tv_nsec");
}

static void put_timevals(struct call_writer *w, struct bytes b)
{
	put_times(w, b, "tv_usec");
}

static void put_itimerspec(struct call_writer *w, struct bytes b)
{
	put_interval(w, b, "tv_nsec");
}

static void put_itimerval(struct call_writer *w, struct bytes b)
{
	put_interval(w, b, "tv_usec");
}

static void struct_put_int(struct call_writer *w, struct bytes b)
{
	call_put(w, "[%d]", (int32_t)memory_u32(b, 0));
}

static void put_sigset(struct call_writer *w, struct bytes b)
{
	struct_put_sigset(w, memory_u64(b, 0));
}

static void put_fd_set_given(struct call_writer *w, uint64_t address, struct bytes b)
{
	struct bytes given = call_memory_was(w, address, NULL);

	put_set_bits(w, given.data ? given : b, (uint64_t)call_value(w, OP_A0, 0));
}

/* Prints a set of CPUs like strace: "[0 2]" */
static void put_cpus(struct call_writer *w, struct bytes b)
{
	put_set_bits(w, b, 8 * (uint64_t)b.len);
}

static void put_ids(struct call_writer *w, struct bytes b)
{
	call_put(w, "[");
	for (size_t at = 0; at + 4 <= b.len; at += 4)
		call_put(w, "%s%u", at ? ", " : "", memory_u32(b, at));
	call_put(w, "]");
}

static void put_tms(struct call_writer *w, struct bytes b)
{
	call_put(w, "{tms_utime=%llu, tms_stime=%llu, tms_cutime=%llu, tms_cstime=%llu}",
		 (unsigned long long)memory_u64(b, 0), (unsigned long long)memory_u64(b, 8),
		 (unsigned long long)memory_u64(b, 16), (unsigned long long)memory_u64(b, 24));
}

/* Prints a netlink address; addresses of other families are in the call's row. */
static bool put_netlink(struct call_writer *w, struct bytes b)
{
	if (b.len < 12 || memory_u16(b, 0) != AF_NETLINK)
		return false;
	call_put(w, "{sa_family=AF_NETLINK, nl_pid=%d, nl_groups=%08x}", (int32_t)memory_u32(b, 4),
		 memory_u32(b, 8));
	return true;
}

static bool put_struct_of(struct call_writer *w, enum struct_type type, uint64_t address,
			  struct bytes b)
{
	static void (*const printers[])(struct call_writer *w, struct bytes b) = {
		[STRUCT_TEXT] = struct_put_text,
		[STRUCT_RANDOM] = put_random,
		[STRUCT_INT] = struct_put_int,
		[STRUCT_STATUS] = struct_put_status,
		[STRUCT_STAT] = put_stat,
		[STRUCT_STATX] = put_statx,
		[STRUCT_STATFS] = put_statfs,
		[STRUCT_TIMESPEC] = put_timespec,
		[STRUCT_TIMESPECS] = put_timespecs,
		[STRUCT_TIMEVAL] = put_timeval,
		[STRUCT_TIMEVALS] = put_timevals,
		[STRUCT_ITIMERSPEC] = put_itimerspec,
		[STRUCT_ITIMERVAL] = put_itimerval,
		[STRUCT_RLIMIT] = put_rlimit,
		[STRUCT_RUSAGE] = put_rusage,
		[STRUCT_POLL] = put_poll,
		[STRUCT_EPOLL] = put_epoll,
		[STRUCT_SIGSET] = put_sigset,
		[STRUCT_SIGACTION] = put_sigaction,
		[STRUCT_SIGINFO] = struct_put_siginfo,
		[STRUCT_STACK] = put_stack,
		[STRUCT_UNAME] = put_uname,
		[STRUCT_SYSINFO] = put_sysinfo,
		[STRUCT_OPTION] = struct_put_option,
		[STRUCT_HOW] = put_how,
		[STRUCT_CLONE] = put_clone_args,
		[STRUCT_CPUS] = put_cpus,
		[STRUCT_IDS] = put_ids,
		[STRUCT_TMS] = put_tms,
	};

	if (type == STRUCT_FCNTL)
		return put_fcntl(w, b);
	if (type == STRUCT_ADDRESS)
		return put_netlink(w, b);
	if (type == STRUCT_IOCTL)
		return struct_put_ioctl(w, (uint32_t)call_value(w, OP_A1, 0), b);
	if (type == STRUCT_ROOM)
		put_room(w, address, b);
	else if (type == STRUCT_FD_SET)
		put_fd_set_given(w, address, b);
	else if (type < ARRAY_SIZE(printers) && printers[type])
		printers[type](w, b);
	else
		return false;
	return true;
}

bool call_put_struct(struct call_writer *w, unsigned int i)
{
	uint64_t address = call_memory_address(w, i);
	int64_t code = call_value(w, OP_OP, -1), ret = call_value(w, OP_RET, -1);
	struct bytes b = call_memory(w, address);
	struct struct_arg a;

	if (w->style->brief || code < 0 || (!call_memory_recorded(w) && !w->style->content.count))
		return false;
	a = struct_arg((uint32_t)code, i);
	if (a.type == STRUCT_BYTES)
		return put_buffer(w, &a.step, b);
	if (a.type == STRUCT_VECTOR && (b.data || !address)) {
		call_put_vector(w, address, (uint64_t)call_value(w, OP_A0 + i + 1, 0),
				a.step.flags & WIRE_DETAIL_OUT ? (uint64_t)MAX(ret, 0)
							       : UINT64_MAX);
		return true;
	}
	if (a.type == STRUCT_MESSAGE && b.data) {
		call_put_message(w, address,
				 a.step.flags & WIRE_DETAIL_OUT ? (uint64_t)MAX(ret, 0)
								: UINT64_MAX);
		return true;
	}
	if (a.type == STRUCT_MESSAGES && b.data) {
		call_put_messages(w, address);
		return true;
	}
	if (a.type == STRUCT_EPOLL && !b.data && ret == 0 && call_memory_recorded(w) && address)
		call_put(w, "[]");
	else if (!b.data || is_left_alone(w, i))
		return false;
	else
		return put_struct_of(w, a.type, address, b);
	return true;
}

/* ---- after the result ---- */

static void put_poll_result(struct call_writer *w)
{
	struct bytes b = call_memory(w, call_memory_address(w, 0));
	const char *separator = " ([";

	for (size_t at = 0; at + POLL_BYTES <= b.len; at += POLL_BYTES) {
		if (!memory_u16(b, at + 6))
			continue;
		call_put(w, "%s{fd=%d, ", separator, (int32_t)memory_u32(b, at));
		put_words_of(w, "revents", WORDS_POLL, memory_u16(b, at + 6));
		call_put(w, "}");
		separator = ", ";
	}
	if (*separator == ',')
		call_put(w, "%s",
			 (uint64_t)call_value(w, OP_A1, 0) > b.len / POLL_BYTES ? ", ...])" : "])");
}

/* " (in [3], left {tv_sec=0, tv_usec=999998})" */
static void put_select_result(struct call_writer *w)
{
	static const char *const names[] = {"in", "out", "except"};
	struct bytes left = call_memory(w, call_memory_address(w, 4));
	const char *separator = " (";

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		struct bytes b = call_memory(w, call_memory_address(w, 1 + i));
		bool any = false;

		for (size_t n = 0; n < b.len && !any; n++)
			any = b.data[n];
		if (!any || call_value(w, OP_RET, 0) <= 0)
			continue;
		call_put(w, "%s%s ", separator, names[i]);
		put_set_bits(w, b, (uint64_t)call_value(w, OP_A0, 0));
		separator = ", ";
	}
	if (left.len && call_value(w, OP_RET, 0) > 0) {
		call_put(w, "%sleft ", separator);
		put_pair_of(w, left, 0, call_is(w, "select") ? "tv_usec" : "tv_nsec");
		separator = ", ";
	}
	call_put(w, *separator == ',' ? ")" : "");
}

void call_put_result_struct(struct call_writer *w)
{
	int64_t ret = call_value(w, OP_RET, -1);

	if (ret < 0 || w->style->brief)
		return;
	if (call_is(w, "poll") || call_is(w, "ppoll"))
		put_poll_result(w);
	else if (call_is(w, "select") || call_is(w, "pselect6"))
		put_select_result(w);
}
