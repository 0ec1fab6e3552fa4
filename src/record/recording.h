/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording.h: a recording of this host's kernel, from what is selected to the end of its session: the part of the filter
 * that the kernel tests, the command, the source, and what it names. For everything that records, with a command line or
 * without one. Never prints.
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
	const struct privilege_user *user; /* who it runs as; NULL: the caller */
	const char *
		selection; /* what is selected in words, for the trace; NULL or "": nothing is said */
	const struct record_signals *signals; /* NULL: none are passed on */
	uint64_t ring_bytes;		      /* per CPU; 0: default */
	uint32_t with;			      /* further data: ebpf_with() */
	struct wire_stacks stacks;	      /* which calls get stacks */
	struct wire_content_how content;      /* what is kept of the bytes that calls move */
	struct probe_spans *spans; /* that begin and end at probes; borrowed; NULL: none */
	uint32_t detail_bytes;	   /* of a buffer, with details */
	bool lossless, no_argv, keep_secrets, raw_args;
	bool stored; /* rows go into a trace, which may be read meanwhile */
};

/* Rings, 128 MiB that wait to be decoded, and all that is remembered, beside each other. */
#define RECORDING_MEMORY_ENOUGH (320ull << 20)
/* 300,000 files and 20 million calls of a whole host fit, with less kept. */
#define RECORDING_MEMORY_LEAST (96ull << 20)

struct recording {
	/* Filled by the caller before recording_split(); recording_close() frees them. */
	struct select select;
	struct where where;
	/* By recording_split(). */
	struct call_filter kernel; /* the part of `where` that the kernel tests */
	/* By recording_open(). */
	struct source *source;
	struct enrich *
		enrich; /* names, valid until recording_close(); not kept where nobody takes rows */
	struct record_command command;
	struct record_child child; /* pid 0: none */
	struct record_mark marks[1];
	struct record_options session; /* prepared; the caller adds sinks, store, tick, limits */
	uint64_t memory_limit;	       /* of the control group; less than ENOUGH: less is kept */
	uint64_t ring_bytes;	       /* what the rings became for that reason */
};

/* Cuts the kernel's part off `where`, and takes calls that cannot pass out of the selection. 0 or negative with a message. */
int recording_split(struct recording *r, struct error *err);
/*
 * Forks the command (which waits), loads the kernel programs, gives up privileges for those of the caller. What the kernel
 * refuses that is not needed for calls: ebpf_source_missing(). A failure leaves what recording_close() frees.
 */
int recording_open(struct recording *r, const struct recording_options *o, struct error *err);
/* Runs the session to its end. */
int recording_run(struct recording *r, struct record_totals *ret, struct error *err);
/* How many processes a command that ended has left behind, and the lowest of their numbers. */
size_t recording_left(const struct recording *r, const struct record_totals *t, int32_t *ret_first);
void recording_close(struct recording *r);
