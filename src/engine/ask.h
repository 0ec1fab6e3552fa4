/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h: the two operations of an engine: ask() runs a plan, scan() reads an ordered stream of rows. Each engine has
 * one folder that translates plans (duckdb/translate/); docs/howto/add-an-engine.md describes how. The result is read
 * like every result of an engine (engine.h): columns are those of plan_output(), values are read by type: integers of
 * any kind with engine_result_int(), QUERY_FLOAT with engine_result_float(), texts, entities (by name) and packed
 * histograms with engine_result_bytes().
 */
#pragma once

#include "engine/engine.h"
#include "query/plan/plan.h"

/* ---- ask ---- */

struct ask_options {
	bool filter_in_sql; /* tests: evaluate `where` in the engine instead of in the scan */
	bool analyze;	    /* measure each step, for engine_answer_steps() */
};

/*
 * Runs the plan over the rows committed so far. opt may be NULL. -EINTR, -ENOMEM (the message names the limit and how
 * to raise it), -EIO. The plan must outlive the answer.
 */
static inline int engine_ask(struct engine *e, const struct plan *p, const struct ask_options *opt,
			     struct engine_result **ret, struct error *err)
{
	return e->ops->ask(e, p, opt, ret, err);
}
/*
 * The SQL that engine_ask() would run, for --explain; that of the embedded engine can be passed to `weir sql`. 0,
 * -ENOMEM, -EINVAL.
 */
static inline int engine_explain(struct engine *e, const struct plan *p, struct buf *out,
				 struct error *err)
{
	return e->ops->explain ? e->ops->explain(e, p, out, err)
			       : engine_cannot(e, "explain a pipeline", err);
}

/* A step of a plan that was run with `analyze`. */
struct ask_step {
	char what[96]; /* "scan op: 12 of 1526 blocks", "group", "names", "sort" */
	uint64_t rows; /* rows that the step returned */
	int64_t time_ns;
};
static inline size_t engine_answer_steps(const struct engine_result *r, const struct ask_step **ret)
{
	*ret = r->steps;
	return r->step_count;
}

/*
 * Runs one plan repeatedly over a growing trace. Partial results are kept by group, so each refresh reads only new
 * blocks. For plans without groups, the rows that sort and head need are kept.
 */
struct engine_follow {
	const struct engine_ops *ops; /* first member of every engine's own struct */
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
/* Looks for new blocks (store_refresh()) and returns the result over all blocks so far. */
static inline int engine_follow_refresh(struct engine_follow *f, struct engine_result **ret,
					struct error *err)
{
	return f->ops->follow_refresh(f, ret, err);
}

/* ---- scan ---- */

/*
 * Rows of one table in the trace's order (order.h: events by their end, merged over traces), filtered; blocks that
 * cannot match are skipped. Memory: one decoded block per trace, two for op.
 */
struct scan_request {
	enum table_id table;
	uint64_t columns;	   /* set of wanted columns; those of the filter are added */
	int64_t from, to;	   /* rows that ended in [from, to); INT64_MIN, INT64_MAX: open */
	const struct expr *filter; /* NULL: all */
	bool unended; /* with a range: also include calls whose end is unknown. For trace files */
	/*
	 * The range selects a part of the order: it includes rows without a known end by their position. For events of
	 * trace files.
	 */
	bool part;
	bool follow; /* at the end, wait for more: next() then returns 0 rows */
};
/* Reads trace files; needs no engine. */
int engine_scan_new(struct engine_scan **ret, struct store *s, const struct scan_request *q,
		    struct error *err);
/* Reads the rows held by an engine. */
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
	const struct engine_scan_ops *ops; /* first member of every implementation's struct */
};
static inline void engine_scan_free(struct engine_scan *s)
{
	if (s)
		s->ops->free(s);
}
DEFINE_CLEANUP(struct engine_scan *, engine_scan_free)
/*
 * The next rows: rows[0 .. n) of *ret_batch, both valid until the next call. Returns n; 0 at the end (with `follow`:
 * nothing new yet); negative.
 */
static inline ssize_t engine_scan_next(struct engine_scan *s, const struct batch **ret_batch,
				       const uint32_t **ret_rows, struct error *err)
{
	return s->ops->next(s, ret_batch, ret_rows, err);
}
/* The end of each row of the last batch of engine_scan_next(), as defined by order.h; 0 for rows that are not events. */
static inline const int64_t *engine_scan_ends(const struct engine_scan *s)
{
	return s->ops->ends(s);
}
static inline int64_t engine_scan_end(const struct engine_scan *s, uint32_t row)
{
	return engine_scan_ends(s)[row];
}
/* Number of blocks processed, and of all blocks; thread-safe. */
static inline void engine_scan_progress(const struct engine_scan *s, uint64_t *ret_done,
					uint64_t *ret_total)
{
	s->ops->progress(s, ret_done, ret_total);
}

/* ---- merge: several tables as one stream ---- */

/*
 * Event rows of several tables and all traces in order of their end; used by every analysis over time and every export.
 * Each table has its own columns, range and filter; at equal ends the table listed first comes first. Memory: that of
 * one scan per table.
 *
 *   const struct scan_request q[] = {{.table = TABLE_OP, ...}, {.table = TABLE_MARK, ...}};
 *   engine_merge_new(&m, store, NULL, q, 2, &err);
 *   while ((n = engine_merge_next(m, &which, &batch, &rows, &err)) > 0)
 *           ... rows[0 .. n) of batch, which is of the table q[which].table ...
 */
struct engine_merge;
/* Reads the store, or the rows held by the engine if the store is NULL. */
int engine_merge_new(struct engine_merge **ret, struct store *s, struct engine *e,
		     const struct scan_request *q, size_t count, struct error *err);
void engine_merge_free(struct engine_merge *m);
DEFINE_CLEANUP(struct engine_merge *, engine_merge_free)
/* The next run of rows of one table, valid until the next call. Returns their number; 0 at the end, negative on failure. */
ssize_t engine_merge_next(struct engine_merge *m, size_t *ret_which, const struct batch **ret_batch,
			  const uint32_t **ret_rows, struct error *err);
/* The end of each row of the last batch. */
const int64_t *engine_merge_ends(const struct engine_merge *m);
static inline int64_t engine_merge_end(const struct engine_merge *m, uint32_t row)
{
	return engine_merge_ends(m)[row];
}
