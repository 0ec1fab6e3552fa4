/* SPDX-License-Identifier: Apache-2.0 */
/*
 * periods.h: `weir periods`: matches of definitions as rows, sums by definition, and the table `period`. Shared by the files of
 * the folder and by the screen.
 */
#pragma once

#include "analysis/periods/period_pass.h"

struct periods_flags {
	struct option_list define;   /* --period, and the arguments: definitions, ours or LTTng's */
	struct option_list captures; /* --period-captures */
	struct option_list use, file, select;
	const char *aggregate_by, *group_by, *order_by;
	bool log, keep;
	bool scan; /* tests: no keys */
};

/* The tables of the result, in their order. */
enum periods_table { PERIODS_ROWS, PERIODS_SUMS, PERIODS_AGGREGATES };

struct periods_found {
	struct period_set set;
	struct period_matches matches;
	struct period_pass pass;
	bool shown[PERIODS_MAX];      /* by --select */
	int aggregate_by;	      /* a period, or -1 */
	struct period_follow *follow; /* of a trace that grows */
	int64_t cut, running, lost;
	char made_by[64]; /* of the table */
};

/* The match that is the parent; NULL: none. */
static inline const struct period_match *periods_parent(const struct periods_found *f,
							const struct period_match *m)
{
	return m->parent == PERIOD_NO_PARENT ? NULL : &f->matches.items[m->parent];
}
/* Its number; 0: it has none. */
static inline int64_t periods_parent_number(const struct periods_found *f,
					    const struct period_match *m)
{
	return m->parent == PERIOD_NO_PARENT ? 0 : f->matches.items[m->parent].number;
}
/* The captures as one JSON object; nothing where there are none. 0 or -ENOMEM. */
int periods_attributes(const struct periods_found *f, const struct period_match *m, struct buf *to);

/* Adds the table of matches, and reads the options. */
int periods_begin(struct periods_found *f, const struct analysis_input *in,
		  struct analysis_result *out, struct error *err);
void periods_count(struct periods_found *f, const struct period_match *m);
/* Adds a match to the table. */
int periods_put_row(const struct periods_found *f, const struct dims *dims, struct answer_list *t,
		    const struct period_match *m);

/* periods_follow.c: what analysis.follow is. */
int periods_follow(const struct analysis_input *in, struct analysis_result *out, struct error *err);
/* periods_sums.c: adds the tables of sums. 0 or negative with a message. */
int periods_sums(const struct periods_found *f, const struct periods_flags *flags,
		 struct analysis_result *out, struct error *err);
/* periods_keep.c: stores the matches as table `period` of the trace. */
int periods_keep(struct store *s, struct periods_found *f, bool part, struct error *err);
