/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: what the files of diff share. */
#pragma once

#include "analysis/diff/compare_runs.h"
#include "analysis/stats.h"
#include "base/buf.h"
#include "base/map.h"

#define BLOCKS	   32 /* a run is read in so many pieces */
#define PARTS	   8  /* and judged by so many; see noise.c */
#define LABEL_NONE UINT32_MAX

/* Sums over some calls. */
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
	int64_t class;	 /* of its calls; the first of enum op_class, where they have several */
	uint32_t label;	 /* LABEL_NONE: none */
	bool chosen;	 /* tested */
	size_t row;	 /* its number among those that are */
	bool shift;	 /* one of those that show what all have in common */
	double apart;	 /* ln: what its latency differs by beyond that, B against A */
	double score;	 /* how much of calls and time it has on either side */
	struct diff_sum side[2];
};

struct run {
	const struct analysis_run *in;
	struct rollup *sums; /* by op, class, file, thread, err */
	/* by file_id, thread_id: label, LABEL_NONE where no call names it */
	uint32_t *file_labels, *thread_labels;
	size_t file_count, thread_count;
	uint8_t *called; /* by file_id: 1 where a call names it; NULL: not asked */
	size_t called_count;
	uint32_t *file_names;  /* by file_id: its own name */
	uint32_t *label_names; /* by label: names of files that it stands for here */
	struct cell *cells;    /* by key */
	size_t cell_cap;
	struct cell *blocks; /* [row * BLOCKS + block] */
	struct cell io, waiting, other;
	double seconds;
	double work;  /* units of work done */
	double shift; /* ln: how much longer all calls took than in other runs */
	double part_shift[PARTS], part_io[PARTS], part_unit[PARTS];
};

struct work {
	const struct analysis_input *in;
	const struct diff_options *opt;
	struct run *runs; /* A's first */
	size_t run_count;
	size_t side_runs[2];
	unsigned int scan_threads; /* that read one run */
	struct intern paths; /* names of files and threads; one letter in front says of which */
	struct intern texts; /* of labels, likewise */
	struct label *labels;
	struct map index; /* packed key -> number */
	struct key *keys;
	size_t key_count, key_cap;
	size_t *chosen; /* keys that are tested: rows of the answer, in this order */
	size_t chosen_count;
	bool exact;  /* counts of a run are those of the next to the call */
	bool blocks; /* few runs: their parts are looked at too */
	struct diff *out;
};

/* match_names.c: gives every file and thread of the runs a label. 0 or -ENOMEM. */
int names_make(struct work *w);
/* Counts the names behind each label, of files that calls named. 0 or -ENOMEM. */
int names_count(const struct work *w, struct run *run, const uint8_t *called);

/* load_runs.c: sums of each run, by key; then those keys that matter, by part of the run. */
int load_called(struct work *w, struct error *err);
int load_sums(struct work *w, struct error *err);
int load_keys(struct work *w);
int load_blocks(struct work *w, struct error *err);
void load_free(struct work *w);

/* unit.c: the unit of work, and whether the runs do the same. */
int unit_choose(struct work *w, struct error *err);
/* True if the counts of a run predict those of the next exactly: nothing in it depends on time.
 * `but`, -1 for none, is an operation whose own counts are ignored. */
bool unit_counts_exactly(const struct work *w, int64_t but);

/*
 * noise.c: how much the metric of a key would differ in another run of the same, judged by how much
 * the parts of this run differ from one another, ln^2; false if they are too few.
 */
bool noise_of_parts(const struct work *w, const struct run *r, const struct key *k,
		    enum diff_metric m, double *ret);
/* Parts of the run that have calls of the key; 0 where parts were not read. */
unsigned int noise_parts_used(const struct run *r, const struct key *k);
/* The denominators of counts, by part. */
void noise_work(struct work *w);
/* What all latencies of a run have in common goes into run.shift, by part into run.part_shift. */
int noise_shift(struct work *w);
/* Variance between runs as other calls show it that do not share the key's operation: how far apart
 * their latencies are from what all have in common. 0 where there are no others. */
double noise_of_others(const struct work *w, const struct key *k);
/* The same of counts. */
double noise_of_other_counts(const struct work *w, const struct key *k);
/* ln of a metric; false where it is not known. */
bool metric_of(const struct run *r, const struct cell *c, enum diff_metric m, double *ret);

/* tests.c: fills the tests of every row. */
int tests_run(struct work *w);

/* rank.c: which rows show what changed, in order. */
int rank_rows(struct work *w);

/* The label of an id; LABEL_NONE where it has none. */
static inline uint32_t label_of(const uint32_t *labels, size_t count, int64_t id)
{
	return id >= 0 && (uint64_t)id < count ? labels[id] : LABEL_NONE;
}

static inline double cell_latency(const struct cell *c)
{
	return c->calls > 0 ? c->log / c->calls : 0;
}
