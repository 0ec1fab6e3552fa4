// SPDX-License-Identifier: Apache-2.0
/* pass_filter.c: the filter of a pass. */
#include <errno.h>
#include <string.h>

#include "engine/facts.h"
#include "query/query.h"
#include "server/sums/pass.h"

/* What a row of summary has of a row of op. */
const uint8_t pass_filter_shared[SIEVE_SHARED][2] = {
	{OP_OP, SUMMARY_OP},   {OP_THREAD_ID, SUMMARY_THREAD_ID}, {OP_FILE_ID, SUMMARY_FILE_ID},
	{OP_ERR, SUMMARY_ERR}, {OP_CLASS, SUMMARY_CLASS},
};

void pass_filter_free(struct pass_filter *s)
{
	if (s->eval)
		eval_free(s->eval);
	if (s->plan)
		plan_free(s->plan);
	free(s->files);
	*s = (struct pass_filter){0};
}

static int pass_filter_parse(struct question *q, const char *text, struct plan **ret)
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

int pass_filter_check(struct question *q, const char *text)
{
	_cleanup_pass_filter_ struct pass_filter s = {0};

	return text && *text ? pass_filter_parse(q, text, &s.plan) : 0;
}

static int pass_filter_by_id(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int pass_filter_name_files(struct pass_filter *s, const int64_t *ids, size_t count)
{
	assert(!s->files);
	s->files = malloc(count * sizeof(*ids));
	if (!s->files)
		return -ENOMEM;
	memcpy(s->files, ids, count * sizeof(*ids));
	qsort(s->files, count, sizeof(*ids), pass_filter_by_id);
	s->file_count = count;
	return 0;
}

int pass_filter_make(struct question *q, const char *text, struct pass_filter *ret)
{
	_cleanup_pass_filter_ struct pass_filter s = {
		.by_summary = true, .by_times = true, .by_files = true};
	uint64_t known = 0;
	int r;

	assert(!ret->plan && !ret->eval);
	if (!text || !*text) {
		*ret = s;
		s = (struct pass_filter){0};
		return 0;
	}
	r = pass_filter_parse(q, text, &s.plan);
	if (r < 0)
		return r;
	r = eval_new(&s.eval, (const struct expr *const *)&s.plan->where, 1, &q->err);
	if (r >= 0)
		r = eval_names(s.eval, store_dims(q->server->store), &q->err);
	if (r == -EOVERFLOW)
		return question_error(q, -EINVAL, "the filter takes too many steps on some name");
	if (r < 0)
		return question_error(q, r, "cannot prepare the filter");
	s.columns = expr_columns(s.plan->where);
	for (size_t i = 0; i < SIEVE_SHARED; i++)
		known |= 1ull << pass_filter_shared[i][0];
	s.names_rows = facts_name_rows(s.plan->where);
	s.by_summary = !(s.columns & ~known) && !s.names_rows;
	s.by_times = s.by_summary && !(s.columns & 1ull << OP_FILE_ID);
	s.by_files = s.by_summary &&
		     !(s.columns & ~(1ull << OP_FILE_ID | 1ull << OP_CLASS | 1ull << OP_ERR));
	*ret = s;
	s = (struct pass_filter){0};
	return 0;
}
