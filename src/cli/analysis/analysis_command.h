/* SPDX-License-Identifier: Apache-2.0 */
/* analysis_command.h: a command for each registered analysis (analysis/analysis.h). */
#pragma once

#include "analysis/analysis.h"
#include "cli/options/choose.h"
#include "cli/terminal/cell.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/loss_text.h"

/* The options of every analysis; its own options follow, at analysis_own_options(). */
struct analysis_opts {
	struct read_flags read;
	bool csv;
	bool follow; /* if the analysis supports it */
	/* for two sides */
	struct option_list sides[2]; /* -a, -b */
	const char *from[2], *to[2]; /* --a-from, ... */
	struct option_list where[2]; /* --a-where, --b-where: in addition to --where */
};

/* One opened run. */
struct analysis_trace {
	char *name;
	struct buf inputs;   /* " -i a.trace -i 'two words'", for commands that show more */
	struct store *store; /* NULL: the rows are in an engine */
	bool part;	     /* the store is that of an earlier run */
	struct select select;
	struct choice choice;
	struct scan_filter filter;
	struct loss loss;
	struct buf loss_json; /* valid once the analysis has run */
};

struct analysis_view {
	const struct analysis *analysis;
	const struct analysis_opts *opts;
	struct analysis_trace *traces; /* [runs], those of side A first */
	struct analysis_run *runs;
	size_t count;
	int64_t origin;	       /* time of the first trace's first row, ns since the epoch */
	struct engine *engine; /* queried by a run, or holds its rows; NULL: none */
	const struct analysis_input *in;
	struct analysis_result *result;
	struct loss loss; /* of all runs */
	struct interrupt *it;
	void *taken; /* data from analysis.take_in; NULL: none */
	int status;  /* exit status from the analysis */
};

/* The command of analyses[i]; NULL past the last. */
const struct command *analysis_command(size_t i);
static inline const void *analysis_own_options(const struct analysis_opts *o)
{
	return o + 1;
}
/*
 * Runs the analysis over the opened runs and prints the result. `it` must be given if an engine may be used. 0 or
 * negative.
 */
int analysis_run_all(struct analysis_view *v, struct interrupt *it, struct error *err);
/* Runs the command's analysis and prints the result. Returns the exit status. */
int analysis_main(const struct analysis *a, struct analysis_opts *o, int argc, char **argv);

/* analysis_open.c. 0, or the exit status for wrong usage. */
int analysis_check_inputs(const struct analysis *a, const struct analysis_opts *o, int argc,
			  char **argv);
/* Opens the runs that options and arguments name. Call analysis_close() in either case. */
int analysis_open(struct analysis_view *v, int argc, char **argv, struct error *err);
/* Looks for new data and makes the runs again. 1; 0: there are other traces now, which must be opened; or negative. */
int analysis_again(struct analysis_view *v, struct error *err);
void analysis_close(struct analysis_view *v);

/* analysis_follow.c: prints rows as they arrive, until the trace ends. 0 or negative. */
int analysis_follow(struct analysis_view *v, struct error *err);
/* analysis_anew.c: prints the answer repeatedly, until the traces end. 0 or negative. */
int analysis_follow_anew(struct analysis_view *v, int argc, char **argv, struct error *err);
/* Prints the result as one document. 0 or negative; a reader that went away is not an error. */
int analysis_document(struct analysis_view *v, bool compact, struct error *err);

/* analysis_screen.c: prints findings and tables, or the analysis' own screen. 0 or negative. */
int analysis_screen(const struct analysis_view *v, struct error *err);
/* The screens of these analyses, each in a file of its own. 0 or negative. */
int diagnose_screen(const struct analysis_view *v);
int diff_screen(const struct analysis_view *v);
int disks_screen(const struct analysis_view *v);
int flow_screen(const struct analysis_view *v);
int periods_screen(const struct analysis_view *v);
int requests_screen(const struct analysis_view *v);
int stacks_screen(const struct analysis_view *v);
/* How times are written. */
struct cell_style analysis_style(const struct analysis_view *v);
/* Prints the findings, if there are any. 0 or negative. */
int analysis_put_findings(const struct analysis_view *v, struct error *err);
/* Prints one table of the result. 0 or negative. */
int analysis_put_table(const struct analysis_view *v, size_t i, struct error *err);
