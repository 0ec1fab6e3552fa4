/* SPDX-License-Identifier: Apache-2.0 */
/*
 * periods.h: `weir periods`: matches of definitions as rows, sums by definition, and the table `period`. Shared by the
 * files of the folder and by the screen.
 */
#pragma once

#include <stdio.h>

#include "analysis/periods/period_pass.h"

struct periods_flags {
	/* --period, and the arguments: definitions in weir's or LTTng's syntax */
	struct option_list define;
	struct option_list captures; /* --period-captures */
	struct option_list use, file, select;
	const char *aggregate_by, *group_by, *order_by;
	bool log, keep;
	bool scan; /* tests: do not use keys */
};

/* The tables of the result, in this order. */
enum periods_table { PERIODS_ROWS, PERIODS_SUMS, PERIODS_AGGREGATES };

struct periods_found {
	struct period_set set;
	struct period_matches matches;
	struct period_pass pass;
	bool shown[PERIODS_MAX];      /* selected by --select */
	int aggregate_by;	      /* index of a period, or -1 */
	struct period_follow *follow; /* for a growing trace */
	int64_t cut, running, lost;
	char made_by[64]; /* value for the stored table */
};

/* The match of the parent; NULL: none. */
static inline const struct period_match *periods_parent(const struct periods_found *f,
							const struct period_match *m)
{
	return m->parent == PERIOD_NO_PARENT ? NULL : &f->matches.items[m->parent];
}
/* The parent's number; 0: none. */
static inline int64_t periods_parent_number(const struct periods_found *f,
					    const struct period_match *m)
{
	return m->parent == PERIOD_NO_PARENT ? 0 : f->matches.items[m->parent].number;
}
/* The id for a number, as it is stored: 16 hexadecimal digits. Returns `ret`. */
#define PERIODS_ID_TEXT 17
static inline const char *periods_id(int64_t number, char ret[static PERIODS_ID_TEXT])
{
	snprintf(ret, PERIODS_ID_TEXT, "%016llx", (unsigned long long)number);
	return ret;
}
/* Finds the next name in a list separated by commas or blanks: *text then points to it. False at the end of the list. */
static inline bool periods_next_name(const char **text, size_t *ret_len)
{
	*text += strspn(*text, ", ");
	*ret_len = strcspn(*text, ", ");
	return *ret_len != 0;
}
/* Appends the captures as one JSON object; nothing if there are none. 0 or -ENOMEM. */
int periods_attributes(const struct periods_found *f, const struct period_match *m, struct buf *to);

/* Reads the options and adds the table of matches. */
int periods_begin(struct periods_found *f, const struct analysis_input *in,
		  struct analysis_result *out, struct error *err);
void periods_count(struct periods_found *f, const struct period_match *m);
/* Adds a match to the table. */
int periods_put_row(const struct periods_found *f, const struct dims *dims, struct answer_list *t,
		    const struct period_match *m);

/* periods_follow.c: analysis.follow. */
int periods_follow(const struct analysis_input *in, struct analysis_result *out, struct error *err);
/* periods_sums.c: adds the tables of sums. 0 or negative with a message. */
int periods_sums(const struct periods_found *f, const struct periods_flags *flags,
		 struct analysis_result *out, struct error *err);
/* periods_keep.c: stores the matches in table `period` of the trace. */
int periods_keep(struct store *s, struct periods_found *f, bool part, struct error *err);
