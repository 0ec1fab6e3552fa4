/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h: the interface between the kernel programs and the recorder: records in the rings, the plan of each
 * call, the configuration, counters. Compiled by both compilers; fixed-width fields, no hidden padding.
 *
 * A record is in the ring of the CPU that wrote it; its size is a multiple of 8. A ring is shared memory, divided into
 * leaves. No record crosses the end of a leaf: the rest of the leaf is skipped (WIRE_SKIP). The programs advance
 * wire_cpu.head past each complete record, and the recorder advances wire_cpu.tail past what it has copied; both count
 * bytes since the beginning. All times are in ns of the kernel's monotonic clock. A `thread` is the number of one
 * version of a thread, a `file` the number of one version of a file (0: none); both count from 1 over the recording.
 */
#pragma once

#include <linux/types.h>

#include "schema/wire_memory.h"

#define WIRE_CPUS_MAX	  1024
#define WIRE_CALLS_MAX	  1024 /* native call numbers with a plan */
#define WIRE_CALLS_KNOWN  960  /* call numbers are below (OP_CODE_NOT_A_CALL) */
#define WIRE_CALL_OTHER	  1023 /* any larger number, which op.flags then holds (OP_CODE_NUMBERED) */
#define WIRE_ARGS	  6
#define WIRE_PATH_MAX	  4096 /* a path argument with its NUL (PATH_MAX) */
#define WIRE_WALK_MAX	  8192 /* a file's full path, which may be longer than any argument */
#define WIRE_ADDR_MAX	  128  /* struct sockaddr_storage */
#define WIRE_ARGV_MAX	  4096 /* longer argument vectors are truncated */
#define WIRE_COMM	  16
#define WIRE_TESTS_MAX	  128 /* name tests: of the filter and the selected paths; a power of two */
#define WIRE_NAMES_MAX	  256 /* bytes of names in a test; a multiple of 8 */
#define WIRE_LEAF_BYTES	  (32 * 1024) /* leaf of a ring; power of two, as is their number */
#define WIRE_SCRATCHES	  4 /* scratch areas per CPU: programs nest when they are preempted */
#define WIRE_SIZE_UNKNOWN 0xffffffffffffffffull	      /* size of a vector that was not summed */
#define WIRE_NONE	  (-0x7fffffffffffffffll - 1) /* unknown position */

enum wire_type {
	WIRE_SKIP = 0, /* the rest of a leaf: only the first 4 bytes of a head exist */
	WIRE_OP = 1,
	WIRE_FILE = 2,
	WIRE_SOCK = 3,
	WIRE_THREAD = 4,
	WIRE_THREAD_END = 5,
	WIRE_FILE_GONE = 6,
	/* A struct wire_op that the selection rejects, sent because it may have changed names or marks a span. */
	WIRE_FATE = 7,
	WIRE_FAULT = 8,
	WIRE_REQUEST = 9, /* struct wire_request */
	WIRE_STACK = 20,
	WIRE_CALL_STACKS = 21,
	WIRE_ANNOUNCE = 22, /* this and the next: schema/wire_context.h */
	WIRE_CONTEXT = 23,
	WIRE_CONTENT = 24, /* schema/wire_content.h */
	WIRE_DETAIL = 25,  /* schema/wire_detail.h, as is WIRE_SIGNAL */
	/* From here on only in the side ring, see src/bpf/lib/side.h. */
	WIRE_SIDE_FIRST = 32,
	WIRE_BLOCK = 40, /* this and the next three: schema/wire_block.h */
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
	WIRE_SIDE_UNSEEN,  /* the kernel did not report the event */
	WIRE_SIDE_STORAGE, /* a map or storage of the programs was full */
	WIRE_SIDE_LOSSES,
};

/* The parts that follow a struct wire_op, in this order, except WIRE_PART_HELD, which is the last. */
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
	__u32 seq; /* of this ring; lost calls take a number too, which leaves a gap. In the side ring: the CPU */
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
	__u32 call; /* number of the call within the thread's version: shows that none is missing */
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

