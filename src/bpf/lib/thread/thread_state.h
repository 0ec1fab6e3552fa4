/* SPDX-License-Identifier: GPL-2.0-only */
/* thread_state.h: what is remembered of each thread; one map for all objects (capture/ebpf/load/objects.h). */
#pragma once

#include "bpf/lib/kernel.h"
#include "schema/wire.h"

#define PF_KTHREAD 0x200000
#define LAST_FILES 4 /* files remembered per thread; a power of two */

enum file_kind {
	FILE_SEEKABLE = 1 << 0,
	FILE_SOCKET = 1 << 1,
	FILE_WANTED = 1 << 2,	/* the selection by path takes it */
	CALL_LEFT_OUT = 1 << 3, /* of a call's: it is sent as WIRE_FATE */
	CALL_AWAY = 1 << 4,	/* of a call's: WIRE_PART_AWAY is sent with it */
	CALL_PHASED = 1 << 5,	/* of a call's: so it is, for what its phases say */
};

/* In the upper half of a kind stands what file_version.wanted says. */
#define KIND_WANTED_SHIFT 16
#define WANTED_SELECTED	  1 /* by path; the next bits are those of the filter's tests */
#define WANTED_TEST(n)	  (2u << (n))

/* A file that a thread used lately: valid while every field up to `key` still agrees. */
struct last_file {
	union {
		__u64 file;
		__u64 root; /* of a working directory: root_of() */
	};
	__u64 inode, dentry, mnt;
	union {
		__u64 ino;
		__u64 names; /* of a working directory: the checksum of its path, 0: not known */
	};
	__u64 epochs;
	__u32 generation;
	__u32 creates; /* create_epoch */
	__u64 key;
	__u32 kind; /* enum file_kind */
	__u32 pad;
};

/* The call that a thread is in. */
struct call {
	struct wire_op
		op; /* as it will be sent: the exit adds ret, pos, status and what the head says */
	__u64 args[8];	   /* six; what ARG_ZERO and ARG_MINUS_ONE say */
	__u64 file, file2; /* struct file *, as at enter */
	__u64 key2;	   /* file number of file2; that of file is op.file */
	__u64 base;	   /* of the working directory, where the call changes it */
	__s64 pos, pos2;   /* f_pos at enter */
	__u64 run_delay; /* of the thread at enter; of a call that was away what it was more at exit */
	__u32 switches;	   /* voluntary context switches of the thread, at enter */
	__u32 kind, kind2; /* enum file_kind of file and file2 */
	__u32 room; /* for the address that it asks for, as the caller said at enter; 0: none, or not known */
};

enum thread_flag {
	THREAD_IN_CALL = 1 << 0,
	THREAD_NEWBORN = 1 << 1, /* forked, its first exit has no enter */
	THREAD_STALE = 1 << 2,	 /* something changed: look again before the next call */
	THREAD_SELECTED = 1 << 3,
	THREAD_ENTERED = 1 << 4,    /* a call of it was seen to begin */
	THREAD_SKIPPED = 1 << 5,    /* in a call that is not to be recorded */
	THREAD_SENT = 1 << 6,	    /* its present version was sent */
	THREAD_EXECED = 1 << 7,	    /* the next version comes from exec */
	THREAD_WAS_OUT = 1 << 8,    /* it was seen before, and not selected */
	THREAD_PUBLISHES = 1 << 10, /* its process publishes contexts: lib/published.h */
	THREAD_UNSENT = 1 << 9, /* there was no room for its present version: it keeps its number */
};

/* What names a version of a file. */
struct file_key {
	__u64 ino;
	__u64 dentry, mnt, root; /* root: root_of() */
	__u32 dev, generation, reuse, pad;
};

/* What identifies a version, found from (inode, dentry, mount). */
struct file_ident {
	struct file_key k;
	__u64 inode;
	__u64 names; /* their checksum, set by file_version(); 0: the path was cut */
	__u32 magic;
	__u16 mode;
	__u16 wanted; /* set by file_version() */
	__u32 thread; /* the version of the thread that looks */
	__u16 fresh;  /* the version is new */
	__u16 unsent; /* and there was no room for it */
};

#define PHASES_AHEAD_NS 200000 /* a wake-up may precede the switch that it comes upon by so much */

enum phase_out {
	OUT_READY, /* it was preempted, or yields */
	OUT_SLEEP,
	OUT_IO,
};

