// SPDX-License-Identifier: Apache-2.0
/* click_dims.c: the recordings in the database, and its dimension tables in memory. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "batch/ids.h"
#include "engine/clickhouse/internal.h"

/* Of 101,074 files, reading 20,000 by id takes 0.8 s of CPU, 60,000 1.4 s, all 1.0 s, and all by id 2.1 s. */
#define NAMES_MAX 20000

ssize_t click_recording_at(const struct click_engine *e, uint32_t number)
{
	uint64_t at;

	return map_get(&e->by_number, number, &at) ? (ssize_t)at : -1;
}

/* Recordings that were added meanwhile come last. */
int click_recording_order(const struct click_engine *e, struct buf *out)
{
	int r;

	buf_printf(out, e->recording_count > 1 ? "transform(recording, [" : "recording");
	for (size_t i = 0; i < e->recording_count && e->recording_count > 1; i++)
		buf_printf(out, "%s%u", i ? "," : "", e->recordings[i].number);
	for (size_t i = 0; i < e->recording_count && e->recording_count > 1; i++)
		buf_printf(out, "%s%zu", i ? "," : "], [", i);
	r = buf_status(out);
	return r < 0 || e->recording_count <= 1 ? r
						: buf_printf(out, "], %zu)", e->recording_count);
}

int click_recording_key(const struct click_engine *e, struct buf *out)
{
	int r;

	assert(e->recording_count > 1);
	buf_printf(out, "bitShiftLeft(toInt64(");
	r = click_recording_order(e, out);
	return r < 0 ? r : buf_printf(out, "), %d)", ID_SHIFT);
}

/* Requires that every named machine exists: a misspelt name must not give an empty result. */
static int check_host(struct click_engine *e, const char *sql, const char *host, struct error *err)
{
	static const char all[] = "SELECT arrayStringConcat(arraySlice(groupUniqArray(host), 1, "
				  "20), ', ') FROM recording";
	_cleanup_buf_ struct buf answer = {0};
	int r = clickhouse_do(&e->server, sql, &answer, err);

	if (r < 0 || strcmp(buf_str(&answer), "0\n"))
		return r;
	buf_clear(&answer);
	r = clickhouse_do(&e->server, all, &answer, err);
	if (r < 0)
		return r;
	return error_set(err, -ENOENT,
			 "%s has no recording of host '%.100s'; available hosts: %.*s",
			 net_client_node(e->server.client), host,
			 (int)strcspn(buf_str(&answer), "\n"), buf_str(&answer));
}

int click_choose_hosts(struct click_engine *e, const char *const *hosts, size_t count,
		       struct error *err)
{
	int r = buf_printf(&e->hosts,
			   " AND recording IN (SELECT recording FROM recording WHERE host IN (");

	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct bytes name = {(const uint8_t *)hosts[i], (uint32_t)strlen(hosts[i])};
		_cleanup_buf_ struct buf sql = {0};

		buf_printf(&sql, "SELECT count() FROM recording WHERE host = ");
		r = clickhouse_literal(name, &sql);
		if (r >= 0)
			r = check_host(e, buf_str(&sql), hosts[i], err);
		buf_printf(&e->hosts, "%s", i ? ", " : "");
		if (r >= 0)
			r = clickhouse_literal(name, &e->hosts);
	}
	if (r >= 0)
		r = buf_printf(&e->hosts, "))");
	return r < 0 ? error_errno(err, r, "the hosts") : 0;
}

static int read_recordings(struct click_engine *e, struct error *err)
{
	_cleanup_(native_reader_free) struct native_reader in = {.client = e->server.client};
	_cleanup_(map_free) struct map boots = {0};
	_cleanup_buf_ struct buf sql = {0};
	/* a boot that is unknown is like no other (batch/identity.h) */
	int r = buf_printf(&sql,
			   "SELECT recording, min(began), min(part), max(part), "
			   "any(cityHash64(host, if(boot = '', toString(recording), boot))) "
			   "FROM recording "
			   "WHERE 1%s GROUP BY recording ORDER BY min(began), recording "
			   "FORMAT Native",
			   buf_str(&e->hosts));

	if (r >= 0)
		r = click_begin_query(e, &e->server, buf_str(&sql), NULL, err);

	e->recording_count = 0;
	e->files = 0;
	map_clear(&e->by_number);
	while (r >= 0 && (r = click_read(&e->server, &in, err)) > 0) {
		r = grow((void **)&e->recordings, &e->recording_cap, e->recording_count + in.rows,
			 sizeof(*e->recordings));
		for (size_t i = 0; i < in.rows && r >= 0; i++) {
			uint32_t number = (uint32_t)native_int(&in.columns[0], i);

			r = map_set(&e->by_number, number, e->recording_count);
			if (r >= 0)
				r = map_set(&boots, (uint64_t)native_int(&in.columns[4], i), 1);
			e->recordings[e->recording_count++] = (struct click_recording){
				.number = number,
				.began = native_int(&in.columns[1], i),
				.first_file = e->files,
				.first_part = (uint64_t)native_int(&in.columns[2], i)};
			e->files += (uint64_t)native_int(&in.columns[3], i) -
				    (uint64_t)native_int(&in.columns[2], i) + 1;
		}
	}
	e->apart = boots.count == e->recording_count;
	return r;
}

