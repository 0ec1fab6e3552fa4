/* SPDX-License-Identifier: GPL-2.0-only */
/* thread_state.h: the state of each thread; one map for all objects (capture/ebpf/load/objects.h). */
#pragma once

#include "bpf/lib/kernel.h"
#include "schema/wire.h"

#define PF_KTHREAD 0x200000
#define LAST_FILES 4 /* files cached per thread; a power of two */

enum file_kind {
	FILE_SEEKABLE = 1 << 0,
	FILE_SOCKET = 1 << 1,
	FILE_WANTED = 1 << 2,	/* the path selection contains it */
	CALL_LEFT_OUT = 1 << 3, /* in a call's kind: it is sent as WIRE_FATE */
	CALL_AWAY = 1 << 4,	/* in a call's kind: it is sent with WIRE_PART_AWAY */
	CALL_PHASED = 1 << 5,	/* in a call's kind: CALL_AWAY, because of its phases */
};

/* The upper half of a kind is file_version.wanted. */
#define KIND_WANTED_SHIFT 16

/* A file that a thread used recently: valid while every field up to `key` still matches. */
struct last_file {
	union {
		__u64 file;
		__u64 root; /* for a working directory: root_of() */
	};
	__u64 inode, dentry, mnt;
	union {
		__u64 ino;
		__u64 names; /* for a working directory: checksum of its path, 0: unknown */
	};
	__u64 epochs;
	__u32 generation;
	__u32 creates; /* create_epoch */
	__u64 key;
	__u32 kind; /* enum file_kind */
	__u32 pad;
};

/* The current call of a thread. */
struct call {
	struct wire_op op; /* as it will be sent: the exit adds ret, pos, status and the head */
	__u64 args[8];	   /* six; the values for WIRE_ARG_ZERO and WIRE_ARG_MINUS_ONE */
	__u64 file, file2; /* struct file * at enter */
	__u64 key2;	   /* file number of file2; op.file is that of file */
	__u64 base;	   /* of the working directory, if the call changes it */
	__s64 pos, pos2;   /* f_pos at enter */
	__u64 run_delay; /* of the thread at enter; at the exit of a call that was away, the increase */
	__u32 switches;	   /* voluntary context switches of the thread at enter */
	__u32 kind, kind2; /* enum file_kind of file and file2 */
	__u32 room; /* size of the address buffer, as passed by the caller; 0: none, or unknown */
};

enum thread_flag {
	THREAD_IN_CALL = 1 << 0,
	THREAD_NEWBORN = 1 << 1, /* forked: its first exit has no enter */
	THREAD_STALE = 1 << 2,	 /* something changed: check again before the next call */
	THREAD_SELECTED = 1 << 3,
	THREAD_ENTERED = 1 << 4,    /* the enter of a call was seen */
	THREAD_SKIPPED = 1 << 5,    /* in a call that is not recorded */
	THREAD_SENT = 1 << 6,	    /* its current version was sent */
	THREAD_EXECED = 1 << 7,	    /* the next version comes from exec */
	THREAD_WAS_OUT = 1 << 8,    /* it was seen before while not selected */
	THREAD_PUBLISHES = 1 << 10, /* its process publishes contexts: published.h */
	THREAD_UNSENT = 1 << 9,	    /* its current version found no room: it keeps its number */
};

/* Identifies a version of a file. */
struct file_key {
	__u64 ino;
	__u64 dentry, mnt, root; /* root: root_of() */
	__u32 dev, generation, reuse, pad;
};

/* A version's identity, determined from (inode, dentry, mount). */
struct file_ident {
	struct file_key k;
	__u64 inode;
	__u64 names; /* their checksum, set by file_version(); 0: the path was truncated */
	__u32 magic;
	__u16 mode;
	__u16 wanted; /* set by file_version() */
	__u32 thread; /* the version of the thread that uses it */
	__u16 fresh;  /* the version is new */
	__u16 unsent; /* and found no room */
};

#define PHASES_AHEAD_NS 200000 /* by so much may a wake-up precede the switch that it interrupts */

enum phase_out {
	OUT_READY, /* it was preempted, or yielded */
	OUT_SLEEP,
	OUT_IO,
};

