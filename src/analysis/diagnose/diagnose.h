/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose: what is wrong with a program, found by rules (rules/) over features (analysis/features/).
 *
 * diagnose.h: what its files share, and what its screen reads.
 *
 *   rule.c       reads rules                       ask_rule.c puts their questions, collects rows
 *   group.c      rows to findings: the perspective that explains most
 *   sentence.c   fills their texts                 keep.c     findings as a table
 *   explain.c    a rule as text                    needs.c    what rules read beside calls
 *   diagnose.c   the analysis
 */
#pragma once

#include "analysis/analysis.h"
#include "analysis/diagnose/rule.h"
#include "analysis/diagnose/sentence.h"

#define DIAGNOSE_NULL	   INT64_MIN
#define DIAGNOSE_EXTRA_MAX 24 /* columns of a rule's answer that only its texts name */

/* Options of the command. */
struct diagnose_flags {
	struct option_list rules;   /* --rules */
	struct option_list without; /* --without */
	struct option_list only;    /* --only */
	const char *level;	    /* --level */
	const char *against;	    /* --against */
	const char *explain;	    /* --explain */
	bool fresh;		    /* --fresh */
};

enum diagnose_id { DIAGNOSE_PROCESS, DIAGNOSE_THREAD, DIAGNOSE_FILE, DIAGNOSE_PEER, DIAGNOSE_IDS };
enum diagnose_number {
	DIAGNOSE_CALLS,
	DIAGNOSE_BYTES,
	DIAGNOSE_TIME, /* that it costs, ns */
	DIAGNOSE_POS,
	DIAGNOSE_STOP_POS,
	DIAGNOSE_FIRST,
	DIAGNOSE_LAST,
	DIAGNOSE_NUMBERS
};

/* A row of a rule's answer. Ids are -1, numbers DIAGNOSE_NULL where it has none. */
struct diagnose_row {
	int64_t id[DIAGNOSE_IDS];
	int64_t number[DIAGNOSE_NUMBERS];
	struct bytes pattern;
	struct sentence_value extra[DIAGNOSE_EXTRA_MAX]; /* texts are owned */
	size_t extra_count;
	bool inexact;
};

/* The answer of one rule. */
struct diagnose_rows {
	struct diagnose_row *items;
	size_t count, cap;
	char *names[DIAGNOSE_EXTRA_MAX]; /* of extras */
	bool is_text[DIAGNOSE_EXTRA_MAX];
	size_t name_count;
};

/* Against an earlier trace; unknown: its rule could not run on that. */
enum diagnose_change { DIAGNOSE_SAME, DIAGNOSE_NEW, DIAGNOSE_MENDED, DIAGNOSE_UNKNOWN };

struct finding {
	const struct rule *rule;
	struct diagnose_row
		row; /* of a group: sums, and the rest of the most expensive of its rows */
	size_t files, processes; /* that it is about */
	size_t others; /* further groups that its rule found, and that are no findings of their own */
	size_t rows;
	struct buf path, pattern, peer, process, thread;
	int64_t pid, tid;
	struct buf sentence, evidence, change, show;
	const char *sure; /* "yes", or why not */
	double share;	  /* of the time that work waited; NAN where time is not the point */
	enum diagnose_change since; /* with --against */
};

/* A rule that did not run, as the trace lacks what its question reads, or as calls are selected. */
struct diagnose_lack {
	const struct rule *rule;
	struct buf words; /* "block,sched", for record --with; empty: calls are selected */
};

struct diagnosis {
	struct rules rules;
	struct finding *findings; /* the most expensive first */
	size_t count, cap;
	size_t mended;	   /* with --against: of them, the last, which are of the old trace */
	size_t ran, found; /* rules that ran; those of them that findings are of */
	struct diagnose_lack *lacks; /* rules that did not run */
	size_t lack_count, lack_cap;
	struct buf
		lost_of; /* "sched,net_sample": tables that lack rows; "any": it is not known which */
	struct buf with,
		lacking;   /* "block,sched": what is recorded beside calls; what rules lack */
	int64_t work_time; /* ns that work waited: calls of I/O, and waits in the middle of work */
	int64_t cost; /* ns of it that findings explain, each call once where that can be known */
	int64_t first, last;
	uint64_t lost;
	bool lost_unknown;
	uint64_t lost_beside; /* rows of tables beside calls, at least */
	const char *name;     /* the trace */
	char made_by[32];     /* which rules, for the table */
};

void finding_free(struct finding *f);
void diagnosis_free(struct diagnosis *d);

/* What rules are asked about. */
struct diagnose_context {
	const struct analysis_input *in;
	const struct analysis_run *run;
	struct diagnosis *out;
};

/* ask_rule.c. 0 or negative with a message that names the rule. */
int diagnose_ask(const struct diagnose_context *c, const struct rule *rule,
		 struct diagnose_rows *ret, struct error *err);
void diagnose_rows_free(struct diagnose_rows *r);
/* From here on no question of this engine reads or writes a file, whoever wrote the rule. */
int diagnose_confine(const struct diagnose_context *c, struct error *err);
/* What was recorded beside calls, as the recorder marked it, and which tables lack rows: d->with, d->lost_of. 0 or negative. */
int diagnose_with(const struct diagnose_context *c, struct error *err);
#define NEEDS_SPANS "spans" /* what record --with does not record: the program marks them */
/* needs.c. 1: the trace lacks what the rule needs, and d->lacks has it; 0: it can run; or negative. */
int diagnose_lacks(const struct diagnose_context *c, const struct rule *rule, struct error *err);
/* Whether a table that the rule needs lacks rows. */
bool diagnose_lost_needs(const struct diagnosis *d, const struct rule *rule);
/* Time that work waited, ns. */
int diagnose_work_time(const struct diagnose_context *c, int64_t *ret, struct error *err);

/* keep.c: keeps the findings as the table `finding`, in the trace where that is possible and wanted. 0 or negative. */
int diagnose_keep(struct store *s, bool keep, struct diagnosis *d, struct error *err);

/* group.c: adds the findings that explain the rows best. 0 or negative. */
int diagnose_group(const struct diagnose_context *c, const struct rule *rule,
		   struct diagnose_rows *rows, struct error *err);
