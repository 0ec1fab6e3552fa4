/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h: parts of the engine `clickhouse`. The server filters, groups and sorts numbers: times, ids, codes. Names are
 * looked up here, where the rows of dimension tables are in memory as those of trace files are (batch/dims.h): conditions on
 * names go to the server as sets of ids, and groups by names come back by id and are added up (local/local.h).
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "clickhouse/native.h"
#include "clickhouse/server.h"
#include "clickhouse/tables.h"
#include "engine/ask.h"
#include "engine/local/local.h"

/* A recording: ids of its rows are composed with its number here (batch/ids.h). */
struct click_recording {
	uint32_t number; /* in the database */
	int64_t began;	 /* by which they are ordered */
	/* its files are numbered from here on among those of all; a part that is gone leaves a gap */
	uint64_t first_file, first_part;
};

struct click_engine {
	struct engine engine;
	struct clickhouse server;
	uint64_t memory_max;
	unsigned int threads;
	struct buf
		hosts; /* " AND recording IN (...)": of the machines that were chosen; empty: all */
	struct click_recording *recordings;
	size_t recording_count, recording_cap;
	struct map by_number;
	uint64_t files; /* of all recordings */
	struct dims *dims;
	uint32_t dims_tables;	/* that are in it */
	struct buf narrow;	/* " AND ...": the rows of file that are wanted; empty: all */
	struct buf dims_narrow; /* that are in dims */
	uint64_t dims_rows;	/* rows of these tables and of `recording` when they were read */
	char prefix[64];	/* of the ids of its queries */
	atomic_uint queries;
	atomic_bool interrupted;
	struct click_own *own;
	bool asking; /* scans are of an answer: they do not forget an interrupt */
	_Atomic uint64_t done, total;
};

static inline struct click_engine *click_engine_of(struct engine *e)
{
	return (struct click_engine *)e;
}

/* A connection beside the engine's own, which the engine's interrupt stops too. */
int click_open(struct click_engine *e, struct clickhouse *ret, struct error *err);
/* Settings of every query: limits, an id. `more` may be NULL. */
int click_begin_query(struct click_engine *e, struct clickhouse *c, const char *sql,
		      const char *more, struct error *err);
/* The next block of its answer; an exception in the middle is an error as at its beginning. */
int click_read(struct clickhouse *c, struct native_reader *in, struct error *err);
/* The place of a recording's number; -1: it came since. */
ssize_t click_recording_at(const struct click_engine *e, uint32_t number);

/* SQL by which rows are ordered as their recordings are. */
int click_recording_order(const struct click_engine *e, struct buf *out) _must_check_;

/* click_dims.c: takes the machines; connect()'s errors. */
int click_choose_hosts(struct click_engine *e, const char *const *hosts, size_t count,
		       struct error *err);
/* click_dims.c: brings e->recordings and the tables of the set into e->dims, if that changed since. */
int click_dims(struct click_engine *e, uint32_t tables, struct error *err);
/* click_narrow.c: which rows of file the plan needs: e->narrow. */
int click_narrow(struct click_engine *e, const struct plan *p, struct error *err);
/* click_dims.c: the same for rows that refer to none of these tables: e->recordings alone. */
int click_recordings(struct click_engine *e, struct error *err);

/* click_dims.c: -ENOENT where a table that is made after recording was never loaded. */
int click_need_made(struct click_engine *e, enum table_id table, struct error *err);
/* click_own.c: users' own tables that the database has. */
struct click_own;
void click_own_free(struct click_own *o);
int click_users(struct engine *e, const struct query_users **ret, struct error *err);
/* -ESTALE where their ids are composed with other recordings than there are by now. */
int click_own_current(struct click_engine *e, const struct plan *p, struct error *err);
/* click_batch.c: rows of a block that click_columns() asked for, [from, to), as a batch; ends and numbers of rows may be NULL. */
int click_columns(const struct table_def *t, uint64_t columns, struct buf *out);
/* An id as it is in batches. */
int64_t click_compose(const struct click_engine *e, const struct table_def *t, unsigned int column,
		      ssize_t recording, int64_t own);
int click_batch(const struct click_engine *e, const struct native_reader *in, size_t from,
		size_t to, uint64_t columns, struct batch *b, int64_t *ends) _must_check_;

/* click_expr.c: an expression over a row as SQL. -EOPNOTSUPP: it has no equal there. */
struct click_writer {
	struct click_engine *engine; /* whose dims give the sets of ids */
	enum table_id table;
	struct buf *out;
	struct error *err;
	bool truth; /* of the expression it counts alone whether it is true */
};
int click_expr(struct click_writer *w, const struct expr *e);
/* The only column that the expression reads, where it holds ids or codes: its value can be looked up. -1: it is no such one. */
int click_only_column(enum table_id table, const struct expr *e);
/* What a histogram's bucket, or a tally's, is of an argument. */
int click_hist_bucket(struct click_writer *w, const struct expr *e);
int click_tally_bucket(struct click_writer *w, const struct plan_field *f);
/* " WHERE ...": the range, and the parts of `where` that SQL can test; *ret_all: that is all of it. */
int click_where(struct click_writer *w, const struct expr *where, int64_t from, int64_t to,
		bool *ret_all);

/* click_top.c: the plan with a filter for what its sort and head can keep, where it has such; it lives in *ret. */
struct click_top {
	struct plan plan;
	struct expr edge, compare, both;
};
int click_top(struct click_engine *e, const struct plan *p, struct click_top *ret,
	      struct error *err);

int click_scan(struct engine *e, const struct scan_request *q, struct engine_scan **ret,
	       struct error *err);
/* click_group.c: groups of a plan whose keys and arguments the server can work out: 1, 0: it cannot. */
int click_group(struct click_engine *e, const struct plan *p, const struct local_env *env,
		struct local_rows *ret, struct error *err);
/* The statement; -EOPNOTSUPP where there is none. */
int click_group_sql(struct click_engine *e, const struct plan *p, struct buf *out,
		    struct error *err);