/* Whether the record is an operation of a thread (struct wire_op, wire_fault or wire_request), not data that one refers
 * to. */
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
	__u64 file, file2; /* file2: of the descriptor that it returned */
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
	__u8 memory;  /* enum wire_memory_state: why not all of its bytes are in content records */
	__u8 pad[4];
	__u64 hashed; /* number of its bytes described by content records, which precede this one */
};
_Static_assert(sizeof(struct wire_request) == 112, "struct wire_request");

/* A request that has not ended, in the map of requests. */
struct wire_live {
	__u64 start; /* for later completions: the previous one */
	__u64 ctx, user_data;
	__s64 pos, pos2;
	__u64 size;
	__u64 file; /* if known before the end */
	__u32 thread;
	__s32 tid, fd, fd2;
	__u32 flags, status;
	__u8 opcode;
	__u8 sqe_flags;
	__u8 parts;	    /* enum wire_request_part */
	__u8 shots;	    /* it may complete several times */
	__s32 tgid;	    /* of libaio: the process that submitted it */
	__u32 memory_state; /* enum wire_memory_state */
	struct wire_memory memory;
};
_Static_assert(sizeof(struct wire_live) == 152, "struct wire_live");

enum wire_request_part {
	WIRE_REQUEST_FLAGS = 1 << 0, /* flags is valid */
	WIRE_REQUEST_FIXED = 1 << 1, /* fd is an index into the ring's fixed files */
	WIRE_REQUEST_SLOT = 1 << 2,  /* the result is such an index too */
	WIRE_REQUEST_LATE =
		1 << 3, /* its file is looked up at the end, although it is known before */
};

#define WIRE_REQUEST_OPS \
	64 /* opcodes with a number of their own; the last one stands for all beyond */
#define WIRE_AIO_OPS	   16  /* the same for libaio; both are powers of two */
#define WIRE_REQUEST_EVENT 255 /* a completion without a known request */

/* Which data a request has. */
enum wire_request_what {
	WIRE_REQUEST_RECORD = 1 << 0,	/* selected by -e */
	WIRE_REQUEST_POS = 1 << 1,	/* a position */
	WIRE_REQUEST_FILE = 1 << 2,	/* on an open file */
	WIRE_REQUEST_EARLY = 1 << 3,	/* on an open file that is looked up at submission */
	WIRE_REQUEST_RETURNS = 1 << 4,	/* returns a descriptor */
	WIRE_REQUEST_SHOTS = 1 << 5,	/* may complete several times */
	WIRE_REQUEST_WORDS = 1 << 6,	/* the call's flags */
	WIRE_REQUEST_NAMES = 1 << 7,	/* success may change names of open files */
	WIRE_REQUEST_UNLINK = 1 << 8,	/* success may remove a file's last name */
	WIRE_REQUEST_CREATES = 1 << 10, /* success may create a file */
	WIRE_REQUEST_MODE = 1 << 11,	/* the call's flags are where others have a length */
	WIRE_REQUEST_SPLICE = 1 << 12,	/* from one file to another */
	WIRE_REQUEST_APPENDS = 1 << 9,	/* writes at the end under O_APPEND */
	WIRE_REQUEST_OUT = 1 << 13,	/* data goes from the program to the file */
};

enum wire_request_size {
	WIRE_REQUEST_NO_SIZE,
	WIRE_REQUEST_LEN,    /* in bytes */
	WIRE_REQUEST_ADDR,   /* in the address field */
	WIRE_REQUEST_OFF,    /* in the position field */
	WIRE_REQUEST_VECTOR, /* length of a struct iovec[] */
	WIRE_REQUEST_MSG,    /* struct msghdr */
};

