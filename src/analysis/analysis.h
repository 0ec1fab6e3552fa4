/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis: answers that take more than one question. One folder per answer. May use engine, enrich, store and hist.
 *
 * analysis.h: the contract. An analysis is a `const struct analysis` and a line in analyses.c. From these two come
 *
 *   weir NAME                    the command: its options, help, man page, shell completion (cli/analysis/)
 *   weir NAME --json, --csv      what it gives, for programs (analysis_json())
 *   GET /api/v1/analysis/NAME    the document of --json, over the traces that are served (server/api/route_analysis.c)
 *
 * It does not know where the rows came from, and it prints nothing. This is a whole one:
 *
 *   static int sleepy_run(const struct analysis_input *in, struct analysis_result *out, struct error *err)
 *   {
 *   	_cleanup_(engine_merge_freep) struct engine_merge *m = NULL;
 *   	struct answer_list *rows = analysis_table(out, "gaps", gap_columns, ARRAY_SIZE(gap_columns));
 *   	int r = analysis_stream(&m, in, &in->runs[0], err);
 *   	...
 *   	while ((n = engine_merge_next(m, &which, &batch, &picked, err)) > 0)
 *   		... answer_list_int(rows, ...) for each gap ...
 *   	analysis_find(out, &(struct analysis_finding){ANALYSIS_WARNING, "idle", buf_str(&text), .share = 0.4});
 *   	return (int)n;
 *   }
 *
 *   const struct analysis analysis_sleepy = {
 *   	.name = "sleepy", .summary = "find the times without a call", ...
 *   	.order = ANALYSIS_STREAM, .reads = sleepy_reads, .finds = true,
 *   	.options = sleepy_options, .options_size = sizeof(struct sleepy_options),
 *   	.run = sleepy_run,
 *   };
 */
#pragma once

#include "base/option.h"
#include "engine/answer.h"
#include "engine/answer_json.h"
#include "engine/ask.h"

#define ANALYSIS_RUNS_MAX   256 /* of all sides together */
#define ANALYSIS_TABLES_MAX 8

struct scan_filter;

/* ---- what it reads ---- */

/* How it reads, which decides the order of what it gets. */
enum analysis_order {
	/* Sums of blocks, or blocks as they lie, in no order. Trace files only. */
	ANALYSIS_SUMS,
	/* Events of all tables in `reads` as one stream, in order of their end (analysis_stream()). Trace files, or an engine
	 * that holds rows. */
	ANALYSIS_STREAM,
	/* Answers of an engine to pipelines of the language, in the order that they state (analysis_ask()). */
	ANALYSIS_ASKS,
};

struct analysis_reads {
	enum table_id table; /* TABLE_COUNT: behind the last */
	uint64_t columns;    /* set of columns */
};

/*
 * A set of traces, or a part of one: calls that ended in [from, to) and are selected. The selection comes in three
 * forms; the caller owns all of it.
 */
struct analysis_run {
	unsigned int side;	  /* of two: 0 is A, 1 is B */
	const char *name;	  /* as the user gave it: a path, an address */
	struct store *store;	  /* NULL: the engine holds the rows */
	struct engine *engine;	  /* NULL where neither the order nor the rows need one */
	int64_t from, to;	  /* ns since the epoch; INT64_MIN, INT64_MAX: open */
	int64_t first, last;	  /* what of its time there is, first < last */
	const char *selection;	  /* in the language, over op; NULL: all calls */
	const struct expr *where; /* the same, typed; NULL likewise */
	/* the same with the range, as sums take it; NULL: all calls at any time. Of a store alone */
	const struct scan_filter *filter;
	const struct query_users *users; /* tables that the selection may name; NULL: none */
	uint64_t lost;			 /* calls that are missing */
	bool lost_unknown;		 /* and more, by how many is not known */
	uint64_t
		lost_beside; /* rows of tables beside calls, at least: 1 where their number is unknown */
	struct bytes loss; /* the same as JSON, as documents have it; there when members are put */
};

struct analysis;

