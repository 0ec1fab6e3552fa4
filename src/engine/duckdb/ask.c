// SPDX-License-Identifier: Apache-2.0
/* ask.c: plans for answers. */
#include <errno.h>
#include <string.h>

#include "engine/duckdb/result.h"
#include "engine/duckdb/translate.h"

static int translate_now(struct engine *e, const struct plan *p, const struct ask_options *opt,
			 struct translation *t, struct error *err)
{
	struct translate_options o = {.filter_in_sql = opt && opt->filter_in_sql};

	store_range(e->store, &o.first, &o.last);
	return translate(p, &o, t, err);
}

int engine_ask(struct engine *e, const struct plan *p, const struct ask_options *opt,
	       struct engine_result **ret, struct error *err)
{
	_cleanup_(translation_free) struct translation t = {0};
	bool analyze = opt && opt->analyze;
	int r = engine_pin(e, err);

	if (r >= 0)
		r = translate_now(e, p, opt, &t, err);
	if (r >= 0 && analyze)
		r = engine_run(e, "SET enable_profiling = 'no_output'", err);
	if (r >= 0)
		r = engine_run_text(e, buf_str(&t.sql), ret, err);
	if (r >= 0)
		r = result_shape(*ret, t.shown, &t.estimate, t.units);
	if (r >= 0 && analyze)
		r = steps_read(e, p->table, *ret);
	if (analyze)
		(void)engine_run(e, "PRAGMA disable_profiling", NULL);
	return r < 0 && err && !err->code ? error_errno(err, r, "cannot answer the query") : r;
}

int engine_explain(struct engine *e, const struct plan *p, struct buf *out, struct error *err)
{
	_cleanup_(translation_free) struct translation t = {0};
	int r = translate_now(e, p, NULL, &t, err);

	return r < 0 ? r : buf_append(out, t.sql.data, t.sql.len);
}
