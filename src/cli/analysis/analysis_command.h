/* SPDX-License-Identifier: Apache-2.0 */
/* analysis_command.h: a command for each registered analysis (analysis/analysis.h). */
#pragma once

#include "analysis/analysis.h"
#include "cli/options/choose.h"
#include "cli/terminal/cell.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/loss_text.h"

/* What every analysis has; its own options lie behind, at analysis_own_options(). */
struct analysis_opts {
	struct read_flags read;
	bool csv;
	bool follow; /* where the analysis can */
	/* of two sides */
	struct option_list sides[2]; /* -a, -b */
	const char *from[2], *to[2]; /* --a-from, ... */
	struct option_list where[2]; /* --a-where, --b-where: beside --where */
};

/* One run as it was opened. */
struct analysis_trace {
	char *name;
	struct store *store; /* NULL: an engine holds the rows */
	bool part;	     /* of a trace that an earlier run has opened */
	struct select select;
	struct choice choice;
	struct scan_filter filter;
	struct loss loss;
	struct buf loss_json; /* once the analysis has run */
};

struct analysis_view {
	const struct analysis *analysis;
	const struct analysis_opts *opts;
	struct analysis_trace *traces; /* [runs], A's first */
	struct analysis_run *runs;
	size_t count;
	int64_t origin;	       /* the first time of the first trace, ns since the epoch */
	struct engine *engine; /* that one run asks, or that holds its rows; NULL */
	const struct analysis_input *in;
	struct analysis_result *result;
	struct loss loss; /* of all runs */
	struct interrupt *it;
	void *taken; /* what analysis.take_in took in; NULL */
	int status;  /* the exit status that the analysis gives */
};

/* The command of analyses[i]; NULL past the last. */
const struct command *analysis_command(size_t i);
static inline const void *analysis_own_options(const struct analysis_opts *o)
{
	return o + 1;
}
/* Runs it over the runs that are open, and prints what it gives. `it` is there where an engine may be. 0 or negative. */
int analysis_run_all(struct analysis_view *v, struct interrupt *it, struct error *err);
/* Runs the command's analysis and prints what it gives. The exit status. */
int analysis_main(const struct analysis *a, const struct analysis_opts *o, int argc, char **argv);

/* analysis_open.c. 0 or the exit status of wrong usage. */
int analysis_check_inputs(const struct analysis *a, const struct analysis_opts *o, int argc,
			  char **argv);
/* Opens the runs that options and arguments name. analysis_close() in either case. */
int analysis_open(struct analysis_view *v, int argc, char **argv, struct error *err);
/* Looks for what came since, and makes the runs again. 1; 0: there are other traces now, to be opened; or negative. */
int analysis_again(struct analysis_view *v, struct error *err);
void analysis_close(struct analysis_view *v);

/* analysis_follow.c: prints rows as they come, until the trace ends. 0 or negative. */
int analysis_follow(struct analysis_view *v, struct error *err);
/* analysis_anew.c: prints the answer again and again, until the traces end. 0 or negative. */
int analysis_follow_anew(struct analysis_view *v, int argc, char **argv, struct error *err);
/* Prints the result as one document. 0 or negative; a reader that went away is none. */
int analysis_document(struct analysis_view *v, bool compact, struct error *err);

/* analysis_screen.c: prints findings and tables, or the screen that the analysis has. 0 or negative. */
int analysis_screen(const struct analysis_view *v, struct error *err);
/* How times are written. */
struct cell_style analysis_style(const struct analysis_view *v);
/* Prints the findings, if there are any. 0 or negative. */
int analysis_put_findings(const struct analysis_view *v, struct error *err);
/* Prints one table of the result. 0 or negative. */
int analysis_put_table(const struct analysis_view *v, size_t i, struct error *err);
