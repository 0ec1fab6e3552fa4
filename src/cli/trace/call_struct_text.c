/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/call_struct_text.h"

#include <asm/ioctls.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/statvfs.h>

#include "schema/flags.h"

#define SIGNALS	   64
#define SIGNAL_RT  32 /* the first real-time signal, in the kernel's numbering */
#define MOSTLY_SET 42 /* for a set with more signals the others are printed */

struct bit_name {
	uint64_t bit;
	const char *name;
};

static void put_bits(struct call_writer *w, const struct bit_name *names, size_t count,
		     uint64_t value)
{
	const char *separator = "";

	for (size_t i = 0; i < count; i++) {
		if (!(value & names[i].bit))
			continue;
		call_put(w, "%s%s", separator, names[i].name);
		value &= ~names[i].bit;
		separator = "|";
	}
	if (value || !*separator)
		call_put(w, value ? "%s%#llx" : "%s%llu", separator, (unsigned long long)value);
}

const char *struct_fs_name(uint64_t magic)
{
	static const struct {
		uint64_t magic;
		const char *name;
	} known[] = {
		{EXT4_SUPER_MAGIC, "EXT2_SUPER_MAGIC"},
		{TMPFS_MAGIC, "TMPFS_MAGIC"},
		{PROC_SUPER_MAGIC, "PROC_SUPER_MAGIC"},
		{SYSFS_MAGIC, "SYSFS_MAGIC"},
		{OVERLAYFS_SUPER_MAGIC, "OVERLAYFS_SUPER_MAGIC"},
		{XFS_SUPER_MAGIC, "XFS_SUPER_MAGIC"},
		{BTRFS_SUPER_MAGIC, "BTRFS_SUPER_MAGIC"},
		{NFS_SUPER_MAGIC, "NFS_SUPER_MAGIC"},
		{DEVPTS_SUPER_MAGIC, "DEVPTS_SUPER_MAGIC"},
		{CGROUP_SUPER_MAGIC, "CGROUP_SUPER_MAGIC"},
		{CGROUP2_SUPER_MAGIC, "CGROUP2_SUPER_MAGIC"},
		{RAMFS_MAGIC, "RAMFS_MAGIC"},
		{SQUASHFS_MAGIC, "SQUASHFS_MAGIC"},
		{SELINUX_MAGIC, "SELINUX_MAGIC"},
		{DEBUGFS_MAGIC, "DEBUGFS_MAGIC"},
		{TRACEFS_MAGIC, "TRACEFS_MAGIC"},
		{BPF_FS_MAGIC, "BPF_FS_MAGIC"},
		{FUSE_SUPER_MAGIC, "FUSE_SUPER_MAGIC"},
		{HUGETLBFS_MAGIC, "HUGETLBFS_MAGIC"},
		{V9FS_MAGIC, "V9FS_MAGIC"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].magic == magic)
			return known[i].name;
	}
	return NULL;
}

void struct_put_mount_flags(struct call_writer *w, uint64_t flags)
{
	static const struct bit_name names[] = {
		{0x20, "ST_VALID"},
		{ST_RDONLY, "ST_RDONLY"},
		{ST_NOSUID, "ST_NOSUID"},
		{ST_NODEV, "ST_NODEV"},
		{ST_NOEXEC, "ST_NOEXEC"},
		{ST_SYNCHRONOUS, "ST_SYNCHRONOUS"},
		{ST_MANDLOCK, "ST_MANDLOCK"},
		{ST_NOATIME, "ST_NOATIME"},
		{ST_NODIRATIME, "ST_NODIRATIME"},
		{ST_RELATIME, "ST_RELATIME"},
	};

	put_bits(w, names, ARRAY_SIZE(names), flags);
}

void struct_put_action_flags(struct call_writer *w, uint64_t flags)
{
	static const struct bit_name names[] = {
		{0x04000000, "SA_RESTORER"},	{SA_ONSTACK, "SA_ONSTACK"},
		{SA_RESTART, "SA_RESTART"},	{SA_INTERRUPT, "SA_INTERRUPT"},
		{SA_NODEFER, "SA_NODEFER"},	{SA_RESETHAND, "SA_RESETHAND"},
		{SA_SIGINFO, "SA_SIGINFO"},	{SA_NOCLDSTOP, "SA_NOCLDSTOP"},
		{SA_NOCLDWAIT, "SA_NOCLDWAIT"},
	};

	put_bits(w, names, ARRAY_SIZE(names), flags & UINT32_MAX);
}

