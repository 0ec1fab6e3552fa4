/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h: an engine's two verbs: ask() a plan for an answer, scan() for an ordered stream of rows.
 *
 * Translating a plan is one folder per engine (duckdb/translate/); docs/howto/add-an-engine.md describes it. The answer is
 * read as every result of an engine is (engine.h): columns are plan_output(), values by their type: ints of any kind
 * engine_result_int(), QUERY_FLOAT engine_result_float(), texts, entities (by name) and packed histograms
 * engine_result_bytes().
 */
#pragma once

#include "engine/engine.h"
#include "query/plan/plan.h"

/* ---- ask ---- */

struct ask_options {
	bool filter_in_sql; /* tests: `where` by the engine instead of by the scan */
	bool analyze;	    /* measure the steps for engine_answer_steps() */
};

/*
 * Runs the plan over the rows that are committed now. opt may be NULL. -EINTR, -ENOMEM (the
 * message says which bound and how to raise it), -EIO. The plan must outlive the answer.
 */
static inline int engine_ask(struct engine *e, const struct plan *p, const struct ask_options *opt,
			     struct engine_result **ret, struct error *err)
{
	return e->ops->ask(e, p, opt, ret, err);
}
/* The statement(s) that engine_ask() would run, for --explain; those of the embedded engine can be given to `weir sql`.
 * 0, -ENOMEM, -EINVAL. */
static inline int engine_explain(struct engine *e, const struct plan *p, struct buf *out,
				 struct error *err)
{
	return e->ops->explain ? e->ops->explain(e, p, out, err)
			       : engine_cannot(e, "explain a pipeline", err);
}

/* One step of a plan that was run with `analyze`. */
struct ask_step {
	char what[96]; /* "scan op: 12 of 1526 blocks", "group", "names", "sort" */
	uint64_t rows; /* that came out */
	int64_t time_ns;
};
static inline size_t engine_answer_steps(const struct engine_result *r, const struct ask_step **ret)
{
	*ret = r->steps;
	return r->step_count;
}

/*
 * The same plan again and again over a growing trace: partial results are kept by group, each
 * refresh reads new blocks only. Plans that are not grouped keep what sort and head need.
 */
struct engine_follow {
	const struct engine_ops *ops; /* the head of every engine's own struct */
};
static inline int engine_follow_new(struct engine_follow **ret, struct engine *e,
				    const struct plan *p, struct error *err)
{
	return e->ops->follow ? e->ops->follow(ret, e, p, err)
			      : engine_cannot(e, "follow rows as they arrive", err);
}
static inline void engine_follow_free(struct engine_follow *f)
{
	if (f)
		f->ops->follow_free(f);
}
DEFINE_CLEANUP(struct engine_follow *, engine_follow_free)
/* Looks for new blocks (store_refresh()) and gives the answer over everything so far. */
static inline int engine_follow_refresh(struct engine_follow *f, struct engine_result **ret,
					struct error *err)
{
	return f->ops->follow_refresh(f, ret, err);
}

/* ---- scan ---- */

/*
 * Rows of one table in the trace's order (order.h: events by their end, traces merged by it), the filter
 * applied, blocks that cannot match skipped. Memory: a decoded block a trace, of op two.
 */
struct scan_request {
	enum table_id table;
	uint64_t columns;	   /* set of columns wanted; the filter's are added */
	int64_t from, to;	   /* ended in [from, to); INT64_MIN, INT64_MAX: open */
	const struct expr *filter; /* NULL: all */
	bool unended; /* of calls: with a range also those whose end is not known. Over trace files */
	/* the range is a part of the order: rows whose end is not known are in it where they stand. Events of trace files */
	bool part;
	bool follow; /* at the end wait for more: next() gives 0 rows then */
};
/* Over trace files: needs no engine. */
int engine_scan_new(struct engine_scan **ret, struct store *s, const struct scan_request *q,
		    struct error *err);
/* Over the rows that an engine holds. */
static inline int engine_scan_of(struct engine_scan **ret, struct engine *e,
				 const struct scan_request *q, struct error *err)
{
	return e->ops->scan(e, q, ret, err);
}

struct engine_scan_ops {
	ssize_t (*next)(struct engine_scan *s, const struct batch **ret_batch,
			const uint32_t **ret_rows, struct error *err);
	const int64_t *(*ends)(const struct engine_scan *s);
	void (*progress)(const struct engine_scan *s, uint64_t *ret_done, uint64_t *ret_total);
	void (*free)(struct engine_scan *s);
};
struct engine_scan {
	const struct engine_scan_ops *ops; /* the head of every kind's own struct */
};
static inline void engine_scan_free(struct engine_scan *s)
{
	if (s)
		s->ops->free(s);
}
DEFINE_CLEANUP(struct engine_scan *, engine_scan_free)
/*
 * The next rows: numbers rows[0 .. n) of *ret_batch, both valid until the next call. The count; 0
 * at the end (with `follow`: nothing new yet); negative.
 */
static inline ssize_t engine_scan_next(struct engine_scan *s, const struct batch **ret_batch,
				       const uint32_t **ret_rows, struct error *err)
{
	return s->ops->next(s, ret_batch, ret_rows, err);
}
/* By row of the batch that engine_scan_next() gave last: when it ended, as order.h has it; 0 where rows are not events. */
static inline const int64_t *engine_scan_ends(const struct engine_scan *s)
{
	return s->ops->ends(s);
}
static inline int64_t engine_scan_end(const struct engine_scan *s, uint32_t row)
{
	return engine_scan_ends(s)[row];
}
/* Blocks looked at and all; any thread. */
static inline void engine_scan_progress(const struct engine_scan *s, uint64_t *ret_done,
					uint64_t *ret_total)
{
	s->ops->progress(s, ret_done, ret_total);
}

/* ---- merge: several tables as one stream ---- */

/*
 * Rows of events of several tables and all traces in order of their end, as every analysis over time and every
 * export reads them. Each table has its own columns, range and filter; at equal ends a table that was named
 * earlier comes first. Memory: that of a scan for each table.
 *
 *   const struct scan_request q[] = {{.table = TABLE_OP, ...}, {.table = TABLE_MARK, ...}};
 *   engine_merge_new(&m, store, NULL, q, 2, &err);
 *   while ((n = engine_merge_next(m, &which, &batch, &rows, &err)) > 0)
 *           ... rows[0 .. n) of batch, which is of the table q[which].table ...
 */
struct engine_merge;
/* Over the store, or where that is NULL over the rows that the engine holds. */
int engine_merge_new(struct engine_merge **ret, struct store *s, struct engine *e,
		     const struct scan_request *q, size_t count, struct error *err);
void engine_merge_free(struct engine_merge *m);
DEFINE_CLEANUP(struct engine_merge *, engine_merge_free)
/* The next run of rows of one table, valid until the next call. How many; 0 at the end, negative on failure. */
ssize_t engine_merge_next(struct engine_merge *m, size_t *ret_which, const struct batch **ret_batch,
			  const uint32_t **ret_rows, struct error *err);
/* By row of the batch that came last: when it ended. */
const int64_t *engine_merge_ends(const struct engine_merge *m);
static inline int64_t engine_merge_end(const struct engine_merge *m, uint32_t row)
{
	return engine_merge_ends(m)[row];
}
