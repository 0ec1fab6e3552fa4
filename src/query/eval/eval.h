/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval.h: expressions over batches, column by column. A part that depends on one id only (path ~ "...",
 * dir(path), comm == "x") is computed once per id and then looked up.
 *
 *   eval_new(&e, exprs, count, &err);        // for a table
 *   eval_names(e, dims, &err);               // computes ids that are new since the last time
 *   eval_new_scratch(&s, e);                 // one per thread
 *   n = eval_filter(e, s, 0, b, NULL, b->rows, rows);   // numbers of the rows where it is true
 *   eval_rows(e, s, 1, b, rows, n, &vector);
 *
 * eval_filter() and eval_rows() may run in several threads at once, but not while eval_names() runs. The expressions
 * and the dims must outlive the eval; eval_names() must always get the same dims.
 */
#pragma once

#include <stdatomic.h>

#include "query/plan/plan.h"

struct eval;
struct eval_scratch;

/* Values of n rows. Memory belongs to the scratch; valid until its next eval_rows() of the same
 * expression. */
struct vector {
	struct query_kind type;
	size_t rows;
	const int64_t *i;      /* integers, bools, codes, ids, times */
	const double *f;       /* QUERY_FLOAT */
	const struct bytes *t; /* QUERY_TEXT not stored as words */
	const uint64_t *nulls; /* bit set: unknown; NULL: all are known */
	/*
	 * A text by id: i[row] is a number in a dictionary that grows with eval_names() and never
	 * changes: eval_words(). Equal texts have equal numbers.
	 */
	bool words;
};

int eval_new(struct eval **ret, const struct expr *const *exprs, size_t count, struct error *err);
void eval_free(struct eval *e);
DEFINE_CLEANUP(struct eval *, eval_free)
/*
 * Computes the values by id, for ids of `d` that were added or changed since the last call. -EOVERFLOW:
 * a pattern took more steps than allowed on a name, which the message gives. -EINTR: eval_stop_with().
 */
int eval_names(struct eval *e, const struct dims *d, struct error *err);
/* Makes eval_names() return -EINTR once *stop is true; it checks from time to time. */
void eval_stop_with(struct eval *e, const atomic_bool *stop);
/*
 * True if an expression uses a name that is looked up in the table (TABLE_FILE, TABLE_THREAD), or is computed by its
 * ids; otherwise the table's rows are not needed.
 */
bool eval_uses(const struct eval *e, enum table_id table);
/*
 * True if nothing but the values that eval_names() computed for the ids of a table (TABLE_FILE, TABLE_THREAD) is
 * needed later: the dims may then forget its rows (dims_forget()) after each eval_names().
 */
bool eval_remembers(const struct eval *e, enum table_id table);
/* The dictionary of expression k, whose vectors are words: the count, and the bytes of each in *ret. */
size_t eval_words(const struct eval *e, size_t k, const struct bytes **ret);
/* True if the vectors of expression k will be words. */
bool eval_is_words(const struct eval *e, size_t k);

int eval_scratch_new(struct eval_scratch **ret, const struct eval *e);
void eval_scratch_free(struct eval_scratch *s);
DEFINE_CLEANUP(struct eval_scratch *, eval_scratch_free)

/*
 * Finds the rows, of those in `in` or, if it is NULL, of all below n, for which expression k is true, in order; out
 * may be in. Returns their number; negative: -ENOMEM, -EOVERFLOW.
 */
ssize_t eval_filter(const struct eval *e, struct eval_scratch *s, size_t k, const struct batch *b,
		    const uint32_t *in, size_t n, uint32_t *out);
/* Computes the values for those rows. */
int eval_rows(const struct eval *e, struct eval_scratch *s, size_t k, const struct batch *b,
	      const uint32_t *in, size_t n, struct vector *ret);

/*
 * The header of a block. eval_block() decides from it whether expression k (a filter) can be true for
 * any row of the block, without decoding. has_id returns whether an id can occur in a column of the
 * block (NULL: not known).
 */
struct eval_block {
	size_t rows;
	const int64_t *min, *max; /* per column of the table; min > max: all null */
	const uint32_t *nulls;
	bool (*has_id)(void *arg, unsigned int column, int64_t id);
	void *arg;
};
bool eval_block(const struct eval *e, size_t k, const struct eval_block *b);
/* True if expression k is known to be true for every row of the block, so that its summary or digest can be used. */
bool eval_block_all(const struct eval *e, size_t k, const struct eval_block *b);
