/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli: one file per subcommand; the only place that prints and exits. May use everything.
 *
 * command.h: a subcommand is a struct with a table of its options; parsing, --help, the man page
 * and shell completion are made from it. Exit status: 0 done, 1 the thing asked for failed, 2
 * usage.
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
	bool records;	    /* holds its privileges until live_run(); others let them go first */
	bool drops;	    /* lets its privileges go by itself, before it looks at anything */
	bool no_args;	    /* takes options alone: the parser refuses anything else */
	word_fn *words;	    /* of its first argument; NULL: anything */
	bool or_files;	    /* that may be a file instead */
	/* opts: the filled struct; args: what is left. Returns the exit status. */
	int (*run)(const void *opts, int argc, char **argv);
	const struct analysis *analysis; /* what it runs instead; NULL */
};

/* Options shared by all that record or read: cli/options/shared.h. Terminal and figures: cli/terminal/text.h. */

/* Every subcommand, in the order of `weir --help`; ends with NULL. command_analyses stands for those of
 * analysis/analyses.c. */
extern const struct command *const commands[];
extern const struct command command_analyses;
/* The i-th of all of them; NULL past the last. */
const struct command *command_at(size_t i);

/*
 * "weir: message" on standard error. Names in it may be anything, so control characters other than newlines are escaped, as in
 * call_text_escape().
 */
void put_message(const char *text);
/* The same with the message of an error, or the text of its code. Returns 1. */
int fail(const struct error *err);
/* The same with a text of one's own. Returns 2. */
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
/* Only parses: 0, or 2 and why on standard error. May reorder argv, as command_run() does. */
int command_try(const struct command *cmd, int argc, char **argv);