void struct_put_sigset(struct call_writer *w, uint64_t set)
{
	bool others = __builtin_popcountll(set) > MOSTLY_SET;
	const char *separator = "";

	set = others ? ~set : set;
	call_put(w, others ? "~[" : "[");
	for (uint64_t n = 1; n <= SIGNALS; n++) {
		const char *name = n < SIGNAL_RT ? flags_word(WORDS_SIGNAL, n) : NULL;

		if (!(set >> (n - 1) & 1))
			continue;
		if (name)
			call_put(w, "%s%s", separator, name + 3); /* without SIG */
		else if (n == SIGNAL_RT)
			call_put(w, "%sRTMIN", separator);
		else
			call_put(w, "%sRT_%u", separator, (unsigned int)(n - SIGNAL_RT));
		separator = " ";
	}
	call_put(w, "]");
}

/* ---- siginfo_t ---- */

struct signal_codes {
	int32_t number; /* 0: any signal */
	const char *const *names;
	int32_t first, count;
};

static const char *code_name(int32_t number, int32_t code)
{
	static const char *const sent[] = {"SI_TKILL", "SI_SIGIO", "SI_ASYNCIO", "SI_MESGQ",
					   "SI_TIMER", "SI_QUEUE", "SI_USER"};
	static const char *const child[] = {"CLD_EXITED",  "CLD_KILLED",  "CLD_DUMPED",
					    "CLD_TRAPPED", "CLD_STOPPED", "CLD_CONTINUED"};
	static const char *const segv[] = {"SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR",
					   "SEGV_PKUERR"};
	static const char *const fpe[] = {"FPE_INTDIV", "FPE_INTOVF", "FPE_FLTDIV", "FPE_FLTOVF",
					  "FPE_FLTUND", "FPE_FLTRES", "FPE_FLTINV", "FPE_FLTSUB"};
	static const char *const bus[] = {"BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR",
					  "BUS_MCEERR_AO"};
	static const char *const ill[] = {"ILL_ILLOPC", "ILL_ILLOPN", "ILL_ILLADR", "ILL_ILLTRP",
					  "ILL_PRVOPC", "ILL_PRVREG", "ILL_COPROC", "ILL_BADSTK"};
	static const char *const trap[] = {"TRAP_BRKPT", "TRAP_TRACE", "TRAP_BRANCH",
					   "TRAP_HWBKPT"};
	static const char *const poll[] = {"POLL_IN",  "POLL_OUT", "POLL_MSG",
					   "POLL_ERR", "POLL_PRI", "POLL_HUP"};
	static const struct signal_codes all[] = {
		{0, sent, -6, ARRAY_SIZE(sent)},      {SIGCHLD, child, 1, ARRAY_SIZE(child)},
		{SIGSEGV, segv, 1, ARRAY_SIZE(segv)}, {SIGFPE, fpe, 1, ARRAY_SIZE(fpe)},
		{SIGBUS, bus, 1, ARRAY_SIZE(bus)},    {SIGILL, ill, 1, ARRAY_SIZE(ill)},
		{SIGTRAP, trap, 1, ARRAY_SIZE(trap)}, {SIGIO, poll, 1, ARRAY_SIZE(poll)},
	};

	if (code == SI_KERNEL)
		return "SI_KERNEL";
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if ((!all[i].number || all[i].number == number) && code >= all[i].first &&
		    code - all[i].first < all[i].count)
			return all[i].names[code - all[i].first];
	}
	return NULL;
}

static void put_signal(struct call_writer *w, int32_t number)
{
	const char *name = number > 0 && number < SIGNAL_RT
				   ? flags_word(WORDS_SIGNAL, (uint64_t)number)
				   : NULL;

	if (name)
		call_put(w, "%s", name);
	else if (number == SIGNAL_RT)
		call_put(w, "SIGRTMIN");
	else
		call_put(w, "SIGRT_%lld", (long long)number - SIGNAL_RT);
}

struct signal_parts {
	int32_t number, code, pid, status;
	uint32_t uid;
	int64_t utime, stime;
	uint64_t address;
};

/* True if the sender is recorded; other codes have a timer or a descriptor in its place. */
static bool code_has_sender(int32_t code)
{
	return code == SI_USER || code == SI_QUEUE || code == SI_TKILL || code == SI_MESGQ;
}

