/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options/choose.h"

#include <errno.h>

#include "base/buf.h"
#include "query/eval/eval_rows.h"

/* Joins all conditions into one text. */
static int choose_take(void *arg, const char *option _unused_, const char *text, struct error *err)
{
	struct buf *all = arg;
	int r = buf_printf(all, "%s(%s)", all->len ? " and " : "", text);

	return r < 0 ? error_errno(err, r, "choosing calls") : 0;
}

/* Errors name the option: --where was already parsed alone. */
static int choose_parse(struct choice *c, struct error *err)
{
	struct buf *text = &c->text;
	struct query_error why = {0};
	struct plan *plan = NULL;
	int r = query_parse_expr_users(buf_str(text), text->len, TABLE_OP, true,
				       annotations_get(c->annotations), &plan, &why);

	if (r == -EINVAL)
		return error_set(err, r, "the selection %s: %s", buf_str(text), why.err.message);
	if (r < 0)
		return error_errno(err, r, "choosing calls");
	c->expr = plan->where;
	return sums_filter_new(&c->chosen, plan, err);
}

int choice_make(struct choice *ret, const struct select_flags *f, const struct select *s,
		const struct option_list *where, struct store *store, struct error *err)
{
	int r = 0;

	*ret = (struct choice){.filter = {.from = INT64_MIN, .to = INT64_MAX}};
	if (where->count && store) {
		r = annotations_new(&ret->annotations, store, err);
		if (r < 0)
			return r;
	}
	r = where_parse(&ret->where, where->items, where->count, annotations_get(ret->annotations),
			err);
	if (r < 0)
		return r;
	r = conditions_each(f, s, where, choose_take, &ret->text, err);
	if (r < 0 || !ret->text.len)
		return r;
	r = choose_parse(ret, err);
	if (r < 0 || !store)
		return r;
	ret->filter.where = &ret->chosen;
	return sums_filter_names(&ret->chosen, store, err);
}

void choice_free(struct choice *c)
{
	sums_filter_free(&c->chosen);
	buf_free(&c->text);
	where_free(&c->where);
	annotations_free(c->annotations);
	*c = (struct choice){0};
}
