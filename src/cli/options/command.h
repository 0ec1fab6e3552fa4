/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli: one file per subcommand; the only place that prints and exits. May use everything.
 *
 * command.h: a subcommand is a struct with a table of its options; parsing, --help, the man page
 * and shell completion are made from it. Exit status: 0 done, 1 the thing asked for failed, 2
 * usage.
 */
#pragma once

#include "base/error.h"

enum option_type {
	OPTION_FLAG,	 /* *(bool *)  */
	OPTION_TIMES,	 /* *(int64_t *): a flag, and how often it was given */
	OPTION_STRING,	 /* *(const char **) */
	OPTION_LIST,	 /* struct option_list *: repeatable */
	OPTION_INT,	 /* *(int64_t *) */
	OPTION_COUNT,	 /* *(int64_t *): 1 or more */
	OPTION_DURATION, /* *(int64_t *) ns: 5s, 1.5ms, 200us, 2m; a bare number is seconds */
	OPTION_SIZE,	 /* *(uint64_t *) bytes: 64KiB, 1M, 2GiB */
};

/* The words that a value may be, one after another; NULL past the last. For completion. */
typedef const char *word_fn(size_t i);

struct option_list {
	const char **items;
	size_t count, cap;
};

struct option {
	char short_name;       /* 0: none */
	const char *long_name; /* NULL: none */
	enum option_type type;
	const char *value; /* "PID", "FILE", ... in help; NULL for flags */
	const char *help;  /* one sentence, lower case; NULL: accepted but not shown */
	size_t offset;	   /* of the field in the command's own options struct */
	bool zero;	   /* a duration or size may be 0; else 0 in the field means "not given" */
	word_fn *words;	   /* NULL: anything */
};

struct command_example {
	const char *line, *what;
};

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
};

/* Options shared by all that record or read: cli/options/shared.h. Terminal and figures: cli/terminal/text.h. */

/* Every subcommand, in the order of `weir --help`; ends with NULL. */
extern const struct command *const commands[];

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

/* Values as options take them, for texts that are no option. 0 or -EINVAL with the reason. */
int parse_int(const char *text, int64_t *ret, struct error *err);
int parse_duration(const char *text, int64_t *ret_ns, struct error *err);
int parse_size(const char *text, uint64_t *ret_bytes, struct error *err);
