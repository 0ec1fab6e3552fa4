/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.h: tables of options with textual values, from a command line or a request. A table ends with {0}; each option
 * is a field of the owner's struct.
 */
#pragma once

#include "base/error.h"

enum option_type {
	OPTION_FLAG,	 /* *(bool *)  */
	OPTION_TIMES,	 /* *(int64_t *): a flag that counts its occurrences */
	OPTION_STRING,	 /* *(const char **) */
	OPTION_LIST,	 /* struct option_list *: repeatable */
	OPTION_INT,	 /* *(int64_t *) */
	OPTION_COUNT,	 /* *(int64_t *): 1 or more */
	OPTION_DURATION, /* *(int64_t *) ns: 5s, 1.5ms, 200us, 2m; a bare number is seconds */
	OPTION_SIZE,	 /* *(uint64_t *) bytes: 64KiB, 1M, 2GiB */
};

/* The possible values, one by one; NULL past the last. For completion. */
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
	size_t offset;	   /* of the field in the owner's own options struct */
	bool zero;	   /* a duration or size may be 0; if false, 0 means "not given" */
	word_fn *words;	   /* NULL: anything */
	const char *
		bare; /* the value if the option is given without one; a value must then follow "=" */
	const char *otherwise; /* the default, as text; NULL: the field is 0. Not for lists */
};

/* An example command line, for help and man pages. A table ends with {0}. */
struct command_example {
	const char *line, *what;
};

/* True after the last row of a table. */
static inline bool option_end(const struct option *o)
{
	return !o || (!o->short_name && !o->long_name);
}

/* Parses a value (NULL for a flag) into its field, which borrows texts. -EINVAL with the reason, -ENOMEM. */
int option_take(const struct option *o, void *opts, const char *value, struct error *err);
/* Sets the defaults in a zeroed struct. */
void options_defaults(const struct option *table, void *opts);
/* Frees what option_take() allocated. */
void options_release(const struct option *table, void *opts);

/* Parses values in the syntax of options, for texts that do not come from the command line. 0 or -EINVAL with the
 * reason. */
int parse_int(const char *text, int64_t *ret, struct error *err);
int parse_duration(const char *text, int64_t *ret_ns, struct error *err);
int parse_size(const char *text, uint64_t *ret_bytes, struct error *err);
