/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.h: the analysis `requests`: where the time of spans went, by name, individually, as a tree, the slowest
 * compared with the median, and in clusters. A request is a span without a parent in the trace; with --name it is any
 * span of that name.
 */
#pragma once

#include "analysis/spans/spans.h"

enum requests_view {
	REQUESTS_NAMES,
	REQUESTS_LOG,
	REQUESTS_STATS,
	REQUESTS_FREQ,
	REQUESTS_TREE,
	REQUESTS_COMPARE,
	REQUESTS_CLUSTERS,
	REQUESTS_HEAT,
	REQUESTS_KEEP,
};

struct requests_options {
	const char *name, *tree, *by;
	int64_t least, top;
	bool log, stats, freq, heat, compare, clusters, keep, overlap;
};

/* Spans of one name, or of one value of an attribute. */
struct requests_group {
	struct bytes name;
	uint32_t *spans; /* sorted by duration, shortest first */
	uint32_t count, cap;
	uint32_t errors, running, cut;
	bool part; /* children of other spans */
	bool period;
	int64_t total, covered, self;
	int64_t time[SPAN_TIMES], summed[SPAN_TIMES], phase[SPAN_PHASES];
	uint64_t calls, unphased;
	int64_t bytes;
};

/* A line of a tree: a span, a call, or similar calls. */
struct requests_line {
	uint32_t span;	   /* this span, or the span of the calls */
	uint32_t from, to; /* range in calls; empty: the line is the span */
	unsigned int depth;
	int64_t start, stop; /* first start and last stop */
	int64_t time, bytes; /* sums */
	int64_t queued, device, runq;
	int64_t critical; /* part on the critical path */
	uint32_t errors;
};

struct requests_call {
	int64_t start, stop, bytes, file_id, thread_id, waker_id, ret, queued, device, runq;
	int64_t critical; /* part on the critical path */
	int64_t part;	  /* via wait: the part for which the span's threads waited */
	int32_t err;
	uint32_t span, line;
	uint16_t op;
	uint8_t via, time;
	bool aside; /* not a call of its thread: a request of io_uring or libaio, or a page fault */
	/* disk name in requests.memory: this is a disk request, op its kind; 0: a call */
	uint32_t disk;
};

/* The critical path: request_path.c. */
struct requests_path {
	struct requests_segment {
		int64_t start, stop; /* in sums of a thread: 0, and its total time */
		int64_t thread_id;
		uint32_t task;
		int64_t time[SPAN_TIMES]; /* activity of the thread; program: outside of calls */
	} *all;				  /* sorted by time */
	size_t count, cap;
	struct requests_segment *threads; /* sums by thread, most time first */
	size_t thread_count, thread_cap;
};

struct requests_tree {
	uint32_t of;
	struct requests_line *lines;
	size_t count, cap;
	struct requests_call *calls; /* sorted by line */
	size_t call_count, call_cap;
	uint64_t left_out; /* calls beyond REQUESTS_TREE_CALLS */
	struct requests_path path;
};
#define REQUESTS_TREE_CALLS 1000000

/* A difference of slow requests: averages per request. */
struct requests_difference {
	struct bytes what; /* owned by requests.memory */
	int64_t usual, slow;
};
struct requests_trait {
	struct bytes key, value;
	uint32_t usual, slow; /* number of requests that have it */
};
struct requests_compare {
	struct bytes name;
	uint32_t *usual,
		*slow; /* spans around the median, and the slowest; point into the group's */
	uint32_t usual_count, slow_count;
	struct requests_difference times[SPAN_TIMES];
	struct requests_difference *files; /* sorted by difference */
	size_t file_count;
	struct requests_trait *traits; /* only those that differ */
	size_t trait_count;
};

#define REQUESTS_CLUSTERS_MAX 8
struct requests_clusters {
	struct bytes name;
	size_t count;
	struct requests_cluster {
		double centre[SPAN_TIMES]; /* fractions of the duration */
		uint32_t size;
		uint32_t typical; /* the span nearest to the centre */
		int64_t p50, p99, max;
	} all[REQUESTS_CLUSTERS_MAX]; /* largest first */
	uint32_t *outliers;	      /* spans that belong to no cluster, farthest first */
	size_t outlier_count;
};

#define REQUESTS_HEAT_COLUMNS 100
/* Requests by start and duration: request_heat.c. */
struct requests_heat {
	int64_t from, step; /* start and width of columns, ns */
	struct requests_cell {
		uint32_t column, bucket; /* bucket of the histogram */
		uint32_t requests, errors;
		uint32_t slowest; /* span */
	} *all;			  /* sorted by column, then by bucket */
	size_t count, cap;
};

/* The analysis's own result (analysis_result.own). */
struct requests {
	enum requests_view view;
	struct spans spans;
	const struct dims *dims;
	struct file_lines *files;
	uint32_t *chosen; /* spans selected by options, sorted by start */
	size_t chosen_count;
	struct requests_group *groups; /* most time first, requests before parts */
	size_t group_count, group_cap;
	struct requests_tree tree;
	struct requests_compare compare;
	struct requests_clusters clusters;
	struct requests_heat heat;
	struct intern memory; /* generated texts */
	uint64_t kept;	      /* rows of span_op stored */
};

/* A percentile of a group: 0.5, 0.99. */
int64_t requests_percentile(const struct requests *q, const struct requests_group *g, double p);
/* The display name of a span, also if it has no name. */
struct bytes requests_name(const struct requests *q, uint32_t span);
/* Appends the display name of a line's calls: "pread64 orders.ibd". 0 or -ENOMEM. */
int requests_line_name(const struct requests *q, const struct requests_line *l, struct buf *to);

/* ---- internal ---- */

/* Groups the selected spans by name, or by the value of an attribute (NULL: none). */
int requests_group(struct requests *q, const char *attribute);
/* The group with most time. NULL: no groups. */
const struct requests_group *requests_largest(const struct requests *q);
int requests_make_tree(struct requests *q, const struct analysis_input *in, const char *which,
		       bool overlap, struct error *err);
/* Computes the critical path of the request in q->tree. 0 or -ENOMEM. */
int requests_make_path(struct requests *q, const struct analysis_input *in, struct error *err);
/* Appends the member "critical_path". */
int requests_put_path(const struct requests *q, struct buf *to);
/* Adds the disk requests of the calls in the tree. */
int requests_tree_disks(struct requests *q, const struct analysis_input *in, int64_t from,
			struct error *err);
int requests_make_compare(struct requests *q, const struct analysis_input *in, struct error *err);
int requests_make_clusters(struct requests *q);
/* 0 or -ENOMEM. */
int requests_make_heat(struct requests *q);
/* Computes the sums of all spans, and stores their calls. */
int requests_keep(struct requests *q, const struct analysis_input *in, struct error *err);
/* Adds the tables of the view to the result. */
int requests_put(struct requests *q, const struct requests_options *o, struct analysis_result *out);
