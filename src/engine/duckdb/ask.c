// SPDX-License-Identifier: Apache-2.0
/* ask.c: plans for answers. */
#include <errno.h>
#include <string.h>

#include "engine/duckdb/chosen.h"
#include "engine/duckdb/result.h"
#include "engine/duckdb/translate.h"

static struct translate_options options_now(struct engine *e, const struct ask_options *opt)
{
	struct translate_options o = {.filter_in_sql = opt && opt->filter_in_sql};

	store_range(e->store, &o.first, &o.last);
	return o;
}

static bool by_chosen(const struct plan *p, const struct ask_options *opt)
{
	return !(opt && opt->filter_in_sql) && chosen_pays(p);
}

/* What the files that are left over took to find is told before the rest. */
static int put_before(struct engine *e, enum table_id table, struct engine_result *first,
		      struct engine_result *ret)
{
	const struct ask_step *a, *b;
	size_t first_count = engine_answer_steps(first, &a), count;
	struct ask_step *all;
	int r = steps_read(e, table, ret);

	if (r < 0)
		return r;
	count = engine_answer_steps(ret, &b);
	all = calloc(first_count + count + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	memcpy(all, a, first_count * sizeof(*all));
	memcpy(all + first_count, b, count * sizeof(*all));
	result_steps(ret, all, first_count + count);
	return 0;
}

/* Finds the files that are left over, where that pays. */
static int choose(struct engine *e, const struct plan *p, const struct ask_options *opt,
		  struct translate_options *o, struct buf *only, struct engine_result **first,
		  struct error *err)
{
	bool analyze = opt && opt->analyze;
	int r = by_chosen(p, opt) ? chosen_ask(e, p, o, only, first, err) : 0;

	if (r >= 0 && *first && analyze)
		r = steps_read(e, p->table, *first);
	if (r >= 0 && only->len)
		o->only = buf_str(only);
	/* the steps of each statement tell of its own blocks */
	for (size_t i = 0; *first && i < ARRAY_SIZE(e->blocks_read); i++)
		atomic_store(&e->blocks_read[i], 0);
	return r;
}

static int run(struct engine *e, const struct plan *p, const struct ask_options *opt,
	       struct engine_result **ret, struct error *err)
{
	_cleanup_(engine_result_freep) struct engine_result *first = NULL;
	_cleanup_(translation_free) struct translation t = {0};
	_cleanup_buf_ struct buf only = {0};
	struct translate_options o = options_now(e, opt);
	bool analyze = opt && opt->analyze;
	int r = choose(e, p, opt, &o, &only, &first, err);

	if (r >= 0)
		r = translate(p, &o, &t, err);
	if (r >= 0)
		r = engine_run_text(e, buf_str(&t.sql), ret, err);
	if (r >= 0)
		r = result_shape(*ret, t.shown, &t.estimate, t.units);
	if (r >= 0 && analyze)
		r = first ? put_before(e, p->table, first, *ret) : steps_read(e, p->table, *ret);
	return r;
}

int engine_ask(struct engine *e, const struct plan *p, const struct ask_options *opt,
	       struct engine_result **ret, struct error *err)
{
	bool analyze = opt && opt->analyze;
	int r = engine_pin(e, err);

	if (r >= 0 && analyze)
		r = engine_run(e, "SET enable_profiling = 'no_output'", err);
	if (r >= 0)
		r = run(e, p, opt, ret, err);
	if (analyze)
		(void)engine_run(e, "PRAGMA disable_profiling", NULL);
	return r < 0 && err && !err->code ? error_errno(err, r, "cannot answer the query") : r;
}

/* The statement alone gives the answer too. */
static int explain_chosen(const struct plan *p, const struct translate_options *o, struct buf *out,
			  struct error *err)
{
	_cleanup_buf_ struct buf sql = {0};
	int r = chosen_translate(p, o, &sql, err);

	for (size_t i = 0; i < sql.len; i++) { /* a remark ends with its line */
		if (sql.data[i] == '\n' || sql.data[i] == '\r')
			sql.data[i] = ' ';
	}
	if (r >= 0)
		r = buf_printf(out,
			       "-- first the files that are left over: %s\n"
			       "-- then, of these files alone:\n",
			       buf_str(&sql));
	return r;
}

int engine_explain(struct engine *e, const struct plan *p, struct buf *out, struct error *err)
{
	_cleanup_(translation_free) struct translation t = {0};
	struct translate_options o = options_now(e, NULL);
	int r = translate(p, &o, &t, err);

	if (r >= 0 && by_chosen(p, NULL))
		r = explain_chosen(p, &o, out, err);
	return r < 0 ? r : buf_append(out, t.sql.data, t.sql.len);
}
