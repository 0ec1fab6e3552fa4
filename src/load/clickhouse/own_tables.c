// SPDX-License-Identifier: Apache-2.0
/* own_tables.c: creates, replaces and drops users' own tables. */
#include "load/clickhouse/own_tables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "clickhouse/tables.h"

#define OWN_HEAD "recording UInt32,block_no UInt64,row_no UInt64,ended Int64,day Date"

/* The first line of an answer, without its end. */
static int own_ask(struct clickhouse *server, const char *sql, struct buf *ret, struct error *err)
{
	int r = clickhouse_do(server, sql, ret, err);

	if (r >= 0 && ret->len && ret->data[ret->len - 1] == '\n')
		ret->len--;
	return r;
}

/* Compares the table's columns with those of `t`: 1 if equal, 0 if not, -ENOENT: there is no table. */
static int own_fits(struct clickhouse *server, const struct table_def *t, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0}, answer = {0}, want = {0}, name = {0};
	int r;

	buf_fail(&want, clickhouse_own_name(t->name, &name));
	buf_printf(&want, OWN_HEAD ",");
	clickhouse_own_layout(t, &want);
	buf_fail(&sql, buf_status(&want));
	buf_printf(&sql, "SELECT arrayStringConcat(groupArray(concat(name, ' ', type)), ',') = ");
	clickhouse_literal(buf_bytes(&want), &sql);
	r = buf_printf(&sql,
		       ", startsWith(arrayStringConcat(groupArray(concat(name, ' ', type)), ','), "
		       "'" OWN_HEAD "'), count() "
		       "FROM (SELECT name, type FROM system.columns WHERE database = "
		       "currentDatabase() AND table = '%.*s')",
		       (int)(name.len - 2), (const char *)name.data + 1);
	if (r < 0)
		return error_errno(err, r, "the table %s", t->name);
	r = own_ask(server, buf_str(&sql), &answer, err);
	if (r < 0)
		return r;
	if (!strcmp(buf_str(&answer), "0\t0\t0"))
		return -ENOENT;
	if (strncmp(buf_str(&answer) + 1, "\t0", 2) == 0)
		return error_set(err, -EINVAL,
				 "the table %s is called like one in the database that weir did "
				 "not make: annotate under another "
				 "name (weir annotate --name)",
				 t->name);
	return *buf_str(&answer) == '1';
}

/* The state of a table in the database. */
struct own_force {
	long long generation;	   /* this file's generation in force; 0: none was ever loaded */
	int columns;		   /* 0: the table was dropped */
	unsigned long long others; /* number of other files that have the table */
};

static int own_in_force(struct clickhouse *server, const struct own_of *of, const char *name,
			struct own_force *ret, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0}, answer = {0};
	int r;

	buf_printf(&sql,
		   "SELECT sumIf(newest_generation, recording = %u AND part = %llu), "
		   "countIf(recording = %u AND part = %llu AND newest_shape != ''), countIf(("
		   "recording != %u OR part != %llu) AND newest_shape != '') FROM (",
		   of->recording, (unsigned long long)of->part, of->recording,
		   (unsigned long long)of->part, of->recording, (unsigned long long)of->part);
	clickhouse_own_in_force(name, "", &sql);
	r = buf_printf(&sql, ")");
	if (r < 0)
		return error_errno(err, r, "the table %s", name);
	r = own_ask(server, buf_str(&sql), &answer, err);
	if (r >= 0 && sscanf(buf_str(&answer), "%lld %d %llu", &ret->generation, &ret->columns,
			     &ret->others) != 3)
		return error_set(err, -EPROTO, "%s: no generation: '%.100s'",
				 net_client_node(server->client), buf_str(&answer));
	return r;
}

