/* SPDX-License-Identifier: Apache-2.0 */
/*
 * habit_table.h: sequences of calls and the number of their runs, in bounded memory: the table `habit`.
 *
 * A sequence of one thread is a line, with rows for the patterns of its files. Both are counted approximately, by known
 * methods:
 *   lines    lossy counting (Manku and Motwani, "Approximate frequency counts over data streams", 2002): when the table is
 *            full, the lighter half is dropped. Lines added later may have run before: `inexact`.
 *   patterns Space-Saving (Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data
 *            streams", 2005): a new pattern replaces the rarest and inherits its rank. The sums of the latter are added to a row
 *            for all other patterns, whose pattern is their common one.
 */
#pragma once

#include "analysis/features/feature.h"
#include "analysis/features/file_patterns.h"

#define HABIT_STEPS_MAX	   16	/* operations in a sequence */
#define HABIT_LINES_MAX	   8192 /* sequences of threads stored at the same time */
#define HABIT_PATTERNS_MAX 16	/* patterns of files distinguished in each */
#define HABIT_TIMES_MIN	   3	/* two runs may be chance: only sequences with more become rows */
#define HABIT_FILES_BYTES  (16u << 20) /* memory for counting distinct files */

/* A sequence to be counted. */
struct habit_cycle {
	uint32_t task, process;
	uint8_t one_file; /* 1: calls on one file (scope `file`), 0: all calls of the thread */
	uint8_t count;
	uint16_t ops[HABIT_STEPS_MAX];
};

/* One run of it. */
struct habit_sums {
	int64_t start, stop; /* ns since the epoch */
	uint64_t calls, errors, bytes, time, wait;
	uint16_t more;	/* bit i: operation i was called several times in a row */
	bool files_cut; /* it used more files than are listed */
};

struct habit_line;
struct habit_table {
	struct file_patterns *patterns;
	struct habit_line *lines; /* [HABIT_LINES_MAX] */
	uint32_t *slots;	  /* hash of a cycle -> line + 1, 0: free */
	size_t count;
	size_t files_bytes; /* memory used for counting files */
	bool swept;	    /* lines were dropped */
	bool cut;	    /* calls on one file: some sessions could not be followed */
	uint32_t last;	    /* the line found last */
};

/* 0 or -ENOMEM. */
int habit_table_init(struct habit_table *t, struct file_patterns *patterns) _must_check_;
void habit_table_free(struct habit_table *t);
/* True if the cycle ran before and its line is still stored. */
bool habit_table_has(const struct habit_table *t, const struct habit_cycle *c);
/* Counts a run on files[0 .. count); the first file determines the row. thread_id: the version of the thread. 0 or -ENOMEM. */
int habit_table_add(struct habit_table *t, const struct habit_cycle *c, const struct habit_sums *s,
		    int64_t thread_id, const uint32_t *files, size_t count) _must_check_;
/* Writes the rows, those that took most time first. 0 or negative. */
int habit_table_put(struct habit_table *t, const struct feature_world *w,
		    struct feature_rows *out) _must_check_;
