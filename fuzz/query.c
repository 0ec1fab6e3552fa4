/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A query, or with an even first byte a condition: text -> plan -> text. What is taken says what it is; a condition's
 * text gives the same text again; an error lies within the text and has one line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/query.h"
#include "query/plan/row_stream.h"
#include "query/check/user_values.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Tables as `weir annotate` appends them; names alone, as nothing is run. */
static struct query_user_column owner_columns[] = {
	{.name = "file_id", .type = {.type = QUERY_INT, .entity = TABLE_FILE}},
	{.name = "team", .type = {.type = QUERY_TEXT}},
	{.name = "weight", .type = {.type = QUERY_FLOAT}},
	{.name = "kind", .type = {.type = QUERY_TEXT}},
	{.name = "sum(x)", .type = {.type = QUERY_INT}},
};
static struct query_user_column mark_columns[] = {
	{.name = "row_id", .type = {.type = QUERY_INT}},
	{.name = "slow", .type = {.type = QUERY_BOOL}},
	{.name = "team", .type = {.type = QUERY_TEXT}},
	{.name = "seen", .type = {.type = QUERY_TIME}},
};
static struct query_user_column comm_columns[] = {
	{.name = "comm", .type = {.type = QUERY_TEXT}},
	{.name = "dur", .type = {.type = QUERY_DUR}},
};
static const struct query_user_table tables[] = {
	{"owner", owner_columns, ARRAY_SIZE(owner_columns)},
	{"Marks", mark_columns, ARRAY_SIZE(mark_columns)},
	{"crew", comm_columns, ARRAY_SIZE(comm_columns)},
};
static const struct query_user_table *const listed[] = {&tables[0], &tables[1], &tables[2]};
static const struct query_users users = {.tables = listed, .count = ARRAY_SIZE(listed)};

static void check_error(const struct query_error *e, const char *text, size_t len)
{
	struct buf out = {0};

	if (!e->err.message[0] || strchr(e->err.message, '\n') || e->pos > len ||
	    e->len > len - e->pos)
		abort();
	if (query_error_text(e, text, len, &out) < 0)
		abort();
	for (size_t i = 0; i < out.len; i++) {
		if ((out.data[i] < 0x20 && out.data[i] != '\n') || out.data[i] == 0x7f)
			abort();
	}
	buf_free(&out);
}

static void check_again(const struct plan *p)
{
	struct buf text = {0}, again = {0};
	struct plan *second = NULL;
	struct query_error err;

	if (expr_text(p->where, p->table, &text) < 0)
		abort();
	if (query_parse_expr_users(buf_str(&text), text.len, p->table, true, &users, &second,
				   &err) < 0) {
		/* brackets that the text needs and the tree does not may be too many */
		if (!strstr(err.err.message, "more than") && !strstr(err.err.message, "bytes")) {
			fprintf(stderr, "%s\n%s\n", buf_str(&text), err.err.message);
			abort();
		}
	} else if (expr_text(second->where, p->table, &again) < 0 || text.len != again.len ||
		   memcmp(text.data, again.data, text.len)) {
		fprintf(stderr, "%s\n%s\n", buf_str(&text), buf_str(&again));
		abort();
	}
	if (second)
		plan_free(second);
	buf_free(&text);
	buf_free(&again);
}

static void check_plan(const struct plan *p)
{
	struct plan_stream *stream = NULL;
	struct buf out = {0};
	size_t count;

	plan_output(p, &count);
	if (plan_stream_new(&stream, p) < 0)
		abort();
	plan_stream_free(stream);
	if (plan_text(p, &out) < 0 || !out.len)
		abort();
	buf_free(&out);
	if (p->where)
		check_again(p);
}

static void offered(void *arg, const char *word)
{
	if (!*word)
		abort();
	++*(size_t *)arg;
}

/* What is completed begins within the text. */
static void check_completion(const char *text, size_t len)
{
	const char *value_of;
	size_t count = 0, start;

	query_complete(text, len, &users, offered, &count, &start, &value_of);
	if (start > len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan *p = NULL;
	struct query_error err;
	const char *text = (const char *)data + 1;
	int r;

	if (size < 1)
		return 0;
	setenv("TZ", "UTC", 1);
	if (data[0] & 1)
		r = query_parse_users(text, size - 1, &users, &p, &err);
	else
		r = query_parse_expr_users(text, size - 1,
					   (enum table_id)(data[0] / 2 % TABLE_COUNT), true, &users,
					   &p, &err);
	if (r < 0)
		check_error(&err, text, size - 1);
	else
		check_plan(p);
	if (p)
		plan_free(p);
	if (data[0] & 1)
		check_completion(text, size - 1);
	return 0;
}
