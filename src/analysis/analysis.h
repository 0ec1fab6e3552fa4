/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis: answers that need more than one query. One folder per answer. May use engine, enrich, store and hist.
 *
 * analysis.h: the contract. An analysis is a `const struct analysis` and a line in analyses.c. These two provide:
 *
 *   weir NAME                    the command: its options, help, man page, shell completion (cli/analysis/)
 *   weir NAME --json, --csv      its result for programs (analysis_json())
 *   GET /api/v1/analysis/NAME    the document of --json, over the traces being served (server/api/route_analysis.c)
 *
 * It does not depend on the source of the rows, and prints nothing. A complete example:
 *
 *   static int sleepy_run(const struct analysis_input *in, struct analysis_result *out, struct error *err)
 *   {
 *     _cleanup_(engine_merge_freep) struct engine_merge *m = NULL;
 *     struct answer_list *rows = analysis_table(out, "gaps", gap_columns, ARRAY_SIZE(gap_columns));
 *     int r = analysis_stream(&m, in, &in->runs[0], err);
 *     ...
 *     while ((n = engine_merge_next(m, &which, &batch, &picked, err)) > 0)
 *       ... answer_list_int(rows, ...) for each gap ...
 *     analysis_find(out, &(struct analysis_finding){ANALYSIS_WARNING, "idle", buf_str(&text), .share = 0.4});
 *     return (int)n;
 *   }
 *
 *   const struct analysis analysis_sleepy = {
 *     .name = "sleepy", .summary = "find the times without a call", ...
 *     .order = ANALYSIS_STREAM, .reads = sleepy_reads, .finds = true,
 *     .options = sleepy_options, .options_size = sizeof(struct sleepy_options),
 *     .run = sleepy_run,
 *   };
 */
#pragma once

#include "base/option.h"
#include "engine/answer.h"
#include "engine/answer_json.h"
#include "engine/ask.h"

#define ANALYSIS_RUNS_MAX   256 /* on all sides together */
#define ANALYSIS_TABLES_MAX 8

struct scan_filter;

/* ---- input ---- */

/* How the analysis reads, which determines the order of its input. */
enum analysis_order {
	/* Sums of blocks, or blocks as stored, in no particular order. Trace files only. */
	ANALYSIS_SUMS,
	/*
	 * Events of all tables in `reads` as one stream, ordered by their end (analysis_stream()). Trace files, or an
	 * engine that stores rows.
	 */
	ANALYSIS_STREAM,
	/* Results of pipelines run by an engine, in the order that they specify (analysis_ask()). */
	ANALYSIS_ASKS,
};

struct analysis_reads {
	enum table_id table; /* TABLE_COUNT: end of the list */
	uint64_t columns;    /* set of columns */
};

/*
 * One trace or a set of traces read as one, or a part of it: selected calls that ended in [from, to). The selection is
 * given in three forms; the caller owns all of it.
 */
struct analysis_run {
	unsigned int side;	  /* of two: 0 is A, 1 is B */
	const char *name;	  /* as given by the user: a path or an address */
	struct store *store;	  /* NULL: the engine stores the rows */
	struct engine *engine;	  /* NULL if neither the order nor the rows need one */
	int64_t from, to;	  /* ns since the epoch; INT64_MIN, INT64_MAX: open */
	int64_t first, last;	  /* the part of the range covered by the trace, first < last */
	const char *selection;	  /* in the language, over op; NULL: all calls */
	const struct expr *where; /* the same, type-checked; NULL likewise */
	/* the same including the range, for sums; NULL: all calls at any time. Only with a store */
	const struct scan_filter *filter;
	const struct query_users *users; /* tables that the selection may use; NULL: none */
	uint64_t lost;			 /* number of missing calls */
	bool lost_unknown;		 /* and an unknown number of further ones */
	/* lower bound of missing rows in other tables: 1 if their number is unknown */
	uint64_t lost_beside;
	struct bytes loss; /* the losses as JSON, as in documents; set when members are written */
};

struct analysis;

/* Progress of an analysis of many statements; read by another thread. */
struct analysis_steps {
	_Atomic uint64_t done, all;
};

struct analysis_input {
	const struct analysis *analysis;
	const struct analysis_run *runs; /* those of side A first; each side has at least one */
	size_t count;
	const void *options;  /* analysis.options_size bytes, checked */
	unsigned int threads; /* maximum number; 0: one per CPU */
	bool follow;	      /* the traces grow: this result is one of several */
	void *taken; /* state of take_in(), which run() continues from and consumes. NULL: none */
	bool screen; /* for a person: details that the screen does not show may be omitted */
	/* the stores have other readers: they must not be refreshed, and no tables stored in them */
	bool shared;
	/* Returns true if nobody waits for the result any more: return -EINTR then. Thread-safe. NULL: never. */
	bool (*stopped)(const void *arg);
	const void *arg;
	struct analysis_steps *steps; /* counted here; NULL: nobody looks */
};

/* ---- result ---- */

enum analysis_severity { ANALYSIS_NOTE, ANALYSIS_WARNING, ANALYSIS_PROBLEM };

/* A result that a user should see; the most important comes first. */
struct analysis_finding {
	enum analysis_severity severity;
	const char *rule;   /* the rule that found it, a stable identifier: "small-writes" */
	const char *text;   /* one sentence: what, where, how much */
	const char *advice; /* one sentence: what to do about it; NULL: unknown */
	double share;	    /* fraction of I/O time that it explains, 0..1; NAN: not applicable */
};

struct analysis_result {
	struct {
		const char *name;
		struct answer_list rows;
	} tables[ANALYSIS_TABLES_MAX]; /* the first: "rows" of the document, and all of --csv */
	size_t count;		       /* at least one */
	struct answer_list findings;
	/* private data for the analysis's own screen and put_members(), freed with `free` */
	void *own;
};

