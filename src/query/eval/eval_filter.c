/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval_filter.c: filters narrow a list of row numbers. eval_node_filter() finds the rows for which a node is known to
 * be `want`, true or false; unknown is neither. `not` inverts `want`. For an `and` that must be true the list passes
 * from one operand to the next; for an `or`, each operand gets the rows that the operands before it did not accept.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "query/eval/eval_internal.h"

#define always_inline inline __attribute__((always_inline))

/* ---- tests of ints ---- */

enum test { TEST_INSIDE, TEST_OUTSIDE, TEST_SET, TEST_NOT_SET, TEST_BITS, TEST_NOT_BITS };

static always_inline bool test_int(enum test test, const struct eval_node *n, int64_t v)
{
	uint64_t at = (uint64_t)v - n->low;

	switch (test) {
	case TEST_INSIDE:
		return at <= n->span;
	case TEST_OUTSIDE:
		return at > n->span;
	case TEST_SET:
		return at <= n->span && (n->set[at / 64] >> (at % 64) & 1);
	case TEST_NOT_SET:
		return at > n->span || !(n->set[at / 64] >> (at % 64) & 1);
	case TEST_BITS:
		return ((uint64_t)v & n->mask) == n->bits;
	default:
		return ((uint64_t)v & n->mask) != n->bits;
	}
}

/* Where the ints of a list of rows are: by row in a column, or one per entry of the list. */
struct ints {
	const int64_t *val;
	const uint64_t *null_bits; /* by row */
	const uint8_t *unknown;	   /* by entry */
	bool by_row;
};

/* Each variant of this loop is compiled separately. */
static always_inline size_t loop(struct ints v, struct row_list rows, uint32_t *out, enum test test,
				 const struct eval_node *n, bool listed, bool bits, bool bytes)
{
	const struct eval_node copy = {
		.low = n->low, .span = n->span, .mask = n->mask, .bits = n->bits, .set = n->set};
	size_t count = 0;

	for (size_t j = 0; j < rows.n; j++) {
		uint32_t row = listed ? rows.rows[j] : rows.base + (uint32_t)j;
		bool keep = test_int(test, &copy, v.val[v.by_row ? row : j]);

		if (bits)
			keep &= !(v.null_bits[row / 64] >> (row % 64) & 1);
		if (bytes)
			keep &= !v.unknown[j];
		out[count] = row;
		count += keep;
	}
	return count;
}

static always_inline size_t shaped(struct ints v, struct row_list rows, uint32_t *out,
				   enum test test, const struct eval_node *n)
{
	if (!v.by_row) {
		if (v.unknown)
			return rows.rows ? loop(v, rows, out, test, n, true, false, true)
					 : loop(v, rows, out, test, n, false, false, true);
		return rows.rows ? loop(v, rows, out, test, n, true, false, false)
				 : loop(v, rows, out, test, n, false, false, false);
	}
	v.by_row = true;
	if (rows.rows)
		return v.null_bits ? loop(v, rows, out, test, n, true, true, false)
				   : loop(v, rows, out, test, n, true, false, false);
	v.by_row = false;
	v.val += rows.base;
	return v.null_bits ? loop(v, rows, out, test, n, false, true, false)
			   : loop(v, rows, out, test, n, false, false, false);
}

static size_t filter_ints(struct ints v, struct row_list rows, uint32_t *out, enum test test,
			  const struct eval_node *n)
{
	switch (test) {
	case TEST_INSIDE:
		return shaped(v, rows, out, TEST_INSIDE, n);
	case TEST_OUTSIDE:
		return shaped(v, rows, out, TEST_OUTSIDE, n);
	case TEST_SET:
		return shaped(v, rows, out, TEST_SET, n);
	case TEST_NOT_SET:
		return shaped(v, rows, out, TEST_NOT_SET, n);
	case TEST_BITS:
		return shaped(v, rows, out, TEST_BITS, n);
	default:
		return shaped(v, rows, out, TEST_NOT_BITS, n);
	}
}

static ssize_t filter_test(struct eval_run *r, const struct eval_node *n, bool want,
			   struct row_list rows, uint32_t *out)
{
	const struct eval_node *arg = n->args[0];
	enum test test = n->kind == EVAL_RANGE ? TEST_INSIDE
			 : n->kind == EVAL_SET ? TEST_SET
					       : TEST_BITS;
	struct eval_values v;
	struct ints ints;
	int e;

