// SPDX-License-Identifier: Apache-2.0
/*
 * follow.c: a plan over a growing trace. A table in memory holds partial results by group (or the rows that sort and
 * head need); each refresh adds the new blocks to it. Its cost depends on the new blocks and the rows shown, not on the
 * length of the trace.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/duckdb/duckdb.h"
#include "engine/duckdb/translate/translate_partial.h"
#include "engine/duckdb/library/duckdb_result.h"

struct duck_follow {
	struct engine_follow head;
	struct duck *e;
	const struct plan *plan;
	char table[32];
	bool made;
	size_t seen; /* number of blocks already in the table */
};

int duck_follow(struct engine_follow **ret, struct engine *engine, const struct plan *p,
		struct error *err)
{
	struct duck *e = duck_of(engine);
	struct duck_follow *f;
	const char *made = p->user ? p->user->name
			   : schema_table(p->table)->kind == TABLE_IS_MADE
				   ? schema_table(p->table)->name
				   : NULL;

	if (made)
		return error_set(err, -EINVAL,
				 "the table %s is computed from a complete trace: query it without "
				 "following",
				 made);
	f = calloc(1, sizeof(*f));
	if (!f)
		return error_errno(err, -ENOMEM, "cannot follow the trace");
	f->head.ops = &duckdb_engine;
	f->e = e;
	f->plan = p;
	snprintf(f->table, sizeof(f->table), "weir_follow_%u", ++e->follows);
	*ret = &f->head;
	return 0;
}

void duck_follow_free(struct engine_follow *follow)
{
	struct duck_follow *f = (struct duck_follow *)follow;
	char sql[64];

	snprintf(sql, sizeof(sql), "DROP TABLE IF EXISTS %s", f->table);
	(void)duck_run(f->e, sql, NULL);
	free(f);
}

/* Adds the blocks [seen, pin) to the table. */
static int follow_keep(struct duck_follow *f, const struct translate_options *opt,
		       struct error *err)
{
	_cleanup_(partial_free) struct partial part = {0};
	_cleanup_buf_ struct buf sql = {0};
	int r = translate_keeping(f->plan, opt, &part, err);

	if (r < 0)
		return r;
	buf_printf(&sql, "CREATE OR REPLACE TABLE %s AS %s(", f->table, buf_str(&part.merge));
	if (f->made)
		buf_printf(&sql, "SELECT * FROM %s UNION ALL ", f->table);
	r = buf_printf(&sql, "%s)%s", buf_str(&part.rows), buf_str(&part.merge_tail));
	if (r < 0)
		return error_errno(err, r, "cannot follow the trace");
	r = duck_run(f->e, buf_str(&sql), err);
	if (r < 0)
		return r;
	f->made = true;
	f->seen = f->e->pin;
	return 0;
}

int duck_follow_refresh(struct engine_follow *follow, struct engine_result **ret, struct error *err)
{
	struct duck_follow *f = (struct duck_follow *)follow;
	_cleanup_(translation_free) struct translation t = {0};
	struct translate_options opt = {.first_block = f->seen};
	int r = duck_pin(f->e, err);

	if (r < 0)
		return r;
	store_range(f->e->store, &opt.first, &opt.last);
	if (!f->made || f->e->pin > f->seen)
		r = follow_keep(f, &opt, err);
	if (r < 0)
		return r;
	r = translate_kept(f->plan, &opt, f->table, &t, err);
	if (r < 0)
		return r;
	r = duck_run_text(f->e, buf_str(&t.sql), ret, err);
	return r < 0 ? r : result_shape(*ret, t.shown, &t.estimate, t.units);
}
