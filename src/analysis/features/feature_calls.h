/* SPDX-License-Identifier: Apache-2.0 */
/* feature_calls.h: rows of op as features get them: short stretches, ids as dense numbers. */
#pragma once

#include "analysis/features/feature.h"
#include "base/map.h"

/* Numbers of what versions stand for. */
struct feature_numbers {
	uint32_t *dense; /* number + 1 by version of the first recording; 0: none yet */
	size_t dense_count;
	struct map by_version; /* of other recordings, and beyond `dense` */
	int64_t **ids;	       /* a version's id by number: feature_id() */
	size_t count;
};

#define STRETCH_PART \
	64 /* calls that are gathered at once, column by column, where other threads do not read */
#define STRETCH_COLUMNS 24

/* Gives numbers as things first appear. One thread uses it; what it gave stays where it is. */
struct feature_numbering {
	struct feature_world world;
	struct feature_numbers tasks, processes, files;
	uint32_t *process_of; /* [task] */
	size_t process_of_cap;
	struct feature_call part[STRETCH_PART];
	bool blank[STRETCH_COLUMNS]; /* a column of `part` is null throughout */
};

/* A stretch of the stream: calls, and events of another table between them. */
struct feature_stretch {
	struct feature_world world; /* as it was then */
	struct feature_call *calls; /* [FEATURE_CALLS_MAX] */
	struct feature_rest *rests; /* [FEATURE_CALLS_MAX], of the calls that have some */
	size_t count, rest_count;
	struct batch *events; /* NULL: there were none so far */
	/* Of each row of events: how many of the calls came before it, the number of its file */
	uint32_t before[FEATURE_CALLS_MAX];
	uint32_t files[FEATURE_CALLS_MAX];
};

/* Columns of op that feature_stretch_take() reads, as a set. */
uint64_t feature_columns(void);
int feature_stretch_init(struct feature_stretch *s) _must_check_;
void feature_stretch_free(struct feature_stretch *s);
void feature_numbering_free(struct feature_numbering *n);
/* No more numbers will be given: frees all but the ids that they stand for. */
void feature_numbering_end(struct feature_numbering *n);
/* Empties it. */
void feature_stretch_clear(struct feature_stretch *s);
/* Adds rows of op, of which rows[i] ended at ends[rows[i]]; at most FEATURE_CALLS_MAX in all. 0 or -ENOMEM. */
int feature_stretch_take(struct feature_stretch *s, struct feature_numbering *n,
			 const struct batch *b, const uint32_t *rows, const int64_t *ends,
			 size_t count) _must_check_;
/* Whether `count` rows of another table fit. */
bool feature_stretch_fits(const struct feature_stretch *s, enum table_id table, size_t count);
/* Adds rows of another table, which fit, behind the calls that it has. */
int feature_stretch_events(struct feature_stretch *s, const struct feature_numbering *n,
			   const struct batch *b, const uint32_t *rows, size_t count) _must_check_;
/* What features may know of the world while they have this stretch: all that was numbered so far. */
void feature_stretch_look(struct feature_stretch *s, const struct feature_numbering *n);
