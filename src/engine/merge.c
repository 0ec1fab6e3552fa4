// SPDX-License-Identifier: Apache-2.0
/* merge.c: merges the scans of several tables by time, in runs of rows of one block. */
#include <errno.h>

#include "engine/ask.h"

/* The scan of a table and its last run of rows, of which those from `at` on are still to be returned. */
struct merge_source {
	struct engine_scan *scan;
	const struct batch *batch;
	const uint32_t *rows;
	const int64_t *ends; /* by row */
	size_t at, count;
	bool ended;
};

struct engine_merge {
	size_t count;
	const struct merge_source *given; /* source of the last rows returned */
	struct merge_source sources[];
};

void engine_merge_free(struct engine_merge *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++)
		engine_scan_free(m->sources[i].scan);
	free(m);
}

int engine_merge_new(struct engine_merge **ret, struct store *s, struct engine *e,
		     const struct scan_request *q, size_t count, struct error *err)
{
	_cleanup_(engine_merge_freep) struct engine_merge *m = NULL;

	assert(count > 0);
	m = calloc(1, sizeof(*m) + count * sizeof(*m->sources));
	if (!m)
		return error_errno(err, -ENOMEM, "cannot read the trace");
	for (size_t i = 0; i < count; i++) {
		int r;

		assert(schema_table(q[i].table)->kind == TABLE_IS_EVENTS && !q[i].follow);
		r = s ? engine_scan_new(&m->sources[i].scan, s, &q[i], err)
		      : engine_scan_of(&m->sources[i].scan, e, &q[i], err);
		if (r < 0)
			return r;
		m->count++;
	}
	*ret = TAKE_PTR(m);
	return 0;
}

/* Reads the next run if there are no rows left; the source may end. */
static int merge_fill(struct merge_source *t, struct error *err)
{
	ssize_t n;

	if (t->ended || t->at < t->count)
		return 0;
	n = engine_scan_next(t->scan, &t->batch, &t->rows, err);
	if (n < 0)
		return (int)n;
	t->at = 0;
	t->count = (size_t)n;
	t->ended = n == 0;
	t->ends = n ? engine_scan_ends(t->scan) : NULL;
	return 0;
}

static int64_t merge_source_end(const struct merge_source *t, size_t at)
{
	return t->ends[t->rows[at]];
}

/* True if row `at` of a comes before all remaining rows of b, the first of which ended at `y`. */
static bool merge_before(const struct merge_source *a, size_t at, const struct merge_source *b,
			 int64_t y)
{
	int64_t x = merge_source_end(a, at);

	return x < y || (x == y && a < b);
}

ssize_t engine_merge_next(struct engine_merge *m, size_t *ret_which, const struct batch **ret_batch,
			  const uint32_t **ret_rows, struct error *err)
{
	struct merge_source *first = NULL, *second = NULL;
	int64_t first_end = 0, second_end = 0;
	size_t end;

	for (size_t i = 0; i < m->count; i++) {
		struct merge_source *t = &m->sources[i];
		int r = merge_fill(t, err);

		if (r < 0)
			return r;
		if (t->ended)
			continue;
		if (!first || merge_before(t, t->at, first, first_end)) {
			second = first;
			second_end = first_end;
			first = t;
			first_end = merge_source_end(t, t->at);
		} else if (!second || merge_before(t, t->at, second, second_end)) {
			second = t;
			second_end = merge_source_end(t, t->at);
		}
	}
	if (!first)
		return 0;
	end = second ? first->at + 1 : first->count;
	while (end < first->count && merge_before(first, end, second, second_end))
		end++;
	*ret_which = (size_t)(first - m->sources);
	*ret_batch = first->batch;
	*ret_rows = first->rows + first->at;
	m->given = first;
	end -= first->at;
	first->at += end;
	return (ssize_t)end;
}

const int64_t *engine_merge_ends(const struct engine_merge *m)
{
	assert(m->given);
	return m->given->ends;
}
