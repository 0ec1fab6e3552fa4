/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h: a trace as tracks and slices, as viewers of timelines draw it: Perfetto's UI (its protobuf) and whatever reads
 * Chrome's trace events (JSON).
 *
 *   a track for each process, below it one for each thread with its calls as slices, their arguments and files;
 *   below a thread further tracks ("io_uring", "spans") for what overlaps its calls;
 *   a track for each disk with its requests (record --with block);
 *   counters for each process: bytes read and written a second, in steps of 100 ms;
 *   Perfetto's: an arrow from call to call for each row of table edge (weir flow --keep).
 *
 * Slices of a track are nested or apart: viewers draw nothing else right. What would cross another slice of its track goes to a
 * further track of the same name. Slices come in the order of their ends, in bounded memory but for one number a file.
 *
 * Perfetto's numbers of fields: protos/perfetto/trace/trace_packet.proto and its neighbours. Chrome's: "Trace Event Format".
 */
#pragma once

#include "base/buf.h"
#include "store/store.h"

struct expr; /* query/plan/expr.h */

enum timeline_format { TIMELINE_PERFETTO, TIMELINE_CHROME };

struct timeline_options {
	enum timeline_format format;
	int64_t from, to;	  /* what ended in [from, to); INT64_MIN, INT64_MAX: open */
	const struct expr *where; /* calls for which this holds; NULL: all */
	/* Writes what there is so far and clears it; a negative result ends all. */
	int (*flush)(void *arg, struct buf *out);
	void *arg;
};

struct timeline_stats {
	uint64_t slices, tracks;
	uint64_t arrows; /* of which both ends were drawn */
	uint64_t
		running; /* slices without an end in the trace: drawn up to where recording ended */
	uint64_t
		early; /* slices that began before recording did: drawn from the time they are known for */
};

/* Writes all of it. 0 or negative: -EINTR and the like of flush(), -ENOMEM, -EIO. */
int timeline_write(struct store *s, const struct timeline_options *opt, struct timeline_stats *ret,
		   struct error *err);

/* ---- between the files of the timeline ---- */

enum timeline_kind {
	TIMELINE_PROCESS, /* holds threads and counters */
	TIMELINE_THREAD,  /* of its process */
	TIMELINE_LANE, /* beside a thread or below a process; what lies there may have begun elsewhere */
	TIMELINE_DISK,	  /* of no process */
	TIMELINE_COUNTER, /* of its process */
};

struct timeline_track {
	uint64_t id;	 /* of this file, from 1 on */
	uint64_t parent; /* 0: none */
	enum timeline_kind kind;
	int64_t pid, tid; /* of what has them */
	struct bytes name, argv;
};

#define TIMELINE_ARGS_MAX 16

/* A value of a slice: text, or a number where that is NULL. */
struct timeline_arg {
	const char *name; /* a constant */
	struct bytes text;
	int64_t number;
	int64_t text_id; /* the same text has the same; -1: it is written out each time */
};

struct timeline_slice {
	const struct timeline_track *track;
	int64_t start, stop;  /* ns since the epoch */
	const char *category; /* a constant */
	struct bytes name;
	size_t count;
	struct timeline_arg args[TIMELINE_ARGS_MAX];
	/* arrows that leave it and that come to it, of those of one slice; an arrow has the number of its row of `edge` */
	const struct timeline_arrow *out, *in;
	size_t out_count, in_count;
};

/* An end of an arrow: the row of op that is drawn there. */
struct timeline_arrow {
	int64_t op;
	uint64_t number; /* not 0 */
};

struct timeline_sink;

/* A format. Each appends to the sink's buffer; 0 or -ENOMEM. */
struct timeline_ops {
	size_t size; /* of its struct, which begins with struct timeline_sink */
	bool arrows; /* slices have those of edges */
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

/* What lies on a track: whether another slice would cross it. */
struct timeline_lane {
	struct timeline_track track;
	struct lane_slice {
		int64_t start, stop;
	} *slices; /* apart, ascending; what lies within one is not there */
	size_t count, cap;
};

struct timeline_lanes {
	struct timeline_lane *all;
	size_t count;
};

void timeline_lanes_free(struct timeline_lanes *l);
/*
 * The first lane that takes [start, stop), which ends no earlier than all before; *ret_lane is its number, `count` where a new
 * one is needed, which the caller then adds by timeline_lanes_add().
 */
size_t timeline_lanes_find(const struct timeline_lanes *l, int64_t start);
int timeline_lanes_add(struct timeline_lanes *l, const struct timeline_track *t) _must_check_;
/* Takes [start, stop) on lane `i`. 0 or -ENOMEM. */
int timeline_lanes_take(struct timeline_lanes *l, size_t i, int64_t start,
			int64_t stop) _must_check_;