struct analysis_input {
	const struct analysis *analysis;
	const struct analysis_run *runs; /* of two sides A's first; each has one at least */
	size_t count;
	const void *options;  /* analysis.options_size bytes, checked */
	unsigned int threads; /* at most; 0: one per CPU */
	bool follow;	      /* of traces that grow: the answer is one of several */
	void *taken; /* what take_in() has; run() goes on from it and uses it up. NULL: nothing */
	bool screen; /* a person looks: what its screen does not show need not be there */
	bool shared; /* others read the stores meanwhile: they are not refreshed, and nothing is made in them */
	/* True where nobody waits for the result any more: return -EINTR. From any thread. NULL: never. */
	bool (*stopped)(const void *arg);
	const void *arg;
};

/* ---- what it gives ---- */

enum analysis_severity { ANALYSIS_NOTE, ANALYSIS_WARNING, ANALYSIS_PROBLEM };

/* Something that a person should know, most important first. */
struct analysis_finding {
	enum analysis_severity severity;
	const char *rule;   /* what found it, a stable word for programs: "small-writes" */
	const char *text;   /* one sentence: what, where, how much */
	const char *advice; /* one sentence: what to do about it; NULL: nothing is known */
	double share; /* of the time of I/O that it explains, 0..1; NAN: that is not the point */
};

struct analysis_result {
	struct {
		const char *name;
		struct answer_list rows;
	} tables[ANALYSIS_TABLES_MAX]; /* the first is "rows" of the document and all of --csv */
	size_t count;		       /* at least one */
	struct answer_list findings;
	void *own; /* what the analysis keeps for its own screen and put_members(); `free` frees it */
};

/* ---- the contract ---- */

struct analysis {
	const char *name;			/* one word */
	const char *summary;			/* one line, lower case, for `weir --help` */
	const char *description;		/* paragraphs for help and man page */
	const struct command_example *examples; /* ends with {0} */
	/* 2: it compares, and the command takes A and B, of several runs each (not of ANALYSIS_ASKS). 0: one run */
	unsigned int sides;
	enum analysis_order order;
	/* Of ANALYSIS_STREAM: the tables; at equal ends one that is named earlier comes first */
	const struct analysis_reads *reads;
	/* Its own options; inputs, range, selection and formats are there for every analysis */
	const struct option *options; /* NULL: none */
	size_t options_size;
	/* The long name of the option of which the command's arguments are values; the trace is then given by -i. NULL: they are
	 * traces. */
	const char *takes;
	bool files; /* reads trace files, though its order is a stream's: of an engine the rows are fetched first */
	bool follow_anew; /* --follow runs it again, each second, while a trace grows; of one run */
	bool finds; /* gives findings: the document has the member, also where there are none */

	/* Before anything is opened: -EINVAL with a message where options mean nothing. NULL: they always do. */
	int (*check)(const void *options, struct error *err);
	/* What options ask for that needs no trace: 1 with the text, which is then all that is printed; 0: nothing. NULL: there
	 * is no option for it. */
	int (*instead)(const void *options, struct buf *text, struct error *err);
	/* Fills the result, which is empty. 0 or negative with a message; -EINVAL: the question means nothing here. */
	int (*run)(const struct analysis_input *in, struct analysis_result *out, struct error *err);
	/*
	 * With follow_anew, before each run(), which then has not all to read again: takes in what came since the last call and has
	 * nothing before it that is still to come. *taken is NULL at first; the run, whose range and loss may be others by now, and
	 * its store stay. run() gets it in a copy of the process, since an end changes what it ends. 0 or negative with a message.
	 * NULL: each run() reads all.
	 */
	int (*take_in)(const struct analysis_input *in, void **taken, struct error *err);
	void (*free_taken)(void *taken); /* may be of NULL */
	/*
	 * Instead of run(), of a trace that grows: the first table has the rows that came since the last call, and those alone.
	 * 1: there may be more, 0: they were the last, or negative with a message. NULL: it cannot follow so.
	 * The option --follow is there where it can, one way or the other.
	 */
	int (*follow)(const struct analysis_input *in, struct analysis_result *out,
		      struct error *err);
	/* The exit status of the command. NULL: 0. */
	int (*status)(const void *options, const struct analysis_result *r);
	/* Appends further members of the document: `, "name": value`, each. NULL: none. 0 or -ENOMEM. */
	int (*put_members)(const struct analysis_input *in, const struct analysis_result *r,
			   struct buf *to);
	void (*free)(void *own); /* never of NULL */
};

