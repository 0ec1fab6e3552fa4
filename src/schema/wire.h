/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h: the interface between the kernel programs and the recorder: records in the rings, the plan of each
 * call, the configuration, counters. Compiled by both compilers; fixed-width fields, no hidden padding.
 *
 * A record is in the ring of the CPU that wrote it; its size is a multiple of 8. A ring is shared memory, divided
 * into leaves. No record crosses the end of a leaf: the rest of the leaf is skipped (WIRE_SKIP). The programs
 * advance wire_cpu.head past each complete record, and the recorder advances wire_cpu.tail past what it has copied;
 * both count bytes since the beginning. All times are the kernel's monotonic clock in ns. A `thread` is the number
 * of one version of a thread, a `file` the number of one version of a file (0: none); both count from 1 over the
 * recording.
 */
#pragma once

#include <linux/types.h>

#define WIRE_CPUS_MAX  1024
#define WIRE_CALLS_MAX 1024 /* native call numbers that have a plan */
#define WIRE_CALL_OTHER \
	1023 /* any number beyond, which stands in the call's flags (OP_CODE_NUMBERED) */
#define WIRE_ARGS     6
#define WIRE_PATH_MAX 4096 /* a path argument with its NUL (PATH_MAX) */
#define WIRE_WALK_MAX 8192 /* a file's full path, which can be longer than any argument */
#define WIRE_ADDR_MAX 128  /* struct sockaddr_storage */
#define WIRE_ARGV_MAX 4096 /* of an argument vector, the rest is cut */
#define WIRE_COMM     16
#define WIRE_TESTS_MAX \
	128 /* of names: those of the filter, and the selected paths; a power of two */
#define WIRE_NAMES_MAX	  256			/* of a test: bytes of names; a multiple of 8 */
#define WIRE_LEAF_BYTES	  (32 * 1024)		/* of a ring; a power of two, so is their number */
#define WIRE_SIZE_UNKNOWN 0xffffffffffffffffull /* of a vector that was not summed */
#define WIRE_NONE	  (-0x7fffffffffffffffll - 1) /* a position that is not known */

enum wire_type {
	WIRE_SKIP =
		0, /* the rest of a leaf: the first 4 bytes of a head, nothing else of it is there */
	WIRE_OP = 1,
	WIRE_FILE = 2,
	WIRE_SOCK = 3,
	WIRE_THREAD = 4,
	WIRE_THREAD_END = 5,
	WIRE_FILE_GONE = 6,
	/* A struct wire_op that the selection leaves out, sent for what the call did to names. */
	WIRE_FATE = 7,
};

/* What follows a struct wire_op, in this order, except WIRE_PART_HELD, which is the last. */
enum wire_part {
	WIRE_PART_ARGS = 1 << 0,   /* __u64[6] */
	WIRE_PART_SECOND = 1 << 1, /* struct wire_second */
	WIRE_PART_HELD = 1 << 2,   /* __u64 ns */
	WIRE_PART_PATH = 1 << 3,   /* struct wire_name, bytes, padded to 8 */
	WIRE_PART_PATH2 = 1 << 4,  /* same */
	WIRE_PART_ADDR = 1 << 5,   /* struct wire_name, sockaddr bytes, padded to 8 */
	WIRE_PART_END = 1 << 6,
};

struct wire_head {
	__u8 type;  /* enum wire_type */
	__u8 parts; /* enum wire_part */
	__u16 size; /* of the whole record */
	__u32 seq; /* in this ring; a call that found no room took one too, so that it leaves a gap */
	__u64 time; /* of a call: its end */
};

/* A call, finished or still running. Example: pread64(5, ..., 4096, 8192) = 4096. */
struct wire_op {
	struct wire_head head;
	__u64 start; /* 0: entered before recording began */
	__s64 ret;
	__u64 file;
	__s64 pos; /* WIRE_NONE: none */
	__u64 size;
	__u32 thread;
	__u32 call; /* number of the call within the thread's version, to prove that none is missing */
	__u32 tid;
	__s32 fd; /* -1: none */
	__u32 flags;
	__u16 nr;     /* native call number */
	__u16 status; /* enum op_status */
};
_Static_assert(sizeof(struct wire_head) == 16, "a head of 16 bytes, so that records stay aligned");
_Static_assert(sizeof(struct wire_op) == 80, "the record of a call is 80 bytes");
_Static_assert(WIRE_PART_END <= 0x100, "wire_head.parts is a byte");
_Static_assert((WIRE_LEAF_BYTES & (WIRE_LEAF_BYTES - 1)) == 0, "a leaf is a power of two");
_Static_assert(WIRE_LEAF_BYTES <= 0x10000, "wire_head.size counts the rest of a leaf");
_Static_assert(WIRE_NAMES_MAX % 8 == 0, "names are compared in words");
_Static_assert(WIRE_CALL_OTHER < WIRE_CALLS_MAX, "calls without a number have a plan, too");

