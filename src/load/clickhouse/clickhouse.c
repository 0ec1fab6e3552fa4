// SPDX-License-Identifier: Apache-2.0
/*
 * clickhouse.c: loads blocks of a trace into ClickHouse's tables.
 *
 * The rows of a block have its number, and the tables themselves show which blocks are present: there is no second
 * record that could disagree. ClickHouse inserts the rows of one request and one partition atomically, and all rows
 * of a block are in one partition (their `day` is that of its first row); so a block is present completely or not at
 * all, whatever is killed. The insert of a killed loader may still be running: inserts of one file share a query_id,
 * begin() waits until none runs, and the server refuses a second one while one does.
 */
#include "load/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "base/clock.h"
#include "clickhouse/native.h"
#include "clickhouse/server.h"
#include "clickhouse/tables.h"
#include "load/clickhouse/otel_traces.h"
#include "load/clickhouse/own_tables.h"

#define ROWS_AT_ONCE  (256u << 10) /* of a table per request: parts of tens of MB, few to merge */
#define BYTES_AT_ONCE (64u << 20)  /* of texts */
#define WAIT_NS	      (60 * NSEC_PER_SEC)
#define POLL_NS	      (50 * NSEC_PER_MSEC)
#define QUIET_TIMES   3 /* successive checks that saw no insert running */

/* A request, however large, makes one part per partition. */
#define INSERT_SETTINGS                                                     \
	"&max_insert_block_size=4194304&min_insert_block_size_rows=4194304" \
	"&min_insert_block_size_bytes=4294967296"

struct pending {
	struct native_rows rows;
	struct map there; /* block_no of blocks that are in the table, or in rows */
};

static void pending_free(struct pending *p)
{
	native_rows_free(&p->rows);
	map_free(&p->there);
	*p = (struct pending){0};
}

struct click {
	struct load_target target;
	struct clickhouse server;
	uint32_t recording;
	uint64_t part;
	int64_t began;
	char id[160]; /* query_id of inserts; ids are unique on a server */
	struct buf host;
	struct pending tables[TABLE_COUNT + 1]; /* TABLE_OWN: for `own` */
	const struct store_made *own;
	struct load_options options;
	int64_t *generations; /* [BATCH_ROWS_MAX], for the current block */
};

static void click_load_free(struct load_target *t)
{
	struct click *c = (struct click *)t;

	for (unsigned int i = 0; i <= TABLE_COUNT; i++)
		pending_free(&c->tables[i]);
	free(c->generations);
	buf_free(&c->host);
	clickhouse_close(&c->server);
	free(c);
}

static int click_schema(const struct load_options *opt, const char *version, struct buf *out)
{
	unsigned int major = 9999, minor = 0;

	if (version && sscanf(version, "%u.%u", &major, &minor) != 2)
		return -EINVAL;
	return clickhouse_ddl("weir", major * 1000 + minor, opt->keep_ns, out) < 0
		       ? -ENOMEM
		       : otel_ddl(major * 1000 + minor, opt->keep_ns, out);
}

/* One statement at a time: HTTP takes no more. */
static int make_tables(struct click *c, const struct load_options *opt, struct error *err)
{
	_cleanup_buf_ struct buf ddl = {0}, answer = {0};
	char *at, *end;
	int r = clickhouse_ddl(net_client_database(c->server.client), c->server.version,
			       opt->keep_ns, &ddl);

	if (r >= 0)
		r = otel_ddl(c->server.version, opt->keep_ns, &ddl);
	if (r < 0)
		return error_errno(err, r, "the tables");
	at = (char *)buf_str(&ddl) ? (char *)ddl.data : NULL;
	for (bool first = true; r >= 0 && at && (end = strstr(at, ";\n")); first = false) {
		struct clickhouse_query q = {.sql = at, .no_database = first};

		*end = 0;
		r = clickhouse_run(&c->server, &q, &answer, err);
		at = end + 2;
	}
	return r;
}

static int click_load_connect(struct load_target **ret, const char *address,
			      const struct load_options *opt, struct error *err)
{
	struct click *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return error_errno(err, -ENOMEM, "%.200s", address);
	c->target.ops = &clickhouse_target;
	c->options = *opt;
	c->generations = calloc(BATCH_ROWS_MAX, sizeof(*c->generations));
	if (!c->generations) {
		free(c);
		return error_errno(err, -ENOMEM, "%.200s", address);
	}
	r = clickhouse_connect(&c->server, address, err);
	if (r >= 0)
		r = make_tables(c, opt, err);
	if (r < 0) {
		click_load_free(&c->target);
		return r;
	}
	*ret = &c->target;
	return 0;
}

