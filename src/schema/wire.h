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

#include "schema/wire_memory.h"

#define WIRE_CPUS_MAX	 1024
#define WIRE_CALLS_MAX	 1024 /* native call numbers that have a plan */
#define WIRE_CALLS_KNOWN 960  /* numbers of calls are below (OP_CODE_NOT_A_CALL) */
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
	/* A struct wire_op that the selection leaves out, sent for what the call did to names, or marked. */
	WIRE_FATE = 7,
	WIRE_FAULT = 8,
	WIRE_REQUEST = 9, /* struct wire_request */
	WIRE_STACK = 20,
	WIRE_CALL_STACKS = 21,
	WIRE_ANNOUNCE = 22, /* these two: schema/wire_context.h */
	WIRE_CONTEXT = 23,
	WIRE_CONTENT = 24, /* schema/wire_content.h */
	WIRE_DETAIL = 25,  /* schema/wire_detail.h, as WIRE_SIGNAL */
	/* From here on in the side ring alone, see src/bpf/lib/side.h. */
	WIRE_SIDE_FIRST = 32,
	WIRE_BLOCK = 40, /* these four: schema/wire_block.h */
	WIRE_BLOCK_MORE = 41,
	WIRE_BLOCK_INODE = 42,
	WIRE_BLOCK_OWNER = 43,
	WIRE_NET = 44,
	WIRE_NET_SAMPLE = 45,
	WIRE_SCHED = 46,
	WIRE_IRQ = 47,
	WIRE_MEM = 48,
	WIRE_PROBE = 49, /* schema/wire_probe.h */
	WIRE_SIGNAL = 50,
	WIRE_SIDE_END = 64,
};

#define WIRE_SIDE_TYPES (WIRE_SIDE_END - WIRE_SIDE_FIRST)

/* Why a record of the side ring is missing. */
enum wire_side_loss {
	WIRE_SIDE_FULL,	   /* the ring had no room */
	WIRE_SIDE_UNSEEN,  /* the kernel did not show the event */
	WIRE_SIDE_STORAGE, /* no room among what the programs follow */
	WIRE_SIDE_LOSSES,
};

/* What follows a struct wire_op, in this order, except WIRE_PART_HELD, which is the last. */
enum wire_part {
	WIRE_PART_ARGS = 1 << 0,   /* __u64[6] */
	WIRE_PART_SECOND = 1 << 1, /* struct wire_second */
	WIRE_PART_HELD = 1 << 2,   /* __u64 ns */
	WIRE_PART_PATH = 1 << 3,   /* struct wire_name, bytes, padded to 8 */
	WIRE_PART_PATH2 = 1 << 4,  /* same */
	WIRE_PART_ADDR = 1 << 5,   /* struct wire_name, sockaddr bytes, padded to 8 */
	/* struct wire_away, struct wire_ready[count], struct wire_phases, struct wire_wait[kept] */
	WIRE_PART_AWAY = 1 << 6,
	WIRE_PART_END = 1 << 7,
};