int click_need_made(struct click_engine *e, enum table_id table, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0}, answer = {0};
	const char *name = (unsigned int)table < TABLE_COUNT ? schema_table(table)->name : NULL;
	int r;

	if (!name || schema_table(table)->kind != TABLE_IS_MADE)
		return 0;
	r = buf_printf(&sql, "SELECT count() FROM made WHERE name = '%s'%s", name,
		       buf_str(&e->hosts));
	if (r < 0)
		return error_errno(err, r, "table %s", name);
	r = clickhouse_do(&e->server, buf_str(&sql), &answer, err);
	if (r < 0 || strcmp(buf_str(&answer), "0\n"))
		return r;
	return error_set(err, -ENOENT,
			 "no loaded trace has a table %s: it is computed after recording; load the "
			 "trace again afterwards",
			 name);
}

uint64_t click_recordings_hash(const struct click_engine *e)
{
	XXH64_hash_t hash = 0;

	for (size_t i = 0; i < e->recording_count; i++) {
		const struct click_recording *r = &e->recordings[i];
		const uint64_t says[] = {r->number, (uint64_t)r->began, r->first_file,
					 r->first_part};

		hash = XXH3_64bits_withSeed(says, sizeof(says), hash);
	}
	return hash;
}

int click_recordings(struct click_engine *e, struct error *err)
{
	/* ids of rows in e->dims are composed with indexes of these recordings */
	return e->dims ? click_dims(e, 0, err) : read_recordings(e, err);
}

/* The tables of a set, one after the other: false at the end. *at begins with 0. */
static bool next_table(uint32_t set, unsigned int *at, enum table_id *ret)
{
	while (*at < SCHEMA_DIMENSION_COUNT) {
		*ret = schema_dimensions[(*at)++];
		if (set >> *ret & 1)
			return true;
	}
	return false;
}

/* Counts the rows of tables. They are never changed, only added, so counts identify a state. */
static int count_dims(struct click_engine *e, uint32_t tables, uint64_t *ret, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0}, answer = {0};
	enum table_id table;
	int r;

	memset(ret, 0, TABLE_COUNT * sizeof(*ret));
	for (unsigned int i = 0; next_table(tables, &i, &table);)
		buf_printf(&sql, "%sSELECT %u, count() FROM `%s`", sql.len ? " UNION ALL " : "",
			   table, schema_table(table)->name);
	r = buf_status(&sql);
	if (r < 0)
		return error_errno(err, r, "the names");
	r = tables ? clickhouse_do(&e->server, buf_str(&sql), &answer, err) : 0;
	for (const char *at = buf_str(&answer); r >= 0 && *at; at += strcspn(at, "\n") + 1) {
		unsigned long long count;
		unsigned int of;

		if (sscanf(at, "%u %llu\n", &of, &count) != 2 || of >= TABLE_COUNT)
			return error_set(err, -EPROTO, "%s: no count: '%.100s'",
					 net_client_node(e->server.client), at);
		ret[of] = count;
	}
	return r;
}

static uint64_t click_all_columns(enum table_id table)
{
	return (1ull << schema_table(table)->column_count) - 1;
}

static int click_dims_take(void *arg, const struct batch *b, struct error *err)
{
	int r = dims_apply(((struct click_engine *)arg)->dims, b);

	return r < 0 ? error_errno(err, r, "the names") : 0;
}

static int click_dims_read_table(struct click_engine *e, enum table_id table, uint64_t columns,
				 const char *where, struct error *err)
{
	const struct table_def *t = schema_table(table);
	_cleanup_buf_ struct buf sql = {0};
	int r;

	buf_printf(&sql, "SELECT ");
	click_columns(t, columns, &sql);
	r = buf_printf(&sql,
		       " FROM `%s` WHERE 1%s%s ORDER BY recording, block_no, row_no FORMAT Native",
		       t->name, buf_str(&e->hosts), where);
	return r < 0 ? error_errno(err, r, "the names")
		     : click_each_batch(e, buf_str(&sql), t, table, columns, click_dims_take, e,
					err);
}

