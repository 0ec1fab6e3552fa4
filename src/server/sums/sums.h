/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.h: what /overview and /latency add up in one pass: a rollup by key, and series over buckets
 * of time. Buckets are those of `every`: multiples of their width since the epoch.
 */
#pragma once

#include "sums/rollup.h"
#include "hist/sparse.h"
#include "schema/vocab.h"
#include "server/sums/failures.h"
#include "server/http/js.h"
#include "server/sums/pass.h"
#include "sums/clip.h"

/* The axis of time. */
struct sums_axis {
	int64_t from, step; /* of bucket 0; a multiple of step */
	unsigned int count;
};

/*
 * At most q->width buckets that cover [from, to): a step of 1, 2 or 5 times a power of ten; from 100 ms on multiples of
 * that, which the summaries can answer. Where the range has too many calls to read them all, it is no less.
 */
void sums_axis_make(const struct question *q, int64_t from, int64_t to, struct sums_axis *ret);

/* A member: the percentile, which is the middle of its bucket, or the longest of all where that is less. */
void sums_put_quantile(struct js *j, const char *key, const struct hist *h, double q, uint64_t max);

/* For qsort() of struct rollup_row *: most time first, then most calls. */
int sums_by_time(const void *a, const void *b);

/* What one operation did over time. */
struct sums_series {
	uint64_t *calls, *bytes; /* [axis.count] */
	uint64_t all;
};

#define SUMS_FILE_HISTS_MAX 10000u /* files whose histograms are kept: some 20 MB at worst */

/* What calls of I/O did to a file, without a histogram: a trace may have millions of them. */
struct sums_file {
	int64_t id;
	uint64_t all;				  /* calls of any class */
	uint64_t calls, errors, bytes, time, max; /* of I/O */
};

/* What is to be summed. */
struct sums_want {
	const struct sums_axis *axis;  /* series over time; NULL: none */
	unsigned int keys, other_keys; /* of two rollups; 0: none */
	bool files, slowest, failures;
};

struct file_pile;

struct sums {
	const struct sums_axis *axis;
	struct rollup *rollup, *other; /* NULL: not wanted */
	bool by_file, by_slow, by_failure;
	struct failures failures;
	struct map file_index; /* file_id -> number in files */
	struct sums_file *files;
	size_t file_count, file_cap, last_file;
	/* Of each of files, where all is read from rows and they are few: that saves another pass. */
	struct hist *file_hists; /* NULL: not kept */
	bool keep_hists;
	/* Where what a block told of files goes to; it is then not in files. NULL: nowhere. */
	struct file_pile *pile;
	bool owns_pile;
	size_t file_hists_cap;
	struct rollup *both; /* by the keys of both rollups, from which they are made at the end */
	struct sums_series *series; /* [OP_CODE_MAX], lazily filled */
	uint64_t *errors;	    /* [axis.count] */
	uint64_t *cells;	    /* [axis.count * HIST_BUCKETS], I/O alone */
	uint64_t running;	    /* calls that never finished: in no other sum */
	struct map running_by;	    /* thread_id -> how many of them */
	struct slowest slowest;	    /* of I/O */
};

/* The columns of op that sums_take() reads. */
uint64_t sums_columns(void);
int sums_new(struct sums **ret, const struct sums_want *want);
void sums_free(struct sums *s);
DEFINE_CLEANUP(struct sums *, sums_free)
/* Adds to what is known of f->id. 0 or -ENOMEM. */
int sums_add_file(struct sums *s, const struct sums_file *f);
/* Runs a pass over the question's range and filter; the whole in *ret. */
int sums_run(struct question *q, const struct sums_filter *filter, const struct sums_want *want,
	     struct sums **ret);

/*
 * The same in parts: what was summed so far can be told in between. The trace, filter, want->axis and the question's range
 * stay the same; starts as {0}.
 */
struct sums_job {
	struct walk pass;
	struct walk_list list;
	struct sums_want want;
};
int sums_job_begin(struct sums_job *j, struct question *q, const struct sums_filter *filter,
		   const struct sums_want *want);
/* Goes on until then (of the monotonic clock; 0: to the end). *ret, all so far, is the job's, until it goes on. */
int sums_job_part(struct sums_job *j, struct question *q, int64_t until, struct sums **ret);
/* How much of the trace that is; 1: all. */
double sums_job_share(const struct sums_job *j);
void sums_job_free(struct sums_job *j);

/* What is to be added to sums of a question's calls for the part of them that ran within its range: ns by task, often negative. */
struct sums_within {
	struct map io, wait;
};
/* *ret starts as {0}. 0, or negative with q->err. */
int sums_within_find(struct question *q, const struct sums_filter *filter, struct sums_within *ret);
void sums_within_free(struct sums_within *w);
/* The part of a sum of whole calls that lies within the range. */
uint64_t sums_within_time(const struct map *m, int64_t task, uint64_t whole);

static inline bool sums_is_io(int64_t class)
{
	return class >= CLASS_DATA && class <= CLASS_NET;
}
/* [bucket, histogram bucket, count, ...] */
void sums_put_cells(struct js *j, const char *key, const struct sums *s);