/* ---- the recording, and its blocks that are present ---- */

static uint16_t click_load_day_of(int64_t t)
{
	return t <= 0 ? 0 : (uint16_t)MIN(t / CLICKHOUSE_DAY_NS, (int64_t)CLICKHOUSE_DAY_NONE);
}

/* " WHERE key, host and boot match" */
static int click_load_put_identity(const struct load_recording *rec, struct buf *out)
{
	buf_printf(out, "key = %llu AND host = ", (unsigned long long)rec->key);
	clickhouse_literal(rec->host, out);
	buf_printf(out, " AND boot = ");
	return clickhouse_literal(rec->boot, out);
}

/*
 * The number of a recording in the database: derived from its hash, or the next free one. Two recordings could get
 * the same number only if they have the same hash and are first loaded at the same moment, which has a probability of
 * 1 in 2^32.
 */
static int find_number(struct click *c, const struct load_recording *rec, bool *ret_known,
		       struct error *err)
{
	XXH64_hash_t hash = XXH3_64bits(rec->host.data, rec->host.len);

	hash = XXH3_64bits_withSeed(rec->boot.data, rec->boot.len, hash);
	c->recording = (uint32_t)XXH3_64bits_withSeed(&rec->key, sizeof(rec->key), hash);
	for (;; c->recording++) {
		_cleanup_buf_ struct buf sql = {0}, answer = {0};
		unsigned long long all, same, parts;
		long long ahead;
		int r;

		r = click_load_put_identity(rec, &sql);
		if (r < 0)
			return error_errno(err, r, "the recording");
		r = clickhouse_ask(&c->server, &answer, err,
				   "SELECT count(), countIf(%s), countIf(part = %llu), any(ahead) "
				   "FROM recording WHERE "
				   "recording = %u",
				   buf_str(&sql), (unsigned long long)c->part, c->recording);
		if (r < 0)
			return r;
		if (sscanf(buf_str(&answer), "%llu %llu %llu %lld", &all, &same, &parts, &ahead) !=
		    4)
			return error_set(err, -EPROTO, "%s: no counts: '%.*s'",
					 net_client_node(c->server.client),
					 (int)MIN(strcspn(buf_str(&answer), "\r\n"), (size_t)100),
					 buf_str(&answer));
		*ret_known = parts > 0;
		if (same)
			c->target.ahead = ahead;
		if (!all || same)
			return 0;
	}
}

static int put_recording(struct click *c, const struct load_recording *rec, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0};
	int r;

	buf_printf(&sql, "INSERT INTO recording VALUES (%u, ", c->recording);
	clickhouse_literal(rec->host, &sql);
	buf_printf(&sql, ", ");
	clickhouse_literal(rec->boot, &sql);
	r = buf_printf(&sql, ", %llu, %llu, %lld, toDate(%u), %lld)", (unsigned long long)rec->key,
		       (unsigned long long)c->part, (long long)rec->began,
		       click_load_day_of(rec->began), (long long)c->target.ahead);
	return r < 0 ? error_errno(err, r, "the recording")
		     : clickhouse_do(&c->server, buf_str(&sql), NULL, err);
}

/* Waits until no insert of an earlier loader is running. */
static int wait_for_others(struct click *c, struct error *err)
{
	int64_t until = clock_monotonic_ns() + WAIT_NS;

	for (unsigned int quiet = 0; quiet < QUIET_TIMES;) {
		_cleanup_buf_ struct buf answer = {0};
		int r = clickhouse_ask(&c->server, &answer, err,
				       "SELECT count() FROM system.processes WHERE query_id = '%s'",
				       c->id);

		if (r < 0)
			return r;
		quiet = !strcmp(buf_str(&answer), "0\n") ? quiet + 1 : 0;
		if (!quiet && clock_monotonic_ns() > until)
			return error_set(err, -EBUSY,
					 "%s: another loader is loading this recording (query %s): "
					 "load again when it has ended",
					 net_client_node(c->server.client), c->id);
		if (quiet < QUIET_TIMES)
			nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	}
	return 0;
}

