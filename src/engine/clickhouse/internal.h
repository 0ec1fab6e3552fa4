/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h: shared by the files of the engine `clickhouse`. The server filters, groups and sorts numbers: times, ids,
 * codes. Names are resolved here, with the rows of dimension tables in memory as for trace files (batch/dims.h):
 * conditions on names are sent to the server as sets of ids, and groups by name are returned by id and added up here
 * (local/local.h).
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "clickhouse/native.h"
#include "clickhouse/server.h"
#include "clickhouse/tables.h"
#include "engine/annotations.h"
#include "engine/ask.h"
#include "engine/local/local.h"

/* A recording. Ids of its rows are composed with its index here (batch/ids.h). */
struct click_recording {
	uint32_t number; /* in the database */
	int64_t began;	 /* sort key */
	/* first indexes of its files among those of all recordings; a removed part leaves a gap */
	uint64_t first_file, first_part;
};

struct click_engine {
	struct engine engine;
	struct clickhouse server;
	uint64_t memory_max;
	unsigned int threads;
	/* " AND recording IN (...)": recordings of the chosen machines; empty: all */
	struct buf hosts;
	struct click_recording *recordings;
	size_t recording_count, recording_cap;
	bool apart; /* no two recordings are of one boot of a machine: they have no file in common */
	struct map by_number;
	uint64_t files; /* in all recordings */
	struct dims *dims;
	uint32_t dims_tables;	/* set of tables read */
	struct buf narrow;	/* " AND ...": the rows of file that the plan needs; empty: all */
	struct buf dims_narrow; /* the value with which dims was read */
	bool by_id;		/* the plan needs the names only of files in its result */
	bool dims_by_id;	/* dims has no other names of files */
	uint64_t dims_rows[TABLE_COUNT]; /* numbers of rows in the database when they were read */
	uint64_t dims_recordings;	 /* click_recordings_hash() with which dims was read */
	char prefix[64];		 /* of query ids */
	atomic_uint queries;
	atomic_bool interrupted;
	struct click_own *own;
	bool asking; /* scans belong to an answer: they do not clear the interrupt */
	_Atomic uint64_t done, total;
};

static inline struct click_engine *click_engine_of(struct engine *e)
{
	return (struct click_engine *)e;
}

/* Opens a further connection, which the engine's interrupt stops too. */
int click_open(struct click_engine *e, struct clickhouse *ret, struct error *err);
/* Starts a query with the common settings: limits and an id. `more` may be NULL. */
int click_begin_query(struct click_engine *e, struct clickhouse *c, const char *sql,
		      const char *more, struct error *err);
/* Runs a query whose answer is a short text. */
int click_query_text(struct click_engine *e, struct clickhouse *c, const char *sql,
		     struct buf *answer, struct error *err);
/* Reads the next block; an exception in the middle of the answer is reported like one at its beginning. */
int click_read(struct clickhouse *c, struct native_reader *in, struct error *err);
/* The index of a recording by its number; -1: added since the list was read. */
ssize_t click_recording_at(const struct click_engine *e, uint32_t number);

/* SQL that orders rows like their recordings. */
int click_recording_order(const struct click_engine *e, struct buf *out) _must_check_;
/* SQL for what is added to an id of a row for one that no other of several recordings has (batch/ids.h). */
int click_recording_key(const struct click_engine *e, struct buf *out);

/* click_dims.c: restricts the engine to these machines; errors as for connect(). */
int click_choose_hosts(struct click_engine *e, const char *const *hosts, size_t count,
		       struct error *err);
