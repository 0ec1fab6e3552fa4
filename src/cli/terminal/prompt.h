/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt.h: lines from a terminal, with history, completion by Tab, and statements over several
 * lines. Ctrl-C forgets the statement that is being typed, Ctrl-D on an empty line ends.
 */
#pragma once

#include "base/error.h"

#define PROMPT_HISTORY_MAX 2000 /* statements that are kept */

struct prompt {
	const char *name;  /* "sql": the history is sql_history */
	const char *first; /* "sql> " */
	const char *more;  /* for the further lines of a statement */
	void *arg;
	/* True where `text` (lines so far, each with its newline) is a whole statement. */
	bool (*is_complete)(const char *text);
	/* Offers the words that may stand at byte `pos`; returns where the word there begins. */
	size_t (*words)(void *arg, const char *text, size_t pos,
			void (*offer)(void *offer_arg, const char *word), void *offer_arg);
	/* Runs a statement. Anything but 0 ends the prompt. */
	int (*run)(void *arg, char *text);
	/* \word rest: a helper of this prompt's own; false where it has none of that name. */
	bool (*helper)(void *arg, const char *word, const char *rest);
	/* What \? prints. \?, \timing and \q are every prompt's. */
	const char *help;
};

/* Until the user leaves: 0. Negative: there is no terminal to read from, or no memory. */
int prompt_loop(const struct prompt *p, struct error *err);
