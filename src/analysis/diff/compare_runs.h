/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff: what changed between two sides, each with one or several runs. A run is a trace, or a part of one. The
 * statistical unit is the run: its calls are not independent, so a million of them predict the next run no better than
 * the conditions that they share. docs/howto/diff.md describes the statistics and their sources.
 *
 * Calls that wait for work are summed separately, and so are those that are not I/O.
 */
#pragma once

#include "analysis/analysis.h"
#include "sums/scan.h"
#include "base/map.h"
#include "hist/sparse.h"
#include "store/store.h"

/* runs per side from which on the variation between runs is estimated from the runs alone */
#define DIFF_REPLICATES 3

/* The subject of a row. */
enum diff_by {
	DIFF_OP,
	DIFF_OP_FILE, /* an operation on a file */
	DIFF_FILE,
	DIFF_PROCESS, /* threads with the same name */
	DIFF_ERROR,   /* an operation and its errno */
	DIFF_BY_COUNT,
};

/* Metrics compared for each row. */
enum diff_metric {
	DIFF_CALLS,   /* per unit of work */
	DIFF_LATENCY, /* of a typical call: the geometric mean */
	DIFF_MEAN,    /* time per call: affected by rare long calls */
	DIFF_SIZE,    /* bytes per call */
	DIFF_ERRORS,  /* failed calls per unit of work */
	DIFF_METRICS,
};

/* The unit of work, to which calls, bytes and time are normalized. */
enum diff_unit {
	DIFF_UNIT_AUTO,
	DIFF_UNIT_RUN,
	DIFF_UNIT_SECOND,
	DIFF_UNIT_OP, /* one call of an operation, i.e. a transaction */
};

struct diff_options {
	enum diff_unit unit;
	int64_t unit_op;
};

struct diff_test {
	bool tested;
	/* significant after correction for the number of tests, and large enough to matter */
	bool changed;
	double a, b;	  /* per unit of work; ns or bytes per call. As measured */
	double effect;	  /* ln(b / a), minus the shift common to all calls */
	double low, high; /* its 95 % confidence interval, not corrected for the number of tests */
	double p, q;	  /* q: after the correction of Benjamini and Hochberg */
};

struct diff_sum {
	uint64_t runs; /* number of runs that have it */
	uint64_t calls, errors, bytes, time_ns, max_ns;
	uint64_t names; /* files or threads counted as one; maximum over the runs */
	struct hist hist;
};

static inline uint64_t diff_sum_quantile(const struct diff_sum *s, double q)
{
	return hist_quantile_at_most(&s->hist, q, s->max_ns);
}

enum diff_presence {
	DIFF_BOTH,
	DIFF_ONLY_A, /* in no run of the other side */
	DIFF_ONLY_B,
};

struct diff_row {
	enum diff_by by;
	int64_t op, err;   /* -1 if not applicable */
	struct bytes name; /* file or threads; {NULL, 0} */
	bool pattern;	   /* the name represents several that differ in numbers: sst/#.sst */
	struct diff_sum side[2];
	struct diff_test test[DIFF_METRICS];
	enum diff_presence presence;
	bool changed;	  /* by some test, or by a presence that is not chance */
	bool listed;	  /* changed, and not already shown by another listed row */
	double time_diff; /* ns per unit of work */
	double share;	  /* fraction of the sum of all differences of time, -1..1 */
};

struct diff_total {
	double time, calls; /* per unit of work */
};

struct diff {
	struct diff_row *rows; /* listed rows first, by |time_diff| */
	size_t count, listed;
	size_t runs[2];
	enum diff_unit unit;
	int64_t unit_op;
	double work[2];	   /* units of work in all runs of a side */
	double seconds[2]; /* duration of all runs of a side */
	double agree;	   /* fraction of operations by file whose calls per unit agree, 0..1 */
	size_t agree_of;   /* number of operations by file examined for this */
	size_t common;	   /* number of those that both sides have */
	bool repeatable;   /* the runs do the same work: presence on one side only is not chance */
	size_t tests;	   /* number of tests corrected for */
	/* there are enough operations to estimate the shift common to all calls */
	bool shift_known;
	/* ln(b / a) of the latency of all calls, which is mostly due to the machine */
	struct diff_test shift;
	struct diff_total io[2], waiting[2], other[2];
	bool lossy[2];	     /* losses are too large for the figures: nothing was tested */
	struct intern texts; /* storage of the names */
};

/* Compares the runs of both sides. 0 or negative; free the result with diff_free(). */
int diff_compare(const struct analysis_input *in, const struct diff_options *opt, struct diff **ret,
		 struct error *err);
void diff_free(struct diff *d);
DEFINE_CLEANUP(struct diff *, diff_free)

/* "calls", "latency", "mean", "size", "errors"; "op", "op_file", "file", "process", "error". */
const char *diff_metric_word(enum diff_metric m);
const char *diff_by_word(enum diff_by by);
/* "run", "second", "pread64 call". 0 or -ENOMEM. */
int diff_put_unit(struct buf *to, const struct diff *d);

/* ---- the analysis ---- */

/* Its own options, from a command line or a request. */
struct diff_flags {
	const char *per;
	int64_t head; /* 0: not given */
};
/* The `own` of its result is a struct diff. */
extern const struct analysis analysis_diff;
/* diff_answer.c: rows for each test of each subject, one for a subject without tests; and the document's members. */
int diff_rows(const struct diff *d, struct analysis_result *to);
int diff_put_members(const struct analysis_input *in, const struct analysis_result *r,
		     struct buf *to);