/* click_dims.c: updates e->recordings, and the tables of the set in e->dims, if they changed. */
int click_dims(struct click_engine *e, uint32_t tables, struct error *err);
/* click_dims.c: identifies the list of recordings, with which ids are composed. */
uint64_t click_recordings_hash(const struct click_engine *e);
/* click_narrow.c: sets e->narrow and e->by_id to the rows and columns of file that the plan needs. */
int click_narrow(struct click_engine *e, const struct plan *p, struct error *err);
/* click_dims.c: the same for rows that refer to none of these tables: updates only e->recordings. */
int click_recordings(struct click_engine *e, struct error *err);
/* click_dims.c: reads the names of the files in a result, if e->dims_by_id. */
int click_name_files(struct click_engine *e, const struct plan *p, const struct local_rows *rows,
		     struct error *err);

/* click_dims.c: -ENOENT if a table that is made after recording was never loaded. */
int click_need_made(struct click_engine *e, enum table_id table, struct error *err);
/* click_own.c: users' tables in the database. */
struct click_own;
void click_own_free(struct click_own *o);
int click_users(struct engine *e, const struct query_users **ret, struct error *err);
/* -ESTALE if their ids were composed with an older list of recordings. */
int click_own_current(struct click_engine *e, const struct plan *p, struct error *err);
/* click_batch.c: converts rows [from, to) of a block, selected with click_columns(), to a batch; `ends` may be NULL. */
int click_columns(const struct table_def *t, uint64_t columns, struct buf *out);
/* The table whose unified ids the column has in batches; -1: its ids stay as they are. */
int click_same_table(const struct click_engine *e, const struct table_def *t, unsigned int column);
/* An id as it appears in batches; same: click_same_table() of its column. */
int64_t click_compose(const struct click_engine *e, int same, ssize_t recording, int64_t own);
int click_batch(const struct click_engine *e, const struct native_reader *in, size_t from,
		size_t to, uint64_t columns, struct batch *b, int64_t *ends) _must_check_;

/* click_batch.c: runs a statement that selects click_columns(), and calls `take` with every batch of its rows. */
int click_each_batch(struct click_engine *e, const char *sql, const struct table_def *t,
		     enum table_id table, uint64_t columns, annotations_take *take, void *arg,
		     struct error *err);
/* click_batch.c: a value of an answer. */
struct value click_value(const struct native_column *c, size_t row);

/* click_expr.c: writes an expression over a row as SQL. -EOPNOTSUPP: not possible. */
struct click_writer {
	struct click_engine *engine; /* its dims determine the sets of ids */
	enum table_id table;
	struct buf *out;
	struct error *err;
	/* only whether the expression is true matters, not whether it is false or null */
	bool truth;
};
int click_expr(struct click_writer *w, const struct expr *e);
/* The only column that the expression reads, if it holds ids or codes, so that the value can be looked up. -1: otherwise. */
int click_only_column(enum table_id table, const struct expr *e);
/* The least value of the argument's bucket in a histogram, never null: below 0 if the argument is null. */
int click_hist_least(struct click_writer *w, const struct expr *e);
/* The bucket of an argument in a tally. */
int click_tally_bucket(struct click_writer *w, const struct plan_field *f);
/* " WHERE ...": the range, and the parts of `where` that SQL can evaluate; *ret_all: these are all parts. */
int click_where(struct click_writer *w, const struct expr *where, int64_t from, int64_t to,
		bool *ret_all);

/*
 * click_top.c: the plan with an additional filter for the rows that its sort and head can keep, if possible; the filter
 * is stored in *ret.
 */
struct click_top {
	struct plan plan;
	struct expr edge, compare, both;
};
int click_top(struct click_engine *e, const struct plan *p, struct click_top *ret,
	      struct error *err);

int click_scan(struct engine *e, const struct scan_request *q, struct engine_scan **ret,
	       struct error *err);
/* click_group.c: runs a grouped plan if the server can compute its keys and arguments: 1; 0: it cannot. */
int click_group(struct click_engine *e, const struct plan *p, const struct local_env *env,
		struct local_rows *ret, struct error *err);
/* The statement for that; -EOPNOTSUPP: not possible. */
int click_group_sql(struct click_engine *e, const struct plan *p, struct buf *out,
		    struct error *err);
