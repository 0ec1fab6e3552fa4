/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose: problems of a program, found by rules (rules/) that query its features (analysis/features/).
 *
 * diagnose.h: shared by its files and by its screen.
 *   rule.c       reads rules                       ask_rule.c runs their queries, reads rows
 *   rule_when.c  rules that cannot find anything   group.c    rows to findings: the perspective that explains most
 *   sentence.c   fills their texts                 keep.c     findings as a table
 *   explain.c    a rule as text                    needs.c    tables other than calls that rules need
 *   diagnose.c   the analysis
 */
#pragma once

#include "analysis/analysis.h"
#include "analysis/diagnose/rule.h"
#include "analysis/diagnose/sentence.h"

#define DIAGNOSE_NULL	   INT64_MIN
#define DIAGNOSE_EXTRA_MAX 24 /* columns of a rule's result that only its texts use */

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
	DIAGNOSE_TIME, /* cost in ns */
	DIAGNOSE_POS,
	DIAGNOSE_STOP_POS,
	DIAGNOSE_FIRST,
	DIAGNOSE_LAST,
	DIAGNOSE_NUMBERS
};

/* A row of a rule's result. Missing ids are -1, missing numbers DIAGNOSE_NULL. */
struct diagnose_row {
	int64_t id[DIAGNOSE_IDS];
	int64_t number[DIAGNOSE_NUMBERS];
	struct bytes pattern;
	struct sentence_value extra[DIAGNOSE_EXTRA_MAX]; /* owns its texts */
	size_t extra_count;
	bool inexact;
	bool elapsed; /* its time is not part of the time that work was blocked */
};

/* The result of one rule. */
struct diagnose_rows {
	struct diagnose_row *items;
	size_t count, cap;
	char *names[DIAGNOSE_EXTRA_MAX]; /* of extra columns */
	bool is_text[DIAGNOSE_EXTRA_MAX];
	size_t name_count;
};

/* Compared with an earlier trace; unknown: its rule could not run on that. */
enum diagnose_change { DIAGNOSE_SAME, DIAGNOSE_NEW, DIAGNOSE_MENDED, DIAGNOSE_UNKNOWN };

struct finding {
	const struct rule *rule;
	/* for a group: sums; other values are those of its most expensive row */
	struct diagnose_row row;
	/*
	 * Its time, summed over concurrent calls as the time that work was blocked is; that of `row` is never longer
	 * than from the first of its calls to the last, since no more can be saved. DIAGNOSE_NULL: time is not the issue.
	 */
	int64_t summed;
	size_t files, processes; /* number that it covers */
	size_t others; /* number of further groups of the rule that did not become findings */
	size_t rows;
	struct buf path, pattern, peer, process, thread;
	struct buf exe;	 /* the executable of its processes, if they are several */
	struct buf host; /* the machine, if the traces are of several */
	int64_t pid, tid;
	struct buf sentence, evidence, change, show;
	const char *sure;	    /* "yes", or the reason why not */
	double share;		    /* of the blocked time; NAN if time is not relevant */
	enum diagnose_change since; /* only with --against */
};

/* A rule that did not run, because the trace lacks what its query reads, or because calls are selected. */
struct diagnose_lack {
	const struct rule *rule;
	struct buf words; /* "block,sched", for record --with; empty: calls are selected */
};

struct diagnosis {
	struct rules rules;
	struct finding *findings; /* most expensive first */
	size_t count, cap;
	size_t mended;	   /* with --against: number of last ones, which are of the old trace */
	size_t ran, found; /* number of rules that ran, and of those with findings */
	struct diagnose_lack *lacks; /* rules that did not run */
	size_t lack_count, lack_cap;
	/* "sched,net_sample": tables with missing rows; "any": the tables are unknown */
	struct buf lost_of;
	struct buf with,
		/* "block,sched": recorded in addition to calls; needed by rules but missing */
		lacking;
	/* ns that work was blocked: I/O calls, and waits in the middle of work */
	int64_t work_time;
	int64_t cost; /* ns of it explained by findings, each call counted once as far as known */
	int64_t first, last;
	uint64_t lost;
	bool lost_unknown;
	uint64_t lost_beside; /* lower bound of missing rows in tables other than op */
	const char *name;     /* of the trace */
	char made_by[32];     /* identifies the rules, for the table */
};

/* True if more time was spent than passed: calls were concurrent, and each counts. */
static inline bool diagnosis_is_summed(const struct diagnosis *d)
{
	return d->work_time > d->last - d->first;
}

void finding_free(struct finding *f);
void diagnosis_free(struct diagnosis *d);

/* The input of rules. */
struct diagnose_context {
	const struct analysis_input *in;
	const struct analysis_run *run;
	struct diagnosis *out;
};

/* ask_rule.c: runs the query. 0 or negative with a message that names the rule. */
int diagnose_ask(const struct diagnose_context *c, const struct rule *rule,
		 struct diagnose_rows *ret, struct error *err);
void diagnose_rows_free(struct diagnose_rows *r);
/* Appends a text of the rule with the values of its $parameters. 0 or negative with a message. */
int ask_fill(const struct diagnose_context *c, const struct rule *rule, const char *question,
	     struct buf *out, struct error *err);
/* Runs a query that only reads. */
int ask_sql(const struct diagnose_context *c, const char *sql, struct engine_result **ret,
	    struct error *err);
/* rule_when.c: clears `runs[i]` of the rules, by index, whose condition does not hold. 0 or negative. */
int diagnose_when(const struct diagnose_context *c, bool *runs, struct error *err);
/* Prevents further queries on this engine from reading or writing files, whoever wrote the rule. */
int diagnose_confine(const struct diagnose_context *c, struct error *err);
/*
 * Sets d->with, what was recorded in addition to calls according to the recorder's mark, and d->lost_of, tables with
 * missing rows. 0 or negative.
 */
int diagnose_with(const struct diagnose_context *c, struct error *err);
#define NEEDS_SPANS "spans" /* not recorded by record --with: programs mark spans */
/* needs.c. 1: the trace lacks what the rule needs, and an entry was added to d->lacks; 0: it can run; or negative. */
int diagnose_lacks(const struct diagnose_context *c, const struct rule *rule, struct error *err);
/* True if a table of the trace, or one made by an analysis, has rows. */
bool diagnose_has_rows(const struct store *s, enum table_id table);
/* True if a table that the rule needs has missing rows. */
bool diagnose_lost_needs(const struct diagnosis *d, const struct rule *rule);
/* Time that work was blocked, ns. */
int diagnose_work_time(const struct diagnose_context *c, int64_t *ret, struct error *err);

/* keep.c: makes table `finding` from the findings; stored in the trace if possible and if `keep`. 0 or negative. */
int diagnose_keep(struct store *s, bool keep, struct diagnosis *d, struct error *err);

/* group.c: adds the findings that explain the rows best. 0 or negative. */
int diagnose_group(const struct diagnose_context *c, const struct rule *rule,
		   struct diagnose_rows *rows, struct error *err);
