/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: shared by the files of diff. */
#pragma once

#include "analysis/diff/compare_runs.h"
#include "analysis/stats.h"
#include "base/buf.h"
#include "base/map.h"

#define BLOCKS	   32 /* pieces in which a run is read */
#define PARTS	   8  /* parts by which it is judged; see noise.c */
#define LABEL_NONE UINT32_MAX

/* Sums over calls. */
struct cell {
	double calls, errors, bytes, time;
	double log, log2; /* sums of ln(dur) and of its square */
};

/* A name that several paths may share. */
struct label {
	struct bytes text;
	bool pattern;
};

struct key {
	enum diff_by by;
	int64_t op, err; /* -1: none */
	int64_t class;	 /* of its calls; if they have several, the first in enum op_class */
	uint32_t label;	 /* LABEL_NONE: none */
	bool chosen;	 /* will be tested */
	size_t row;	 /* its index among the tested keys */
	bool shift;	 /* used to estimate the shift common to all calls */
	double apart;	 /* ln: difference of its latency beyond that shift, B against A */
	double score;	 /* its share of calls and time on either side */
	struct diff_sum side[2];
};

struct run {
	const struct analysis_run *in;
	struct rollup *sums; /* by op, class, file, thread, err */
	/* by file_id, thread_id: label, LABEL_NONE if no call uses it */
	uint32_t *file_labels, *thread_labels;
	size_t file_count, thread_count;
	uint8_t *called; /* by file_id: 1 if a call uses it; NULL: not computed */
	size_t called_count;
	uint32_t *file_names;  /* by file_id: its own name */
	uint32_t *label_names; /* by label: number of names of files that it represents here */
	struct cell *cells;    /* by key */
	size_t cell_cap;
	struct cell *blocks; /* [row * BLOCKS + block] */
	struct cell io, waiting, other;
	double seconds;
	double work;  /* number of units of work done */
	double shift; /* ln: how much longer all calls took than in other runs */
	double part_shift[PARTS], part_io[PARTS], part_unit[PARTS];
};

struct work {
	const struct analysis_input *in;
	const struct diff_options *opt;
	struct run *runs; /* those of side A first */
	size_t run_count;
	size_t side_runs[2];
	unsigned int scan_threads; /* per run */
	/* names of files and threads, with a letter in front that distinguishes them */
	struct intern paths;
	struct intern texts; /* of labels, likewise */
	struct label *labels;
	struct map index; /* packed key -> index */
	struct key *keys;
	size_t key_count, key_cap;
	size_t *chosen; /* keys to test: rows of the result, in this order */
	size_t chosen_count;
	bool exact;  /* counts repeat exactly from run to run */
	bool blocks; /* few runs: their parts are read as well */
	struct diff *out;
};

/* match_names.c: assigns a label to every file and thread of the runs. 0 or -ENOMEM. */
int names_make(struct work *w);
/* Counts the names represented by each label, for files that calls used. 0 or -ENOMEM. */
int names_count(const struct work *w, struct run *run, const uint8_t *called);

/* load_runs.c: sums of each run by key; then those of the tested keys, by part of the run. */
int load_called(struct work *w, struct error *err);
int load_sums(struct work *w, struct error *err);
int load_keys(struct work *w);
int load_blocks(struct work *w, struct error *err);
void load_free(struct work *w);

/* unit.c: chooses the unit of work, and determines whether the runs do the same work. */
int unit_choose(struct work *w, struct error *err);
/*
 * True if counts of one run predict those of the next exactly: nothing depends on time. `but`, -1 for none, is an
 * operation whose own counts are ignored.
 */
bool unit_counts_exactly(const struct work *w, int64_t but);

/*
 * noise.c: the expected variance of a key's metric between equal runs, estimated from the variation between the parts
 * of this run, ln^2; false if there are too few parts.
 */
bool noise_of_parts(const struct work *w, const struct run *r, const struct key *k,
		    enum diff_metric m, double *ret);
/* Number of parts of the run with calls of the key; 0 if parts were not read. */
unsigned int noise_parts_used(const struct run *r, const struct key *k);
/* Computes the denominators of counts, by part. */
void noise_work(struct work *w);
/* Computes the latency shift common to all calls of a run, run.shift, and by part, run.part_shift. */
int noise_shift(struct work *w);
/*
 * Variance between runs estimated from other operations: how far their latencies deviate from the common shift. 0 if
 * there are none.
 */
double noise_of_others(const struct work *w, const struct key *k);
/* The same for counts. */
double noise_of_other_counts(const struct work *w, const struct key *k);
/* ln of a metric; false if it is unknown. */
bool metric_of(const struct run *r, const struct cell *c, enum diff_metric m, double *ret);

/* tests.c: runs the tests of every row. */
int tests_run(struct work *w);

/* rank.c: selects the rows that show the changes, and sorts them. */
int rank_rows(struct work *w);

/* The label of an id; LABEL_NONE if it has none. */
static inline uint32_t label_of(const uint32_t *labels, size_t count, int64_t id)
{
	return id >= 0 && (uint64_t)id < count ? labels[id] : LABEL_NONE;
}

static inline void cell_add(struct cell *to, const struct cell *c)
{
	to->calls += c->calls;
	to->errors += c->errors;
	to->bytes += c->bytes;
	to->time += c->time;
	to->log += c->log;
	to->log2 += c->log2;
}

static inline double cell_latency(const struct cell *c)
{
	return c->calls > 0 ? c->log / c->calls : 0;
}