/* Whether the record is a struct wire_op. */
static inline int wire_is_call(const struct wire_head *h)
{
	return h->type == WIRE_OP || h->type == WIRE_FATE;
}

struct wire_second {
	__u64 file;
	__s64 pos;
	__s32 fd;
	__u32 pad;
};

/* A path argument as given, or an address. */
struct wire_name {
	/* File number of the folder that a relative path starts from, 0: none or unknown. Of an open file that /proc named: its
	 * st_mode, 0: unknown. */
	__u64 base;
	__u64 root;  /* what paths of the process start below: compared only; 0: unknown */
	__u32 len;   /* bytes that follow, without a NUL */
	__s32 error; /* could not be read */
};
_Static_assert(sizeof(struct wire_second) == 24 && sizeof(struct wire_name) == 24,
	       "parts keep 8-byte order");

enum wire_file_flag {
	WIRE_FILE_DELETED = 1 << 0,
	WIRE_FILE_CUT = 1 << 1,	      /* the path did not fit */
	WIRE_FILE_UNREACHED = 1 << 2, /* the walk did not end at a root (detached mount) */
};

/*
 * One version of a file. The names of the path follow, the last component first, each with a NUL: "c\0b\0a\0"
 * is /a/b/c. `root_at` bytes of them lie under the process's root. Behind them may follow those of fs_len.
 */
struct wire_file {
	struct wire_head head;
	__u64 file;
	__u64 ino;
	__u32 generation; /* the inode's */
	__u32 reuse;	  /* weir's own counter of re-use of the inode number */
	__u32 dev;	  /* the kernel's dev_t; of a btrfs subvolume its own */
	__u32 mode;	  /* i_mode */
	__u32 magic;	  /* of the file system */
	__u32 mnt_ns;	  /* mount namespace of the mount, 0: none */
	__u32 flags;	  /* enum wire_file_flag */
	__u32 root_at;	  /* 0xffffffff: the process's root was not met */
	__u32 path_len;
	__u32 thread;
	__u64 birth; /* ns since the epoch, 0: unknown */
	__u64 root;  /* as in struct wire_name, of the process that looked */
	char fs[16];
	/* Where the mount is of another namespace than the recorder's: what it shows of the file system. */
	__u32 fs_dev;	/* the kernel's dev_t of the file system, as /proc/PID/mountinfo has it */
	__u32 mount_at; /* bytes of the names that lie below the root of the mount */
	__u32 fs_len; /* bytes of names behind the path: where in its file system the mount's root lies */
	__u32 fs_known; /* 1: these three are there */
};
_Static_assert(sizeof(struct wire_file) == 120, "struct wire_file");

/* The addresses of a socket; sent after its WIRE_FILE and again whenever they change. */
struct wire_sock {
	struct wire_head head;
	__u64 file;
	__u16 family;
	__u16 type;
	__u16 proto;
	__u16 local_port; /* host order */
	__u16 peer_port;
	__u16 local_len; /* of local[] and peer[]: 4, 16, or of a unix name */
	__u16 peer_len;
	__u16 pad;
	__u8 local[112];
	__u8 peer[112];
};
_Static_assert(sizeof(struct wire_sock) == 264, "struct wire_sock");

enum wire_thread_reason {
	WIRE_THREAD_SEEN = 0,
	WIRE_THREAD_FORK = 1,
	WIRE_THREAD_EXEC = 2,
	WIRE_THREAD_CHANGED = 3, /* name, user, cgroup, namespace */
};