/* How the time of the call was spent; see phases.h. Other threads write only to `woken`. */
struct call_phases {
	__u64 io_wait, sleep, runq; /* ns so far */
	__u64 out;		    /* when it lost its CPU; 0: running */
	__u64 woken;		    /* when it was woken since it last ran; 0: not woken */
	__u64 read_bytes;	    /* of the task at enter; after the call's end, the increase */
	__u32 switches;		    /* context switches of the task at enter, of both kinds */
	__u32 outs;		    /* number of switches seen */
	__u32 misses;
	__u16 how;     /* enum phase_out, valid with `out` */
	__u16 unknown; /* a switch or a wake-up was missed */
	__u32 wait_count, pad;
	struct wire_wait waits[WIRE_WAITS_MAX]; /* the first waits for I/O */
};

/* For the sched object: the thread's last switch and wake-up. */
struct thread_sched {
	__u64 out; /* 0: running, or the switch was missed */
	__u64 waking;
	__u32 waker; /* version of the waker; 0: not recorded */
	__s32 waker_tid;
	char waker_comm[WIRE_COMM]; /* if the waker is not recorded */
	__u8 why, woken_by;
	__u8 seen; /* its switch was seen */
	__u8 pad[5];
};

/* The context of a thread; see published.h. */
struct thread_context {
	__u64 at;	 /* address of the program's variable; 0: unknown */
	__u64 until;	 /* end of the last call with the context sent; 0: none was sent */
	__u64 ids[3];	 /* as sent */
	__u64 inherited; /* id of the span in its memory when it was forked; 0: none */
	__u32 publisher; /* wire_publisher.number */
	__u32 flags;	 /* enum wire_context_flag */
};

/* For the content object: the current call; see content.bpf.c. */
struct thread_content {
	__u64 end;     /* end of the call, taken by that object; 0: it did not run */
	__u32 in, out; /* of TCP: the next sequence numbers when the call began */
	__u32 tcp;
	__u32 room;    /* of recvmmsg: the smallest address buffer of its messages */
	__u64 fetched; /* when it fetched libaio results, taken by that object; else 0 */
};

struct thread_state {
	__u32 flags;
	__u32 select_epoch;
	__u32 version, task;
	__u32 calls;
	__u32 uid;	  /* of the version */
	__u32 stack;	  /* of the filter being evaluated */
	__u32 comm_tests; /* of the version: bits by number of the filter test */
	__s32 tid;	  /* of the version, in the recorder's pid namespace */
	__u32 root_epoch; /* epochs.names when `root` was determined; any change of it increments that */
	/* How often other threads changed what affects the selection (flags are the thread's own), and how much of that
	 * was handled. */
	__u32 changes, changes_seen;
	__u64 root; /* root_of() */
	__u64 exe;
	struct call call;
	struct last_file last[LAST_FILES];
	struct last_file cwd;
	struct file_ident ident; /* of the file being looked up; here because the stack is small */
	/* At the end, as only filters use them. */
	__u32 exe_tests; /* of the executable, like comm_tests */
	__u32 returned;	 /* the file of a returned descriptor is known */
	/*
	 * Set by the wakers object: the version of the thread that last woke this one, and when the call that it woke
	 * from began: numbers of calls that were not recorded are reused.
	 */
	__u32 waker, pad;
	__u64 woken_start;
	struct call_phases phases; /* used if phases are recorded */
	struct thread_sched sched;
	struct wire_mem mem; /* of the mem object: not sent yet; start 0: nothing */
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

/* The state of a task, for programs that run at every switch and wake-up. NULL: none, or a kernel thread. */
static __always_inline struct thread_state *thread_of(struct task_struct *task)
{
	return task->flags & PF_KTHREAD ? NULL : bpf_task_storage_get(&threads, task, 0, 0);
}

/* Whether it is in a recorded call. */
static __always_inline bool thread_in_call(const struct thread_state *ts)
{
	return (ts->flags & (THREAD_IN_CALL | THREAD_SKIPPED)) == THREAD_IN_CALL;
}

/* Whether it is recorded, and rows may refer to its version. */
static __always_inline bool thread_is_known(const struct thread_state *ts)
{
	const __u32 both = THREAD_SELECTED | THREAD_SENT;

	return (ts->flags & both) == both;
}
