/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli: one file per subcommand; the only place that prints and exits. May use everything.
 *
 * command.h: a subcommand is a struct with a table of its options, from which parsing, --help, the man page and shell
 * completion are generated. Exit status: 0 done, 1 the thing asked for failed, 2 usage.
 */
#pragma once

#include "base/option.h"

struct analysis;

struct command {
	const char *name;
	const char *summary;			/* one line, lower case, for `weir --help` */
	const char *usage;			/* "[options] -- CMD [ARG...]" */
	const char *description;		/* paragraphs for the man page and --help */
	const struct option *options;		/* ends with {0} */
	size_t options_size;			/* of the options struct */
	const struct command_example *examples; /* ends with {0} */
	bool takes_command; /* everything after the first non-option is a command line */
	bool records;	/* holds its privileges until live_run(); other commands drop them first */
	bool drops;	/* drops its privileges itself, before it opens anything */
	bool no_args;	/* takes only options: the parser rejects arguments */
	word_fn *words; /* words for its first argument; NULL: any */
	bool or_files;	/* or the argument may be a file */
	/* opts: the filled struct; args: the remaining arguments. Returns the exit status. */
	int (*run)(const void *opts, int argc, char **argv);
	const struct analysis *analysis; /* the analysis to run in place of run(); NULL: none */
};

/* Options of all commands that record or read: cli/options/shared.h. Terminal and figures: cli/terminal/text.h. */

/*
 * Every subcommand, in the order of `weir --help`; ends with NULL. command_analyses expands to those of
 * analysis/analyses.c.
 */
extern const struct command *const commands[];
extern const struct command command_analyses;
/* The i-th subcommand, with analyses expanded; NULL past the last. */
const struct command *command_at(size_t i);

/*
 * Prints "weir: message" on standard error. Names in it may contain any bytes, so control characters other than
 * newlines are escaped, as in call_text_escape().
 */
void put_message(const char *text);
/* Prints the message of an error, or the text of its code. Returns 1. */
int fail(const struct error *err);
/* Prints the given text. Returns 2. */
int fail_usage(const char *fmt, ...) _printf_(1, 2);
/* Reports an extra argument and refers to the command's help. Returns 2. */
int fail_extra(const char *command, const char *argument);

/* The name of a command; NULL past the last. */
const char *command_name(size_t i);
/* The command of that name, or NULL. */
const struct command *command_find(const char *name);
/* Parses argv[1..] by the command's table and runs it; argv[0] is its name. Returns the exit
 * status. */
int command_run(const struct command *cmd, int argc, char **argv);
/* Only parses: 0, or 2 with the reason on standard error. May reorder argv, as command_run() does. */
int command_try(const struct command *cmd, int argc, char **argv);
