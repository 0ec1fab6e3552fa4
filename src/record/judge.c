/* SPDX-License-Identifier: Apache-2.0 */
#include "record/judge.h"

#include <errno.h>

#include "enrich/enrich.h"
#include "query/eval/eval.h"

struct record_judge {
	struct enrich *
		enrich; /* groups are threads of it, one each: what is worked out of names refers to it */
	struct eval *eval;
	int64_t next;
	uint32_t count;
	struct expr negations[FILTER_CGROUPS_MAX]; /* of those that must be false */
};

void record_judge_free(struct record_judge *j)
{
	if (!j)
		return;
	eval_free(j->eval);
	enrich_free(j->enrich);
	free(j);
}

int record_judge_new(struct record_judge **ret, const struct pushdown_cgroups *tests,
		     struct error *err)
{
	_cleanup_(record_judge_freep) struct record_judge *j = calloc(1, sizeof(*j));
	const struct expr *exprs[FILTER_CGROUPS_MAX];
	int r;

	if (!j)
		return error_set(err, -ENOMEM, "out of memory");
	assert(tests->count && tests->count <= FILTER_CGROUPS_MAX);
	j->count = tests->count;
	for (uint32_t i = 0; i < j->count; i++) {
		exprs[i] = tests->tests[i].expr;
		j->negations[i] = (struct expr){.kind = EXPR_NOT,
						.type = exprs[i]->type,
						.arg = {(struct expr *)exprs[i]},
						.arg_count = 1};
		if (!tests->tests[i].want)
			exprs[i] = &j->negations[i];
	}
	r = enrich_new(&j->enrich, err);
	if (r >= 0)
		r = eval_new(&j->eval, exprs, j->count, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(j);
	return 0;
}

/* A call of a thread in that group, as a source gives it. */
static int make_call(struct batch_set *set, int64_t id, const char *path)
{
	struct batch *b;
	size_t row;
	int r = batch_set_add_row(set, TABLE_CGROUP, &b, &row);

	if (r >= 0)
		r = batch_set(b, CGROUP_ID, row, id);
	if (r >= 0 && path)
		r = batch_set_str(b, CGROUP_PATH, row, path);
	if (r >= 0)
		r = batch_set_add_row(set, TABLE_THREAD, &b, &row);
	if (r >= 0)
		r = batch_set(b, THREAD_ID, row, id);
	if (r >= 0)
		r = batch_set(b, THREAD_CGROUP_ID, row, id);
	if (r >= 0)
		r = batch_set_add_row(set, TABLE_OP, &b, &row);
	if (r >= 0)
		r = batch_set(b, OP_OP, row, 0);
	return r < 0 ? r : batch_set(b, OP_THREAD_ID, row, id);
}

static int64_t judge(struct record_judge *j, const struct batch_set *in, struct batch_set *rows,
		     struct error *err)
{
	_cleanup_(eval_scratch_freep) struct eval_scratch *scratch = NULL;
	int64_t tests = 0;
	int r = enrich_apply(j->enrich, in, rows, err);

	if (r >= 0)
		r = eval_names(j->eval, enrich_dims(j->enrich), err);
	if (r >= 0)
		r = eval_scratch_new(&scratch, j->eval);
	for (uint32_t i = 0; i < j->count && r >= 0; i++) {
		uint32_t row;
		ssize_t n = eval_filter(j->eval, scratch, i, rows->tables[TABLE_OP], NULL, 1, &row);

		tests |= (int64_t)(n == 1) << i;
		r = (int)MIN(n, 0);
	}
	return r < 0 ? r : tests;
}

int64_t record_judge_cgroup(struct record_judge *j, const char *path)
{
	_cleanup_batch_set_ struct batch_set in = {0}, rows = {0};
	struct error err = {0};
	/* The way that every row takes: what a path says of container and unit is told in one place. */
	int r = make_call(&in, j->next++, path);

	return r < 0 ? r : judge(j, &in, &rows, &err);
}
