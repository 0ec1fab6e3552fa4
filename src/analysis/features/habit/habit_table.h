/* SPDX-License-Identifier: Apache-2.0 */
/*
 * habit_table.h: sequences of calls and how often they ran, in bounded memory: the table `habit`.
 *
 * A sequence of one thread is a line, with rows for the patterns of its files. Both are counted approximately, and both
 * methods are known ones:
 *
 *   lines    lossy counting (Manku and Motwani, "Approximate frequency counts over data streams", 2002): when the table is
 *            full, the lighter half of it goes. What comes later may have run before: `inexact`.
 *   patterns Space-Saving (Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data
 *            streams", 2005): a new pattern takes the place of the rarest and inherits its rank. Its sums are not lost but go
 *            to a row for all the others, whose pattern is what theirs have in common.
 */
#pragma once

#include "analysis/features/feature.h"
#include "analysis/features/file_patterns.h"

#define HABIT_STEPS_MAX	   16	/* operations of a sequence */
#define HABIT_LINES_MAX	   8192 /* sequences of threads that are kept at once */
#define HABIT_PATTERNS_MAX 16	/* patterns of files that one of them tells apart */
#define HABIT_TIMES_MIN	   3	/* twice is an accident: rows are made of what ran more often */
#define HABIT_FILES_BYTES  (16u << 20) /* of memory for counting different files */

/* What is counted. */
struct habit_cycle {
	uint32_t task, process;
	uint8_t one_file; /* 1: all calls on one file, 0: all calls of the thread */
	uint8_t count;
	uint16_t ops[HABIT_STEPS_MAX];
};

/* One time that it ran. */
struct habit_sums {
	int64_t start, stop; /* ns since the epoch */
	uint64_t calls, errors, bytes, time, wait;
	uint16_t more;	/* bit i: operation i was called several times in a row */
	bool files_cut; /* it was on more files than are given */
};

struct habit_line;
struct habit_table {
	struct file_patterns *patterns;
	struct habit_line *lines; /* [HABIT_LINES_MAX] */
	uint32_t *slots;	  /* hash of a cycle: line + 1, 0 is free */
	size_t count;
	size_t files_bytes; /* held for counting files */
	bool swept;	    /* lines were thrown away */
	bool cut;	    /* of calls on one file: some could not be followed */
	uint32_t last;	    /* the line that was found last */
};

/* 0 or -ENOMEM. */
int habit_table_init(struct habit_table *t, struct file_patterns *patterns) _must_check_;
void habit_table_free(struct habit_table *t);
/* True where the cycle ran before, and is remembered. */
bool habit_table_has(const struct habit_table *t, const struct habit_cycle *c);
/*
 * It ran once more, on files[0 .. count): the first names the row. thread_id: the version of the thread. 0 or -ENOMEM.
 */
int habit_table_add(struct habit_table *t, const struct habit_cycle *c, const struct habit_sums *s,
		    int64_t thread_id, const uint32_t *files, size_t count) _must_check_;
/* The rows, those that took most time first. 0 or negative. */
int habit_table_put(struct habit_table *t, const struct feature_world *w,
		    struct feature_rows *out) _must_check_;