/* One version of a thread; the argument vector follows an exec. */
struct wire_thread {
	struct wire_head head;
	__u32 thread;
	__u32 task;   /* its first version */
	__s32 tid;    /* in the recorder's pid namespace */
	__s32 tid_ns; /* in its own */
	__s32 tgid;
	__s32 tgid_ns;
	__s32 ppid;
	__u32 uid;
	__u32 pid_ns;
	__u32 mnt_ns;
	__u32 net_ns;
	__u32 reason;
	__u64 cgroup;	     /* kernel id */
	__u64 process_start; /* start of the group leader: with tgid it names the process */
	__u64 start;	     /* its own, ns since boot; 0: not known */
	__u64 exe;	     /* file number of the program, 0: unknown */
	char comm[WIRE_COMM];
	__u32 argv_len;
	__u32 argv_cut;
};
_Static_assert(sizeof(struct wire_thread) == 120, "struct wire_thread");

struct wire_thread_end {
	struct wire_head head;
	__u32 thread;
	__s32 tgid;
	__u64 process_start;
	__u32 process_ended;
	__s32 status; /* wait status */
};

/* The file's last name went. */
struct wire_file_gone {
	struct wire_head head;
	__u64 file;
};

/* What the kernel programs do for a call, made from schema/ops.def. Argument numbers, -1: none. */
enum wire_plan_flag {
	WIRE_PLAN_RECORD = 1 << 0, /* selected by -e */
	WIRE_PLAN_RICH = 1 << 1,   /* has parts of variable size */
	WIRE_PLAN_NAMES =
		1 << 2, /* success may change names of open files, by anyone: rename, mount, ... */
	WIRE_PLAN_UNLINK = 1 << 3, /* success may take a file's last name */
	WIRE_PLAN_CREATE = 1 << 4, /* success may create a file */
	WIRE_PLAN_PWRITE = 1 << 5, /* an explicit position, ignored under O_APPEND */
	WIRE_PLAN_CREDS = 1 << 6,  /* success changes users, namespaces */
	WIRE_PLAN_SOCK = 1 << 7,   /* success gives the socket another address */
	WIRE_PLAN_EXEC = 1 << 8,
	WIRE_PLAN_EVER =
		1
		<< 9, /* looked at for every process, traced or not: NAMES, UNLINK, CREATE, CREDS */
	WIRE_PLAN_OPEN = 1 << 10,   /* path argument not needed when the descriptor says it: then
				     * wire_second.file is the folder of a dirfd */
	WIRE_PLAN_CURPOS = 1 << 11, /* position -1 means the file's own (preadv2, pwritev2) */
	WIRE_PLAN_CHDIR = 1 << 12,  /* a relative path starts from the working directory at enter */
	WIRE_PLAN_OWNPOS = 1 << 13, /* may begin at the file's own position */
	WIRE_PLAN_RECEIVES =
		1 << 14, /* a message: its address is the sender's, none if no message came */
	WIRE_PLAN_TARGET = 1 << 15, /* path2 is the text of a symbolic link, of no folder */
	WIRE_PLAN_FATE = 1 << 16,   /* success changes what paths lead to, and the selection takes
				     * calls with paths: sent whatever the selection says */
};

/* Where arguments are looked up there are two more that every call has. */
#define WIRE_ARG_ZERO	   6 /* always 0 */
#define WIRE_ARG_MINUS_ONE 7 /* always -1 */

/* The length of an address that a call returns, and the number of messages, are the arguments behind addrout and mmsg. */
struct wire_plan {
	__u32 flags; /* enum wire_plan_flag */
	__u8 ret;    /* enum ret_kind */
	__u8 raw;    /* bit per argument that no other column holds */
	__s8 fd, fd2, dirfd, dirfd2;
	__s8 path, path2, size, pos;
	__s8 pos2, posp, posp2, iov;
	__s8 iovcnt, msg, mmsg;
	__s8 addr, addrlen, addrout;
	__s8 fdpair, opflags, how;
	__u8 op_fd, op_size, op_flags; /* which argument struct wire_op's field takes; never none */
	__u16 sets;		       /* of the filter: a bit for each that the call is in */
};
_Static_assert(sizeof(struct wire_plan) == 32, "one plan is 32 bytes");

/*
 * A test of a name: one of the filter's, or of the literal folders with which a selected path begins. Of a path it is made
 * once for each version of a file, over the names as in the record of a file ("b\0a\0" is /a/b), of a comm once for each
 * version of a thread.
 */
