/* SPDX-License-Identifier: Apache-2.0 */
/* decode.h: the decoder's internal state, shared by decode.c (calls) and dimension.c (threads, processes, files). */
#pragma once

#include "base/records.h"
#include "capture/ebpf/internal.h"
#include "capture/ebpf/calls/io_split.h"
#include "capture/ebpf/named/mounts.h"

struct btf;
struct contents;

#define DECODE_NO_CPU UINT32_MAX

/* A map of copies of records by number. kept_put() replaces an existing one, 0 or -ENOMEM; kept_get() returns NULL if
 * there is none. */
int kept_put(struct map *kept, uint64_t number, const void *record, size_t size);
void *kept_get(const struct map *kept, uint64_t number);
void kept_forget(struct map *kept, uint64_t number);
void kept_free(struct map *kept);

/* Identifies a process or thread among all that had its number, by a hash with its start time. */
static inline uint64_t life_key(int32_t pid, uint64_t start)
{
	const uint64_t ident[2] = {(uint32_t)pid, start};

	return hash_bytes(ident, sizeof(ident));
}

struct decode {
	struct decode_options opt;
	struct records files; /* by file number */
	struct names *names;
	struct mounts mounts;
	struct recent inodes; /* hash of (dev, ino, generations) -> key of its first version */
	struct map processes; /* hash of (tgid, start) -> key, of live processes */
	struct recent ended;  /* the same of processes that have ended */
	struct recent owners; /* the same of processes without a recorded thread */
	struct recent owner_threads; /* hash of such a thread and its name -> its number */
	struct map cgroups;	     /* kernel ids that already have a row */
	struct intern peers;	     /* addresses -> key */
	struct recent sock_peers;    /* file number -> hash of the peer in its last row */
	struct recent
		sock_keys; /* file number of a socket whose peer changed -> key of its last row */
	struct map alone; /* unix sockets whose peer has no inode yet, by their own inode: copies */
	uint64_t sock_low, sock_high; /* range of those numbers */
	uint64_t sock_count;
	uint64_t sock_newest, sock_mark, sock_gone; /* see peer_changed() */
	uint64_t process_count;
	struct map tids; /* threads seen by the kernel programs -> their last version */
	struct map thread_records, process_records; /* copies, until they end */
	struct map versions; /* a thread, by its first version -> the version kept */
	int64_t boot_offset; /* wall time minus the clock that includes suspended time */
	int64_t clock_at;    /* when clock_offset was measured, ns since the epoch */
	uint32_t *threads;   /* next call number by thread version */
	size_t thread_count, thread_cap;
	uint64_t gaps; /* missing call numbers */
	uint64_t filtered;
	uint64_t paths_cut, argvs_cut;
	struct stacks *stacks;	   /* NULL: none was seen */
	uint64_t stacks_left_out;  /* calls whose stack was not kept */
	struct bytes unseen_exe;   /* of decode_unseen() */
	struct contents *contents; /* of bytes that calls moved; NULL: not recorded */
	struct map
		details; /* thread -> copy of its last struct wire_detail, until its call arrives */
	struct block *block; /* state of block requests; NULL: none came */
	struct btf *btf;     /* the kernel's, for names of its constants; NULL: not needed yet */
	bool btf_failed;
	struct io_split io_split;  /* of requests that calls wait for, if phases are recorded too */
	struct contexts *contexts; /* of threads; NULL: no process announced any */
	struct spans *spans;	   /* marked by programs */
	struct markers *markers;   /* set by scripts; NULL: none was seen */
	struct probe_stacks *probes; /* spans between probes; NULL: none was seen */
	uint64_t began_boot;	     /* when recording began, ns since boot */
	struct map announcers;	 /* hash of (tgid, start) -> a bit for each kind of announcement */
	struct map announced_at; /* the same and the kind -> when the last one was made */
	uint16_t codes[WIRE_CALLS_MAX];
	uint8_t fates[WIRE_CALLS_MAX][2]; /* of path and path2: enum name_fate */
};

/* The path of a file as seen by its process and by the recorder. */
void decode_file_paths(struct decode *d, const struct wire_file *w, struct file_paths *ret);
/* The key of the last row of a file number. */
int64_t decode_file_key(struct decode *d, uint64_t file);
/* The key of an address passed to a call; adds its row if new. */
int decode_peer(struct decode *d, const uint8_t *addr, size_t len, uint64_t time,
		struct batch_set *out, int64_t *ret_key);
/* Repeats the rows of live threads at the end of recording, with the time they waited for a CPU: from struct
 * wire_waited[]. */
int decode_waited(struct decode *d, const struct buf *waited, struct batch_set *out);
/* stack_rows.c: a new stack, and the stacks of the call whose record follows. 0 or negative. */
int decode_stack(struct decode *d, const struct wire_stack *w, struct batch_set *out);
int decode_call_stacks(struct decode *d, const struct wire_call_stacks *w);
/* The keys of a call's stacks, -1: none. */
void decode_take_stacks(struct decode *d, const struct wire_op *w, int64_t *ret_user,
			int64_t *ret_kernel);
/* Repeats the rows of all stacks, with the names of their functions. */
int decode_stack_names(struct decode *d, struct batch_set *out);
/* Opens /proc/kallsyms for them, to be called with the privilege to see addresses; negative: unavailable. */
int stacks_kallsyms(void);
void stacks_free(struct stacks *s);
/* Whether a thread was seen; the start of a process that was seen, else 0. */
bool decode_knows_tid(const struct decode *d, int32_t tid);
uint64_t decode_process_start(const struct decode *d, int32_t tgid);
/* A thread that the kernel programs never saw, with the path of its program; its length is 0 if unknown. */
int decode_unseen(struct decode *d, const struct wire_thread *w, struct bytes exe,
		  struct batch_set *out);
/* The key of an inode in decode.inodes. kind: 0 except for files without an inode of their own. */
uint64_t decode_inode_hash(uint64_t ino, uint32_t dev, uint32_t generation, uint32_t reuse,
			   uint64_t kind);
/* A thread that owns recorded data, found without a call: adds its row under that number unless it has one. */
int decode_owner(struct decode *d, const struct wire_thread *w, struct batch_set *out,
		 uint32_t *ret_thread);
/* Whether the end of this call was delivered. */
bool decode_has_ended(const struct decode *d, const struct wire_op *w);
/* Adds the row of a page fault. 1: added, 0: rejected by the selection. (fault_rows.c) */
int decode_fault(struct decode *d, const struct wire_fault *w, uint32_t cpu, struct batch_set *out);
/* "10.0.0.1:80", "[::1]:80", "unix:/path", "unix:@name"; the length of the text, 0: none. */
size_t address_text(uint16_t family, const uint8_t *addr, size_t len, uint16_t port, char *buf,
		    size_t size);
/* ---- records of the side ring ---- */

int decode_net(struct decode *d, const struct wire_head *h, struct batch_set *out);
int decode_net_sample(struct decode *d, const struct wire_head *h, struct batch_set *out);
int decode_sched(struct decode *d, const struct wire_head *h, struct batch_set *out);
int decode_irq(struct decode *d, const struct wire_head *h, struct batch_set *out);
int decode_mem(struct decode *d, const struct wire_head *h, struct batch_set *out);