/* Asks every table, in one statement. */
static int learn_blocks(struct click *c, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0}, answer = {0};
	const char *at;
	char *end;
	int r;

	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		if (clickhouse_has_table(i))
			buf_printf(&sql,
				   "%sSELECT toUInt8(%u) AS t, block_no FROM `%s` WHERE recording "
				   "= %u "
				   "AND block_no >= %llu AND block_no < %llu GROUP BY block_no",
				   sql.len ? " UNION ALL " : "", i, schema_table(i)->name,
				   c->recording,
				   (unsigned long long)clickhouse_block_no(c->part, false, 0),
				   (unsigned long long)clickhouse_block_no(c->part + 1, false, 0));
	}
	r = buf_status(&sql);
	if (r >= 0)
		r = clickhouse_do(&c->server, buf_str(&sql), &answer, err);
	for (at = buf_str(&answer); *at && r >= 0; at = end + (*end == '\n')) {
		uint64_t table = strtoull(at, &end, 10), no = strtoull(end, &end, 10);

		if (end == at || table >= TABLE_COUNT) {
			r = clickhouse_exception(&c->server, at, err);
			return r < 0 ? r
				     : error_set(err, -EPROTO, "%s: no numbers of blocks: '%.60s'",
						 net_client_node(c->server.client), at);
		}
		r = map_set(&c->tables[table].there, (uint32_t)no, 1);
	}
	return r < 0 ? error_errno(err, r, "the blocks that are there") : 0;
}

static int click_begin(struct load_target *t, const struct load_recording *rec, uint64_t part,
		       struct error *err)
{
	struct click *c = (struct click *)t;
	bool known = false;
	int r;

	for (unsigned int i = 0; i <= TABLE_COUNT; i++)
		pending_free(&c->tables[i]);
	c->own = NULL;
	c->part = part;
	c->began = rec->began;
	buf_clear(&c->host);
	if (rec->host.len && buf_append(&c->host, rec->host.data, rec->host.len) < 0)
		return error_errno(err, -ENOMEM, "the recording");
	r = find_number(c, rec, &known, err);
	if (r < 0)
		return r;
	snprintf(c->id, sizeof(c->id), "weir-load-%.100s-%08x-%llu",
		 net_client_database(c->server.client), c->recording, (unsigned long long)part);
	if (!known)
		return put_recording(c, rec, err);
	r = wait_for_others(c, err);
	return r < 0 ? r : learn_blocks(c, err);
}

static bool click_has(struct load_target *t, enum table_id table, uint64_t seq)
{
	struct click *c = (struct click *)t;
	uint64_t one;

	return map_get(&c->tables[table].there, (uint32_t)seq, &one);
}

/* ---- rows ---- */

static int send_table(struct click *c, enum table_id table, struct error *err)
{
	struct native_rows *rows = &c->tables[table].rows;
	_cleanup_buf_ struct buf sql = {0}, answer = {0}, body = {0};
	struct clickhouse_query q = {.settings = INSERT_SETTINGS, .id = c->id, .compressed = true};
	int r;

	if (!rows->rows)
		return 0;
	buf_printf(&sql, "INSERT INTO ");
	clickhouse_own_name(rows->def->name, &sql);
	buf_printf(&sql, " (");
	native_rows_columns(rows, &sql);
	r = buf_printf(&sql, ") FORMAT Native");
	if (r >= 0)
		r = native_rows_write(rows, &body);
	if (r < 0)
		return error_errno(err, r, "rows of %s", rows->def->name);
	q.sql = buf_str(&sql);
	q.data = buf_bytes(&body);
	r = clickhouse_run(&c->server, &q, &answer, err);
	if (r < 0)
		return r;
	native_rows_free(rows);
	return 0;
}

/* The day on which the first row ended; CLICKHOUSE_DAY_NONE if the last one ended a day later or more. */
static uint16_t block_day(const struct click *c, const struct load_block *b)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < b->rows->rows; i++) {
		if (!b->ends[i])
			continue;
		first = MIN(first, b->ends[i]);
		last = MAX(last, b->ends[i]);
	}
	if (first > last || b->generation != UINT64_MAX)
		return click_load_day_of(c->began);
	return first < 0 || last - first >= CLICKHOUSE_DAY_NS ? CLICKHOUSE_DAY_NONE
							      : click_load_day_of(first);
}

/* Rows are sent after the rows that they refer to: dimensions first. */
static int click_flush(struct load_target *t, struct error *err)
{
	struct click *c = (struct click *)t;
	int r = 0;

	for (unsigned int i = 0; i < SCHEMA_DIMENSION_COUNT && r >= 0; i++)
		r = send_table(c, schema_dimensions[i], err);
	for (unsigned int i = 0; i < TABLE_COUNT && r >= 0; i++)
		r = clickhouse_has_table(i) ? send_table(c, i, err) : 0;
	return r < 0 ? r : send_table(c, TABLE_OWN, err);
}

static int click_drop(struct load_target *t, enum table_id table, uint64_t seq, struct error *err)
{
	struct click *c = (struct click *)t;

	return clickhouse_ask(&c->server, NULL, err,
			      "ALTER TABLE `%s` DELETE WHERE recording = %u AND block_no = %llu",
			      schema_table(table)->name, c->recording,
			      (unsigned long long)clickhouse_block_no(c->part, false, seq));
}

