/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rollup/rollup_where.h"

#include <errno.h>

#include "engine/facts.h"

/* ---- the expression over summaries ---- */

static bool summary_column(unsigned int column, unsigned int *ret)
{
	static const struct {
		unsigned int op, summary;
	} same[] = {
		{OP_OP, SUMMARY_OP},
		{OP_CLASS, SUMMARY_CLASS},
		{OP_ERR, SUMMARY_ERR},
		{OP_THREAD_ID, SUMMARY_THREAD_ID},
		{OP_FILE_ID, SUMMARY_FILE_ID},
		/* of calls that move bytes between files alone: null where no call has one */
		{OP_FILE2_ID, SUMMARY_FILE2_ID},
	};

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		if (same[i].op == column) {
			*ret = same[i].summary;
			return true;
		}
	}
	return false;
}

static bool says_enough(const struct expr *e)
{
	unsigned int column;

	if (e->kind == EXPR_STOP || e->kind == EXPR_ROW ||
	    (e->kind == EXPR_NAME && e->name == QNAME_PEER))
		return false;
	if ((e->kind == EXPR_COLUMN || e->kind == EXPR_NAME) && !summary_column(e->column, &column))
		return false;
	for (unsigned int i = 0; i < e->arg_count; i++) {
		if (!says_enough(e->arg[i]))
			return false;
	}
	return true;
}

static bool asks_second_file(const struct expr *e)
{
	if ((e->kind == EXPR_COLUMN || e->kind == EXPR_NAME) && e->column == OP_FILE2_ID)
		return true;
	for (unsigned int i = 0; i < e->arg_count; i++) {
		if (asks_second_file(e->arg[i]))
			return true;
	}
	return false;
}

static size_t count_nodes(const struct expr *e)
{
	size_t n = 1;

	for (unsigned int i = 0; i < e->arg_count; i++)
		n += count_nodes(e->arg[i]);
	return n;
}

static struct expr *rollup_where_copy(const struct expr *e, struct expr **next)
{
	struct expr *to = (*next)++;

	*to = *e;
	if (e->kind == EXPR_COLUMN || e->kind == EXPR_NAME)
		summary_column(e->column, &to->column);
	for (unsigned int i = 0; i < e->arg_count; i++)
		to->arg[i] = rollup_where_copy(e->arg[i], next);
	return to;
}

static int make_summary(struct scan_where *w, const struct expr *e, struct error *err)
{
	struct expr *next;

	if (!says_enough(e))
		return 0;
	w->one_file = asks_second_file(e);
	w->of_summary = next = calloc(count_nodes(e), sizeof(*next));
	if (!next)
		return error_set(err, -ENOMEM, "out of memory");
	return query_rows_new(&w->summary, rollup_where_copy(e, &next), err);
}

/* ---- life ---- */

int scan_where_new(struct scan_where **ret, const struct expr *e, struct error *err)
{
	_cleanup_(scan_where_freep) struct scan_where *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return error_set(err, -ENOMEM, "out of memory");
	r = query_rows_new(&w->op, e, err);
	if (r >= 0)
		r = make_summary(w, e, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

void scan_where_free(struct scan_where *w)
{
	if (!w)
		return;
	query_rows_free(w->op);
	query_rows_free(w->summary);
	free(w->of_summary);
	free(w);
}

int scan_where_names(struct scan_where *w, const struct dims *d, struct error *err)
{
	int r = query_rows_names(w->op, d, err);

	return r < 0 || !w->summary ? r : query_rows_names(w->summary, d, err);
}

/* ---- blocks ---- */

bool scan_where_block(const struct scan_where *w, const struct store *s, size_t i)
{
	struct facts f;

	return query_rows_block(w->op, facts_of(&f, s, i));
}

bool scan_where_all(const struct scan_where *w, const struct store *s, size_t i)
{
	struct facts f;

	return query_rows_all(w->op, facts_of(&f, s, i));
}

bool scan_where_summary(const struct scan_where *w, const struct store *s, size_t i)
{
	const struct store_block *b = store_block(s, i);

	return w->summary && (!w->one_file || b->nulls[OP_FILE2_ID] == b->rows);
}