struct wire_head {
	__u8 type;  /* enum wire_type */
	__u8 parts; /* enum wire_part */
	__u16 size; /* of the whole record */
	__u32 seq; /* in this ring; a call that found no room took one too, so that it leaves a gap. In the side ring: the CPU */
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

/* Whether the record is what a thread did, a struct wire_op, wire_fault or wire_request, and not what that refers to. */
static inline int wire_is_call(const struct wire_head *h)
{
	return h->type == WIRE_OP || h->type == WIRE_FATE || h->type == WIRE_FAULT ||
	       h->type == WIRE_REQUEST;
}

/* A request of io_uring or libaio, from its submission to its end. Example: IORING_OP_READ(5, ..., 4096, 8192) = 4096. */
struct wire_request {
	struct wire_head head;
	__u64 start; /* 0: before recording began */
	__s64 ret;
	__u64 file, file2; /* file2: behind the descriptor that it returned */
	__s64 pos, pos2;   /* WIRE_NONE: none */
	__u64 size;	   /* WIRE_SIZE_UNKNOWN: none */
	__u32 thread;
	__s32 tid;
	__s32 fd, fd2; /* -1: none */
	__u32 flags;
	__u32 status; /* enum op_status */
	__u8 kind;    /* enum call_kind */
	__u8 opcode;  /* of the interface; WIRE_REQUEST_EVENT */
	__u8 parts;   /* enum wire_request_part */
	__u8 memory; /* enum wire_memory_state: why records of content do not have all of its bytes */
	__u8 pad[4];
	__u64 hashed; /* bytes of which records of content say what became of them; they came before */
};
_Static_assert(sizeof(struct wire_request) == 112, "struct wire_request");

/* One that has not ended, in the map of requests. */
struct wire_live {
	__u64 start; /* of a later completion: the one before */
	__u64 ctx, user_data;
	__s64 pos, pos2;
	__u64 size;
	__u64 file; /* where it is known before the end */
	__u32 thread;
	__s32 tid, fd, fd2;
	__u32 flags, status;
	__u8 opcode;
	__u8 sqe_flags;
	__u8 parts;	    /* enum wire_request_part */
	__u8 shots;	    /* it completes several times */
	__s32 tgid;	    /* of libaio: the process that submitted it */
	__u32 memory_state; /* enum wire_memory_state */
	struct wire_memory memory;
};
_Static_assert(sizeof(struct wire_live) == 152, "struct wire_live");

enum wire_request_part {
	WIRE_REQUEST_FLAGS = 1 << 0, /* flags is there */
	WIRE_REQUEST_FIXED = 1 << 1, /* fd is a place among the ring's files */
	WIRE_REQUEST_SLOT = 1 << 2,  /* so is what it returns */
};

#define WIRE_REQUEST_OPS \
	64 /* opcodes of an interface that are known by number; the last stands for those beyond */
#define WIRE_AIO_OPS	   16  /* the same of libaio; a power of two, as are those of io_uring */
#define WIRE_REQUEST_EVENT 255 /* a completion of which no request was seen */

/* Where a request has what it is about. */
enum wire_request_what {
	WIRE_REQUEST_RECORD = 1 << 0,	/* selected by -e */
	WIRE_REQUEST_POS = 1 << 1,	/* a position */
	WIRE_REQUEST_FILE = 1 << 2,	/* works on an open file */
	WIRE_REQUEST_EARLY = 1 << 3,	/* on one that is looked up when it begins */
	WIRE_REQUEST_RETURNS = 1 << 4,	/* a descriptor */
	WIRE_REQUEST_SHOTS = 1 << 5,	/* may complete several times */
	WIRE_REQUEST_WORDS = 1 << 6,	/* flags of the call */
	WIRE_REQUEST_NAMES = 1 << 7,	/* success may change names of open files */
	WIRE_REQUEST_UNLINK = 1 << 8,	/* success may take a file's last name */
	WIRE_REQUEST_CREATES = 1 << 10, /* success may create a file */
	WIRE_REQUEST_MODE = 1 << 11,	/* flags of the call stand where others have a length */
	WIRE_REQUEST_SPLICE = 1 << 12,	/* from one file to another */
	WIRE_REQUEST_APPENDS = 1 << 9,	/* writes at the end under O_APPEND */
	WIRE_REQUEST_OUT = 1 << 13,	/* from the program to the file */
};

enum wire_request_size {
	WIRE_REQUEST_NO_SIZE,
	WIRE_REQUEST_LEN,    /* in bytes */
	WIRE_REQUEST_ADDR,   /* a number where others have an address */
	WIRE_REQUEST_OFF,    /* or a position */
	WIRE_REQUEST_VECTOR, /* of struct iovec */
	WIRE_REQUEST_MSG,    /* struct msghdr */
};

/* What the kernel programs do for an opcode. */
struct wire_request_op {
	__u16 what; /* enum wire_request_what */
	__u8 size;  /* enum wire_request_size */
	__u8 pad;
};

/* What happened to requests; together these prove that none is missing (capture/ebpf/calls/request.c). */
struct wire_requests {
	__u64 submitted;
	__u64 ended;	 /* of those */
	__u64 shots;	 /* completions after which their request went on */
	__u64 unstarted; /* completions of requests that were not seen to begin */
	__u64 notices;	 /* completions that only say that a buffer is free */
	__u64 full;	 /* of `submitted`: no room to remember them */
	__u64 replaced;	 /* whose end was not seen although there was one */
	__u64 silent;	 /* whose success the program did not want to hear of */
	__u64 lost;	 /* rows without room in a ring */
	__u64 unsearched; /* of `unstarted`: a request was there perhaps, and it would have taken too long to find it */
	__u64 pad[6];
};
_Static_assert(sizeof(struct wire_requests) == 128, "two cache lines per CPU");

struct wire_second {
	__u64 file;
	__s64 pos; /* of an open that succeeded: the size of a regular file */
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

#define WIRE_READY_MAX	  8 /* descriptors of a call that waited on several */
#define WIRE_TIME_UNKNOWN 0xffffffffffffffffull
#define WIRE_LEFT_UNKNOWN 0xffffffffu /* more than were looked at */

/* Of a call during which its thread was without a CPU: it slept, or it was ready to run and had to wait. */
struct wire_away {
	__u64 runq;   /* ns for which it was ready to run and had no CPU; WIRE_TIME_UNKNOWN */
	__u32 waker;  /* the version of the thread that ended its wait for a futex; 0: not known */
	__u32 count;  /* struct wire_ready behind this */
	__u32 left;   /* descriptors that have none */
	__u32 phases; /* 1: struct wire_phases is the last of the part */
};

/*
 * Where the time of a call went, by weir's own clock: of a call in which its thread was switched out, read from a device or
 * added to the page cache. Times that are not known are WIRE_TIME_UNKNOWN, all three of them then.
 */
struct wire_phases {
	__u64 io_wait; /* ns for which it was blocked, and the kernel counted it as waiting for I/O */
	__u64 sleep;   /* ns for which it was blocked otherwise */
	__u64 runq;    /* ns for which it was ready to run and had no CPU */
	__u64 read_bytes; /* submitted to devices on its behalf, read-ahead included */
	__u32 misses;	  /* folios that it added to the page cache */
	__u16 waits;	  /* for I/O; 0xffff: so many or more */
	__u16 kept;	  /* struct wire_wait behind this */
};
_Static_assert(sizeof(struct wire_phases) == 40, "struct wire_phases");

#define WIRE_WAITS_MAX 8

/* One of the first waits for I/O of a call, where requests to block devices are recorded too. */
struct wire_wait {
	__u64 from, to;
};

/*
 * A descriptor of a call that slept until one of several was ready (poll, select, epoll_wait, ...): of a call that found any
 * ready those that were, else those that it waited on.
 */
struct wire_ready {
	__u64 file;
	__s32 fd;      /* -1: it could not be found (of an epoll that has very many) */
	__u32 events;  /* waited for, in the words of the call's family */
	__u32 revents; /* found, 0: none */
	__u32 pad;
};
_Static_assert(sizeof(struct wire_away) % 8 == 0 && sizeof(struct wire_ready) == 24,
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
	__u64 size;  /* in bytes, as it was looked at: i_size */
	__u64 birth; /* ns since the epoch, 0: unknown */
	__u64 root;  /* as in struct wire_name, of the process that looked */
	char fs[16];
	/* Where the mount is of another namespace than the recorder's: what it shows of the file system. */
	__u32 fs_dev;	/* the kernel's dev_t of the file system, as /proc/PID/mountinfo has it */
	__u32 mount_at; /* bytes of the names that lie below the root of the mount */
	__u32 fs_len; /* bytes of names behind the path: where in its file system the mount's root lies */
	__u32 fs_known; /* 1: these three are there */
	/* Of a file of overlayfs: the one in a layer that has its content; 0: none, or not known. */
	__u64 real_ino;
	__u32 real_dev;
	__u32 real_generation;
};
_Static_assert(sizeof(struct wire_file) == 144, "struct wire_file");

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
	__u64 ino, peer_ino; /* of a unix socket: its own, and its peer's; 0: not known */
	__u8 local[112];
	__u8 peer[112];
};
_Static_assert(sizeof(struct wire_sock) == 280, "struct wire_sock");

enum wire_thread_reason {
	WIRE_THREAD_SEEN = 0,
	WIRE_THREAD_FORK = 1,
	WIRE_THREAD_EXEC = 2,
	WIRE_THREAD_CHANGED = 3, /* name, user, cgroup, namespace */
	WIRE_THREAD_KERNEL = 4,	 /* a thread of the kernel, which makes no calls */
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
	__u64 run_delay; /* how long it had been ready to run without a CPU; WIRE_TIME_UNKNOWN */
	char comm[WIRE_COMM];
	__u32 argv_len;
	__u32 argv_cut;
};
_Static_assert(sizeof(struct wire_thread) == 128, "struct wire_thread");

struct wire_thread_end {
	struct wire_head head;
	__u32 thread;
	__s32 tgid;
	__u64 process_start;
	__u32 process_ended;
	__s32 status;	 /* wait status */
	__u64 run_delay; /* as in struct wire_thread */
};

/* What the program weir_waited says of a thread that lives. */
struct wire_waited {
	__u32 thread;
	__u32 context_flags; /* enum wire_context_flag */
	__u64 run_delay;
	__u64 context_until; /* the end of the last call that carried the thread's context; 0: none */
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
	WIRE_PLAN_TARGET = 1 << 15,  /* path2 is the text of a symbolic link, of no folder */
	WIRE_PLAN_FATE = 1 << 16,    /* success changes what paths lead to, and the selection takes
				     * calls with paths: sent whatever the selection says */
	WIRE_PLAN_POLL = 1 << 17,    /* a struct pollfd * and how many */
	WIRE_PLAN_SELECT = 1 << 18,  /* how many, and three sets of descriptors */
	WIRE_PLAN_EPOLL = 1 << 19,   /* an epoll, a struct epoll_event * and how many */
	WIRE_PLAN_MAPPED = 1 << 22,  /* of the file that is mapped at the first argument */
	WIRE_PLAN_SUBMITS = 1 << 20, /* hands requests of libaio over */
	WIRE_PLAN_REAPS = 1 << 21,   /* fetches their results */
	WIRE_PLAN_ANNOUNCES = 1 << 23, /* may name memory that others are to read: announce.h */
	/* its path may mark a span (markers.h) where it is below a file; sent then whatever the selection */
	WIRE_PLAN_MARKS = 1 << 24,
	WIRE_PLAN_LOCKS = 1 << 25, /* fcntl: of locks pos, size and flags are range and type */
};

/* Calls that wait on several descriptors. */
#define WIRE_PLAN_SEVERAL (WIRE_PLAN_POLL | WIRE_PLAN_SELECT | WIRE_PLAN_EPOLL)

/* Calls that the selection may leave out and that are sent nevertheless, as WIRE_FATE. */
#define WIRE_PLAN_SENT (WIRE_PLAN_FATE | WIRE_PLAN_MARKS)

#define WIRE_PLAN_AIO (WIRE_PLAN_SUBMITS | WIRE_PLAN_REAPS)

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
	__u16 others; /* names that are not paths pass: "pipe:[1]" */
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
	__s64 preempt_from_rq; /* from a CPU's run queue to its preempt_count; 0: not known */
	__u64 side_lost[WIRE_SIDE_LOSSES][WIRE_SIDE_TYPES]; /* what has no record there, by type */
	__u32 io_counted; /* 1: the kernel counts the bytes that a task reads */
	__u32 pad;
	__u64 content_lost;			 /* records of content that found no room */
	__u64 details_lost;			 /* the same of details */
	__u64 block_lost_first, block_lost_last; /* when records of requests found none; 0: never */
	__u64 over; /* when recording stopped: what begins later is in no table beside calls; 0: it goes on */
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

/* ---- stacks ---- */

#define WIRE_STACK_FRAMES  128 /* a power of two; the innermost are kept */
#define WIRE_STACK_MODULES 16  /* mappings that a stack names; frames of others have none */
#define WIRE_STACK_SLEEPS  48  /* frames of a kernel stack */
#define WIRE_FRAME_MODULE \
	56 /* above this bit of a frame: 1 + the index of its module, 0: not known */
/* Above this bit: 1 + the words that the function of the frame before has on the stack, below this return address; 0: the
 * frame pointer led here. The unwind tables of the function's module say whether that was right. */
#define WIRE_FRAME_WORDS   48
#define WIRE_FRAME_ADDRESS (1ull << WIRE_FRAME_WORDS)

enum wire_stack_flag {
	WIRE_STACK_KERNEL = 1 << 0, /* frames are addresses of the kernel, without modules */
	WIRE_STACK_DEEP = 1 << 1,   /* there are more frames than are kept */
	WIRE_STACK_UNREAD = 1 << 2, /* the walk ended where memory could not be read */
	WIRE_STACK_BOTTOM =
		1 << 3, /* the walk met a frame pointer of 0, which a thread begins with */
};

/* A stack that is seen for the first time: struct wire_stack, __u64 frames, innermost first, struct wire_module. */
struct wire_stack {
	struct wire_head head;
	__u64 stack; /* a hash of the frames and of the process's image, which names it from here on */
	__u32 thread; /* that was seen with it */
	__u32 flags;  /* enum wire_stack_flag */
	__u16 frames;
	__u16 modules;
	__u32 pad;
};
_Static_assert(sizeof(struct wire_stack) == 40, "struct wire_stack");

/* A mapping of the process; a frame's place in the file is address - start + pos. */
struct wire_module {
	__u64 file; /* file number, 0: of no file */
	__u64 start, end;
	__u64 pos; /* in bytes */
};

/* Before the record of the call in the same ring: the stacks of that call, 0: none. */
struct wire_call_stacks {
	struct wire_head head;
	__u32 thread, call; /* as in struct wire_op */
	__u64 user, kernel;
};

enum wire_stacks_of {
	WIRE_STACKS_ALL = 1 << 0,
	WIRE_STACKS_FAILED = 1 << 1,
	WIRE_STACKS_SLOW = 1 << 2,
};

/* Which calls get stacks. */
struct wire_stacks {
	__u32 of; /* enum wire_stacks_of, 0: none */
	__u32 pad;
	__u64 slow_ns;
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

/* An address of IPv4 (4 bytes, the rest 0) or IPv6. */
struct wire_ip {
	__u8 ip[16];
};

/* Why a segment was sent again. */
enum wire_retransmit {
	WIRE_RETRANSMIT_TIMEOUT = 1,
	WIRE_RETRANSMIT_FAST = 2,
	WIRE_RETRANSMIT_PROBE = 3, /* of the end of what was sent, before the time ran out */
};

/* Something on the wire. Example: the second copy of a segment of 1,448 bytes. */
struct wire_net {
	struct wire_head head;
	__u64 start; /* 0: as head.time */
	__u64 file;  /* of the socket; 0: not known */
	__u32 thread;
	__u32 packets;
	__u32 bytes;
	__u32 srtt_us;
	__u32 reason; /* of a drop enum skb_drop_reason, of a reset enum sk_rst_reason, of another event its own; 0: none */
	__u8 event;   /* enum net_event */
	__u8 state;   /* enum tcp_state */
	__u16 family;
	__u16 src_port, dst_port; /* host order */
	__u32 pad;
	struct wire_ip src, dst;
};
_Static_assert(sizeof(struct wire_net) == 96, "struct wire_net");

/* What a TCP connection did since its last such record. */
struct wire_net_sample {
	struct wire_head head;
	__u64 start;
	__u64 file;
	__u64 bytes_out, bytes_in, retransmit_bytes;
	__u64 in_sum, out_sum; /* bytes in the queue, times the ns for which they were there */
	__u64 in_read;
	__u32 out_acked;
	__u32 thread;
	__u32 packets_out, packets_in, retransmits;
	__u32 srtt_us, rtt_min_us, rtt_var_us;
	__u32 in_queued, out_queued;
	__u32 cwnd;
	__u32 state;
};
_Static_assert(sizeof(struct wire_net_sample) == 128, "struct wire_net_sample");

/* A recorded thread runs again. */
struct wire_sched {
	struct wire_head head;
	__u64 start;
	__u64 woken;	/* 0: not woken, or not seen */
	__u64 op_start; /* of the call that it is in; 0: none */
	__u32 thread;
	__u32 waker, instead; /* versions of threads; 0: not recorded */
	__s32 waker_tid, instead_tid;
	__u16 nr; /* of its call */
	__s16 prio;
	__u8 why;      /* enum sched_why */
	__u8 woken_by; /* enum woken_by + 1; 0: not known */
	__u8 pad[6];
	char waker_comm[WIRE_COMM], instead_comm[WIRE_COMM];
};
_Static_assert(sizeof(struct wire_sched) == 104, "struct wire_sched");

/* Runs of an interrupt handler on one CPU. */
struct wire_irq {
	struct wire_head head;
	__u64 start;
	__u64 time, shortest, longest;
	__u64 raise_time, raise_longest;
	__u32 runs, raised;
	__u32 number;
	__u8 kind; /* enum irq_kind */
	__u8 pad[3];
	char handler[WIRE_COMM];
};
_Static_assert(sizeof(struct wire_irq) == 96, "struct wire_irq");

/* As the programs add it up; the recorder reads what is left at the end. */
struct wire_irq_sum {
	struct wire_irq sum; /* without its head */
	__u64 began;	     /* the run at hand; 0: none */
	__u64 raised_at;     /* of a softirq that has not run since; 0: none */
};

/* What a thread did to free pages. */
struct wire_mem {
	struct wire_head head;
	__u64 start;
	__u64 allocated, freed, reclaimed;
	__u64 reclaim_time;
	__u32 reclaims, largest;
	__u32 thread; /* 0: all others on the CPU */
	__u32 events; /* of the programs */
};
_Static_assert(sizeof(struct wire_mem) == 72, "struct wire_mem");

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
	__u32 faults;	   /* page faults for which there was no room */
	__u32 requests;	   /* of `lost`: requests of io_uring */
};
_Static_assert(sizeof(struct wire_cpu) == 128, "two cache lines per CPU");

enum wire_fault_flag {
	WIRE_FAULT_IN_CALL =
		1
		<< 0, /* of the kernel, which reads or writes memory for a call: a part of that call */
	WIRE_FAULT_EXEC = 1 << 1, /* of the instruction itself */
	WIRE_FAULT_SWAP = 1 << 2, /* the page is of no file: it came from the swap */
	WIRE_FAULT_UNREAD =
		1 << 3, /* the mapping was being changed: what it maps could not be read */
};

/* A major page fault: its page was not in memory. Example: the first byte of the second page of a file that is mapped whole. */
struct wire_fault {
	struct wire_head head; /* time: its end */
	__u64 start;	       /* 0: not known */
	__u64 address;
	__u64 file;	   /* 0: none, or not known */
	__u64 pos;	   /* of the page in it */
	__u64 file_bytes;  /* size of the file */
	__u32 thread, tid; /* as in struct wire_op */
	__u32 flags;	   /* enum wire_fault_flag */
	__u32 wanted;	   /* the selection by path takes the file */
};
_Static_assert(sizeof(struct wire_fault) == 72, "struct wire_fault");

/* Of a CPU: the reader's place when its ring was found half full, and since when. */
struct wire_hold {
	__u64 tail, since;
	__u64 over; /* a call was lost there */
};

/* Raised by every rename, mount, ... on the host, and by every unlink; compared as one number. */
union wire_epochs {
	struct {
		__u32 names, unlinks;
	};
	__u64 both;
};