/* Rows of a table made after recording have their generation in place of their end. */
static const int64_t *click_ends(struct click *c, const struct load_block *b)
{
	if (b->generation == UINT64_MAX)
		return b->ends;
	for (size_t i = 0; i < b->rows->rows; i++)
		c->generations[i] =
			b->table == TABLE_OWN
				? (int64_t)b->generation
				: (int64_t)clickhouse_block_no(b->part, false, b->generation);
	return c->generations;
}

/* ---- users' own tables ---- */

static int click_own_schema(const struct store_made *m, const struct load_options *opt,
			    struct buf *out, struct error *err)
{
	int r = clickhouse_own_refuses(m->def, err);

	return r < 0 ? r : clickhouse_own_ddl(m->def, UINT32_MAX, opt->keep_ns, out);
}

/* Flushes the pending rows of another table, then lists the blocks of this one that are present. */
static int click_own(struct load_target *t, const struct store_made *m, struct error *err)
{
	struct click *c = (struct click *)t;
	struct pending *p = &c->tables[TABLE_OWN];
	const struct own_of of = {c->recording, c->part, click_load_day_of(c->began)};
	int r = send_table(c, TABLE_OWN, err);

	if (r < 0)
		return r;
	pending_free(p);
	c->own = m;
	r = own_ready(&c->server, &of, m, c->options.keep_ns, err);
	return r < 0 ? r : own_blocks(&c->server, &of, m, &p->there, err);
}

static int click_made(struct load_target *t, const struct store_made *m, struct error *err)
{
	struct click *c = (struct click *)t;
	const char *name = m->def->name;
	long long number = (long long)clickhouse_block_no(c->part, false, load_generation(m));
	_cleanup_buf_ struct buf answer = {0};
	int r;

	if (m->table == TABLE_OWN)
		return own_made(
			&c->server,
			&(struct own_of){c->recording, c->part, click_load_day_of(c->began)}, m,
			err);
	r = clickhouse_ask(
		&c->server, &answer, err,
		"SELECT count() FROM made WHERE recording = %u AND part = %llu AND name = '%s' "
		"AND generation = %lld",
		c->recording, (unsigned long long)c->part, name, number);
	if (r < 0 || strcmp(buf_str(&answer), "0\n"))
		return r;
	return clickhouse_ask(&c->server, NULL, err,
			      "INSERT INTO made VALUES (%u, %llu, '%s', %lld, toDate(%u))",
			      c->recording, (unsigned long long)c->part, name, number,
			      click_load_day_of(c->began));
}

static int click_put(struct load_target *t, const struct load_block *b, struct error *err)
{
	struct click *c = (struct click *)t;
	struct pending *p = &c->tables[b->table];
	struct native_keys keys = {.recording = c->recording,
				   .block_no = clickhouse_block_no(b->part, b->long_calls, b->seq),
				   .day = block_day(c, b)};
	int r = 0;

	if (b->seq > UINT32_MAX || b->part > 1u << 30)
		return error_set(err, -E2BIG, "block %llu of file %llu: a recording has fewer",
				 (unsigned long long)b->seq, (unsigned long long)b->part);
	if (p->rows.rows >= ROWS_AT_ONCE || p->rows.bytes >= BYTES_AT_ONCE ||
	    p->rows.count == NATIVE_BLOCKS_MAX)
		r = click_flush(t, err);
	if (r < 0)
		return r;
	r = native_rows_add(&p->rows, b->rows, &keys, click_ends(c, b));
	if (r >= 0)
		r = map_set(&p->there, (uint32_t)b->seq, 1);
	return r < 0 ? error_errno(err, r, "a block of %s", b->rows->def->name) : 0;
}

static int click_finish(struct load_target *t, struct store *s, uint64_t *ret, struct error *err)
{
	struct click *c = (struct click *)t;
	const struct otel_of of = {.recording = c->recording,
				   .part = c->part,
				   .id = c->id,
				   .host = {c->host.data, (uint32_t)c->host.len}};

	return otel_load(&c->server, &of, s, ret, err);
}

const struct load_target_ops clickhouse_target = {
	.name = "ClickHouse",
	.scheme = CLICKHOUSE_SCHEME,
	.schema = click_schema,
	.connect = click_load_connect,
	.begin = click_begin,
	.has = click_has,
	.put = click_put,
	.flush = click_flush,
	.drop = click_drop,
	.made = click_made,
	.own = click_own,
	.own_schema = click_own_schema,
	.finish = click_finish,
	.free = click_load_free,
};
