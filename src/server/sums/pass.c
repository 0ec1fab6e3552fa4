// SPDX-License-Identifier: Apache-2.0
#include "server/sums/pass.h"

#include <errno.h>
#include <string.h>

#include "query/query.h"

static int pass_parse(struct question *q, const char *text, struct plan **ret)
{
	struct query_error wrong = {0};
	int r = query_parse_expr_users(text, strlen(text), TABLE_OP, true,
				       annotations_get(q->server->annotations), ret, &wrong);

	if (r >= 0)
		return 0;
	q->placed = true;
	q->pos = wrong.pos;
	q->len = wrong.len;
	return question_error(q, r, "%s", wrong.err.message);
}

int question_filter_check(struct question *q, const char *text)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;

	return text && *text ? pass_parse(q, text, &plan) : 0;
}

int question_filter(struct question *q, const char *text, struct sums_filter *ret)
{
	_cleanup_sums_filter_ struct sums_filter f = {0};
	struct plan *plan = NULL;
	int r = text && *text ? pass_parse(q, text, &plan) : 0;

	assert(!ret->plan && !ret->eval);
	if (r < 0)
		return r;
	r = sums_filter_new(&f, plan, &q->err);
	if (r >= 0)
		r = sums_filter_names(&f, q->server->store, &q->err);
	if (r == -EOVERFLOW)
		return question_error(q, -EINVAL, "the filter takes too many steps on a name");
	if (r < 0)
		return question_error(q, r, "cannot prepare the filter");
	*ret = f;
	f = (struct sums_filter){0};
	return 0;
}

unsigned int question_workers(const struct question *q)
{
	return walk_workers(q->server->opt.threads);
}

struct sums_ask question_ask(const struct question *q, const struct sums_filter *filter)
{
	return (struct sums_ask){
		.store = q->server->store, .filter = filter, .from = q->from, .to = q->to};
}

struct walk question_pass(const struct question *q, const struct sums_filter *filter)
{
	return (struct walk){.ask = question_ask(q, filter),
			     .stopped = question_stops,
			     .stopped_arg = q,
			     .workers = question_workers(q)};
}

int question_walk(struct question *q, struct walk *w)
{
	w->stopped = question_stops;
	w->stopped_arg = q;
	return walk_run(w, &q->err);
}
