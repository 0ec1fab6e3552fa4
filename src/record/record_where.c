/* SPDX-License-Identifier: Apache-2.0 */
#include "record/record_where.h"

#include <errno.h>
#include <string.h>

#include "schema/vocab.h"

#define OPS_NAMED_MAX 12 /* calls that --explain names; more are counted */

static int where_parse_one(const char *text, size_t len, const struct query_users *users,
			   struct plan **ret, struct error *err)
{
	struct query_error where = {0};
	int r = query_parse_expr_users(text, len, TABLE_OP, true, users, ret, &where);

	if (r == -EINVAL)
		return error_set(err, r, "--where, character %zu: %s", where.pos + 1,
				 where.err.message);
	return r < 0 ? error_errno(err, r, "--where") : 0;
}

int where_parse(struct where *w, const char *const *texts, size_t count,
		const struct query_users *users, struct error *err)
{
	_cleanup_buf_ struct buf all = {0};
	int r;

	*w = (struct where){0};
	/* Parsed separately, so that the position in an error refers to the text as typed. */
	for (size_t i = 0; i < count; i++) {
		if (!*texts[i])
			return error_set(err, -EINVAL, "--where: the expression is empty");
		where_free(w);
		r = where_parse_one(texts[i], strlen(texts[i]), users, &w->plan, err);
		if (r < 0)
			return r;
		if (buf_printf(&all, "%s(%s)", i ? " and " : "", texts[i]) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	if (count > 1) {
		where_free(w);
		r = where_parse_one(buf_str(&all), all.len, users, &w->plan, err);
		if (r < 0)
			return r;
	}
	w->expr = w->plan ? w->plan->where : NULL;
	return 0;
}

void where_free(struct where *w)
{
	plan_free(w->plan);
	*w = (struct where){0};
}

int where_push(const struct where *w, struct select *s, struct call_filter *ret, struct error *err)
{
	uint64_t ops[OP_CODE_CALLS / 64];
	int r;

	*ret = (struct call_filter){0};
	if (!w->expr)
		return 0;
	if (s->ops_given)
		memcpy(ops, s->ops, sizeof(ops));
	else
		memset(ops, 0xff, sizeof(ops));
	r = query_pushdown_ops(w->expr, ops, err);
	if (r >= 0)
		query_pushdown(w->expr, ops, ret);
	if (r <= 0)
		return r;
	memcpy(s->ops, ops, sizeof(ops));
	s->ops_given = true;
	return 0;
}

/* "only the calls read, pread64", "241 of 371 calls" */
static int where_explain_ops(const struct select *s, struct buf *out)
{
	size_t count = 0, all = 0;

	for (uint32_t code = 0; code < OP_CODE_CALLS; code++) {
		all += vocab_word("op", code) != NULL;
		count += vocab_word("op", code) && select_op(s, code);
	}
	if (count > OPS_NAMED_MAX)
		return buf_printf(out, "%zu of %zu calls", count, all);
	if (!count)
		return buf_printf(out, "no call at all");
	for (uint32_t code = 0, n = 0; code < OP_CODE_CALLS; code++) {
		if (vocab_word("op", code) && select_op(s, code))
			buf_printf(out, "%s%s", n++ ? ", " : "", vocab_word("op", code));
	}
	return buf_status(out);
}

int where_explain(const struct where *w, const struct call_filter *k, const struct select *s,
		  struct buf *out)
{
	_cleanup_buf_ struct buf kernel = {0}, ops = {0}, whole = {0};
	int r = w->expr ? expr_text(w->expr, TABLE_OP, &whole) : 0;

	if (r >= 0)
		r = query_pushdown_text(k, &kernel);
	if (r >= 0 && s->ops_given) {
		r = where_explain_ops(s, &ops);
		if (r >= 0)
			r = buf_printf(out, "kernel, when a call begins: %s\n", buf_str(&ops));
	}
	if (r < 0)
		return r;
	return buf_printf(out, "kernel, when it has ended:  %s\nthen in weir:               %s\n",
			  k->count ? buf_str(&kernel) : "everything is recorded",
			  w->expr ? buf_str(&whole) : "nothing is left to test");
}