struct wire_name_test {
	__u8 field; /* enum filter_field: FILTER_COMM or FILTER_PATH */
	__u8 how;   /* enum filter_how */
	__u8 opposite;
	__u8 pattern; /* of a comm: a name with a slash passes, the recorder tests it */
	__u16 bit;    /* of a path: what of file_version.wanted it sets, see src/bpf/lib/state.h */
	__u16 others; /* what is no path passes: "pipe:[1]" */
	__u32 len;    /* of names; of a selected path 0: everything */
	__u32 pad;
	__u64 mask[2]; /* of a comm: the bits that are compared */
	__u8 names[WIRE_NAMES_MAX];
};
_Static_assert(sizeof(struct wire_name_test) == 32 + WIRE_NAMES_MAX, "no padding");

/* Who is recorded: the same for all kernel objects, set before they are loaded. Lists are maps. */
struct wire_selection {
	__s32 own_tgid;			       /* the recorder */
	__s32 command_tgid;		       /* that the recorder started; 0: none */
	__u8 own_traffic;		       /* record the recorder too */
	__u8 pids, tids, comms, uids, cgroups; /* 1: selected by this */
	__u8 follow;			       /* children of selected processes too */
	__u8 controller;		       /* enum wire_controller */
};

/* What the recorder learns of itself at the start, and what the kernel objects report without a record. */
struct wire_shared {
	__u32 pidns,
		pidns_level; /* the recorder's pid namespace: inode number, and how deep it lies */
	__s32 cgroup_subsys; /* an index of css_set.subsys; -1: the v2 hierarchy */
	__u32 polled;	     /* how often an entry was added to the map `polled` */
};

/* The losses of a thread, by the CPU where they happened; in addition to the counters of the CPU. */
enum wire_missing {
	WIRE_MISSING_RING,   /* no room in the ring */
	WIRE_MISSING_COMPAT, /* 32-bit calls */
	WIRE_MISSING_KINDS,
};

struct wire_missing_key {
	__u32 thread;
	__u16 cpu;
	__u16 kind; /* enum wire_missing */
};
_Static_assert(sizeof(struct wire_missing_key) == 8, "a key without padding");

/* Whose hierarchy of control groups tasks are looked for in. */
enum wire_controller {
	WIRE_CONTROLLER_NONE, /* the v2 hierarchy */
	WIRE_CONTROLLER_PIDS, /* of v1 the first that is mounted */
	WIRE_CONTROLLER_MEMORY,
	WIRE_CONTROLLER_CPU,
	WIRE_CONTROLLER_BLKIO,
	WIRE_CONTROLLER_DEVICES,
	WIRE_CONTROLLER_FREEZER,
	WIRE_CONTROLLER_CPUSET,
	WIRE_CONTROLLER_CPUACCT,
	WIRE_CONTROLLERS,
};

#define WIRE_SIGNALS 32 /* those that have names: 1 to 31 */

/* The last signal of one number that was sent to a process. */
struct wire_signal {
	__u64 at; /* 0: none */
	__s32 sender;
	__u32 pad;
};

/* A process with an io_uring that the kernel polls. */
struct wire_polled_key {
	__u64 process_start; /* since boot */
	__s32 tgid;
	__u32 pad;
};

struct wire_polled {
	char comm[16]; /* of the process */
	__u32 sure; /* 0: of a selection by thread; whether one is of this process is not known */
	__u32 reported; /* the recorder's: it has given a row */
};

/* Counters of a CPU, read by the recorder straight from the programs' memory. */
struct wire_cpu {
	__u64 seq; /* the next record's number: of all that was written, and of calls that were lost */
	__u64 head; /* bytes written into the ring, with what was skipped */
	__u64 tail; /* bytes that the recorder has copied: the only field that it writes, beside `above` */
	__u64 above;	/* the ring is above the fill mark: the wake-up was forced */
	__u64 lost;	/* calls, for which or for whose thread there was no room */
	__u64 held_ns;	/* back-pressure */
	__u64 filtered; /* calls that the selection left out after they ended */
	__u64 compat;	/* 32-bit calls, counted and not recorded */
	__u64 unfollowed; /* children of recorded processes for which there was no room: none of their calls is seen */
	__u64 storage; /* calls of threads for which there was no storage */
	__u64 scratch; /* calls dropped because no scratch space was free */
	__u64 unread;  /* arguments that could not be read */
	__u64 fates; /* calls that the selection leaves out and for which there was no room: no loss */
	__u64 unsent;	   /* ends of threads and addresses of sockets that found no room */
	__u64 hold_limits; /* back-pressure did not last until the reader came, and calls were lost */
	__u64 pad;
};
_Static_assert(sizeof(struct wire_cpu) == 128, "two cache lines per CPU");
