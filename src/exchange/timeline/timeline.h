/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h: a trace as tracks and slices for timeline viewers: Perfetto's UI (its protobuf) and viewers that read
 * Chrome's trace events (JSON).
 *   a track for each process, below it one for each thread with its calls as slices, their arguments and files;
 *   below a thread further tracks ("io_uring", "spans") for slices that overlap its calls;
 *   a track for each disk with its requests (record --with block);
 *   counters for each process: bytes read and written per second, in intervals of 100 ms;
 *   Perfetto only: an arrow between calls for each row of table edge (weir flow --keep).
 * Slices of a track are nested or disjoint: viewers draw nothing else correctly. A slice that would cross another of
 * its track goes to a further track of the same name. Slices are written in the order of their ends, in memory that is
 * bounded except for one number per file.
 *
 * Perfetto's field numbers: protos/perfetto/trace/trace_packet.proto and neighbouring files. Chrome's format: "Trace
 * Event Format".
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

struct expr; /* query/expr.h */

enum timeline_format { TIMELINE_PERFETTO, TIMELINE_CHROME };

struct timeline_options {
	enum timeline_format format;
	int64_t from, to;	  /* rows that ended in [from, to); INT64_MIN, INT64_MAX: open */
	const struct expr *where; /* calls for which this holds; NULL: all */
	/* Writes out the buffer and clears it; a negative result ends the export. */
	int (*flush)(void *arg, struct buf *out);
	void *arg;
};

struct timeline_stats {
	uint64_t slices, tracks;
	uint64_t arrows;  /* arrows with both ends drawn */
	uint64_t running; /* slices without an end in the trace: drawn up to the end of recording */
	uint64_t early; /* slices that began before recording: drawn from the earliest time known */
};

/* Writes the complete trace. 0 or negative: -EINTR or another error of flush(), -ENOMEM, -EIO. */
int timeline_write(struct store *s, const struct timeline_options *opt, struct timeline_stats *ret,
		   struct error *err);

/* ---- between the files of the timeline ---- */

enum timeline_kind {
	TIMELINE_PROCESS, /* holds threads and counters */
	TIMELINE_THREAD,  /* belongs to its process */
	/* next to a thread or below a process; its slices may have begun elsewhere */
	TIMELINE_LANE,
	TIMELINE_DISK,	  /* has no process */
	TIMELINE_COUNTER, /* belongs to its process */
};

struct timeline_track {
	uint64_t id;	 /* unique in this file, from 1 */
	uint64_t parent; /* 0: none */
	enum timeline_kind kind;
	int64_t pid, tid; /* where they exist */
	struct bytes name, argv;
};

#define TIMELINE_ARGS_MAX 16

/* An argument of a slice: a text, or a number if text is NULL. */
struct timeline_arg {
	const char *name; /* a constant */
	struct bytes text;
	int64_t number;
	int64_t text_id; /* equal texts have equal ids; -1: written in full each time */
};

struct timeline_slice {
	const struct timeline_track *track;
	int64_t start, stop;  /* ns since the epoch */
	const char *category; /* a constant */
	struct bytes name;
	size_t count;
	struct timeline_arg args[TIMELINE_ARGS_MAX];
	/* arrows out of and into this slice. An arrow's number is that of its row of `edge` */
	const struct timeline_arrow *out, *in;
	size_t out_count, in_count;
};

/* One end of an arrow: the call drawn there. */
struct timeline_arrow {
	int64_t op;
	uint64_t number; /* not 0 */
};

struct timeline_sink;

/* An output format. Each function appends to the sink's buffer; 0 or -ENOMEM. */
struct timeline_ops {
	size_t size; /* of its struct, which starts with struct timeline_sink */
	bool arrows; /* supports arrows */
	int (*begin)(struct timeline_sink *s, int64_t at);
	int (*track)(struct timeline_sink *s, const struct timeline_track *t);
	int (*slice)(struct timeline_sink *s, const struct timeline_slice *l);
	int (*count)(struct timeline_sink *s, const struct timeline_track *t, int64_t at,
		     int64_t value);
	int (*end)(struct timeline_sink *s);
	void (*free)(struct timeline_sink *s); /* NULL: nothing */
};

struct timeline_sink {
	const struct timeline_ops *ops;
	struct buf out;
};

extern const struct timeline_ops perfetto_ops, chrome_ops;

/* ---- timeline_lanes.c ---- */

/* The slices on a track, to test whether another one would cross them. */
struct timeline_lane {
	struct timeline_track track;
	struct lane_slice {
		int64_t start, stop;
	} *slices; /* disjoint, ascending; slices nested in one of them are not stored */
	size_t count, cap;
};

struct timeline_lanes {
	struct timeline_lane *all;
	size_t count;
};

void timeline_lanes_free(struct timeline_lanes *l);
/*
 * The first lane that can hold a slice from `start`, which ends no earlier than all slices before. Returns `count` if a
 * new lane is needed; the caller adds it with timeline_lanes_add().
 */
size_t timeline_lanes_find(const struct timeline_lanes *l, int64_t start);
int timeline_lanes_add(struct timeline_lanes *l, const struct timeline_track *t) _must_check_;
/* Puts [start, stop) on lane `i`. 0 or -ENOMEM. */
int timeline_lanes_take(struct timeline_lanes *l, size_t i, int64_t start,
			int64_t stop) _must_check_;
