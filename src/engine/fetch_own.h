/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_own.h: copies users' own tables (weir annotate) of an engine into a trace of its calls (fetch.h). Ids are those of
 * the trace; a row_id is that of the call there, null if the call is not there.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "engine/engine.h"

/* A call that a table refers to. */
struct fetch_call {
	uint64_t place; /* its number in the order of the trace */
	int64_t id;	/* in the engine */
};

struct fetch_own {
	const struct query_users *users; /* NULL: no tables */
	struct buf left_out; /* names of tables that are not copied, separated by ", " */
	struct map
		calls; /* the engine's row_id of calls that the tables refer to -> that in the trace + 1 */
	struct fetch_call *found;
	size_t found_count, found_cap;
	uint64_t seen; /* calls so far */
};

void fetch_own_free(struct fetch_own *o);
/* Reads the tables; those that are too large for memory, or differ between recordings, are left out. */
int fetch_own_open(struct fetch_own *o, struct engine *e, struct error *err);
/* Notes rows of op in the order in which they are written. */
int fetch_own_calls(struct fetch_own *o, const struct batch *b, const uint32_t *rows,
		    size_t n) _must_check_;
/* Appends the tables to the closed trace. `ids` gives the trace's id for one of the engine's. */
typedef int fetch_own_id(void *arg, enum table_id table, int64_t *id);
int fetch_own_write(struct fetch_own *o, const char *path, fetch_own_id *ids, void *arg,
		    struct error *err);
