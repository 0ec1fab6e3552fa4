/* SPDX-License-Identifier: Apache-2.0 */
/* feature_calls.h: converts rows of op to the input of features: short batches, with dense numbers instead of ids. */
#pragma once

#include "analysis/features/feature.h"
#include "base/map.h"

/* Numbers of things, by their versions. */
struct feature_numbers {
	uint32_t *dense; /* number + 1, by version in the first recording; 0: none yet */
	size_t dense_count;
	struct map by_version; /* for other recordings, and versions beyond `dense` */
	int64_t **ids;	       /* by number, the id of one version: feature_id() */
	size_t count;
};

/* calls collected at a time, column by column */
#define STRETCH_PART 64

/* Assigns numbers in the order of first appearance. Used by one thread; assigned numbers and ids do not move. */
struct feature_numbering {
	struct feature_world world;
	struct feature_numbers tasks, processes, files;
	uint32_t *process_of; /* [task] */
	size_t process_of_cap;
};

/* A batch of the stream: calls, and events of another table between them. */
struct feature_stretch {
	struct feature_world world; /* a copy, as of this batch */
	struct feature_call *calls; /* [FEATURE_CALLS_MAX] */
	struct feature_rest *rests; /* [FEATURE_CALLS_MAX], for the calls that have such values */
	size_t count, rest_count;
	struct batch *events; /* NULL: none so far */
	/* For each row of events: how many of the calls came before it, and the number of its file */
	uint32_t before[FEATURE_CALLS_MAX];
	uint32_t files[FEATURE_CALLS_MAX];
};

/* Columns of op that feature_stretch_take() reads, as a set. */
uint64_t feature_columns(void);
int feature_stretch_init(struct feature_stretch *s) _must_check_;
void feature_stretch_free(struct feature_stretch *s);
void feature_numbering_free(struct feature_numbering *n);
/* Call when no more numbers will be assigned: frees everything except the ids. */
void feature_numbering_end(struct feature_numbering *n);
/* Empties the batch. */
void feature_stretch_clear(struct feature_stretch *s);
/* Adds rows of op, where rows[i] ended at ends[rows[i]]; at most FEATURE_CALLS_MAX in total. 0 or -ENOMEM. */
int feature_stretch_take(struct feature_stretch *s, struct feature_numbering *n,
			 const struct batch *b, const uint32_t *rows, const int64_t *ends,
			 size_t count) _must_check_;
/* True if `count` rows of another table fit. */
bool feature_stretch_fits(const struct feature_stretch *s, enum table_id table, size_t count);
/* Adds rows of another table, which must fit, after the calls added so far. */
int feature_stretch_events(struct feature_stretch *s, const struct feature_numbering *n,
			   const struct batch *b, const uint32_t *rows, size_t count) _must_check_;
/* Sets the world that features may see with this batch: everything numbered so far. */
void feature_stretch_look(struct feature_stretch *s, const struct feature_numbering *n);
