/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ebpf.h: the kernel as a source: the programs of src/bpf/, their rings, and a walk of files that are already open.
 *
 *   load/      opens, configures and loads the programs
 *   ring/      copies their records out of the rings, and counts those that are missing
 *   calls/     records of calls and requests become rows of op
 *   named/     processes, files, sockets and their paths become rows of the dimension tables
 *   side/      block requests, content and sums become rows of their tables
 *   spans/     spans that programs mark in shared memory
 *   contexts/  the span contexts that programs publish
 *   probes/    spans that begin and end at probes in programs
 *
 * Pids are those of the recorder's pid namespace, which a program determines at start by examining the recorder. A
 * process without a pid there is never recorded: `-a` in a container records that container. /proc must belong to the
 * same namespace, or the source refuses to start.
 */
#pragma once

#include "capture/ebpf/probes/probe_spec.h"
#include "capture/source.h"
#include "schema/call_filter.h"
#include "schema/wire_content.h"

#define HOLD_LIMIT_NS (10ll * 1000 * 1000 * 1000) /* default of hold_limit_ns */

struct ebpf_options {
	const struct select *select;	  /* borrowed; must outlive the source */
	const struct call_filter *filter; /* over finished calls; NULL or empty: none */
	/* Per CPU; 0: 16 MiB, or 4 MiB if SCHED_FIFO is allowed and not lossless; less if many CPUs may come online. */
	size_t ring_bytes;
	bool lossless; /* back-pressure: a ring that fills delays its callers for a bounded time */
	bool raw_args; /* keep all six raw arguments of every call (trace, -e raw) */
	bool mark_running; /* mark calls that run long, for readers of the growing trace */
	bool no_argv;	   /* omit argument vectors */
	int32_t command_pid; /* the command started by weir, for ebpf_source_shared_signal(); 0: none */
	uint32_t processes_max; /* followed at once; 0: 65,536; tests set it small */
	uint32_t with;		/* additional data: EBPF_WITH() */
	size_t backlog_bytes; /* copied from the rings and not yet read; 0: 128 MiB; tests set it small */
	bool little_memory; /* cache a quarter of the usual number of files and processes */
	int64_t hold_limit_ns; /* how long back-pressure waits for an absent reader; 0: 10 s; tests set it short */
	struct wire_stacks stacks;	 /* which calls get stacks */
	struct wire_content_how content; /* what is recorded of the bytes that calls move */
	struct probe_spans
		*spans; /* spans that begin and end at probes; complete; borrowed; NULL: none */
	uint32_t detail_bytes; /* per buffer, if `with` has details; requires raw_args */
	uint32_t detail_argv;  /* 1: also the arguments of execve, unmasked: not for a file */
};

/* Opens and loads the programs but attaches nothing: start() does. Errors name what the kernel refuses and the remedy. */
int ebpf_source_new(struct source **ret, const struct ebpf_options *opt, struct error *err);

/* The objects of kernel programs, one for each kind of data. */
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

/* The bit of data that is recorded on request, for ebpf_options.with: EBPF_WITH(STACKS). */
#define EBPF_WITH(ID) (1u << OBJECT_##ID)
/* The names of such data; NULL past the last. */
const char *ebpf_with_word(size_t i);
/* The bit of a name for ebpf_options.with; 0: unknown. */
uint32_t ebpf_with(const char *word, size_t len);

/* True if every process in the selection (pids, tids, their tree) has ended. */
bool ebpf_source_targets_gone(struct source *s);
/* How many of them are left, at this time or when recording stopped, and the lowest of their pids if there are any. */
size_t ebpf_source_processes_left(struct source *s, int32_t *ret_first);

/* True if the sender of the last signal of this number to this process sent it to the command as well. */
bool ebpf_source_shared_signal(struct source *s, int number);

/* Data that was requested but is not recorded, because the kernel refuses a feature it needs. */
struct ebpf_missing {
	const char *shows;	/* "processes with an io_uring ..." */
	const char *tracepoint; /* the one required */
	int error;		/* negative errno */
};
size_t ebpf_source_missing(const struct source *s, const struct ebpf_missing **ret);

/* The size of one ring, and the number of rings. */
size_t ebpf_source_ring_bytes(const struct source *s, unsigned int *ret_rings);

/* What this kernel allows in addition to recording calls; `weir doctor` tests that by recording. */
struct ebpf_probe {
	enum {
		PROBE_NEEDED, /* required for recording, */
		PROBE_PART,   /* required for some data, */
		PROBE_EXTRA,  /* not required */
	} need;
	const char *name; /* "BTF", "fentry", ... */
	int result;	  /* 0 works, negative errno */
	char detail[160]; /* "allowed" or why not */
	char remedy[160]; /* what to do, or "" */
};
size_t ebpf_probe(struct ebpf_probe *ret, size_t max);