/* Every analysis of this binary, in the order of `weir --help`: analyses.c. Ends with NULL. */
extern const struct analysis *const analyses[];
/* NULL: there is none. */
const struct analysis *analysis_named(const char *name);

/* ---- for an analysis ---- */

/* The next table of the result, to which rows are added: cell by cell, answer_list_*(). Columns outlive the result. */
struct answer_list *analysis_table(struct analysis_result *r, const char *name,
				   const struct answer_column *columns, size_t count);
/* Adds a finding; texts are copied. */
void analysis_find(struct analysis_result *r, const struct analysis_finding *f);
/* The stream of the tables in `reads` over a run: in its range, calls only where it selects them. */
int analysis_stream(struct engine_merge **ret, const struct analysis_input *in,
		    const struct analysis_run *run, struct error *err);
/* The part [from, to) of that stream: consecutive parts contain each row exactly once. */
int analysis_stream_part(struct engine_merge **ret, const struct analysis_input *in,
			 const struct analysis_run *run, int64_t from, int64_t to,
			 struct error *err);
/*
 * Puts a pipeline to the run's engine, over its range and, where the rows are calls, its selection:
 *
 *   _cleanup_(analysis_asked_free) struct analysis_asked a = {0};
 *   r = analysis_ask(&a, run, "by op | count() as n | sort n desc", err);
 *   while (r >= 0 && (r = answer_next(&a.rows, err)) == 1) ... answer_get(&a.rows, 0) ...
 */
struct analysis_asked {
	struct plan *plan;
	struct engine_result *result;
	struct answer rows;
};
int analysis_ask(struct analysis_asked *ret, const struct analysis_run *run, const char *pipeline,
		 struct error *err);
void analysis_asked_free(struct analysis_asked *a);
/*
 * Puts the rows of op that `text` selects into ret, each with value 0: a call's number or an expression, over the run's
 * range. More than `most` calls are an error that names the option. 0 or negative.
 */
int analysis_calls(const struct analysis_input *in, const struct analysis_run *run,
		   const char *option, const char *text, size_t most, struct map *ret,
		   struct error *err);
/*
 * Gives each row of a scan of the run's store to `take`, with when it ended; a negative result of it ends the scan. 0, or
 * negative with a message, but for what `take` gave; -EINTR where nobody waits for the result any more (`in` may be NULL).
 */
typedef int analysis_row_fn(void *arg, const struct batch *b, uint32_t row, int64_t end);
int analysis_scan(const struct analysis_input *in, const struct analysis_run *run,
		  const struct scan_request *q, analysis_row_fn *take, void *arg,
		  struct error *err);
static inline bool analysis_stopped(const struct analysis_input *in)
{
	return in->stopped && in->stopped(in->arg);
}

/* ---- for callers ---- */

/* Runs it. 0 or negative; analysis_result_free() in either case. */
int analysis_answer(const struct analysis_input *in, struct analysis_result *ret,
		    struct error *err);
void analysis_result_free(const struct analysis *a, struct analysis_result *r);
/* Sets the run's first and last: what its range has of [first, last], the time of its trace. */
void analysis_run_within(struct analysis_run *run, int64_t first, int64_t last);
/*
 * The document: that of answer_json() over the first table, then "tables": {name: {"columns", "rows"}} for the others,
 * "findings": {"columns", "rows"}, and the analysis's own members.
 */
int analysis_json(const struct analysis_input *in, struct analysis_result *r,
		  const struct answer_json *j, struct error *err);
