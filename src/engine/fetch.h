/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.h: rows that an engine holds as a trace file, for what reads the blocks of one: reports, pages, rules. Made through
 * the engine's scans alone.
 */
#pragma once

#include "engine/engine.h"

/* Calls that are fetched at most: some minutes, and 1 to 2 GB of file. */
#define FETCH_CALLS_MAX 100000000

/*
 * Writes a trace with all rows that ended in [from, to), and all of the dimension tables. Ids are dense in it, in the order
 * of the rows; machines, processes and files are those that the engine has, of several hosts too. -E2BIG: there are more
 * calls than FETCH_CALLS_MAX; the message has how many.
 */
int engine_fetch(struct engine *e, int64_t from, int64_t to, const char *path, struct error *err);
