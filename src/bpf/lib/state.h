/* SPDX-License-Identifier: GPL-2.0-only */
/* state.h: what the programs of calls remember: configuration, counters, per-thread state, maps. */
#pragma once

#include "bpf/lib/selected.h"
#include "schema/call_filter.h"
#include "schema/wire.h"

#define STATUS_INTERRUPTED \
	(1 << 1) /* enum op_status of schema/vocab.h, checked by capture/ebpf/plan.c */
#define STATUS_DENIED	  (1 << 2)
#define STATUS_CONTESTED  (1 << 3)
#define STATUS_APPEND	  (1 << 4)
#define STATUS_HELD	  (1 << 5)
#define STATUS_NO_START	  (1 << 6)
#define STATUS_NORETURN	  (1 << 7)
#define STATUS_ARG_UNREAD (1 << 9)
#define STATUS_SLEPT	  (1 << 10)
#define STATUS_UNFINISHED (1 << 0)

#define RET_BYTES 1 /* enum ret_kind of schema/ops.h, checked there too */
#define RET_FD	  2
#define RET_POS	  5

#define LAST_FILES    4 /* files remembered per thread; a power of two */
#define SCRATCH_SLOTS 4 /* per CPU: programs nest when they are preempted */

/* Set before loading. */
const volatile bool failed_only;
const volatile bool raw_args;
const volatile bool no_argv;
const volatile bool lossless;
const volatile __u64 min_dur_ns;
const volatile __u64
	hold_limit_ns; /* lossless: how long threads are held up while the reader is away */
const volatile __u32 fill_mark; /* bytes in a ring that wake the reader */
const volatile __u32 ring_half;
const volatile __u32 ring_bytes;
const volatile __u32 ring_leaves;	  /* of a ring */
const volatile bool select_paths;	  /* files are selected by path */
const volatile struct call_filter filter; /* count 0: none, and the verifier takes all of it out */
const volatile __u32 test_count;
const volatile struct wire_name_test
	tests[WIRE_TESTS_MAX]; /* those of the filter, by number, then the selected paths */

/* Changed while running; read by the recorder. */
struct wire_cpu cpus[WIRE_CPUS_MAX] __attribute__((aligned(64)));
/* Of a CPU: the reader's place when its ring was found half full, and since when. */
struct hold_state {
	__u64 tail, since;
	__u64 over; /* a call was lost there */
};
static struct hold_state holds[WIRE_CPUS_MAX]; /* static: not in the skeleton */
struct wire_plan plans[WIRE_CALLS_MAX]; /* here, not in a map of its own: no look-up is needed */
__u32 select_epoch; /* raised when all is attached, and by a new selection; 0: nobody is recorded */
__u32 stopping;	    /* no call begins any more: enters are not seen, exits are */
/* Raised by every rename, mount, ... on the host, and by every unlink; compared as one number. */
union epochs {
	struct {
		__u32 names, unlinks;
	};
	__u64 both;
};
static union epochs epochs = {.names = 1, .unlinks = 1}; /* static: not in the skeleton */
__u32 create_epoch = 1; /* raised when a file is created whose inode has no generation */
__u32 next_thread = 1;
__u64 next_file = 1;
__u32 created_bit =
	0x100000;     /* FMODE_CREATED; it moved between versions, so it is found at start */
__u64 attached_at;    /* no start of a call was seen before */
__u32 running_unsent; /* set by weir_running: a thread's record had found no room */
__u64 own_root;	      /* root_of() of the recorder */
__u32 own_mnt_ns;     /* inode number of its mount namespace */
__u32 probe_fds[2];   /* of the recorder: a file that it created and the same file opened again */
__u32 probe_modes[2]; /* and what the kernel says of them */

enum file_kind {
	FILE_SEEKABLE = 1 << 0,
	FILE_SOCKET = 1 << 1,
	FILE_WANTED = 1 << 2,	/* the selection by path takes it */
	CALL_LEFT_OUT = 1 << 3, /* of a call's: it is sent as WIRE_FATE */
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
	__u32 switches;	   /* voluntary context switches of the thread, at enter */
	__u32 kind, kind2; /* enum file_kind of file and file2 */
	__u32 room; /* for the address that it asks for, as the caller said at enter; 0: none, or not known */
};

