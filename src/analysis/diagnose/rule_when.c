// SPDX-License-Identifier: Apache-2.0
/*
 * rule_when.c: conditions without which a rule finds nothing. Most rules find nothing in most traces, and a query takes 2 to
 * 3 ms even if its tables are empty. The conditions of all rules on one table are a single query; those on calls are
 * walks over summaries that end at the first call.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "analysis/diagnose/diagnose.h"
#include "query/query.h"
#include "sums/walk.h"

int rule_read_when(struct rule *rule, char *text, struct error *err)
{
	for (char *line = strtok_r(text, "\n", &text); line; line = strtok_r(NULL, "\n", &text)) {
		char *condition = line;
		const char *name = strsep(&condition, " ");
		int table = schema_table_find(name);

		if (table < 0 || !condition || !condition[strspn(condition, " ")])
			return error_set(err, -EINVAL,
					 "a line of when is a table and a condition, such as use "
					 "max(torn) > 0, not %.60s",
					 name);
		if (rule->condition_count == RULE_CONDITIONS_MAX)
			return error_set(err, -EINVAL, "when has more than %d lines",
					 RULE_CONDITIONS_MAX);
		rule->conditions[rule->condition_count++] =
			(struct rule_condition){(enum table_id)table, condition};
	}
	return 0;
}

struct when {
	const struct diagnose_context *c;
	const bool *runs; /* [rule] */
	bool *holds;	  /* [rule]: one of its conditions does */
	bool empty;	  /* the table whose conditions are evaluated has no rows */
};

/*
 * Conditions of built-in rules hold for no table without rows (the cases' traces are also judged without conditions), so
 * these are not asked about it: 2 ms a table, and most tables are empty in a small trace. A user's condition may hold, or
 * be wrong, and is always evaluated.
 */
static bool when_is_known(const struct when *w, const struct rule *rule)
{
	return w->empty && !strcmp(rule->file, "built in");
}

