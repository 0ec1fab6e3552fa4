/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.h: the sums of /overview and /latency from one pass: a rollup by key, and series over time. Buckets are those
 * of `every`: multiples of their width since the epoch.
 */
#pragma once

#include "sums/rollup.h"
#include "hist/sparse.h"
#include "schema/vocab.h"
#include "server/sums/failures.h"
#include "server/http/js.h"
#include "server/sums/pass.h"
#include "sums/clip.h"

/* The time axis. */
struct sums_axis {
	int64_t from, step; /* of bucket 0; a multiple of step */
	unsigned int count;
};

/*
 * Chooses at most q->width buckets that cover [from, to): the step is 1, 2 or 5 times a power of ten, and from 100 ms
 * on a multiple of that, so that summaries can answer. If the range has too many calls to read them all, the step is
 * at least 100 ms.
 */
void sums_axis_make(const struct question *q, int64_t from, int64_t to, struct sums_axis *ret);

/* Writes a percentile: the middle of its bucket, or the maximum if that is less. */
void sums_put_quantile(struct js *j, const char *key, const struct hist *h, double q, uint64_t max);

/* For qsort() of struct rollup_row *: by time, then calls, descending. */
int sums_by_time(const void *a, const void *b);

/* One operation over time. */
struct sums_series {
	uint64_t *calls, *bytes; /* [axis.count]; calls without, bytes with those that waited */
	uint64_t all;		 /* calls with a part in either */
};

#define SUMS_FILE_HISTS_MAX 10000u /* files whose histograms are kept: at most about 20 MB */

/* The I/O on a file, without a histogram: a trace may have millions of files. */
struct sums_file {
	int64_t id;
	uint64_t all; /* calls of any class */
	uint64_t calls, errors, bytes, time,
		max; /* of I/O only; bytes: also of calls that waited */
};

/* The requested sums. */
struct sums_want {
	const struct sums_axis *axis;  /* series over time; NULL: none */
	unsigned int keys, other_keys; /* keys of the two rollups; 0: none */
	bool files, slowest, failures;
};

struct file_pile;

struct sums {
	const struct sums_axis *axis;
	struct rollup *rollup, *other; /* NULL: not requested */
	bool by_file, by_slow, by_failure;
	struct failures failures;
	struct map file_index; /* file_id -> index in files */
	struct sums_file *files;
	size_t file_count, file_cap, last_file;
	/* Histograms per file, if all calls are read from rows and the files are few: that saves another pass. */
	struct hist *file_hists; /* NULL: not kept */
	bool keep_hists;
	/* Receives the sums by file of each block, which then are not in files. NULL: none. */
	struct file_pile *pile;
	bool owns_pile;
	size_t file_hists_cap;
	struct rollup *both; /* by the keys of both rollups, which are made from it at the end */
	struct sums_series *series; /* [OP_CODE_MAX], lazily filled */
	uint64_t *errors;	    /* [axis.count] */
	uint64_t *cells;	    /* [axis.count * HIST_BUCKETS], I/O only */
	uint64_t running;	    /* unfinished calls, which are in no other sum */
	struct map running_by;	    /* thread_id -> number of them */
	struct slowest slowest;	    /* of I/O */
};

/* The columns of op that sums_take() reads. */
uint64_t sums_columns(void);
int sums_new(struct sums **ret, const struct sums_want *want);
void sums_free(struct sums *s);
DEFINE_CLEANUP(struct sums *, sums_free)
/* Adds to the sums of f->id. 0 or -ENOMEM. */
int sums_add_file(struct sums *s, const struct sums_file *f);
/* Runs a pass over the question's range and filter; *ret is the total. */
int sums_run(struct question *q, const struct sums_filter *filter, const struct sums_want *want,
	     struct sums **ret);

/*
 * The same in parts, with the sums so far in between. The trace, filter, want->axis and the question's range must
 * stay the same; starts as {0}.
 */
struct sums_job {
	struct walk pass;
	struct walk_list list;
	struct sums_want want;
};
int sums_job_begin(struct sums_job *j, struct question *q, const struct sums_filter *filter,
		   const struct sums_want *want);
/*
 * Continues until that time (monotonic clock; 0: to the end). *ret, the sums so far, belongs to the job and is valid
 * until the next call.
 */
int sums_job_part(struct sums_job *j, struct question *q, int64_t until, struct sums **ret);
/* The share of the trace that was read; 1: all. */
double sums_job_share(const struct sums_job *j);
void sums_job_free(struct sums_job *j);

/*
 * Correction to sums over whole calls that leaves only the part within the question's range: ns by task, often
 * negative.
 */
struct sums_within {
	struct map io, wait;
};
/* *ret starts as {0}. 0, or negative with q->err. */
int sums_within_find(struct question *q, const struct sums_filter *filter, struct sums_within *ret);
void sums_within_free(struct sums_within *w);
/* The part of a sum over whole calls that lies within the range. */
uint64_t sums_within_time(const struct map *m, int64_t task, uint64_t whole);

/* [bucket, histogram bucket, count, ...] */
void sums_put_cells(struct js *j, const char *key, const struct sums *s);