/* Where the time of the call went; see phases.h. Others than the thread itself write to `woken` alone. */
struct call_phases {
	__u64 io_wait, sleep, runq; /* ns so far */
	__u64 out;		    /* when it lost its CPU; 0: it runs */
	__u64 woken;		    /* when it was woken since it ran last; 0: it was not */
	__u64 read_bytes; /* of the task at enter; of a call that ended what it was more at exit */
	__u32 switches;	  /* of the task at enter, of either kind */
	__u32 outs;	  /* of them were seen */
	__u32 misses;
	__u16 how;     /* enum phase_out, valid with `out` */
	__u16 unknown; /* a switch or a wake-up was not seen */
	__u32 wait_count, pad;
	struct wire_wait waits[WIRE_WAITS_MAX]; /* for I/O, the first ones */
};

/* For the object of sched: the thread's last switch and its last wake-up. */
struct thread_sched {
	__u64 out; /* 0: it has its CPU, or that was not seen */
	__u64 waking;
	__u32 waker; /* its version; 0: not recorded */
	__s32 waker_tid;
	char waker_comm[WIRE_COMM]; /* of one that is not recorded */
	__u8 why, woken_by;
	__u8 seen; /* to lose its CPU */
	__u8 pad[5];
};

/* The context that a thread carries; see published.h. */
struct thread_context {
	__u64 at;	 /* of the program's variable; 0: not known */
	__u64 until;	 /* the end of the last call that carried what was sent; 0: none was */
	__u64 ids[3];	 /* as sent */
	__u64 inherited; /* id of the span that its memory had as it was forked; 0: none */
	__u32 publisher; /* wire_publisher.number */
	__u32 flags;	 /* enum wire_context_flag */
};

/* For the object of content, of the present call; see content.bpf.c. */
struct thread_content {
	__u64 end;     /* of the call, as that object took it; 0: it did not look */
	__u32 in, out; /* of TCP at the call's beginning: the sequence numbers of what comes next */
	__u32 tcp, pad;
	__u64 fetched; /* when it fetched results of libaio, as that object took it; else 0 */
};

struct thread_state {
	__u32 flags;
	__u32 select_epoch;
	__u32 version, task;
	__u32 calls;
	__u32 uid;	  /* of the version */
	__u32 stack;	  /* of the filter that is run */
	__u32 comm_tests; /* of the version: bits by number of the filter's test */
	__s32 tid;	  /* of the version, in the recorder's pid namespace */
	__u32 root_epoch; /* epochs.names when `root` was looked at, which any change of it raises */
	/* How often others changed what hangs on the selection (flags are the thread's own), and what of it was looked at. */
	__u32 changes, changes_seen;
	__u64 root; /* root_of() */
	__u64 exe;
	struct call call;
	struct last_file last[LAST_FILES];
	struct last_file cwd;
	struct file_ident
		ident; /* of the file that is looked up; here because the stack is small */
	/* Last, as only a filter looks at them. */
	__u32 exe_tests; /* of the program's file, as comm_tests */
	__u32 returned;	 /* the file behind a descriptor that the call returned is known */
	/*
	 * Set by the object of wakers: the version of the thread that woke this one last, and when the call began from which it
	 * woke it: numbers of calls that were left out are given again.
	 */
	__u32 waker, pad;
	__u64 woken_start;
	struct call_phases phases; /* used where phases are recorded */
	struct thread_sched sched;
	struct wire_mem mem; /* of the object of mem: what is not sent; start 0: nothing */
	__u64 reclaim_began;
	struct thread_context context;
	struct thread_content content;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

/* What is remembered of a task: for programs that run for every switch and wake-up. NULL: nothing, or it is the kernel's own. */
static __always_inline struct thread_state *thread_of(struct task_struct *task)
{
	return task->flags & PF_KTHREAD ? NULL : bpf_task_storage_get(&threads, task, 0, 0);
}

/* It is in a call that is recorded. */
static __always_inline bool thread_in_call(const struct thread_state *ts)
{
	return (ts->flags & (THREAD_IN_CALL | THREAD_SKIPPED)) == THREAD_IN_CALL;
}

/* It is recorded, and rows may name its version. */
static __always_inline bool thread_is_known(const struct thread_state *ts)
{
	const __u32 both = THREAD_SELECTED | THREAD_SENT;

	return (ts->flags & both) == both;
}
