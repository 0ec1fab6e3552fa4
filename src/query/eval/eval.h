/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval.h: expressions over batches, column by column. What hangs on one id (path ~ "...",
 * dir(path), comm == "x") is worked out once per id and then looked up.
 *
 *   eval_new(&e, exprs, count, &err);        // for a table
 *   eval_names(e, dims, &err);               // works out ids that are new since the last time
 *   eval_new_scratch(&s, e);                 // one per thread
 *   n = eval_filter(e, s, 0, b, NULL, b->rows, rows);   // numbers of the rows where it is true
 *   eval_rows(e, s, 1, b, rows, n, &vector);
 *
 * eval_filter() and eval_rows() may run in several threads at once, not beside eval_names(). The expressions must
 * outlive the eval, and the dims of eval_names(), always the same, too.
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
	const int64_t *i;      /* ints, bools, codes, ids, times */
	const double *f;       /* QUERY_FLOAT */
	const struct bytes *t; /* QUERY_TEXT that is not by id */
	const uint64_t *nulls; /* bit set: unknown; NULL: none is */
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
 * Works out what hangs on ids, for ids of `d` that came or changed since. -EOVERFLOW: a pattern took
 * more steps than allowed on some name; the message says which. -EINTR: eval_cancel().
 */
int eval_names(struct eval *e, const struct dims *d, struct error *err);
/* Ends an eval_names() that runs, from any thread. */
void eval_cancel(struct eval *e);
/* Ends it as soon as *stop is true, too; checked from time to time. */
void eval_stop_with(struct eval *e, const atomic_bool *stop);
/* True where some expression asks for a name that hangs on ids of the table (TABLE_FILE,
 * TABLE_THREAD): others do not look at its rows. */
bool eval_uses(const struct eval *e, enum table_id table);
/*
 * True where what eval_names() worked out of the ids of a table (TABLE_FILE, TABLE_THREAD) is all that is asked of
 * them later: the dims may forget their rows (dims_forget()) after each eval_names().
 */
bool eval_remembers(const struct eval *e, enum table_id table);
/* The dictionary of expression k, where its vectors are words: count and bytes of each. */
size_t eval_words(const struct eval *e, size_t k, const struct bytes **ret);
/* True where the vectors of expression k are words, known before there is one. */
bool eval_is_words(const struct eval *e, size_t k);

int eval_scratch_new(struct eval_scratch **ret, const struct eval *e);
void eval_scratch_free(struct eval_scratch *s);
DEFINE_CLEANUP(struct eval_scratch *, eval_scratch_free)

/* The rows (of those in `in`, or all below n where in is NULL) for which expression k is true, in
 * order; out may be in. Negative: -ENOMEM, -EOVERFLOW. */
ssize_t eval_filter(const struct eval *e, struct eval_scratch *s, size_t k, const struct batch *b,
		    const uint32_t *in, size_t n, uint32_t *out);
/* The values for those rows. */
int eval_rows(const struct eval *e, struct eval_scratch *s, size_t k, const struct batch *b,
	      const uint32_t *in, size_t n, struct vector *ret);

/*
 * Whether any row of a block can be true for expression k (a filter), from what its header says;
 * nothing is decoded. has_id tells whether an id can be in a column of the block (NULL: not known).
 */
struct eval_block {
	size_t rows;
	const int64_t *min, *max; /* by column of the table; min > max: all null */
	const uint32_t *nulls;
	bool (*has_id)(void *arg, unsigned int column, int64_t id);
	void *arg;
};
bool eval_block(const struct eval *e, size_t k, const struct eval_block *b);
/* Whether every row of it is known to be true for expression k, by the same. */
bool eval_block_all(const struct eval *e, size_t k, const struct eval_block *b);
/*
 * The ids, ascending, without one of which in `column` no row can be true for expression k: false where that
 * is not known, or they are too many to be listed. After eval_names(), until the next.
 */
bool eval_true_ids(const struct eval *e, size_t k, unsigned int column, const int64_t **ret,
		   size_t *ret_count);
