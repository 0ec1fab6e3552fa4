// SPDX-License-Identifier: Apache-2.0
/* own.c: users' own tables: their names, their columns, and which of their rows are in force. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "clickhouse/server.h"
#include "clickhouse/tables.h"

/* Names that the server itself uses in each table, and in the database. */
static const char *const own_columns[] = {"recording", "block_no", "row_no", "ended", "day"};
static const char *const own_tables[] = {"recording", "made", "own", "otel_traces",
					 "otel_traces_trace_id_ts"};
/* A column is stored in a file of its name, in which characters other than letters and digits take three bytes. */
#define OWN_FILE_MAX 200

/* Converts to lower case, so that names which differ only in case are one. */
static void own_lower(const char *name, struct buf *out, int *r)
{
	for (; *name && *r >= 0; name++) {
		char c = (char)tolower((unsigned char)*name);

		*r = buf_append(out, &c, 1);
	}
}

int clickhouse_own_name(const char *name, struct buf *out)
{
	_cleanup_buf_ struct buf lower = {0};
	int r = buf_append(out, "`", 1);

	own_lower(name, &lower, &r);
	for (size_t i = 0; i < lower.len && r >= 0; i++) {
		if (lower.data[i] == '`' || lower.data[i] == '\\')
			buf_append(out, "\\", 1);
		r = buf_append(out, &lower.data[i], 1);
	}
	return r < 0 ? r : buf_append(out, "`", 1);
}

static bool own_is_among(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcasecmp(name, list[i]))
			return true;
	}
	return false;
}

static size_t own_file_length(const char *name)
{
	size_t len = 0;

	for (; *name; name++) {
		char c = *name;
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '_';

		len += plain ? 1 : 3;
	}
	return len;
}

int clickhouse_own_refuses(const struct table_def *t, struct error *err)
{
	bool taken = own_is_among(t->name, own_tables, ARRAY_SIZE(own_tables));

	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		taken |= !strcasecmp(t->name, schema_table(i)->name);
	if (taken)
		return error_set(err, -EINVAL,
				 "the table %s is called like one that weir has in the database: "
				 "annotate under another name (weir annotate --name)",
				 t->name);
	for (unsigned int i = 0; i < t->column_count; i++) {
		const char *name = t->columns[i].name;

		if (own_is_among(name, own_columns, ARRAY_SIZE(own_columns)))
			return error_set(err, -EINVAL,
					 "the table %s has a column %s, as every table of the "
					 "database has: annotate with another name (%s AS my_%s)",
					 t->name, name, name, name);
		if (own_file_length(name) > OWN_FILE_MAX)
			return error_set(err, -EINVAL,
					 "the table %s has a column with a name too long for the "
					 "database: annotate with a shorter one: %.80s...",
					 t->name, name);
	}
	return 0;
}

int clickhouse_own_layout(const struct table_def *t, struct buf *out)
{
	int r = 0;

	for (unsigned int i = 0; i < t->column_count && r >= 0; i++) {
		r = buf_printf(out, "%s", i ? "," : "");
		own_lower(t->columns[i].name, out, &r);
		if (r >= 0)
			r = buf_printf(out, " %s", clickhouse_type(&t->columns[i]));
	}
	return r;
}

int clickhouse_shape_put(const struct table_def *t, struct buf *out)
{
	for (unsigned int i = 0; i < t->column_count; i++) {
		const struct column_def *c = &t->columns[i];
		const char *texts[] = {column_type_name(c->type), c->unit, c->name};

		for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
			buf_append(out, texts[k], strlen(texts[k]) + 1);
	}
	return buf_status(out);
}

/* A reference if this weir knows such a unit; else the unit is only informative. */
static const char *own_unit(enum column_type type, const char *unit)
{
	int to = unit[0] == '>' ? schema_table_find(unit + 1) : -1;
	bool refers = (type == COLUMN_INT || type == COLUMN_UINT || type == COLUMN_ID) &&
		      (to == TABLE_OP || (to > 0 && schema_is_dimension((enum table_id)to)));

	return unit[0] != '>' || refers ? unit : "";
}

int clickhouse_shape_get(struct bytes text, struct column_def **ret, unsigned int *ret_count)
{
	_cleanup_free_ struct column_def *columns = calloc(SCHEMA_COLUMNS_MAX, sizeof(*columns));
	const char *at = (const char *)text.data, *end = at + text.len;
	unsigned int count = 0;

	if (!columns)
		return -ENOMEM;
	for (; at < end; count++) {
		const char *texts[3];
		int type;

		for (size_t k = 0; k < ARRAY_SIZE(texts); k++) {
			if (at >= end || !memchr(at, 0, (size_t)(end - at)))
				return -EBADMSG;
			texts[k] = at;
			at += strlen(at) + 1;
		}
		type = column_type_find(texts[0]);
		if (type < 0 || count == SCHEMA_COLUMNS_MAX)
			return -EBADMSG;
		columns[count] =
			(struct column_def){texts[2], (enum column_type)type,
					    own_unit((enum column_type)type, texts[1]), ""};
	}
	*ret = TAKE_PTR(columns);
	*ret_count = count;
	return 0;
}

/* The upper half of a generation increases (load_generation()); among equal ones the last loaded is in force. */
#define OWN_ORDER "(intDiv(generation, 4294967296), loaded)"

int clickhouse_own_in_force(const char *name, const char *also, struct buf *out)
{
	_cleanup_buf_ struct buf lower = {0};
	int r = buf_printf(out, "SELECT recording, part");

	for (const char *const *c =
		     (const char *const[]){"generation", "rows", "title", "shape", NULL};
	     *c && r >= 0; c++)
		r = buf_printf(out, ", argMax(%s, " OWN_ORDER ") AS newest_%s", *c, *c);
	if (r >= 0)
		r = buf_printf(out, ", name FROM own WHERE 1%s", also);
	if (r >= 0 && name) {
		own_lower(name, &lower, &r);
		if (r >= 0)
			r = buf_printf(out, " AND name = ");
		if (r >= 0)
			r = clickhouse_literal((struct bytes){lower.data, (uint32_t)lower.len},
					       out);
	}
	return r < 0 ? r : buf_printf(out, " GROUP BY recording, part, name");
}
