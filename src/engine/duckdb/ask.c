// SPDX-License-Identifier: Apache-2.0
/* ask.c: runs plans. */
#include <errno.h>
#include <string.h>

#include "engine/duckdb/rows/topk_chosen.h"
#include "engine/duckdb/library/duckdb_result.h"
#include "engine/duckdb/translate/translate.h"

static struct translate_options options_now(struct duck *e, const struct ask_options *opt)
{
	struct translate_options o = {.filter_in_sql = opt && opt->filter_in_sql};

	store_range(e->store, &o.first, &o.last);
	return o;
}

static bool by_chosen(const struct plan *p, const struct ask_options *opt)
{
	return !(opt && opt->filter_in_sql) && topk_pays(p);
}

/* Lists the step that found the remaining files before the other steps. */
static int put_before(struct duck *e, enum table_id table, const struct topk *c,
		      struct engine_result *ret)
{
	const struct ask_step *after;
	bool found = c->step.what[0];
	struct ask_step *all;
	int r = steps_read(e, table, ret);
	size_t count;

	if (r < 0 || !found)
		return r;
	count = engine_answer_steps(ret, &after);
	all = calloc(count + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	all[0] = c->step;
	memcpy(all + 1, after, count * sizeof(*all));
	result_steps(ret, all, count + 1);
	return 0;
}

/* Finds the files that can be among the result, if that pays off. */
static int ask_choose(struct duck *e, const struct plan *p, const struct ask_options *opt,
		      struct translate_options *o, struct topk *c, struct error *err)
{
	int r = 0;

	c->plan = *p;
	if (by_chosen(p, opt))
		r = topk_ask(e, p, c, err);
	if (r >= 0 && c->only.len)
		o->only = buf_str(&c->only);
	return r;
}

static int ask_run(struct duck *e, const struct plan *p, const struct ask_options *opt,
		   struct engine_result **ret, struct error *err)
{
	_cleanup_(topk_free) struct topk chosen = {0};
	_cleanup_(translation_free) struct translation t = {0};
	struct translate_options o = options_now(e, opt);
	int r = ask_choose(e, p, opt, &o, &chosen, err);

	if (r >= 0)
		r = translate(&chosen.plan, &o, &t, err);
	if (r >= 0)
		r = duck_run_text(e, buf_str(&t.sql), ret, err);
	if (r >= 0)
		r = result_shape(*ret, t.shown, &t.estimate, t.units);
	if (r >= 0 && opt && opt->analyze)
		r = put_before(e, p->table, &chosen, *ret);
	return r;
}

int duck_ask(struct engine *engine, const struct plan *p, const struct ask_options *opt,
	     struct engine_result **ret, struct error *err)
{
	struct duck *e = duck_of(engine);
	bool analyze = opt && opt->analyze;
	int r = duck_pin(e, err);

	if (r >= 0 && analyze)
		r = duck_run(e, "SET enable_profiling = 'no_output'", err);
	if (r >= 0)
		r = ask_run(e, p, opt, ret, err);
	if (analyze)
		(void)duck_run(e, "PRAGMA disable_profiling", NULL);
	return r < 0 && err && !err->code ? error_errno(err, r, "cannot run the query") : r;
}

int duck_explain(struct engine *engine, const struct plan *p, struct buf *out, struct error *err)
{
	_cleanup_(translation_free) struct translation t = {0};
	struct translate_options o = options_now(duck_of(engine), NULL);
	int r = translate(p, &o, &t, err);

	if (r >= 0 && by_chosen(p, NULL))
		r = buf_printf(out, "-- first finds the files with the largest sums, in arrays; if "
				    "they are few, this statement reads only those:\n");
	return r < 0 ? r : buf_append(out, t.sql.data, t.sql.len);
}