	assert(n->arg_count == 1 && arg->rep == REP_INT);
	if (n->kind == EVAL_RANGE)
		want ^= n->negate;
	test += !want;
	if (arg->kind == EVAL_COLUMN) {
		const struct column *c = &r->b->columns[arg->column];

		if (!c->val)
			return 0;
		ints = (struct ints){.val = c->val, .null_bits = c->nulls, .by_row = true};
		return (ssize_t)filter_ints(ints, rows, out, test, n);
	}
	e = eval_node_values(r, arg, rows, &v);
	if (e < 0)
		return e;
	ints = (struct ints){.val = v.i, .unknown = v.unknown};
	return (ssize_t)filter_ints(ints, rows, out, test, n);
}

static bool list_has(const struct eval_node *n, int64_t v)
{
	uint64_t flip =
		n->args[0]->is_unsigned ? 0 : 1ull << 63; /* makes all comparisons unsigned */
	uint64_t want = (uint64_t)v ^ flip;
	size_t at = array_first(i, 0, n->count, ((uint64_t)n->list[i] ^ flip) >= want);

	return at < n->count && n->list[at] == v;
}

static ssize_t filter_list(struct eval_run *r, const struct eval_node *n, bool want,
			   struct row_list rows, uint32_t *out)
{
	struct eval_values v;
	size_t count = 0;
	int e = eval_node_values(r, n->args[0], rows, &v);

	if (e < 0)
		return e;
	for (size_t j = 0; j < rows.n; j++) {
		uint32_t row = row_at(rows, j);

		out[count] = row;
		count += (!v.unknown || !v.unknown[j]) && list_has(n, v.i[j]) == want;
	}
	return (ssize_t)count;
}

/* ---- tables ---- */

static always_inline bool is_null(const uint64_t *bits, uint32_t row)
{
	return bits && (bits[row / 64] >> (row % 64) & 1);
}

/* For ids of the first trace only, as nearly all are. */
static always_inline size_t table_loop(const struct eval_table *t, const struct column *c,
				       uint8_t want, struct row_list rows, uint32_t *out,
				       bool listed, bool bits)
{
	static const struct table_part nothing;
	const struct table_part *first = t->part_count ? &t->parts[0] : &nothing;
	const uint8_t *truth = first->truth;
	uint64_t known = first->count;
	uint8_t none = t->none.truth[0];
	size_t count = 0;

	for (size_t j = 0; j < rows.n; j++) {
		uint32_t row = listed ? rows.rows[j] : rows.base + (uint32_t)j;
		uint64_t id = (uint64_t)c->val[row];
		uint8_t found = none;

		if (likely(id < known))
			found = truth[id];
		else
			found = table_truth(t, (int64_t)id);
		if (bits && is_null(c->nulls, row))
			found = none;
		out[count] = row;
		count += found == want;
	}
	return count;
}

static size_t filter_table(const struct eval_table *t, const struct batch *b, bool want,
			   struct row_list rows, uint32_t *out)
{
	const struct column *c = &b->columns[t->column];
	size_t count = 0;

	assert(t->is_bool && t->none.count == 1 && t->column < b->def->column_count);
	if (t->other >= 0) {
		for (size_t j = 0; j < rows.n; j++) {
			uint32_t row = row_at(rows, j);

			out[count] = row;
			count += table_truth(t, table_id(t, b, row)) == want;
		}
		return count;
	}
	if (!c->val) {
		for (size_t j = 0; t->none.truth[0] == want && j < rows.n; j++)
			out[count++] = row_at(rows, j);
		return count;
	}
	if (rows.rows)
		return c->nulls ? table_loop(t, c, want, rows, out, true, true)
				: table_loop(t, c, want, rows, out, true, false);
	return c->nulls ? table_loop(t, c, want, rows, out, false, true)
			: table_loop(t, c, want, rows, out, false, false);
}

/* ---- logic ---- */

/* Rows for which every operand is `want`: each operand narrows the list for the next. */
static ssize_t filter_every(struct eval_run *r, const struct eval_node *n, bool want,
			    struct row_list rows, uint32_t *out)
{
	for (size_t i = 0; i < n->arg_count && rows.n; i++) {
		ssize_t got = eval_node_filter(r, n->args[i], want, rows, out);

		if (got < 0)
			return got;
		rows = (struct row_list){.rows = out, .n = (size_t)got};
	}
	return (ssize_t)rows.n;
}

/* Selects the rows whose byte is (or is not) set, without a branch. */
static size_t marked(struct row_list rows, const uint8_t *marks, bool want, uint32_t *out)
{
	size_t count = 0;

	for (size_t j = 0; j < rows.n; j++) {
		uint32_t row = row_at(rows, j);

		out[count] = row;
		count += marks[row] == want;
	}
	return count;
}

