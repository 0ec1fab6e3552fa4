// SPDX-License-Identifier: Apache-2.0
/*
 * table_made.c: tables declared by traces (weir annotate). Each is a view of its own name over the table function
 * weir_user(name), which combines the tables of several traces.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "engine/duckdb/rows/weir_rows.h"
#include "engine/sql_text.h"

/* ---- names ---- */

static bool is_own_name(const char *name)
{
	if (!strcasecmp(name, "op_named") || !strncasecmp(name, "weir_", strlen("weir_")))
		return true;
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		if (!strcasecmp(name, schema_table(i)->name))
			return true;
	}
	return false;
}

int duck_check_name(struct engine *engine, const char *name, struct error *err)
{
	struct duck *e = duck_of(engine);
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	char sql[400];
	int r;

	assert(made_name_ok(name, strlen(name))); /* it becomes part of a statement */
	if (is_own_name(name))
		return error_set(
			err, -EINVAL,
			"the name %s is reserved by weir: choose another name for the table", name);
	snprintf(sql, sizeof(sql),
		 "SELECT 1 FROM duckdb_keywords() WHERE keyword_name = lower('%s') AND "
		 "keyword_category <> 'unreserved' UNION ALL SELECT 1 FROM duckdb_views() WHERE "
		 "internal AND lower(view_name) = lower('%s')",
		 name, name);
	r = duck_run_text(e, sql, &result, err);
	if (r >= 0 && engine_result_next(result))
		r = error_set(err, -EINVAL,
			      "%s is a reserved word in SQL: choose another name for the table",
			      name);
	return r;
}

/* ---- existing tables ---- */

int made_find(const struct duck *e, struct rows_table *t, const char *name, struct error *err)
{
	const struct store *s = e->store;
	size_t count = store_made_count(s);

	t->parts = calloc(count + 1, sizeof(*t->parts));
	if (!t->parts)
		return error_errno(err, -ENOMEM, "cannot read the table %s", name);
	for (size_t i = 0; i < count; i++) {
		const struct store_made *m = store_made(s, i);

		if (!m || m->table != TABLE_OWN || strcasecmp(m->name, name))
			continue;
		if (t->def && !annotations_same_shape(t->def, m->def))
			return error_set(err, -EINVAL,
					 "the table %s has different columns in %.300s and %.300s: "
					 "annotate them identically, or query one trace at a time",
					 m->name, store_trace_path(s, m->trace),
					 store_trace_path(s, t->parts[0]->trace));
		t->def = m->def;
		t->parts[t->part_count++] = m;
	}
	return t->def ? 0 : error_set(err, -ENOENT, "the trace has no table %.80s", name);
}

/* ---- declaring ---- */

/* If columns differ between traces, queries of this table fail with that message; all other tables work. */
static int declare_error(struct duck *e, const char *name, const char *message, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0};
	int r;

	buf_printf(&sql, "CREATE OR REPLACE VIEW \"%s\" AS SELECT error('", name);
	for (const char *p = message; *p; p++)
		buf_append(&sql, *p == '\'' ? "''" : p, *p == '\'' ? 2 : 1);
	r = buf_printf(&sql, "') AS \"different columns in the traces: query one at a time\"");
	return r < 0 ? error_errno(err, r, "cannot declare %s", name)
		     : duck_run(e, buf_str(&sql), err);
}

bool users_in(const struct duck *e, const char *sql)
{
	for (size_t i = 0; i < store_made_count(e->store); i++) {
		const struct store_made *t = store_made(e->store, i);

		if (t && t->table == TABLE_OWN && sql_after_word(sql, t->name))
			return true;
	}
	return false;
}

int users_declare(struct duck *e, struct error *err)
{
	uint64_t changes = store_made_changes(e->store);

	if (changes == e->users_seen)
		return 0;
	for (size_t i = 0; i < store_made_count(e->store); i++) {
		const struct store_made *t = store_made(e->store, i);
		struct error why = {0};
		char sql[256];

		if (!t || t->table != TABLE_OWN || is_own_name(t->name))
			continue;
		snprintf(sql, sizeof(sql), "CREATE OR REPLACE VIEW \"%s\" AS FROM weir_user('%s')",
			 t->name, t->name);
		/* a table created under this name in the session stays */
		if (duck_run(e, sql, &why) < 0)
			(void)declare_error(e, t->name, why.message, NULL);
	}
	e->users_seen = changes;
	return 0;
}
