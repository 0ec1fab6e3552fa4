/* SPDX-License-Identifier: Apache-2.0 */
#include "query/eval/eval_rows.h"

#include <errno.h>

struct query_rows {
	struct eval *eval;
	bool names;
	uint32_t tables;
};

struct query_cursor {
	const struct query_rows *q;
	struct eval_scratch *scratch;
	uint32_t *rows; /* [cap] */
	size_t cap;
};

static bool uses_names(const struct expr *e)
{
	if (e->kind == EXPR_NAME || e->kind == EXPR_USER || e->type.type == QUERY_ENTITY)
		return true;
	for (unsigned int i = 0; i < e->arg_count; i++) {
		if (uses_names(e->arg[i]))
			return true;
	}
	return false;
}

/* An expression that depends on a thread also depends on its process, control group and host. */
uint32_t query_expr_tables(const struct expr *e)
{
	const uint32_t file = 1u << TABLE_FILE, thread = 1u << TABLE_THREAD | 1u << TABLE_PROCESS |
							 1u << TABLE_CGROUP | 1u << TABLE_HOST;
	uint32_t set = 0;

	if (e->kind == EXPR_USER)
		set = file | thread;
	if (e->type.type == QUERY_ENTITY)
		set = e->type.entity == TABLE_FILE ? file : thread;
	if (e->kind == EXPR_NAME)
		set |= query_name_table(e->name) == TABLE_FILE	  ? file
		       : query_name_table(e->name) == TABLE_STACK ? 1u << TABLE_STACK
								  : thread;
	for (unsigned int i = 0; i < e->arg_count; i++)
		set |= query_expr_tables(e->arg[i]);
	return set;
}

int query_rows_new(struct query_rows **ret, const struct expr *e, struct error *err)
{
	_cleanup_(query_rows_freep) struct query_rows *q = calloc(1, sizeof(*q));
	int r = q ? eval_new(&q->eval, &e, 1, err) : -ENOMEM;

	if (r < 0)
		return error_errno(err, r, "preparing the filter");
	q->names = uses_names(e);
	q->tables = query_expr_tables(e);
	*ret = TAKE_PTR(q);
	return 0;
}

void query_rows_free(struct query_rows *q)
{
	if (!q)
		return;
	eval_free(q->eval);
	free(q);
}

uint32_t query_rows_tables(const struct query_rows *q)
{
	return q->tables;
}

bool query_rows_forget_files(const struct query_rows *q)
{
	return eval_remembers(q->eval, TABLE_FILE);
}

int query_rows_names(struct query_rows *q, const struct dims *d, struct error *err)
{
	return q->names ? eval_names(q->eval, d, err) : 0;
}

int query_cursor_new(struct query_cursor **ret, const struct query_rows *q)
{
	_cleanup_(query_cursor_freep) struct query_cursor *s = calloc(1, sizeof(*s));
	int r = s ? eval_scratch_new(&s->scratch, q->eval) : -ENOMEM;

	if (r < 0)
		return r;
	s->q = q;
	*ret = TAKE_PTR(s);
	return 0;
}

void query_cursor_free(struct query_cursor *s)
{
	if (!s)
		return;
	eval_scratch_free(s->scratch);
	free(s->rows);
	free(s);
}

ssize_t query_cursor_rows(struct query_cursor *s, const struct batch *b, const uint32_t **ret,
			  struct error *err)
{
	ssize_t count;
	int r = grow((void **)&s->rows, &s->cap, b->rows + 1, sizeof(*s->rows));

	if (r < 0)
		return error_errno(err, r, "filtering rows");
	assert(s->cap > b->rows);
	count = eval_filter(s->q->eval, s->scratch, 0, b, NULL, b->rows, s->rows);
	*ret = s->rows;
	if (count == -EOVERFLOW)
		return error_set(err, -EOVERFLOW,
				 "the regular expression takes too many steps on a text: simplify "
				 "it (nested repeats take exponential time)");
	return count < 0 ? error_errno(err, (int)count, "filtering rows") : count;
}
