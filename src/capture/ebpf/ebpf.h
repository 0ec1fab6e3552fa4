/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ebpf.h: the kernel as a source: the programs of src/bpf/, their rings, and the walk of what is open already.
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
 * Numbers of processes are those of the recorder's pid namespace, which a program learns at start by looking at the recorder.
 * A process without a number there is never recorded: `-a` in a container records that container. /proc must be of the
 * same namespace, or the source refuses to start.
 */
#pragma once

#include "capture/ebpf/probes/probe_spec.h"
#include "capture/source.h"
#include "schema/call_filter.h"
#include "schema/wire_content.h"

#define HOLD_LIMIT_NS (10ll * 1000 * 1000 * 1000) /* the default of hold_limit_ns */

struct ebpf_options {
	const struct select *select;	  /* borrowed while the source lives */
	const struct call_filter *filter; /* over finished calls; NULL or empty: none */
	/* Per CPU; 0: 16 MiB, or 4 MiB where SCHED_FIFO is allowed and not lossless; less where many CPUs may come online. */
	size_t ring_bytes;
	bool lossless; /* back-pressure: a ring that fills holds its callers up for a bounded time */
	bool raw_args;	   /* keep all six raw arguments of every call (trace, -e raw) */
	bool mark_running; /* marks of calls that run long, for readers of the growing trace */
	bool no_argv;	   /* leave argument vectors out */
	int32_t command_pid; /* the command that weir started, for ebpf_source_shared_signal(); 0: none */
	uint32_t processes_max; /* followed at once; 0: 65,536; tests make it small */
	uint32_t with;		/* further data, of ebpf_with() */
	size_t backlog_bytes; /* copied from the rings and not yet read; 0: 128 MiB; tests make it small */
	bool little_memory; /* remember less of files and processes: a quarter */
	int64_t hold_limit_ns; /* for so long back-pressure waits for a reader that is away; 0: 10 s; tests make it short */
	struct wire_stacks stacks;	 /* which calls get stacks */
	struct wire_content_how content; /* what is kept of the bytes that calls move */
	struct probe_spans
		*spans;	       /* that begin and end at probes, completed; borrowed; NULL: none */
	uint32_t detail_bytes; /* of each buffer, where `with` has details; it goes with raw_args */
	uint32_t detail_argv;  /* 1: and what execve was called with, unmasked: not for a file */
};

/* Opens, loads and attaches nothing yet: start() does. Errors name what the kernel refuses and the remedy. */
int ebpf_source_new(struct source **ret, const struct ebpf_options *opt, struct error *err);

/* The words of data that is recorded on request; NULL past the last. */
const char *ebpf_with_word(size_t i);
/* The bit of such a word for ebpf_options.with; 0: there is none. */
uint32_t ebpf_with(const char *word, size_t len);

/* Adds the process to the selection while recording (the command that `record -- CMD` starts). */
int ebpf_source_add_pid(struct source *s, int32_t pid, struct error *err);
/* True when every process that the selection named (pids, tids, their tree) has ended. */
bool ebpf_source_targets_gone(struct source *s);
/* How many of them have not, when this was asked or recording stopped; the lowest of their numbers where there are some. */
size_t ebpf_source_processes_left(struct source *s, int32_t *ret_first);

/* True when whoever sent the last signal of this number to this process sent it to the command as well. */
bool ebpf_source_shared_signal(struct source *s, int number);

/* Data that was requested and is not recorded, as the kernel refuses what it takes. */
struct ebpf_missing {
	const char *shows;	/* "processes with an io_uring ..." */
	const char *tracepoint; /* that is needed */
	int error;		/* negative errno */
};
size_t ebpf_source_missing(const struct source *s, const struct ebpf_missing **ret);

/* The size of one ring, and how many there are. */
size_t ebpf_source_ring_bytes(const struct source *s, unsigned int *ret_rings);

/* What this kernel allows beside the recording of calls, which `weir doctor` tries by recording. */
struct ebpf_probe {
	enum {
		PROBE_NEEDED, /* nothing is recorded without it, */
		PROBE_PART,   /* or something is missing, */
		PROBE_EXTRA,  /* or nothing is */
	} need;
	const char *name; /* "BTF", "fentry", ... */
	int result;	  /* 0 works, negative errno */
	char detail[160]; /* "allowed" or why not */
	char remedy[160]; /* what to do, or "" */
};
size_t ebpf_probe(struct ebpf_probe *ret, size_t max);
