/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt.h: lines from a terminal, with history, completion by Tab, and statements over several lines. Ctrl-C
 * discards the statement being typed, Ctrl-D on an empty line ends the prompt.
 */
#pragma once

#include "base/error.h"

#define PROMPT_HISTORY_MAX 2000 /* statements kept in the history */

struct prompt {
	const char *name;  /* "sql": the history is sql_history */
	const char *first; /* "sql> " */
	const char *more;  /* for continuation lines of a statement */
	void *arg;
	/* True if `text` (the lines so far, each with its newline) is a complete statement. */
	bool (*is_complete)(const char *text);
	/* Offers the words that may stand at byte `pos`. Returns where the word there begins. */
	size_t (*words)(void *arg, const char *text, size_t pos,
			void (*offer)(void *offer_arg, const char *word), void *offer_arg);
	/* Runs a statement. A nonzero result ends the prompt. */
	int (*run)(void *arg, char *text);
	/* \word rest: a command of this prompt; false if it has none of that name. */
	bool (*helper)(void *arg, const char *word, const char *rest);
	/* The text of \?. Every prompt has \?, \timing and \q. */
	const char *help;
};

/* Runs until the user leaves: 0. Negative: there is no terminal to read from, or no memory. */
int prompt_loop(const struct prompt *p, struct error *err);