static int dims_start(struct click_engine *e, struct error *err)
{
	int r;

	/* ids stay those of their recordings while rows are read; applying the rows unifies identities */
	dims_free(e->dims);
	e->dims = NULL;
	e->dims_tables = 0;
	e->dims_by_id = false;
	e->dims_recordings = click_recordings_hash(e);
	r = dims_new(&e->dims);
	if (r >= 0 && e->recording_count > 1)
		dims_unite(e->dims);
	for (size_t i = 0; i < e->recording_count && r >= 0; i++)
		r = dims_recording(e->dims, i, e->recordings[i].began);
	return r < 0 ? error_errno(err, r, "the names") : 0;
}

/* True if what was read of the tables of a set is all that is there now. */
static bool dims_are_current(struct click_engine *e, const uint64_t *now)
{
	enum table_id table;

	if (!e->dims || click_recordings_hash(e) != e->dims_recordings)
		return false;
	for (unsigned int i = 0; next_table(e->dims_tables, &i, &table);) {
		if (now[table] != e->dims_rows[table])
			return false;
	}
	if (!(e->dims_tables >> TABLE_FILE & 1))
		return true;
	return (!e->dims_by_id || e->by_id) &&
	       (!e->dims_narrow.len || !strcmp(buf_str(&e->narrow), buf_str(&e->dims_narrow)));
}

/* Reads the columns that the plan needs. Files that no two recordings share are distinguished by their ids alone. */
static int click_dims_read_files(struct click_engine *e, struct error *err)
{
	uint64_t columns = click_all_columns(TABLE_FILE);

	e->dims_by_id = e->by_id && e->apart;
	buf_clear(&e->dims_narrow);
	buf_append(&e->dims_narrow, e->narrow.data, e->narrow.len);
	if (e->narrow.len)
		columns = 1ull << FILE_ID | 1ull << FILE_PATH;
	else if (e->dims_by_id)
		columns = 1ull << FILE_ID | 1ull << FILE_INODE | 1ull << FILE_SINCE;
	return click_dims_read_table(e, TABLE_FILE, columns, buf_str(&e->narrow), err);
}

int click_name_files(struct click_engine *e, const struct plan *p, const struct local_rows *rows,
		     struct error *err)
{
	_cleanup_buf_ struct buf where = {0};
	size_t count, found = 0, at;
	const struct plan_field *fields = plan_output(p, &count);
	int r;

	if (!e->dims_by_id)
		return 0;
	for (size_t i = 0; i < rows->count * rows->width; i++) {
		const struct query_kind k = fields[i % rows->width].type;

		if (k.type != QUERY_ENTITY || k.entity != TABLE_FILE || rows->cells[i].null)
			continue;
		at = id_recording(rows->cells[i].i);
		if (at >= e->recording_count)
			continue;
		buf_printf(&where, "%s(%u,%llu)",
			   found++ ? "," : " AND (recording, ifNull(id, -1)) IN (",
			   e->recordings[at].number, (unsigned long long)id_own(rows->cells[i].i));
	}
	r = buf_printf(&where, ")");
	if (r < 0)
		return error_errno(err, r, "the names");
	return !found ? 0
		      : click_dims_read_table(e, TABLE_FILE, click_all_columns(TABLE_FILE),
					      found < NAMES_MAX ? buf_str(&where) : "", err);
}

int click_dims(struct click_engine *e, uint32_t tables, struct error *err)
{
	const uint32_t few =
		1u << TABLE_HOST | 1u << TABLE_CGROUP | 1u << TABLE_PROCESS | 1u << TABLE_THREAD;
	uint64_t now[TABLE_COUNT];
	enum table_id table;
	int r;

	/* an answer keeps what was read at its beginning */
	if (e->asking && e->dims && !(tables & ~e->dims_tables))
		return 0;
	r = read_recordings(e, err);
	if (r < 0)
		return r;
	/* what is one thing to several recordings has one id */
	tables |= e->dims_tables | (e->recording_count > 1 ? few : 0);
	r = count_dims(e, tables, now, err);
	if (r < 0)
		return r;
	/* rows added meanwhile follow the counted ones and are seen next time */
	r = dims_are_current(e, now) ? 0 : dims_start(e, err);
	memcpy(e->dims_rows, now, sizeof(now));
	for (unsigned int i = 0; r >= 0 && next_table(tables, &i, &table);) {
		if (e->dims_tables >> table & 1)
			continue;
		r = table == TABLE_FILE
			    ? click_dims_read_files(e, err)
			    : click_dims_read_table(e, table, click_all_columns(table), "", err);
		e->dims_tables |= 1u << table;
	}
	if (r < 0) {
		dims_free(e->dims);
		e->dims = NULL;
		return r;
	}
	return 0;
}
