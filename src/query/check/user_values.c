/* SPDX-License-Identifier: Apache-2.0 */
/* user_values.c: the value of a user's column for a key. */
#include "query/check/user_values.h"
#include "base/array.h"

#include <string.h>

static int user_values_compare_keys(const struct query_user_column *c, uint32_t row,
				    const struct value *key)
{
	return c->texts ? bytes_compare(c->texts[row], key->t) : ORDER(c->ints[row], key->i);
}

/* The row with this key, or -1. */
static ssize_t user_values_find_row(const struct query_user_column *c, const struct value *key)
{
	size_t at;

	assert(c->rows || !c->row_count); /* query_users.load() sorted them */
	at = array_first(i, 0, c->row_count, user_values_compare_keys(c, c->rows[i], key) >= 0);
	return at < c->row_count && !user_values_compare_keys(c, c->rows[at], key)
		       ? (ssize_t)c->rows[at]
		       : -1;
}

void query_user_at(const struct query_user_column *c, size_t row, struct value *ret)
{
	*ret = (struct value){.null = c->nulls[row]};
	if (ret->null)
		return;
	assert(c->texts || c->ints); /* query_users.load() filled them */
	if (c->texts)
		ret->t = c->texts[row];
	else if (c->type.type == QUERY_FLOAT)
		memcpy(&ret->f, &c->ints[row], sizeof(ret->f));
	else
		ret->i = c->ints[row];
}

void query_user_value(const struct expr *e, const struct value *key, struct value *ret)
{
	const struct query_user_column *c;
	ssize_t row;

	assert(e->kind == EXPR_USER && e->user_column < e->user->column_count && !key->null);
	assert(e->user_key < e->user->column_count || e->user_key == EXPR_USER_PLACE);
	c = &e->user->columns[e->user_column];
	row = e->user_key == EXPR_USER_PLACE
		      ? (ssize_t)key->i
		      : user_values_find_row(&e->user->columns[e->user_key], key);
	assert(row < (ssize_t)c->row_count || e->user_key != EXPR_USER_PLACE);
	*ret = (struct value){.null = true};
	if (row >= 0)
		query_user_at(c, (size_t)row, ret);
}