/* What the kernel programs do for an opcode. */
struct wire_request_op {
	__u16 what; /* enum wire_request_what */
	__u8 size;  /* enum wire_request_size */
	__u8 pad;
};

/* Counters of requests, which together prove that none is missing (capture/ebpf/calls/request.c). */
struct wire_requests {
	__u64 submitted;
	__u64 ended;	  /* submitted requests that ended */
	__u64 shots;	  /* completions that did not end their request */
	__u64 unstarted;  /* completions of requests whose start was not seen */
	__u64 notices;	  /* completions that only report a free buffer */
	__u64 full;	  /* of `submitted`: no room to store them */
	__u64 replaced;	  /* requests that ended unseen: a new one replaced them */
	__u64 silent;	  /* successes that the program asked not to be notified of */
	__u64 lost;	  /* rows that did not fit into a ring */
	__u64 unsearched; /* of `unstarted`: the request may have been known, but searching for it would have taken too long */
	__u64 pad[6];
};
_Static_assert(sizeof(struct wire_requests) == 128, "two cache lines per CPU");

struct wire_second {
	__u64 file;
	__s64 pos; /* after a successful open: the size of a regular file */
	__s32 fd;
	__u32 pad;
};

/* A path argument as given, or an address. */
struct wire_name {
	/* File number of the folder at which a relative path starts, 0: none or unknown. For an open file listed by
	 * /proc: its st_mode, 0: unknown. */
	__u64 base;
	__u64 root;  /* root of the process's paths: only compared; 0: unknown */
	__u32 len;   /* bytes that follow, without a NUL */
	__s32 error; /* negative if it could not be read */
};
_Static_assert(sizeof(struct wire_second) == 24 && sizeof(struct wire_name) == 24,
	       "parts keep 8-byte order");

#define WIRE_READY_MAX	  8 /* reported descriptors of a call that waited on several */
#define WIRE_TIME_UNKNOWN 0xffffffffffffffffull
#define WIRE_LEFT_UNKNOWN 0xffffffffu /* too many to count */

/* For a call during which its thread had no CPU: it slept, or was runnable and waited. */
struct wire_away {
	__u64 runq;   /* ns in which it was runnable but not running; WIRE_TIME_UNKNOWN */
	__u32 waker;  /* version of the thread that ended its futex wait; 0: unknown */
	__u32 count;  /* number of struct wire_ready that follow */
	__u32 left;   /* further descriptors that are not listed */
	__u32 phases; /* 1: the part ends with a struct wire_phases */
};

/*
 * How the time of a call was spent, by weir's own clock: for a call whose thread was switched out, read from a device
 * or added to the page cache. Unknown times are WIRE_TIME_UNKNOWN, always all three together.
 */
struct wire_phases {
	__u64 io_wait;	  /* ns blocked, and counted by the kernel as waiting for I/O */
	__u64 sleep;	  /* ns blocked for other reasons */
	__u64 runq;	  /* ns in which it was runnable but not running */
	__u64 read_bytes; /* submitted to devices on its behalf, including read-ahead */
	__u32 misses;	  /* folios that it added to the page cache */
	__u16 waits;	  /* for I/O; 0xffff: that many or more */
	__u16 kept;	  /* number of struct wire_wait that follow */
};
_Static_assert(sizeof(struct wire_phases) == 40, "struct wire_phases");

#define WIRE_WAITS_MAX 8

/* One of the first waits for I/O of a call, if requests to block devices are recorded too. */
struct wire_wait {
	__u64 from, to;
};

/*
 * A descriptor of a call that slept until one of several was ready (poll, select, epoll_wait, ...): those that it found
 * ready, if any, else those that it waited on.
 */
struct wire_ready {
	__u64 file;
	__s32 fd;      /* -1: could not be determined (in an epoll with very many) */
	__u32 events;  /* waited for, as flags of the call's family */
	__u32 revents; /* found, 0: none */
	__u32 pad;
};
_Static_assert(sizeof(struct wire_away) % 8 == 0 && sizeof(struct wire_ready) == 24,
	       "parts keep 8-byte order");

