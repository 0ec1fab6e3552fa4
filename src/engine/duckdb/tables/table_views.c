// SPDX-License-Identifier: Apache-2.0
/*
 * table_views.c: the views under which SQL reads weir's tables. DuckDB binds a view when it is declared, and for op_named the
 * names of all rows are then looked up: all views take three quarters of the time of a short statement in a trace of 30,000
 * files. So a statement that only reads finds those whose names are words of its text. All others find all views:
 * statements that list tables, declare something, or fail.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "engine/duckdb/internal.h"

static_assert(TABLE_COUNT < 64, "a bit for each view");

/* Tables of the schema, then op_named. */
static const char *view_name(unsigned int table)
{
	return table < TABLE_COUNT ? schema_table(table)->name : "op_named";
}

/* The first occurrence of a word. Whatever is not ASCII delimits words, and so do quotes: that finds more, not less. */
static const char *view_word(const char *sql, const char *word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_";
	size_t len = strlen(word);

	for (sql = strpbrk(sql, letters); sql; sql = strpbrk(sql, letters)) {
		size_t here = strspn(sql, letters);

		if (here == len && !strncasecmp(sql, word, len))
			return sql;
		sql += here;
	}
	return NULL;
}

/* True if DESC is (DESC), which lists all tables, not the end of ORDER BY. */
static bool views_are_described(const char *sql)
{
	for (const char *at = sql; (at = view_word(at, "desc")); at += strlen("desc")) {
		const char *before = at;

		while (before > sql && strchr(" \t\n", before[-1]))
			before--;
		if (before > sql && before[-1] == '(')
			return true;
	}
	return false;
}

/* False for a statement that reads tables by name, or none. */
static bool views_are_listed(const char *sql)
{
	/* what lists tables or columns, or takes the text of a query; beginnings of such names */
	static const char *const words[] = {"show", "describe", "summarize", "query",
					    "query_table"};
	static const char *const parts[] = {"schema", "duckdb_", "sqlite_", "pg_", "pragma"};
	static const char *const begins[] = {"select", "with", "from", "set"};
	bool reads = false;

	if (views_are_described(sql))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (view_word(sql, words[i]))
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (strcasestr(sql, parts[i]))
			return true;
	}
	for (sql += strspn(sql, " \t\n"); sql[0] == '-' && sql[1] == '-';) {
		sql += strcspn(sql, "\n");
		sql += strspn(sql, " \t\n");
	}
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		reads |= !strncasecmp(sql, begins[i], strlen(begins[i]));
	return !reads;
}

int views_declare(struct duck *e, const char *sql, struct error *err)
{
	bool all = !sql || views_are_listed(sql);
	int r = 0;

	for (unsigned int t = 0; t <= TABLE_COUNT && r >= 0; t++) {
		const char *name = view_name(t);
		char create[256];

		if (e->views_made & 1ull << t || !(all || view_word(sql, name)))
			continue;
		snprintf(create, sizeof(create), "CREATE VIEW %s AS FROM weir_%s()", name, name);
		r = duck_run(e, create, err);
		if (r >= 0)
			e->views_made |= 1ull << t;
	}
	return r;
}

bool views_are_complete(const struct duck *e)
{
	return e->views_made == (2ull << TABLE_COUNT) - 1;
}
