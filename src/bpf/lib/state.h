/* SPDX-License-Identifier: GPL-2.0-only */
/* state.h: the state of the programs of calls: configuration, counters, per-thread state, maps. */
#pragma once

#include "bpf/lib/thread/selected.h"
#include "bpf/lib/side.h"
#include "bpf/lib/thread/thread_state.h"
#include "schema/call_filter.h"
#include "schema/wire.h"
#include "schema/wire_context.h"

#define STATUS_INTERRUPTED \
	(1 << 1) /* enum op_status of schema/vocab.h, checked by capture/ebpf/load/plan.c */
#define STATUS_DENIED	  (1 << 2)
#define STATUS_CONTESTED  (1 << 3)
#define STATUS_APPEND	  (1 << 4)
#define STATUS_HELD	  (1 << 5)
#define STATUS_NO_START	  (1 << 6)
#define STATUS_NORETURN	  (1 << 7)
#define STATUS_ARG_UNREAD (1 << 9)
#define STATUS_SLEPT	  (1 << 10)
#define STATUS_UNFINISHED (1 << 0)

#define RET_BYTES 1 /* enum ret_kind of schema/ops.h, checked there as well */
#define RET_FD	  2
#define RET_POS	  5

/*
 * Everything below is shared by all objects that include this file: the calls object provides the sections
 * (capture/ebpf/load/objects.h). So nothing is static, and everything is initialized: the compiler would order other
 * variables differently in each object.
 */
#define CONFIG const volatile SEC(".rodata.calls.shared") /* set before loading */
#define CHOICE \
	OPTION SEC(".rodata.calls.shared") /* likewise; see objects_plain() of capture/ebpf */
#define STATE SEC(".data.calls.shared")	   /* changed while running */

CHOICE bool failed_only = 0;
CONFIG bool raw_args = 0;
CONFIG bool no_argv = 0;
CHOICE bool lossless = 0;
CHOICE bool phases = 0;	      /* the phases object is loaded as well */
CONFIG bool content = 0;      /* likewise the content or details object */
CONFIG bool obi = 0;	      /* the context map pinned by another instrumentation exists */
CHOICE bool phases_split = 0; /* the object of block requests is loaded as well */
CHOICE __u64 min_dur_ns = 0;
/* lossless: how long threads are delayed while the reader is away */
CONFIG __u64 hold_limit_ns = 0;
CONFIG __u32 fill_mark = 0; /* bytes in a ring at which the reader is woken */
CONFIG __u32 ring_half = 0;
CONFIG __u32 ring_bytes = 0;
CONFIG __u32 ring_leaves = 0; /* per ring */
CHOICE bool select_paths = 0; /* files are selected by path */
/* count 0: no filter, and the verifier removes its code */
CHOICE struct call_filter filter = {};
CHOICE __u32 test_count = 0;
CONFIG __u32 page_bytes = 0;
/* the filter's tests, by number, then the selected paths */
CONFIG struct wire_name_test tests[WIRE_TESTS_MAX] = {};

/* Changed while running; read by the recorder. */
struct wire_cpu cpus[WIRE_CPUS_MAX] __attribute__((aligned(64))) STATE = {};
struct wire_hold holds[WIRE_CPUS_MAX] STATE = {};
/* here instead of in a map, so that no look-up is needed */
struct wire_plan plans[WIRE_CALLS_MAX] STATE = {};
/* incremented when all is attached, and by a new selection; 0: nothing is recorded */
__u32 select_epoch STATE = 0;
__u32 stopping STATE = 0; /* recording stops: enters are no longer traced, exits are */
union wire_epochs epochs STATE = {.names = 1, .unlinks = 1};
/* incremented when a file is created whose inode has no generation */
__u32 create_epoch STATE = 1;
__u32 next_thread STATE = 1;
__u64 next_file STATE = 1;
/* FMODE_CREATED; its value differs between versions, so it is determined at start */
__u32 created_bit STATE = 0x100000;
__u64 attached_at STATE = 0; /* starts of calls before this time were not seen */
/* threads that weir_running left out, as their records found no room */
__u32 running_unsent STATE = 0;
__u64 own_root STATE = 0;   /* root_of() of the recorder */
__u32 own_mnt_ns STATE = 0; /* inode number of its mount namespace */
/* descriptors of the recorder: a file that it created, and the same file opened again */
__u32 probe_fds[2] STATE = {};
__u32 probe_modes[2] STATE = {}; /* and their modes in the kernel */

