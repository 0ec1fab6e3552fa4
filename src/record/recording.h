/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.h: a recording of this host's kernel, from the selection to the end of its session: the kernel's part of
 * the filter, the command, the source, and names. For all code that records, with or without a command line. Never
 * prints.
 *
 *   _cleanup_(recording_close) struct recording rec = {0};
 *   rec.select.everything = true;                            // or cgroup_of_unit(), where_parse(), ...
 *   r = recording_split(&rec, &err);
 *   r = recording_open(&rec, &(struct recording_options){.lossless = true}, &err);
 *   rec.session.store = writer;                              // or sinks, limits, a tick
 *   r = recording_run(&rec, &totals, &err);
 */
#pragma once

#include "capture/ebpf/ebpf.h"
#include "record/record.h"
#include "record/record_where.h"

struct recording_options {
	char *const *argv;		   /* the command; NULL: none */
	const struct privilege_user *user; /* the user it runs as; NULL: the caller */
	const char *selection;		   /* textual selection, for the trace; NULL or "": none */
	const struct record_signals *signals; /* NULL: none are forwarded */
	uint64_t ring_bytes;		      /* per CPU; 0: default */
	uint32_t with;			      /* additional data: EBPF_WITH() */
	struct wire_stacks stacks;	      /* which calls get stacks */
	struct wire_content_how content;      /* what is recorded of the bytes that calls move */
	struct probe_spans *spans; /* spans that begin and end at probes; borrowed; NULL: none */
	uint32_t detail_bytes;	   /* bytes per buffer, with details */
	bool lossless, no_argv, keep_secrets, raw_args;
	bool stored; /* rows are written to a trace, which may be read meanwhile */
};

/* Rings, 128 MiB waiting to be decoded, and everything held in memory, together. */
#define RECORDING_MEMORY_ENOUGH (320ull << 20)
/* Suffices for 300,000 files and 20 million calls of a whole host, with smaller buffers. */
#define RECORDING_MEMORY_LEAST (96ull << 20)

struct recording {
	/* Filled by the caller before recording_split(); freed by recording_close(). */
	struct select select;
	struct where where;
	/* Set by recording_split(). */
	struct call_filter kernel; /* the part of `where` that the kernel evaluates */
	/* Set by recording_open(). */
	struct source *source;
	struct enrich *
		enrich; /* names, valid until recording_close(); not kept if nothing consumes rows */
	struct record_command command;
	struct record_child child; /* pid 0: none */
	struct record_mark marks[1];
	struct record_options session; /* prepared; the caller adds sinks, store, tick, limits */
	uint64_t memory_limit;	       /* of the control group; below ENOUGH, buffers are reduced */
	uint64_t ring_bytes;	       /* the resulting size of the rings */
};

/* Splits off the kernel's part of `where`, and removes calls that cannot pass from the selection. 0 or negative with a
 * message. */
int recording_split(struct recording *r, struct error *err);
/*
 * Forks the command (which waits), loads the kernel programs, and reduces privileges to the caller's. For features that
 * the kernel refuses but calls do not need, see ebpf_source_missing(). After a failure, recording_close() frees
 * everything.
 */
int recording_open(struct recording *r, const struct recording_options *o, struct error *err);
/* Runs the session to its end. */
int recording_run(struct recording *r, struct record_totals *ret, struct error *err);
/* How many processes the ended command left running, and the lowest of their pids. */
size_t recording_left(const struct recording *r, const struct record_totals *t, int32_t *ret_first);
void recording_close(struct recording *r);