/* Calls f for each condition on the table of the rules [first, stop) until it fails. */
static int when_each(struct when *w, enum table_id table, size_t first, size_t stop,
		     int (*f)(struct when *w, size_t rule, const struct rule_condition *cond,
			      void *arg, struct error *err),
		     void *arg, struct error *err)
{
	const struct rule *rules = w->c->out->rules.items;

	for (size_t i = first; i < stop; i++) {
		for (size_t k = 0; w->runs[i] && k < rules[i].condition_count; k++) {
			const struct rule_condition *cond = &rules[i].conditions[k];
			int r = cond->table != table || when_is_known(w, &rules[i])
					? 0
					: f(w, i, cond, arg, err);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* ---- on rows of a table, in SQL ---- */

struct when_query {
	struct buf sql;
	struct engine_result *result;
	size_t columns;
};

static void when_query_free(struct when_query *q)
{
	buf_free(&q->sql);
	engine_result_free(q->result);
}

static int when_put(struct when *w, size_t rule, const struct rule_condition *cond, void *arg,
		    struct error *err)
{
	struct when_query *q = arg;
	int r;

	/* with an aggregate of its own, it may not have a value per row */
	buf_printf(&q->sql, "%s, coalesce((", q->columns++ ? "" : "SELECT count(*)");
	r = ask_fill(w->c, &w->c->out->rules.items[rule], cond->text, &q->sql, err);
	/* on the next line, as the condition may end with a comment */
	buf_printf(&q->sql, "\n), false)");
	return r;
}

static int when_take(struct when *w, size_t rule, const struct rule_condition *cond _unused_,
		     void *arg, struct error *err _unused_)
{
	struct when_query *q = arg;

	w->holds[rule] |= engine_result_int(q->result, q->columns++) != 0;
	return 0;
}

static int when_ask(struct when *w, enum table_id table, size_t first, size_t stop,
		    struct error *err)
{
	_cleanup_(when_query_free) struct when_query q = {0};
	int r = when_each(w, table, first, stop, when_put, &q, err);

	if (r < 0 || !q.columns)
		return r;
	r = buf_printf(&q.sql, " FROM %s", schema_table(table)->name);
	if (r < 0)
		return error_errno(err, r, "cannot ask when rules apply");
	r = ask_sql(w->c, buf_str(&q.sql), &q.result, err);
	if (r < 0)
		return r;
	if (!engine_result_next(q.result))
		return error_set(err, -EIO, "no result");
	q.columns = 1;
	return when_each(w, table, first, stop, when_take, &q, err);
}

static int when_ask_table(struct when *w, enum table_id table, struct error *err)
{
	const struct rules *rules = &w->c->out->rules;
	struct error why = {0};
	int r = when_ask(w, table, 0, rules->count, &why);

	/* one of them is wrong: name it */
	for (size_t i = 0; i < rules->count && r < 0 && r != -EINTR; i++) {
		if (when_ask(w, table, i, i + 1, &why) < 0)
			return error_set(err, r, "rule %s (%s): when %s: %.700s",
					 rules->items[i].name, rules->items[i].file,
					 schema_table(table)->name, why.message);
	}
	return r < 0 ? error_set(err, r, "%.700s", why.message) : 0;
}

/* ---- on calls, in the language ---- */

struct when_call {
	const struct analysis_input *in;
	atomic_bool found;
};

static int when_take_call(void *state, const struct walk_rows *rows)
{
	struct when_call *call = state;

	if (rows->count)
		atomic_store(&call->found, true);
	return 0;
}

/* The first call ends the walk. */
static bool when_stops(const void *arg)
{
	const struct when_call *call = arg;

	return atomic_load(&call->found) || analysis_stopped(call->in);
}

/* 1 if a call of the whole trace passes, as tables that rules read are not limited to selected ones; 0; or negative. */
static int when_any_call(const struct when *w, const struct sums_filter *filter, struct error *err)
{
	struct when_call call = {.in = w->c->in};
	struct walk walk = {
		.ask = {.store = w->c->run->store,
			.filter = filter,
			.from = INT64_MIN,
			.to = INT64_MAX,
			.summaries = true,
			.windowless = true,
			.times = true},
		.sums = 1ull << SUMMARY_CALLS,
		.stopped = when_stops,
		.stopped_arg = &call,
		.take = when_take_call,
		.workers = walk_workers(call.in->threads),
	};
	int r;

	for (unsigned int i = 0; i < walk.workers; i++)
		walk.states[i] = &call;
	r = walk_run(&walk, err);
	return atomic_load(&call.found) ? 1 : r;
}

static int when_scan(struct when *w, size_t rule, const struct rule_condition *cond,
		     void *arg _unused_, struct error *err)
{
	_cleanup_sums_filter_ struct sums_filter chosen = {0};
	struct query_error why = {0};
	struct plan *plan = NULL;
	int r;

	if (w->holds[rule])
		return 0;
	r = query_parse_expr_users(cond->text, strlen(cond->text), TABLE_OP, true, w->c->run->users,
				   &plan, &why);
	if (r < 0)
		return error_set(err, r, "rule %s (%s): when op: %s",
				 w->c->out->rules.items[rule].name,
				 w->c->out->rules.items[rule].file, why.err.message);
	r = sums_filter_new(&chosen, plan, err);
	if (r < 0)
		return r;
	r = sums_filter_names(&chosen, w->c->run->store, err);
	if (r < 0)
		return r;
	r = when_any_call(w, &chosen, err);
	w->holds[rule] = r > 0;
	return MIN(r, 0);
}

int diagnose_when(const struct diagnose_context *c, bool *runs, struct error *err)
{
	const struct rules *rules = &c->out->rules;
	_cleanup_free_ bool *holds = calloc(rules->count + 1, sizeof(*holds));
	struct when w = {.c = c, .runs = runs, .holds = holds};
	int r = holds ? 0 : -ENOMEM;

	for (unsigned int t = 0; t < TABLE_COUNT && r >= 0; t++) {
		w.empty = !diagnose_has_rows(c->run->store, t);
		r = t == TABLE_OP ? when_each(&w, t, 0, rules->count, when_scan, NULL, err)
				  : when_ask_table(&w, t, err);
	}
	for (size_t i = 0; i < rules->count && r >= 0; i++)
		runs[i] &= !rules->items[i].condition_count || holds[i];
	return r;
}