/* ---- the contract ---- */

struct analysis {
	const char *name;			/* one word */
	const char *summary;			/* one line, lower case, for `weir --help` */
	const char *description;		/* paragraphs for the help text and the man page */
	const struct command_example *examples; /* terminated by {0} */
	/* 2: a comparison; the command takes A and B, each of several runs (not for ANALYSIS_ASKS). 0: one run */
	unsigned int sides;
	enum analysis_order order;
	/* ANALYSIS_STREAM: the tables; at equal ends, a table listed earlier comes first */
	const struct analysis_reads *reads;
	/* Its own options. Every analysis also has inputs, range, selection and formats. */
	const struct option *options; /* NULL: none */
	size_t options_size;
	/*
	 * Long name of the option that takes the command's arguments as values; the trace is then given with -i. NULL:
	 * arguments are traces.
	 */
	const char *takes;
	/* Long name of the option that gets the value of --from if that is several words, but not a time. NULL: none. */
	const char *from_otherwise;
	/* needs trace files although it reads a stream: rows of an engine are fetched first */
	bool files;
	/* --follow repeats the run each second while a trace grows; for one run */
	bool follow_anew;
	/* has findings: the document then always has this member, even if it is empty */
	bool finds;
	/* What it counts in analysis_input.steps, shown as its progress. NULL: nothing; the engine's progress is shown. */
	const char *steps;

	/* Called before anything is opened: -EINVAL with a message for invalid combinations of options. NULL: all are valid. */
	int (*check)(const void *options, struct error *err);
	/*
	 * Handles options that need no trace: 1 with a text, which is printed instead of running; 0: run as usual.
	 * NULL: no such option.
	 */
	int (*instead)(const void *options, struct buf *text, struct error *err);
	/* Fills the empty result. 0 or negative with a message; -EINVAL: not applicable to this input. */
	int (*run)(const struct analysis_input *in, struct analysis_result *out, struct error *err);
	/*
	 * With follow_anew, called before each run(), so that run() need not read everything again: processes what came
	 * since the last call and is complete, i.e. cannot be preceded by later arrivals. *taken is NULL at first;
	 * store and run stay the same, though the run's range and losses may change. run() receives it in a copy of the
	 * process, because finishing modifies it. 0 or negative with a message. NULL: each run() reads everything.
	 */
	int (*take_in)(const struct analysis_input *in, void **taken, struct error *err);
	void (*free_taken)(void *taken); /* may be called with NULL */
	/*
	 * Called instead of run() for a growing trace: the first table gets only the rows added since the last call. 1:
	 * there may be more, 0: no more, or negative with a message. NULL: not supported. The option --follow exists if
	 * the analysis supports it in either way.
	 */
	int (*follow)(const struct analysis_input *in, struct analysis_result *out,
		      struct error *err);
	/* The exit status of the command. NULL: 0. */
	int (*status)(const void *options, const struct analysis_result *r);
	/* Appends further members of the document, each as `, "name": value`. NULL: none. 0 or -ENOMEM. */
	int (*put_members)(const struct analysis_input *in, const struct analysis_result *r,
			   struct buf *to);
	void (*free)(void *own); /* never called with NULL */
};

/* All analyses of this binary, in the order of `weir --help`: analyses.c. Terminated by NULL. */
extern const struct analysis *const analyses[];
/* NULL if there is none. */
const struct analysis *analysis_named(const char *name);

/* ---- for implementations ---- */

/* Adds a table to the result; its rows are added cell by cell with answer_list_*(). Columns must outlive the result. */
struct answer_list *analysis_table(struct analysis_result *r, const char *name,
				   const struct answer_column *columns, size_t count);
/* Adds a finding; texts are copied. */
void analysis_find(struct analysis_result *r, const struct analysis_finding *f);
/* Opens the stream of the tables in `reads` over a run: limited to its range, and calls to its selection. */
int analysis_stream(struct engine_merge **ret, const struct analysis_input *in,
		    const struct analysis_run *run, struct error *err);
/* The part [from, to) of that stream: consecutive parts contain each row exactly once. */
int analysis_stream_part(struct engine_merge **ret, const struct analysis_input *in,
			 const struct analysis_run *run, int64_t from, int64_t to,
			 struct error *err);
/*
 * Runs a pipeline on the run's engine, over its range and, if the rows are calls, its selection:
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
 * Adds the rows of op selected by `text`, a call's number or an expression, within the run's range to `ret`, with value
 * 0. More than `most` calls are an error, whose message names the option. 0 or negative.
 */
int analysis_calls(const struct analysis_input *in, const struct analysis_run *run,
		   const char *option, const char *text, size_t most, struct map *ret,
		   struct error *err);
/*
 * Calls `take` with each row of a scan of the run's store, and the time it ended; a negative result ends the scan. 0,
 * or negative with a message except for results of `take`; -EINTR if nobody waits for the result any more (`in` may be
 * NULL).
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

/* Runs the analysis. 0 or negative; call analysis_result_free() in either case. */
int analysis_answer(const struct analysis_input *in, struct analysis_result *ret,
		    struct error *err);
void analysis_result_free(const struct analysis *a, struct analysis_result *r);
/* Sets the run's first and last: the intersection of its range with [first, last], the time of its trace. */
void analysis_run_within(struct analysis_run *run, int64_t first, int64_t last);
/*
 * Writes the document: answer_json() over the first table, then "tables": {name: {"columns", "rows"}} for the others,
 * "findings": {"columns", "rows"}, and the analysis's own members.
 */
int analysis_json(const struct analysis_input *in, struct analysis_result *r,
		  const struct answer_json *j, struct error *err);
