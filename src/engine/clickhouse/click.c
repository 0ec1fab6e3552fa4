// SPDX-License-Identifier: Apache-2.0
/* click.c: the engine: connecting, limits, interrupts, answers to plans. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "engine/clickhouse/clickhouse.h"
#include "engine/clickhouse/internal.h"
#include "query/check/user_values.h"
#include "query/eval/eval_rows.h"

static void click_engine_free(struct engine *engine)
{
	struct click_engine *e = click_engine_of(engine);

	clickhouse_close(&e->server);
	dims_free(e->dims);
	click_own_free(e->own);
	buf_free(&e->hosts);
	buf_free(&e->narrow);
	buf_free(&e->dims_narrow);
	free(e->recordings);
	map_free(&e->by_number);
	free(e);
}

static int click_engine_connect(struct engine **ret, const char *address,
				const struct engine_options *opt, struct error *err)
{
	struct click_engine *e = calloc(1, sizeof(*e));
	uint64_t random = 0;
	int r;

	if (!e || getrandom(&random, sizeof(random), 0) < 0) {
		free(e);
		return error_errno(err, -ENOMEM, "%.200s", address);
	}
	e->engine.ops = &clickhouse_engine;
	e->memory_max = opt->memory_max ? opt->memory_max : ENGINE_MEMORY_DEFAULT;
	e->threads = opt->threads;
	snprintf(e->prefix, sizeof(e->prefix), "weir-%016llx-", (unsigned long long)random);
	r = clickhouse_connect(&e->server, address, err);
	if (r >= 0)
		net_client_stop_with(e->server.client, &e->interrupted);
	/* report a database without traces immediately */
	if (r >= 0)
		r = clickhouse_do(&e->server, "SELECT count() FROM recording", NULL, err);
	if (r >= 0 && opt->host_count)
		r = click_choose_hosts(e, opt->hosts, opt->host_count, err);
	if (r < 0) {
		click_engine_free(&e->engine);
		return r;
	}
	*ret = &e->engine;
	return 0;
}

int click_open(struct click_engine *e, struct clickhouse *ret, struct error *err)
{
	int r = clickhouse_again(&e->server, ret, err);

	if (r < 0)
		return r;
	net_client_stop_with(ret->client, &e->interrupted);
	return r;
}

int click_begin_query(struct click_engine *e, struct clickhouse *c, const char *sql,
		      const char *more, struct error *err)
{
	_cleanup_buf_ struct buf settings = {0};
	char id[sizeof(e->prefix) + 16];
	struct clickhouse_query q = {.sql = sql, .id = id};
	int r;

	buf_printf(&settings,
		   "&max_query_size=268435456&max_ast_elements=10000000"
		   "&max_expanded_ast_elements=10000000&max_block_size=65536"
		   "&max_memory_usage=%llu&max_bytes_before_external_sort=%llu"
		   "&max_bytes_before_external_group_by=%llu%s",
		   (unsigned long long)MAX(e->memory_max * 4, 1ull << 30),
		   (unsigned long long)e->memory_max, (unsigned long long)e->memory_max,
		   more ? more : "");
	if (e->threads)
		buf_printf(&settings, "&max_threads=%u", e->threads);
	r = buf_status(&settings);
	if (r < 0)
		return error_errno(err, r, "a query");
	snprintf(id, sizeof(id), "%s%u", e->prefix, atomic_fetch_add(&e->queries, 1));
	q.settings = buf_str(&settings);
	return clickhouse_begin(c, &q, err);
}

int click_query_text(struct click_engine *e, struct clickhouse *c, const char *sql,
		     struct buf *answer, struct error *err)
{
	int r = click_begin_query(e, c, sql, NULL, err);

	r = r < 0 ? r : net_client_rest(c->client, answer, err);
	return r < 0 ? r : clickhouse_exception(c, buf_str(answer), err);
}

int click_read(struct clickhouse *c, struct native_reader *in, struct error *err)
{
	const char *text;
	int r = native_read(in, &text, err);

	if (r != -EBADMSG)
		return r;
	if (text && clickhouse_exception(c, text, err) < 0)
		return err ? err->code : -EIO;
	return error_set(err, -EIO, "%s: the response is truncated or malformed",
			 net_client_node(c->client));
}

