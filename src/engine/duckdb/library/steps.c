// SPDX-License-Identifier: Apache-2.0
/* steps.c: DuckDB's profile of a statement in terms of a plan. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "engine/duckdb/library/duckdb_result.h"

struct steps {
	struct duck *e;
	enum table_id table;
	bool scanned;
	struct ask_step *list;
	size_t count, cap;
};

/* A metric as text in buf; "" if missing. */
static const char *metric(const struct duckdb_api *d, duckdb_profiling_info info, const char *key,
			  char *buf, size_t size)
{
	duckdb_value v = d->profiling_info_get_value(info, key);
	char *text = v ? d->get_varchar(v) : NULL;

	snprintf(buf, size, "%s", text ? text : "");
	if (text)
		d->free(text);
	if (v)
		d->destroy_value(&v);
	return buf;
}

/* The number of blocks of the table that the statement could have read. */
static uint64_t steps_blocks_of(const struct steps *s)
{
	uint64_t count = 0;

	for (size_t i = 0; i < s->e->pin; i++)
		count += store_block(s->e->store, i)->table == s->table;
	return count;
}

/* An operator in terms of a plan; NULL: not worth showing. */
static const char *steps_name_of(struct steps *s, const char *operator, char buf[static 96])
{
	if (s->table < TABLE_COUNT && (strstr(operator, "SCAN") || strstr(operator, "WEIR_ROWS") ||
				       strstr(operator, "weir_rows"))) {
		if (s->scanned) /* the first one is the plan's own scan */
			return "scan of the joined table";
		s->scanned = true;
		snprintf(buf, 96, "scan %s: %llu of %llu blocks", schema_table(s->table)->name,
			 (unsigned long long)atomic_load(&s->e->blocks_read[s->table]),
			 (unsigned long long)steps_blocks_of(s));
		return buf;
	}
	if (strstr(operator, "WEIR_USER") || strstr(operator, "weir_user"))
		return "scan of a user-defined table";
	if (strstr(operator, "GROUP_BY") || strstr(operator, "AGGREGATE"))
		return "group";
	if (strstr(operator, "TOP_N"))
		return "sort, first rows";
	if (strstr(operator, "ORDER_BY"))
		return "sort";
	if (strstr(operator, "JOIN"))
		return "join";
	if (strstr(operator, "FILTER"))
		return "where";
	if (strstr(operator, "LIMIT"))
		return "head";
	if (strstr(operator, "PROJECTION"))
		return "fields and names";
	return NULL;
}

static int add_step(struct steps *s, duckdb_profiling_info info)
{
	const struct duckdb_api *d = s->e->api;
	char operator[128], number[64], what[96];
	struct ask_step *step;
	const char *name = steps_name_of(
		s, metric(d, info, "OPERATOR_NAME", operator, sizeof(operator)), what);

	if (!name)
		name = steps_name_of(
			s, metric(d, info, "OPERATOR_TYPE", operator, sizeof(operator)), what);
	if (!name)
		return 0;
	if (array_add(s->list, s->count, s->cap, (struct ask_step){0}) < 0)
		return -ENOMEM;
	step = &s->list[s->count - 1];
	snprintf(step->what, sizeof(step->what), "%s", name);
	metric(d, info, "OPERATOR_CARDINALITY", number, sizeof(number));
	step->rows = strtoull(number, NULL, 10);
	metric(d, info, "OPERATOR_TIMING", number, sizeof(number));
	step->time_ns = (int64_t)(strtod(number, NULL) * 1e9);
	return 0;
}

/* Child operators feed their parents, so their steps come first. */
static int steps_walk(struct steps *s, duckdb_profiling_info info)
{
	const struct duckdb_api *d = s->e->api;
	idx_t count = d->profiling_info_get_child_count(info);
	int r = 0;

	for (idx_t i = 0; i < count && r >= 0; i++)
		r = steps_walk(s, d->profiling_info_get_child(info, i));
	return r < 0 ? r : add_step(s, info);
}

int steps_read(struct duck *e, enum table_id table, struct engine_result *ret)
{
	struct steps s = {.e = e, .table = table};
	duckdb_profiling_info root = e->api->get_profiling_info(e->con);
	int r = root ? steps_walk(&s, root) : 0;

	if (r < 0)
		free(s.list);
	else
		result_steps(ret, s.list, s.count);
	return r;
}