enum wire_file_flag {
	WIRE_FILE_DELETED = 1 << 0,
	WIRE_FILE_CUT = 1 << 1,	      /* the path was truncated */
	WIRE_FILE_UNREACHED = 1 << 2, /* the walk did not reach a root (detached mount) */
};

/*
 * One version of a file. The components of the path follow, the last one first, each with a NUL: "c\0b\0a\0" is /a/b/c.
 * `root_at` bytes of them lie below the process's root. The names counted by fs_len may follow.
 */
struct wire_file {
	struct wire_head head;
	__u64 file;
	__u64 ino;
	__u32 generation; /* the inode's */
	__u32 reuse;	  /* weir's own counter of reuse of the inode number */
	__u32 dev;	  /* the kernel's dev_t; of a btrfs subvolume its own */
	__u32 mode;	  /* i_mode */
	__u32 magic;	  /* of the file system */
	__u32 mnt_ns;	  /* mount namespace of the mount, 0: none */
	__u32 flags;	  /* enum wire_file_flag */
	__u32 root_at;	  /* 0xffffffff: the process's root was not reached */
	__u32 path_len;
	__u32 thread;
	__u64 size;  /* i_size in bytes at this time */
	__u64 birth; /* ns since the epoch, 0: unknown */
	__u64 root;  /* as in struct wire_name, of the current process */
	char fs[16];
	/* If the mount is in another namespace than the recorder's: its part of the file system. */
	__u32 fs_dev;	/* the kernel's dev_t of the file system, as in /proc/PID/mountinfo */
	__u32 mount_at; /* bytes of names below the root of the mount */
	__u32 fs_len; /* bytes of names after the path: the path of the mount's root in its file system */
	__u32 fs_known; /* 1: these three are known */
	/* For a file of overlayfs: the file in a layer that holds its content; 0: none, or unknown. */
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
	__u16 local_len; /* bytes of local[] and peer[]: 4, 16, or the length of a unix name */
	__u16 peer_len;
	__u16 pad;
	__u64 ino, peer_ino; /* of a unix socket: its own and its peer's; 0: unknown */
	__u8 local[112];
	__u8 peer[112];
};
_Static_assert(sizeof(struct wire_sock) == 280, "struct wire_sock");