enum thread_flag {
	THREAD_IN_CALL = 1 << 0,
	THREAD_NEWBORN = 1 << 1, /* forked, its first exit has no enter */
	THREAD_STALE = 1 << 2,	 /* something changed: look again before the next call */
	THREAD_SELECTED = 1 << 3,
	THREAD_ENTERED = 1 << 4, /* a call of it was seen to begin */
	THREAD_SKIPPED = 1 << 5, /* in a call that is not to be recorded */
	THREAD_SENT = 1 << 6,	 /* its present version was sent */
	THREAD_EXECED = 1 << 7,	 /* the next version comes from exec */
	THREAD_WAS_OUT = 1 << 8, /* it was seen before, and not selected */
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
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

struct ring_leaf {
	__u8 data[WIRE_LEAF_BYTES];
};

/* The leaves of the first CPU's ring, those of the second, ... */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ring_leaf);
} rings SEC(".maps");

/* Carries nothing: it is what wakes the recorder. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} bell SEC(".maps");

/* Versions of files that were sent. */
struct file_version {
	__u64 key;
	__u64 names;  /* checksum of the names up to the root */
	__u32 epoch;  /* names_epoch when they were looked at */
	__u16 gone;   /* sent as deleted */
	__u16 wanted; /* WANTED_SELECTED, WANTED_TEST() */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, struct file_key);
	__type(value, struct file_version);
} files SEC(".maps");

struct inode_key {
	__u64 ino;
	__u32 dev, pad;
};

/* How often an inode number without generation was used again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct inode_key);
	__type(value, __u32);
} reuses SEC(".maps");

/* What is missing, by thread and CPU: read where the counters of a CPU grew. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wire_missing_key);
	__type(value, __u64);
} missing SEC(".maps");

/* Space in which a record of variable size is put together; also holds the state of a walk, because the
 * verifier takes what it reads from a map for unknown, which a loop needs. */
struct scratch {
	__u32 busy;
	__u32 len; /* of the names in data */
	__u32 root_at;
	__u32 mount_at; /* as in struct wire_file */
	__u32 fs_known;
	__u32 done;
	__u32 pad;
	__u64 dentry, mnt; /* where the walk stands; mnt is struct mount */
	__u64 root_dentry, root_mnt;
	__u64 sum;
	__u64 size; /* of a vector */
	__u64 user;
	__u32 step, count;
	__u32 wanted;  /* WANTED_SELECTED, WANTED_TEST() */
	__u32 base;    /* length of the last name, with its NUL */
	__u32 magic;   /* of the file system */
	__u32 foreign; /* the mount is of another namespace than the recorder's */
	__u8 data[256 + WIRE_WALK_MAX + 512];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct wire_cpu *this_cpu(void)
{
	return &cpus[bpf_get_smp_processor_id() & (WIRE_CPUS_MAX - 1)];
}

/* Something of the current thread is missing: adds to its share of what the CPU's counter says. */
verified_alone int missing_count(__u32 kind)
{
	struct thread_state *ts = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
	struct wire_missing_key k = {.cpu = bpf_get_smp_processor_id(), .kind = kind};
	__u64 one = 1, *n;

	if (!ts || !ts->version)
		return 0;
	k.thread = ts->version;
	n = bpf_map_lookup_elem(&missing, &k);
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&missing, &k, &one, BPF_NOEXIST);
	return 0;
}

static noinline struct scratch *scratch_get(void)
{
	__u32 base = bpf_get_smp_processor_id() * SCRATCH_SLOTS;

	for (__u32 i = 0; i < SCRATCH_SLOTS; i++) {
		__u32 at = base + i;
		struct scratch *s = bpf_map_lookup_elem(&scratches, &at);

		if (s && __sync_val_compare_and_swap(&s->busy, 0, 1) == 0)
			return s;
	}
	return NULL;
}

static __always_inline void scratch_put(struct scratch *s)
{
	s->busy = 0;
}
