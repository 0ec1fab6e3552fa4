/* SPDX-License-Identifier: Apache-2.0 */
/* sql.h: shared by the files of `weir sql`. */
#pragma once

#include <stdio.h>

#include "cli/terminal/interrupt.h"
#include "cli/options/shared.h"

struct sql_opts {
	FILE *answer; /* where --json prints */
	struct option_list inputs, hosts;
	bool json, csv, confined;
	struct engine_flags engine;
	int64_t rows;
};

/*
 * Runs all statements of a text and prints their rows. For --json and --csv only the last may return rows, as the
 * output is one document. 0 or negative.
 */
int sql_run(const struct sql_opts *o, struct interrupt *it, struct store *s, struct engine *e,
	    const char *sql, struct error *err);
/* Reads statements from a terminal, until end of file or \q. */
int sql_prompt(const struct sql_opts *o, struct interrupt *it, struct store *s, struct engine *e,
	       struct error *err);