/* A client waiting for the server returns within 100 ms; the server cancels its queries. */
static void click_engine_interrupt(struct engine *engine)
{
	struct click_engine *e = click_engine_of(engine);
	struct clickhouse c = {0};
	char sql[160];

	atomic_store(&e->interrupted, true);
	snprintf(sql, sizeof(sql), "KILL QUERY WHERE query_id LIKE '%s%%' ASYNC", e->prefix);
	if (clickhouse_again(&e->server, &c, NULL) >= 0)
		(void)clickhouse_do(&c, sql, NULL, NULL);
	clickhouse_close(&c);
}

static void click_progress(const struct engine *engine, uint64_t *ret_done, uint64_t *ret_total)
{
	const struct click_engine *e = (const struct click_engine *)engine;

	*ret_done = atomic_load(&e->done);
	*ret_total = atomic_load(&e->total);
}

/* Appends the first start and last end of rows in the other event tables. */
static int click_range_put_others(const char *hosts, struct buf *sql)
{
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		const struct table_def *t = schema_table(i);

		/* losses lie within the time recorded (store_range()) */
		if (t->kind == TABLE_IS_EVENTS && i != TABLE_OP && i != TABLE_LOSS)
			buf_printf(sql,
				   " UNION ALL SELECT count() AS n, toNullable(min(`%s`)) AS a, "
				   "max(ended) AS b FROM `%s` WHERE ended != 0%s",
				   t->columns[t->start].name, t->name, hosts);
	}
	return buf_status(sql);
}

static int click_range(struct engine *engine, int64_t *ret_first, int64_t *ret_last,
		       struct error *err)
{
	struct click_engine *e = click_engine_of(engine);
	_cleanup_buf_ struct buf sql = {0}, answer = {0};
	const char *hosts = buf_str(&e->hosts);
	long long first, last, count, start;
	int r;

	buf_printf(&sql,
		   "SELECT sum(n), min(a), max(b), min(a) FROM ("
		   "SELECT count() AS n, min(ended - dur) AS a, max(ended) AS b FROM op "
		   "WHERE start_kind "
		   "IN (0, 3)%s UNION ALL SELECT count() AS n, "
		   "toNullable(min(if(start_kind = 2, start_odd, "
		   "ended))) AS a, max(ended) AS b FROM op WHERE start_kind NOT IN (0, "
		   "3) AND ended != 0%s",
		   hosts, hosts);
	click_range_put_others(hosts, &sql);
	r = buf_printf(&sql, ") WHERE n > 0");
	if (r < 0)
		return error_errno(err, r, "the range");
	r = clickhouse_do(&e->server, buf_str(&sql), &answer, err);
	if (r < 0)
		return r;
	*ret_first = *ret_last = INT64_MIN;
	if (sscanf(buf_str(&answer), "%lld %lld %lld %lld", &count, &first, &last, &start) < 3 ||
	    !count)
		return 0;
	*ret_first =
		sscanf(buf_str(&answer), "%lld %lld %lld %lld", &count, &first, &last, &start) == 4
			? MIN(start, first)
			: first;
	*ret_last = last;
	return 0;
}

/* ---- answers ---- */

static void tables_of(const struct expr *e, uint32_t *set)
{
	if (e)
		*set |= query_expr_tables(e);
}

/* The dimension tables needed to resolve names in the plan. */
static uint32_t plan_tables(const struct plan *p)
{
	uint32_t set = 0;

	tables_of(p->where, &set);
	for (size_t i = 0; i < p->field_count; i++)
		tables_of(p->fields[i].expr, &set);
	for (size_t s = 0; s < p->stage_count; s++) {
		tables_of(p->stages[s].expr, &set);
		for (size_t i = 0; i < p->stages[s].field_count; i++)
			tables_of(p->stages[s].fields[i].expr, &set);
		if (p->stages[s].kind == STAGE_JOIN && !p->stages[s].user)
			set |= 1u << p->stages[s].table;
	}
	return set;
}

static bool click_stopped(void *arg)
{
	struct click_engine *e = arg;

	return atomic_load(&e->interrupted);
}