static void put_siginfo(struct call_writer *w, const struct signal_parts *s)
{
	const char *name = code_name(s->number, s->code);

	call_put(w, "{si_signo=");
	put_signal(w, s->number);
	if (name)
		call_put(w, ", si_code=%s", name);
	else
		call_put(w, ", si_code=%#x", (uint32_t)s->code);
	if (code_has_sender(s->code) || s->number == SIGCHLD)
		call_put(w, ", si_pid=%d, si_uid=%u", s->pid, s->uid);
	if (s->number == SIGCHLD && s->code > 0) {
		call_put(w, ", si_status=");
		if (s->code == CLD_EXITED)
			call_put(w, "%d", s->status);
		else
			put_signal(w, s->status);
		call_put(w, ", si_utime=%lld, si_stime=%lld", (long long)s->utime,
			 (long long)s->stime);
	} else if (s->code > 0 && s->code != SI_KERNEL && s->number != SIGIO) {
		if (s->address)
			call_put(w, ", si_addr=%#llx", (unsigned long long)s->address);
		else
			call_put(w, ", si_addr=NULL");
	}
	call_put(w, "}");
}

void struct_put_siginfo(struct call_writer *w, struct bytes b)
{
	const struct signal_parts s = {
		.number = (int32_t)memory_u32(b, 0),
		.code = (int32_t)memory_u32(b, 8),
		.pid = (int32_t)memory_u32(b, 16),
		.uid = memory_u32(b, 20),
		.status = (int32_t)memory_u32(b, 24),
		.utime = (int64_t)memory_u64(b, 32),
		.stime = (int64_t)memory_u64(b, 40),
		.address = memory_u64(b, 16),
	};

	if (s.number)
		put_siginfo(w, &s);
	else
		call_put(w, "{}");
}

void call_put_siginfo(struct call_writer *w, const struct batch *b, size_t row)
{
	const struct signal_parts s = {
		.number = (int32_t)batch_get(b, SIGNAL_NUMBER, row, 0),
		.code = (int32_t)batch_get(b, SIGNAL_CODE, row, 0),
		.pid = (int32_t)batch_get(b, SIGNAL_PID, row, 0),
		.uid = (uint32_t)batch_get(b, SIGNAL_UID, row, 0),
		.status = (int32_t)batch_get(b, SIGNAL_STATUS, row, 0),
		.utime = batch_get(b, SIGNAL_UTIME, row, 0),
		.stime = batch_get(b, SIGNAL_STIME, row, 0),
		.address = (uint64_t)batch_get(b, SIGNAL_ADDRESS, row, 0),
	};

	put_signal(w, s.number);
	call_put(w, " ");
	put_siginfo(w, &s);
}

/* ---- terminals ---- */

static const char *speed_name(uint32_t cflag)
{
	static const struct {
		uint32_t bits;
		const char *name;
	} speeds[] = {{0, "B0"},	  {11, "B2400"},       {12, "B4800"},
		      {13, "B9600"},	  {14, "B19200"},      {15, "B38400"},
		      {0x1001, "B57600"}, {0x1002, "B115200"}, {0x1003, "B230400"}};

	for (size_t i = 0; i < ARRAY_SIZE(speeds); i++) {
		if ((cflag & 0x100f) == speeds[i].bits)
			return speeds[i].name;
	}
	return "B?";
}

static void put_termios(struct call_writer *w, struct bytes b)
{
	uint32_t oflag = memory_u32(b, 4), cflag = memory_u32(b, 8), lflag = memory_u32(b, 12);

	call_put(w, "{%s %sopost %sisig %sicanon %secho ...}", speed_name(cflag),
		 oflag & 1 ? "" : "-", lflag & 1 ? "" : "-", lflag & 2 ? "" : "-",
		 lflag & 8 ? "" : "-");
}

bool struct_put_ioctl(struct call_writer *w, uint32_t command, struct bytes b)
{
	bool filled = call_value(w, OP_RET, -1) >= 0;

	switch (command) {
	case TCGETS:
		if (!filled)
			return false;
		put_termios(w, b);
		return true;
	case TCSETS:
	case TCSETSW:
	case TCSETSF:
		put_termios(w, b);
		return true;
	case TIOCGWINSZ:
		if (!filled)
			return false;
		/* fall through */
	case TIOCSWINSZ:
		call_put(w, "{ws_row=%u, ws_col=%u, ws_xpixel=%u, ws_ypixel=%u}", memory_u16(b, 0),
			 memory_u16(b, 2), memory_u16(b, 4), memory_u16(b, 6));
		return true;
	case FIONREAD:
	case TIOCGPGRP:
	case TIOCOUTQ:
		if (!filled)
			return false;
		/* fall through */
	case FIONBIO:
	case TIOCSPGRP:
		call_put(w, "[%d]", (int32_t)memory_u32(b, 0));
		return true;
	default:
		return false;
	}
}
