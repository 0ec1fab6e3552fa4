// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"
#include "sums/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sums/facts.h"

/* Columns whose values differ when a call is seen from its second file. */
#define OF_FILES                                                                     \
	(1ull << OP_FILE_ID | 1ull << OP_FILE2_ID | 1ull << OP_FD | 1ull << OP_FD2 | \
	 1ull << OP_POS | 1ull << OP_POS2)

void sums_filter_free(struct sums_filter *f)
{
	eval_free(f->eval);
	plan_free(f->plan);
	free(f->files);
	*f = (struct sums_filter){0};
}

void sums_filter_describe(struct sums_filter *f, const struct expr *where)
{
	f->columns = where ? expr_columns(where) : 0;
	f->missing = sums_columns_missing(f->columns);
	f->names_rows = where && facts_name_rows(where);
	f->by_summary = !f->missing && !f->names_rows;
	f->by_times = f->by_summary && !(f->columns & 1ull << OP_FILE_ID);
	f->by_files = f->by_summary && !(f->columns & ~SUMS_OF_FILES);
	assert(!(f->missing & ~f->columns));
}

int sums_filter_new(struct sums_filter *ret, struct plan *plan, struct error *err)
{
	struct sums_filter f = {.plan = plan};
	int r;

	assert(!plan || (plan->table == TABLE_OP && plan->where));
	sums_filter_describe(&f, plan ? plan->where : NULL);
	r = plan ? eval_new(&f.eval, (const struct expr *const *)&plan->where, 1, err) : 0;
	if (r < 0) {
		sums_filter_free(&f);
		return error_errno(err, r, "preparing the filter");
	}
	*ret = f;
	return 0;
}

int sums_filter_names(struct sums_filter *f, const struct store *s, struct error *err)
{
	if (!f->eval)
		return 0;
	return eval_names(f->eval,
			  eval_uses(f->eval, TABLE_FILE) ? store_dims(s) : store_dims_few(s), err);
}

int sums_filter_name_files(struct sums_filter *f, const int64_t *ids, size_t count)
{
	assert(!f->files && count);
	f->files = malloc(count * sizeof(*ids));
	if (!f->files)
		return -ENOMEM;
	memcpy(f->files, ids, count * sizeof(*ids));
	array_sort(f->files, count, order_i64);
	f->file_count = count;
	return 0;
}

bool sums_filter_names_file(const struct sums_filter *f, int64_t id)
{
	return f->file_count && bsearch(&id, f->files, f->file_count, sizeof(id), order_i64);
}

ssize_t sums_filter_rows(const struct sums_filter *f, struct eval_scratch *scratch,
			 const struct batch *b, const uint32_t *in, size_t n, uint32_t *out,
			 struct error *err)
{
	ssize_t count;

	assert(b->table == TABLE_OP && n <= BATCH_ROWS_MAX);
	if (!f || !f->eval) {
		for (size_t i = 0; i < n; i++)
			out[i] = in ? in[i] : (uint32_t)i;
		return (ssize_t)n;
	}
	count = eval_filter(f->eval, scratch, 0, b, in, n, out);
	if (count == -EOVERFLOW)
		return error_set(err, -EOVERFLOW,
				 "the regular expression takes too many steps on a text: simplify "
				 "it (nested repeats take exponential time)");
	return count < 0 ? error_errno(err, (int)count, "filtering rows") : count;
}

bool sums_filter_has_file(const struct sums_filter *f, const struct store *s, size_t block)
{
	bool seconds = f->files && store_block_has_seconds(s, block), any = !f->files;

	/* a block lists the ids of first files; of second files only the range is known */
	for (size_t i = 0; i < f->file_count && !any; i++)
		any = store_block_has_id(s, block, OP_FILE_ID, f->files[i]) ||
		      (seconds && store_block_has_id(s, block, OP_FILE2_ID, f->files[i]));
	return any;
}

/* Whether the filter may accept a call as seen from one of its files and reject it as seen from the other. */
static bool sums_filter_differs_by_file(const struct sums_filter *f, const struct store *s,
					size_t block)
{
	return f->columns & OF_FILES && store_block_has_seconds(s, block);
}

bool sums_filter_may_pass(const struct sums_filter *f, const struct store *s, size_t block,
			  bool seconds)
{
	if (f && !sums_filter_has_file(f, s, block))
		return false;
	return !f || !f->eval || (seconds && sums_filter_differs_by_file(f, s, block)) ||
	       facts_may_pass(f->eval, s, block);
}

bool sums_filter_all_pass(const struct sums_filter *f, const struct store *s, size_t block,
			  bool seconds)
{
	if (!f || !f->eval)
		return true;
	return !(seconds && sums_filter_differs_by_file(f, s, block)) &&
	       facts_all_pass(f->eval, s, block);
}

/* The set with each column's counterpart, which takes its place when a call is seen from its second file. */
static uint64_t sums_filter_pairs(uint64_t columns)
{
	const uint64_t fds = 1ull << OP_FD | 1ull << OP_FD2, pos = 1ull << OP_POS | 1ull << OP_POS2;

	return columns | (columns & fds ? fds : 0) | (columns & pos ? pos : 0);
}

bool sums_filter_in_summary(const struct sums_filter *f, const struct store_block *b)
{
	/* a row of a summary does have a start and a duration, though not those of a call */
	const uint64_t timed = 1ull << OP_START | 1ull << OP_DUR;

	if (!f || f->by_summary)
		return true;
	if (f->names_rows || f->missing & timed)
		return false;
	for (uint64_t left = sums_filter_pairs(f->missing); left; left &= left - 1) {
		if (b->nulls[__builtin_ctzll(left)] != b->rows)
			return false;
	}
	return true;
}