/* Rows for which some operand is `want`: each operand gets the rows that are still undecided. */
static ssize_t filter_some(struct eval_run *r, const struct eval_node *n, bool want,
			   struct row_list rows, uint32_t *out)
{
	uint32_t first = rows.n ? row_at(rows, 0) : 0, last = rows.n ? row_at(rows, rows.n - 1) : 0;
	uint32_t *left = arena_take(&r->s->memory, rows.n * sizeof(*left));
	uint32_t *found = arena_take(&r->s->memory, rows.n * sizeof(*found));
	uint8_t *marks = arena_take(&r->s->memory, (size_t)(last - first) + 1);
	struct row_list rest = rows;

	if (!left || !found || !marks)
		return -ENOMEM;
	assert(last >= first); /* the rows of a list ascend */
	memset(marks, 0, (size_t)(last - first) + 1);
	marks -= first;
	for (size_t i = 0; i < n->arg_count && rest.n; i++) {
		ssize_t got = eval_node_filter(r, n->args[i], want, rest, found);

		if (got < 0)
			return got;
		for (ssize_t j = 0; j < got; j++)
			marks[found[j]] = 1;
		if (got && i + 1 < n->arg_count)
			rest = (struct row_list){.rows = left,
						 .n = marked(rest, marks, false, left)};
	}
	return (ssize_t)marked(rows, marks, true, out);
}

/* ---- the rest ---- */

/* Filters by the node's values, 0 and 1. */
static ssize_t eval_filter_values(struct eval_run *r, const struct eval_node *n, bool want,
				  struct row_list rows, uint32_t *out)
{
	struct eval_values v;
	size_t count = 0;
	int e = eval_node_values(r, n, rows, &v);

	if (e < 0)
		return e;
	for (size_t j = 0; j < rows.n; j++) {
		uint32_t row = row_at(rows, j);

		out[count] = row;
		count += (!v.unknown || !v.unknown[j]) && !!v.i[j] == want;
	}
	return (ssize_t)count;
}

static size_t filter_const(const struct eval_node *n, bool want, struct row_list rows,
			   uint32_t *out)
{
	if (n->value.null || !!n->value.i != want)
		return 0;
	for (size_t j = 0; j < rows.n; j++)
		out[j] = row_at(rows, j);
	return rows.n;
}

static bool absent(struct eval_run *r, const struct eval_node *n)
{
	return n->kind == EVAL_COLUMN && !r->b->columns[n->column].val;
}

static ssize_t filter_null(struct eval_run *r, const struct eval_node *n, bool want,
			   struct row_list rows, uint32_t *out)
{
	const struct eval_node *arg = n->args[0];
	struct eval_values v = {0};
	size_t count = 0;
	const uint64_t *bits = NULL;
	int e = 0;

	if (absent(r, arg)) {
		for (size_t j = 0; want && j < rows.n; j++)
			out[count++] = row_at(rows, j);
		return (ssize_t)count;
	}
	if (arg->kind == EVAL_COLUMN)
		bits = r->b->columns[arg->column].nulls;
	else
		e = eval_node_values(r, arg, rows, &v);
	if (e < 0)
		return e;
	for (size_t j = 0; j < rows.n; j++) {
		uint32_t row = row_at(rows, j);
		bool unknown = is_null(bits, row) || (v.unknown && v.unknown[j]);

		out[count] = row;
		count += unknown == want;
	}
	return (ssize_t)count;
}

static ssize_t filter_node(struct eval_run *r, const struct eval_node *n, bool want,
			   struct row_list rows, uint32_t *out)
{
	switch (n->kind) {
	case EVAL_CONST:
		return (ssize_t)filter_const(n, want, rows, out);
	case EVAL_TABLE:
		return (ssize_t)filter_table(n->table, r->b, want, rows, out);
	case EVAL_NOT:
		return eval_node_filter(r, n->args[0], !want, rows, out);
	case EVAL_ALL:
		return want ? filter_every(r, n, true, rows, out)
			    : filter_some(r, n, false, rows, out);
	case EVAL_ANY:
		return want ? filter_some(r, n, true, rows, out)
			    : filter_every(r, n, false, rows, out);
	case EVAL_RANGE:
	case EVAL_SET:
	case EVAL_BITS:
		return filter_test(r, n, want, rows, out);
	case EVAL_LIST:
		return filter_list(r, n, want, rows, out);
	case EVAL_IS_NULL:
		return filter_null(r, n, want, rows, out);
	default:
		return eval_filter_values(r, n, want, rows, out);
	}
}

ssize_t eval_node_filter(struct eval_run *r, const struct eval_node *n, bool want,
			 struct row_list rows, uint32_t *out)
{
	struct arena_mark mark = arena_mark(&r->s->memory);
	ssize_t count;

	assert(rows.n <= CHUNK_ROWS && n->is_bool);
	count = filter_node(r, n, want, rows, out);
	arena_back(&r->s->memory, mark);
	assert(count <= (ssize_t)rows.n);
	return count;
}