enum wire_thread_reason {
	WIRE_THREAD_SEEN = 0,
	WIRE_THREAD_FORK = 1,
	WIRE_THREAD_EXEC = 2,
	WIRE_THREAD_CHANGED = 3, /* name, user, cgroup, namespace */
	WIRE_THREAD_KERNEL = 4,	 /* a kernel thread, which makes no calls */
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
	__u64 process_start; /* start of the group leader: with tgid it identifies the process */
	__u64 start;	     /* its own, ns since boot; 0: not known */
	__u64 exe;	     /* file number of its executable, 0: unknown */
	__u64 run_delay; /* total time it has been runnable but not running; WIRE_TIME_UNKNOWN */
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

/* What the program weir_waited reports about a live thread. */
struct wire_waited {
	__u32 thread;
	__u32 context_flags; /* enum wire_context_flag */
	__u64 run_delay;
	__u64 context_until; /* end of the last call that carried the thread's context; 0: none */
};

/* The file's last name was removed. */
struct wire_file_gone {
	struct wire_head head;
	__u64 file;
};

/* What the kernel programs do for a call, generated from schema/ops.def. Argument numbers, -1: none. */
enum wire_plan_flag {
	WIRE_PLAN_RECORD = 1 << 0, /* selected by -e */
	WIRE_PLAN_RICH = 1 << 1,   /* has parts of variable size */
	WIRE_PLAN_NAMES =
		1 << 2, /* success may change names of anyone's open files: rename, mount, ... */
	WIRE_PLAN_UNLINK = 1 << 3, /* success may remove a file's last name */
	WIRE_PLAN_CREATE = 1 << 4, /* success may create a file */
	WIRE_PLAN_PWRITE = 1 << 5, /* an explicit position, which O_APPEND overrides */
	WIRE_PLAN_CREDS = 1 << 6,  /* success changes users or namespaces */
	WIRE_PLAN_SOCK = 1 << 7,   /* success changes the socket's address */
	WIRE_PLAN_EXEC = 1 << 8,
	WIRE_PLAN_EVER =
		1 << 9, /* handled for every process, traced or not: NAMES, UNLINK, CREATE, CREDS */
	WIRE_PLAN_OPEN = 1 << 10,   /* the path is not needed if the descriptor identifies the file:
				     * wire_second.file is then the folder of a dirfd */
	WIRE_PLAN_CURPOS = 1 << 11, /* position -1 means the file's own (preadv2, pwritev2) */
	WIRE_PLAN_CHDIR = 1 << 12,  /* relative paths start at the working directory at enter */
	WIRE_PLAN_OWNPOS = 1 << 13, /* may start at the file's current position */
	WIRE_PLAN_RECEIVES =
		1 << 14, /* a message: the address is the sender's, absent without a message */
	WIRE_PLAN_TARGET = 1 << 15, /* path2 is the text of a symbolic link, without a folder */
	WIRE_PLAN_FATE = 1 << 16, /* success changes what paths lead to, and the selection contains
				   * calls with paths: sent even if not selected */
	WIRE_PLAN_POLL = 1 << 17, /* a struct pollfd * and how many */
	WIRE_PLAN_SELECT = 1 << 18,    /* how many, and three sets of descriptors */
	WIRE_PLAN_EPOLL = 1 << 19,     /* an epoll, a struct epoll_event * and how many */
	WIRE_PLAN_MAPPED = 1 << 22,    /* works on the file mapped at the first argument */
	WIRE_PLAN_SUBMITS = 1 << 20,   /* submits requests of libaio */
	WIRE_PLAN_REAPS = 1 << 21,     /* fetches results of libaio */
	WIRE_PLAN_ANNOUNCES = 1 << 23, /* may name memory for others to read: announce.h */
	/* a path below a file may mark a span (markers.h): sent even if not selected */
	WIRE_PLAN_MARKS = 1 << 24,
	WIRE_PLAN_LOCKS = 1 << 25, /* fcntl: for locks pos, size and flags are range and type */
};

/* Calls that wait on several descriptors. */
#define WIRE_PLAN_SEVERAL (WIRE_PLAN_POLL | WIRE_PLAN_SELECT | WIRE_PLAN_EPOLL)

/* Calls that are sent as WIRE_FATE even if the selection rejects them. */
#define WIRE_PLAN_SENT (WIRE_PLAN_FATE | WIRE_PLAN_MARKS)

#define WIRE_PLAN_AIO (WIRE_PLAN_SUBMITS | WIRE_PLAN_REAPS)

/* Two pseudo-arguments that every call has. */
#define WIRE_ARG_ZERO	   6 /* always 0 */
#define WIRE_ARG_MINUS_ONE 7 /* always -1 */

/* The arguments after addrout and mmsg are the length of a returned address and the number of messages. */
struct wire_plan {
	__u32 flags; /* enum wire_plan_flag */
	__u8 ret;    /* enum ret_kind */
	__u8 raw;    /* a bit for each argument that no other column holds */
	__s8 fd, fd2, dirfd, dirfd2;
	__s8 path, path2, size, pos;
	__s8 pos2, posp, posp2, iov;
	__s8 iovcnt, msg, mmsg;
	__s8 addr, addrlen, addrout;
	__s8 fdpair, opflags, how;
	__u8 op_fd, op_size, op_flags; /* argument of this struct wire_op field; never none */
	__u16 sets;		       /* a bit for each set of the filter that contains the call */
};
_Static_assert(sizeof(struct wire_plan) == 32, "one plan is 32 bytes");

/*
 * A test of a name: from the filter, or for the literal folders at the beginning of a selected path. A path is tested
 * once for each version of a file, in the form of a file record ("b\0a\0" is /a/b); a comm once for each version of a
 * thread.
 */
struct wire_name_test {
	__u8 field; /* enum filter_field: FILTER_COMM or FILTER_PATH */
	__u8 how;   /* enum filter_how */
	__u8 opposite;
	__u8 pattern; /* of a comm: a name with a slash passes, and the recorder decides */
	__u16 bit; /* of a path: the bit that it sets in file_version.wanted, see src/bpf/lib/state.h */
	__u16 others; /* names that are not paths ("pipe:[1]") pass */
	__u32 len;    /* length of names; for a selected path 0: everything matches */
	__u32 pad;
	__u64 mask[2]; /* of a comm: the bits to compare */
	__u8 names[WIRE_NAMES_MAX];
};
_Static_assert(sizeof(struct wire_name_test) == 32 + WIRE_NAMES_MAX, "no padding");

/* Which threads are recorded: the same for all kernel objects, set before they are loaded. Lists are maps. */
struct wire_selection {
	__s32 own_tgid;			       /* the recorder */
	__s32 command_tgid;		       /* the command started by the recorder; 0: none */
	__u8 own_traffic;		       /* record the recorder too */
	__u8 pids, tids, comms, uids, cgroups; /* 1: there are conditions of this kind */
	__u8 follow;			       /* also children of selected processes */
	__u8 controller;		       /* enum wire_controller */
};

/* What the recorder finds out about itself at the start, and what the kernel objects report without a record. */
struct wire_shared {
	__u32 pidns,
		pidns_level;   /* the recorder's pid namespace: inode number, and nesting level */
	__s32 cgroup_subsys;   /* index into css_set.subsys; -1: the v2 hierarchy */
	__u32 polled;	       /* number of entries added to the map `polled` */
	__s64 preempt_from_rq; /* offset from a CPU's run queue to its preempt_count; 0: unknown */
	__u64 side_lost[WIRE_SIDE_LOSSES][WIRE_SIDE_TYPES]; /* events without a record, by type */
	__u32 io_counted; /* 1: the kernel counts the bytes that a task reads */
	__u32 pad;
	__u64 content_lost;			 /* content records that found no room */
	__u64 details_lost;			 /* the same for detail records */
	__u64 block_lost_first, block_lost_last; /* when block records were lost; 0: never */
	__u64 over; /* when recording stopped: later events are only recorded as calls; 0: it continues */
};

/* The losses of a thread, by the CPU on which they happened; in addition to the counters of the CPU. */
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

/* The control group hierarchy in which tasks are looked up. */
enum wire_controller {
	WIRE_CONTROLLER_NONE, /* the v2 hierarchy */
	WIRE_CONTROLLER_PIDS, /* the first v1 hierarchy that is mounted */
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

#define WIRE_STACK_FRAMES  128 /* a power of two; the innermost frames are kept */
#define WIRE_STACK_MODULES 16  /* mappings per stack; frames of others have no module */
#define WIRE_STACK_SLEEPS  48  /* frames of a kernel stack */
#define WIRE_FRAME_MODULE \
	56 /* a frame's bits from here on: 1 + the index of its module, 0: unknown */
/*
 * The bits from here on: 1 + the number of words that the function of the previous frame has on the stack below this
 * return address; 0: the frame was found by the frame pointer. The unwind tables of the function's module show whether
 * that was right.
 */
#define WIRE_FRAME_WORDS   48
#define WIRE_FRAME_ADDRESS (1ull << WIRE_FRAME_WORDS)

enum wire_stack_flag {
	WIRE_STACK_KERNEL = 1 << 0, /* frames are addresses of the kernel, without modules */
	WIRE_STACK_DEEP = 1 << 1,   /* there are more frames than were kept */
	WIRE_STACK_UNREAD = 1 << 2, /* the walk stopped at unreadable memory */
	WIRE_STACK_BOTTOM =
		1 << 3, /* the walk reached a frame pointer of 0, with which a thread begins */
};

/* A stack that is seen for the first time: struct wire_stack, __u64 frames, innermost first, struct wire_module. */
struct wire_stack {
	struct wire_head head;
	__u64 stack; /* hash of the frames and the process's image, by which records refer to the stack */
	__u32 thread; /* with which it was seen */
	__u32 flags;  /* enum wire_stack_flag */
	__u16 frames;
	__u16 modules;
	__u32 pad;
};
_Static_assert(sizeof(struct wire_stack) == 40, "struct wire_stack");

/* A mapping of the process; the file position of a frame is address - start + pos. */
struct wire_module {
	__u64 file; /* file number, 0: not a file */
	__u64 start, end;
	__u64 pos; /* in bytes */
};

/* Precedes the record of the call in the same ring: the stacks of that call, 0: none. */
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

/* For which calls stacks are recorded. */
struct wire_stacks {
	__u32 of; /* enum wire_stacks_of, 0: none */
	__u32 pad;
	__u64 slow_ns;
};

#define WIRE_SIGNALS 32 /* signals with names: 1 to 31 */

/* The last signal of one number that was sent to a process. */
struct wire_signal {
	__u64 at; /* 0: none */
	__s32 sender;
	__u32 pad;
};

/* A process with an io_uring that a kernel thread polls. */
struct wire_polled_key {
	__u64 process_start; /* since boot */
	__s32 tgid;
	__u32 pad;
};

struct wire_polled {
	char comm[16];	/* of the process */
	__u32 sure;	/* 0: threads are selected, and this process may have none of them */
	__u32 reported; /* set by the recorder: it has added a row */
};

/* An address of IPv4 (4 bytes, the rest 0) or IPv6. */
struct wire_ip {
	__u8 ip[16];
};

/* Why a segment was retransmitted. */
enum wire_retransmit {
	WIRE_RETRANSMIT_TIMEOUT = 1,
	WIRE_RETRANSMIT_FAST = 2,
	WIRE_RETRANSMIT_PROBE = 3, /* tail loss probe, before the timeout */
};

/* An event of a connection. Example: the second copy of a segment of 1,448 bytes. */
struct wire_net {
	struct wire_head head;
	__u64 start; /* 0: equal to head.time */
	__u64 file;  /* of the socket; 0: unknown */
	__u32 thread;
	__u32 packets;
	__u32 bytes;
	__u32 srtt_us;
	__u32 reason; /* of a drop enum skb_drop_reason, of a reset enum sk_rst_reason, of other events their own; 0: none */
	__u8 event;   /* enum net_event */
	__u8 state;   /* enum tcp_state */
	__u16 family;
	__u16 src_port, dst_port; /* host order */
	__u32 pad;
	struct wire_ip src, dst;
};
_Static_assert(sizeof(struct wire_net) == 96, "struct wire_net");

/* What a TCP connection did since its previous record of this type. */
struct wire_net_sample {
	struct wire_head head;
	__u64 start;
	__u64 file;
	__u64 bytes_out, bytes_in, retransmit_bytes;
	__u64 in_sum, out_sum; /* bytes in the queue times ns for which they were there, summed */
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

/* A recorded thread is running again. */
struct wire_sched {
	struct wire_head head;
	__u64 start;
	__u64 woken;	/* 0: not woken, or not seen */
	__u64 op_start; /* of the current call; 0: none */
	__u32 thread;
	__u32 waker, instead; /* versions of threads; 0: not recorded */
	__s32 waker_tid, instead_tid;
	__u16 nr; /* of that call */
	__s16 prio;
	__u8 why;      /* enum sched_why */
	__u8 woken_by; /* enum woken_by + 1; 0: unknown */
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

/* The sum in the programs' memory; the recorder reads what remains at the end. */
struct wire_irq_sum {
	struct wire_irq sum; /* without its head */
	__u64 began;	     /* start of the current run; 0: none */
	__u64 raised_at;     /* of a softirq that is pending; 0: none */
};

/* What a thread did to reclaim memory. */
struct wire_mem {
	struct wire_head head;
	__u64 start;
	__u64 allocated, freed, reclaimed;
	__u64 reclaim_time;
	__u32 reclaims, largest;
	__u32 thread; /* 0: all other threads of the CPU */
	__u32 events; /* events that the programs have seen */
};
_Static_assert(sizeof(struct wire_mem) == 72, "struct wire_mem");

/* Counters of a CPU, which the recorder reads directly from the programs' memory. */
struct wire_cpu {
	__u64 seq;  /* the next record's number: counts written records and lost calls */
	__u64 head; /* bytes written to the ring, including skipped ones */
	__u64 tail; /* bytes that the recorder has copied: besides `above` the only field that it writes */
	__u64 above;	/* the ring is above the fill mark: a wake-up was forced */
	__u64 lost;	/* calls that, or whose threads, found no room */
	__u64 held_ns;	/* total delay by back-pressure */
	__u64 filtered; /* calls that the selection rejected after they had ended */
	__u64 compat;	/* 32-bit calls: counted, not recorded */
	__u64 unfollowed; /* children of recorded processes that found no room: none of their calls is seen */
	__u64 storage; /* calls of threads that found no task storage */
	__u64 scratch; /* calls dropped because no scratch buffer was free */
	__u64 unread;  /* arguments that could not be read */
	__u64 fates;   /* calls sent despite the selection that found no room: not a loss */
	__u64 unsent;  /* ends of threads and addresses of sockets that found no room */
	__u64 hold_limits; /* times that back-pressure ended before the reader came, and calls were lost */
	__u32 faults;	/* page faults that found no room */
	__u32 requests; /* of `lost`: requests of io_uring */
};
_Static_assert(sizeof(struct wire_cpu) == 128, "two cache lines per CPU");

enum wire_fault_flag {
	WIRE_FAULT_IN_CALL = 1 << 0, /* by the kernel, accessing memory for a call: part of it */
	WIRE_FAULT_EXEC = 1 << 1,    /* of an instruction fetch */
	WIRE_FAULT_SWAP = 1 << 2,    /* the page does not belong to a file: it came from swap */
	WIRE_FAULT_UNREAD = 1 << 3,  /* the mapping was being changed and could not be read */
	WIRE_FAULT_HASHED = 1 << 4,  /* content records were to be sent */
};

/* A major page fault: the page was not in memory. Example: on the second page of a file that is mapped as a whole. */
struct wire_fault {
	struct wire_head head; /* time: its end */
	__u64 start;	       /* 0: unknown */
	__u64 address;
	__u64 file;	   /* 0: none, or unknown */
	__u64 pos;	   /* of the page in the file */
	__u64 file_bytes;  /* size of the file */
	__u32 thread, tid; /* as in struct wire_op */
	__u32 flags;	   /* enum wire_fault_flag */
	__u32 wanted;	   /* the path selection contains the file */
	__u64 hashed;	   /* as in struct wire_request */
};
_Static_assert(sizeof(struct wire_fault) == 80, "struct wire_fault");

/* Of a CPU: the reader's position when the ring was first found half full, and when that was. */
struct wire_hold {
	__u64 tail, since;
	__u64 over; /* a call was lost there */
};

/* Incremented by every rename, mount, ... and every unlink on the host; compared as one number. */
union wire_epochs {
	struct {
		__u32 names, unlinks;
	};
	__u64 both;
};
