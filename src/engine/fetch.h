/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.h: writes an engine's rows to a trace file, for code that reads blocks: reports, pages, rules. Uses only the
 * engine's scans.
 */
#pragma once

#include "engine/engine.h"

/* Maximum number of calls fetched: takes some minutes, and 1 to 2 GB of file. */
#define FETCH_CALLS_MAX 100000000

/*
 * Writes a trace with all rows that ended in [from, to), and all rows of dimension tables. Its ids are dense, in the
 * order of rows; machines, processes and files are those that the engine has, also of several hosts. -E2BIG: more calls
 * than FETCH_CALLS_MAX; the message has their number. Appends the names of users' own tables that are not in the trace to
 * *left_out: too large for memory, or different in the recordings.
 */
int engine_fetch(struct engine *e, int64_t from, int64_t to, const char *path, struct buf *left_out,
		 struct error *err);
