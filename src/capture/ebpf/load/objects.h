/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.h: the kernel objects beside that of calls, one for each kind of data, a row each in the table of objects.c. An
 * object is loaded where its data is requested; where the kernel refuses it, that data is missing and recording goes on.
 * They are loaded by a thread of their own while the programs of calls are verified (load.c). Each costs 1 to 30 ms of CPU at
 * the start, most of it the verifier's, and nothing per call; that of wakers 5 to 25 ns for each wake-up of the host.
 *
 * Objects share maps by name: a map of one that the object of calls has too (select_pids, rings, ...) is that map, and so
 * are the sections that end in .shared, so that what these hold is declared alike (bpf/lib/thread/selected.h, state.h). Whatever
 * else an object declares is its own. Records of programs that may run in interrupts go through the side ring
 * (bpf/lib/side.h); those of threads, outside of any other program, may go into the rings of calls (bpf/lib/ring.h).
 */
#pragma once

#include <bpf/libbpf.h>

#include "batch/batch.h"
#include "capture/ebpf/ebpf.h"
#include "capture/ebpf/load/kernel_btf.h"

enum object_id {
	OBJECT_POLLED,	/* polled.bpf.c */
	OBJECT_SIGNALS, /* signals.bpf.c */
	OBJECT_WAKERS,	/* wakers.bpf.c */
	OBJECT_BLOCK,	/* block.bpf.c */
	OBJECT_NET,	/* net.bpf.c */
	OBJECT_PHASES,	/* phases.bpf.c */
	OBJECT_SCHED,	/* sched.bpf.c */
	OBJECT_IRQ,	/* irq.bpf.c */
	OBJECT_MEM,	/* mem.bpf.c */
	OBJECT_FAULTS,	/* faults.bpf.c */
	OBJECT_URING,	/* uring.bpf.c */
	OBJECT_STACKS,	/* stacks.bpf.c */
	OBJECT_CONTENT, /* content.bpf.c */
	OBJECT_PROBES,	/* probes.bpf.c */
	OBJECT_DETAILS, /* details.bpf.c */
	OBJECT_COUNT,
};

#define OBJECT_PROGRAMS_MAX 16	      /* of one object */
#define OBJECT_UPROBES	    "uprobes" /* what an object needs in place of a tracepoint */

struct objects {
	struct object {
		struct bpf_object *bpf; /* NULL: not requested, or refused */
		struct bpf_link *links[OBJECT_PROGRAMS_MAX];
	} all[OBJECT_COUNT];
	struct ebpf_missing missing[OBJECT_COUNT + 1]; /* and what load.c adds */
	size_t missing_count;
};

/* What the side ring must hold for the objects that the options request: a power of two, at least a page. */
size_t objects_side_bytes(const struct ebpf_options *opt);
/* Opens what the options request and adds its types; what cannot be opened is in o->missing. 0 or -ENOMEM. */
int objects_open(struct objects *o, struct kernel_btf *k, const struct ebpf_options *opt);
/* Loads what is open; `calls` has its maps and lends them, `k` is written. What the kernel refuses is in o->missing. */
void objects_load(struct objects *o, struct bpf_object *calls, const struct kernel_btf *k,
		  const struct ebpf_options *opt);
/*
 * Attaches what is loaded, `before` the object of calls or after it; iterators are for object_program(). What the kernel refuses is
 * in o->missing.
 */
void objects_attach(struct objects *o, bool before);
/* What an object shows cannot be had: it is closed, and noted in o->missing. */
void objects_miss(struct objects *o, enum object_id id, int error);
void objects_detach(struct objects *o);
void objects_free(struct objects *o);
/* The descriptor of a map or program of an object; -1 where the object is not there. */
int object_map(const struct objects *o, enum object_id id, const char *name);
int object_program(const struct objects *o, enum object_id id, const char *name);
/* The map of a section that is an object's own, before it is loaded or after; NULL: there is none. */
struct bpf_map *object_section(const struct bpf_object *bpf, const char *name);
/* How often the kernel skipped a program of the object, as it was running on that CPU already. */
uint64_t object_misses(const struct objects *o, enum object_id id);
/* What an object shows, and the tracepoint that it needs: for probes. NULL past the last. */
const char *object_shows(size_t i, const char **ret_tracepoint);
/*
 * The mark "weir.with": the words of --with whose objects are loaded, "block,sched", so that readers of a table without rows
 * know whether it was recorded; none where there are no such words. 0 or -ENOMEM.
 */
int objects_mark(const struct objects *o, int64_t now, struct batch_set *out);