__u32 publisher_count STATE = 0; /* number of publishers added */
__u64 contexts_unread STATE = 0; /* context records that could not be read */
__u64 markers_lost STATE = 0;	 /* calls that mark spans and found no room */

/* Processes that publish contexts, by number; see published.h. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct wire_publisher);
} publishers SEC(".maps");

/* Replaced by the loader: the map of OpenTelemetry's eBPF instrumentation, or an empty one; see published.h. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct wire_obi_context);
} obi_contexts SEC(".maps");

#define SET_WORDS 16 /* FD_SETSIZE of kernel and C library: larger sets are truncated */

/* The sets passed to a thread's select: descriptors for reading, writing, exceptions. */
struct fd_sets {
	__u64 words[3][SET_WORDS];
	__u32 version, call; /* the call they belong to */
	__u32 unread, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fd_sets);
} select_sets SEC(".maps");

/* The number of bytes of each set that the kernel reads, limited to those kept. */
static __always_inline __u32 sets_bytes(__u32 count)
{
	if (count > SET_WORDS * 64)
		count = SET_WORDS * 64;
	return (count + 63) / 64 * 8;
}

struct ring_leaf {
	__u8 data[WIRE_LEAF_BYTES];
};

/* The leaves of the first CPU's ring, then those of the second, ... */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ring_leaf);
} rings SEC(".maps");

/* Carries no data: wakes the recorder. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} bell SEC(".maps");

/* Versions of files already sent. */
struct file_version {
	__u64 key;
	__u64 names;  /* checksum of the names up to the root */
	__u32 epoch;  /* names_epoch when they were computed */
	__u16 gone;   /* sent as deleted */
	__u16 wanted; /* FILTER_WANTED_SELECTED, FILTER_WANTED_TEST() */
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

/* How often an inode number without generation was reused. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct inode_key);
	__type(value, __u32);
} reuses SEC(".maps");

/* Losses by thread and CPU: read when the counters of a CPU grew. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wire_missing_key);
	__type(value, __u64);
} missing SEC(".maps");

/* Buffer in which a record of variable size is assembled. Also holds the state of a walk: the verifier treats values
 * read from a map as unknown, which loops need. */
struct scratch {
	__u32 busy;
	__u32 len; /* of the names in data */
	__u32 root_at;
	__u32 mount_at; /* as in struct wire_file */
	__u32 fs_known;
	__u32 done;
	__u32 pad;
	__u64 dentry, mnt; /* current position of the walk; mnt is struct mount */
	__u64 root_dentry, root_mnt;
	__u64 sum;
	__u64 size; /* of a vector */
	__u64 user;
	__u32 step, count;
	__u32 wanted;		     /* FILTER_WANTED_SELECTED, FILTER_WANTED_TEST() */
	__u32 base;		     /* length of the last component, with its NUL */
	__u32 magic;		     /* of the file system */
	__u32 foreign;		     /* the mount is in another namespace than the recorder's */
	__u64 found[WIRE_READY_MAX]; /* of an epoll: the program's data of the ready descriptors */
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

/* Adds one to a counter of this CPU, by its offset in struct wire_cpu: for rare events, which can afford a call. */
verified_alone int cpu_count_at(__u32 at)
{
	__u64 *counter = (void *)this_cpu() + (at & (sizeof(struct wire_cpu) - sizeof(*counter)));

	__sync_fetch_and_add(counter, 1);
	return 0;
}

#define CPU_COUNTER(field) __builtin_offsetof(struct wire_cpu, field)
#define cpu_count(field)   cpu_count_at(CPU_COUNTER(field))

/* Counts a loss of the current thread: its share of the CPU's counter. */
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

/* Marks a free buffer of this CPU as busy and returns its index; -1: there is none. */
verified_alone int scratch_take(void)
{
	__u32 base = bpf_get_smp_processor_id() * WIRE_SCRATCHES;

	for (__u32 i = 0; i < WIRE_SCRATCHES; i++) {
		__u32 at = base + i;
		struct scratch *s = bpf_map_lookup_elem(&scratches, &at);

		if (s && __sync_val_compare_and_swap(&s->busy, 0, 1) == 0)
			return at;
	}
	return -1;
}

/* Looked up again, as a function that is verified alone cannot return a pointer. */
static __always_inline struct scratch *scratch_get(void)
{
	__u32 at = scratch_take();

	return bpf_map_lookup_elem(&scratches, &at);
}

static __always_inline void scratch_put(struct scratch *s)
{
	s->busy = 0;
}
