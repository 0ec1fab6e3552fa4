/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.h: a table of options and their values as texts: of a command line, or of a request. A table ends with {0};
 * each option is a field of a struct of its owner's.
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
	size_t offset;	   /* of the field in the owner's own options struct */
	bool zero;	   /* a duration or size may be 0; else 0 in the field means "not given" */
	word_fn *words;	   /* NULL: anything */
	const char *
		bare; /* the value where the option is given without one; one follows after = alone */
	const char *
		otherwise; /* the default, written as a value; NULL: the field is 0. Not for lists */
};

/* What a user of the options may write, for help and man pages. A table ends with {0}. */
struct command_example {
	const char *line, *what;
};

/* True after the last row of a table. */
static inline bool option_end(const struct option *o)
{
	return !o || (!o->short_name && !o->long_name);
}

/* Stores a value (NULL for a flag) in its field, which borrows texts. -EINVAL with the reason, -ENOMEM. */
int option_take(const struct option *o, void *opts, const char *value, struct error *err);
/* Stores the defaults in a struct that is all zero. */
void options_defaults(const struct option *table, void *opts);
/* Frees what option_take() allocated. */
void options_release(const struct option *table, void *opts);

/* Values as options take them, for texts that do not come from the command line. 0 or -EINVAL with the reason. */
int parse_int(const char *text, int64_t *ret, struct error *err);
int parse_duration(const char *text, int64_t *ret_ns, struct error *err);
int parse_size(const char *text, uint64_t *ret_bytes, struct error *err);