/* Writes a line to `own`. Without columns the table is dropped. */
static int own_note(struct clickhouse *server, const struct own_of *of, const struct store_made *m,
		    bool columns, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0}, shape = {0}, name = {0};
	int r;

	buf_fail(&sql, clickhouse_own_name(m->name, &name));
	if (columns)
		buf_fail(&sql, clickhouse_shape_put(m->def, &shape));
	buf_printf(&sql,
		   "INSERT INTO own (recording, part, name, generation, loaded, rows, title, "
		   "shape, day) VALUES (%u, %llu, "
		   "'%.*s', %lld, %lld, %llu, '%s', ",
		   of->recording, (unsigned long long)of->part, (int)(name.len - 2),
		   (const char *)name.data + 1, (long long)load_generation(m),
		   (long long)clock_realtime_ns(), (unsigned long long)(columns ? m->rows : 0),
		   m->name);
	clickhouse_literal(buf_bytes(&shape), &sql);
	r = buf_printf(&sql, ", toDate(%u))", of->day);
	return r < 0 ? error_errno(err, r, "the table %s", m->name)
		     : clickhouse_do(server, buf_str(&sql), NULL, err);
}

static int own_create(struct clickhouse *server, const struct table_def *t, int64_t keep_ns,
		      struct error *err)
{
	_cleanup_buf_ struct buf sql = {0};
	int r = clickhouse_own_ddl(t, server->version, keep_ns, &sql);

	if (r < 0)
		return error_errno(err, r, "the table %s", t->name);
	sql.len -= strlen(";\n");
	return clickhouse_do(server, buf_str(&sql), NULL, err);
}

/* Drops this file's table until its rows are loaded again. */
static int own_replace(struct clickhouse *server, const struct own_of *of,
		       const struct store_made *m, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0};
	struct own_force now = {0};
	int r = own_in_force(server, of, m->name, &now, err);

	if (r < 0)
		return r;
	if (now.others)
		return error_set(err, -EINVAL,
				 "the table %s has other columns than in %llu traces of the "
				 "database: annotate them alike, or "
				 "under another name",
				 m->name, now.others);
	if (now.columns)
		r = own_note(server, of, m, false, err);
	if (r < 0)
		return r;
	buf_printf(&sql, "DROP TABLE ");
	r = clickhouse_own_name(m->name, &sql);
	return r < 0 ? error_errno(err, r, "the table %s", m->name)
		     : clickhouse_do(server, buf_str(&sql), NULL, err);
}

int own_ready(struct clickhouse *server, const struct own_of *of, const struct store_made *m,
	      int64_t keep_ns, struct error *err)
{
	int r = clickhouse_own_refuses(m->def, err);

	if (r >= 0)
		r = own_fits(server, m->def, err);
	if (r == 0) {
		r = own_replace(server, of, m, err);
		r = r < 0 ? r : -ENOENT;
	}
	return r == -ENOENT ? own_create(server, m->def, keep_ns, err) : MIN(r, 0);
}

int own_blocks(struct clickhouse *server, const struct own_of *of, const struct store_made *m,
	       struct map *ret, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0}, answer = {0};
	char *at, *end;
	int r;

	buf_printf(&sql, "SELECT DISTINCT block_no FROM ");
	clickhouse_own_name(m->name, &sql);
	r = buf_printf(&sql,
		       " WHERE recording = %u AND ended = %lld AND bitShiftRight(block_no, "
		       "33) = %llu",
		       of->recording, (long long)load_generation(m), (unsigned long long)of->part);
	if (r < 0)
		return error_errno(err, r, "the table %s", m->name);
	r = clickhouse_do(server, buf_str(&sql), &answer, err);
	if (r < 0)
		return r;
	for (at = (char *)buf_str(&answer); r >= 0; at = end) {
		uint64_t no = strtoull(at, &end, 10);

		if (end == at)
			break;
		r = map_set(ret, (uint32_t)no, 1);
	}
	return r < 0 ? error_errno(err, r, "the table %s", m->name) : 0;
}

/* A generation that was replaced by a later one stays replaced, whichever copy of the file is loaded. */
int own_made(struct clickhouse *server, const struct own_of *of, const struct store_made *m,
	     struct error *err)
{
	bool columns = m->def->column_count != 0;
	long long ours = (long long)load_generation(m);
	struct own_force now = {0};
	int r = own_in_force(server, of, m->name, &now, err);

	if (r < 0 || (!now.generation && !columns) || now.generation >> 32 > ours >> 32 ||
	    (now.generation == ours && (now.columns != 0) == columns))
		return r;
	return own_note(server, of, m, columns, err);
}