/* True for rate() of windows, which divides by their length. */
static bool has_range_rate(const struct plan_field *fields, size_t count)
{
	bool rate = false, window = false;

	for (size_t i = 0; i < count; i++) {
		rate |= fields[i].aggregate == AGGREGATE_RATE;
		window |= fields[i].kind == FIELD_WINDOW;
	}
	return rate && !window;
}

/* For rate(): the length in seconds of the range in which rows can have ended. */
static int click_seconds(struct click_engine *e, const struct plan *p, double *ret,
			 struct error *err)
{
	int64_t first, last;
	bool wanted = has_range_rate(p->fields, p->field_count);
	int r;

	for (size_t s = 0; s < p->stage_count; s++)
		wanted |= has_range_rate(p->stages[s].fields, p->stages[s].field_count);
	*ret = 0;
	r = wanted ? click_range(&e->engine, &first, &last, err) : 0;
	if (r < 0 || !wanted || first == INT64_MIN)
		return r;
	first = MAX(first, p->from);
	last = MIN(last, p->to);
	*ret = last > first ? (double)(last - first) / 1e9 : 0;
	return 0;
}

static int click_env(struct click_engine *e, const struct plan *p, struct local_env *ret,
		     struct error *err)
{
	int r = local_refuses(&e->engine, p, err);

	atomic_store(&e->interrupted, false);
	atomic_store(&e->done, 0);
	atomic_store(&e->total, 0);
	if (r >= 0)
		r = click_need_made(e, p->table, err);
	if (r >= 0)
		r = click_narrow(e, p, err);
	if (r >= 0)
		r = click_dims(e, plan_tables(p), err);
	if (r >= 0)
		r = click_own_current(e, p, err);
	*ret = (struct local_env){.engine = &e->engine,
				  .dims = e->dims,
				  .memory_max = e->memory_max,
				  .stopped = click_stopped,
				  .arg = e};
	return r < 0 ? r : click_seconds(e, p, &ret->seconds, err);
}

/* False for dimension tables: only the newest row of an id counts, and only the scan finds it. */
static bool click_counts_rows(const struct plan *p)
{
	return (unsigned int)p->table < TABLE_COUNT && !schema_is_dimension(p->table);
}

static int click_ask(struct engine *engine, const struct plan *p, const struct ask_options *opt,
		     struct engine_result **ret, struct error *err)
{
	struct click_engine *e = click_engine_of(engine);
	_cleanup_(local_rows_free) struct local_rows rows = {0};
	struct click_top top;
	struct local_env env;
	/* tests compare the results of both methods */
	bool group = p->grouped && click_counts_rows(p) && !(opt && opt->filter_in_sql);
	int r = click_env(e, p, &env, err);

	e->asking = true;
	if (r >= 0 && group)
		r = click_group(e, p, &env, &rows, err);
	if (r == 0) {
		r = click_top(e, p, &top, err);
		if (r >= 0)
			r = local_ask(&top.plan, &env, &rows, err);
	} else if (r > 0)
		r = local_stages(&rows, p, &env, err);
	if (r >= 0)
		r = click_name_files(e, p, &rows, err);
	if (r >= 0)
		r = local_result(&rows, p, &env, ret, err);
	e->asking = false;
	return r < 0 && atomic_load(&e->interrupted) ? -EINTR : r;
}

static int click_explain(struct engine *engine, const struct plan *p, struct buf *out,
			 struct error *err)
{
	struct click_engine *e = click_engine_of(engine);
	struct local_env env;
	int r = click_env(e, p, &env, err);

	if (r >= 0 && p->grouped && click_counts_rows(p)) {
		r = click_group_sql(e, p, out, err);
		if (r != -EOPNOTSUPP)
			return r;
		r = 0;
	}
	return r < 0 ? r
		     : buf_printf(out, "-- rows of %s in their order, evaluated by weir",
				  p->user ? p->user->name : schema_table(p->table)->name);
}

const struct engine_ops clickhouse_engine = {
	.name = "ClickHouse",
	.scheme = CLICKHOUSE_SCHEME,
	.connect = click_engine_connect,
	.free = click_engine_free,
	.interrupt = click_engine_interrupt,
	.progress = click_progress,
	.range = click_range,
	.ask = click_ask,
	.scan = click_scan,
	.users = click_users,
	.explain = click_explain,
};
