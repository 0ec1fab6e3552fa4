/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query: the language. Text becomes a typed plan (query.h, plan.h); expressions are evaluated over batches (eval.h);
 * the largest part of a filter that the kernel can test is split off (pushdown.h). An engine (engine/ask.h) executes
 * whole plans. May use batch, hist.
 *
 *   from op | where op in (read, pread64) && dur > 1ms && path ~ "*.sst"
 *   | by thread, op every 100ms | count() as calls, sum(bytes), p99(dur), hist(dur)
 *   | where calls > 10 | join thread | sort p99 desc, comm | select comm, p99 | head 10
 *
 * A pipeline is a list of stages separated by `|`; `from TABLE` comes first, the default is op. `where` is optional:
 * a stage that is an expression is a filter. `by` goes with the aggregates of the next stage; aggregates without `by`
 * give one row.
 *
 * Expressions, loosest first: `||` or; `&&` and; `!` not; `== != < <= > >=` (also = and <>), `in (..)`, `in a..b`
 * (both ends included), `~` glob, `!~`, `=~` regular expression, `like`, `has` (flags), `is null`, `is not null`,
 * `between a and b`; `|` and `&` of bits are written bitor(a,b), bitand(a,b); `+ -`; `* / %`; unary `-`; calls,
 * names, literals, brackets.
 *
 * Logic is three-valued as in SQL: a comparison with an unknown (null) value is unknown; `where` keeps the rows for
 * which its condition is true. `/` of two whole numbers gives a float; division by 0 and overflow give null. Text
 * compares by bytes.
 */
#pragma once

#include "base/error.h"
#include "query/plan/plan.h"

#define QUERY_TEXT_MAX	(64u << 10) /* bytes of a query's text */
#define QUERY_DEPTH_MAX 200	    /* nested brackets and operators */
#define QUERY_NODES_MAX 20000	    /* operands and operators in one query */

/* An error and its place in the text, for a caret under the character. */
struct query_error {
	size_t pos, len;  /* bytes of the text; len may be 0 (at the end) */
	struct error err; /* one line: what was expected, the nearest name */
};

/*
 * Parses and checks a pipeline; `text` is copied. The plan owns all memory. Returns 0, -EINVAL with
 * the message and its place in *err (not NULL), or -ENOMEM.
 */
int query_parse(const char *text, size_t len, struct plan **ret, struct query_error *err);
/* The same with the tables that users appended to the trace. `users` may be NULL, and must outlive the plan. */
struct query_users;
int query_parse_users(const char *text, size_t len, const struct query_users *users,
		      struct plan **ret, struct query_error *err);
/* Parses a single expression over a row of `table`; with `filter` it must be of type bool. The plan
 * in *ret holds only this expression: as plan->where with `filter`, else as its only field. */
int query_parse_expr(const char *text, size_t len, enum table_id table, bool filter,
		     struct plan **ret, struct query_error *err);
int query_parse_expr_users(const char *text, size_t len, enum table_id table, bool filter,
			   const struct query_users *users, struct plan **ret,
			   struct query_error *err);
/*
 * The same over several rows of the table. A name after `prefix` ("begin.") belongs to the row with that number:
 * `row` of the expressions that read a row. Other names belong to row 0. If `why_not` is set, the row does not exist
 * and using it is that error.
 */
struct query_row {
	const char *prefix;
	unsigned int row;
	const char *why_not;
};
struct query_rows_named {
	const struct query_row *all; /* longer prefixes before the ones that they begin with */
	size_t count;
};
int query_parse_expr_rows(const char *text, size_t len, enum table_id table, bool filter,
			  const struct query_rows_named *rows, struct plan **ret,
			  struct query_error *err);
/* Formats the error for a terminal: the message, the text, a caret. 0 or -ENOMEM. */
int query_error_text(const struct query_error *e, const char *text, size_t len, struct buf *out);

/*
 * Completes the word that ends at byte `pos` of an unfinished text: calls `offer` with each word (name,
 * function, keyword, vocabulary word) that can stand there and begins with what was typed.
 * *ret_start is where the word begins. Where the value of a text (a path, a comm) is expected, the
 * caller has to offer values: *ret_value_of is then the name that they are values of, else NULL.
 * `users` may be NULL.
 */
void query_complete(const char *text, size_t pos, const struct query_users *users,
		    void (*offer)(void *arg, const char *word), void *arg, size_t *ret_start,
		    const char **ret_value_of);
struct dims;
/*
 * Offers at most `max` values of that name that can stand at bytes [start, pos) of the text, each once, in quotes as
 * the language reads them; for paths, folders first. Searches only the first `rows` rows. 0 or -ENOMEM.
 */
int query_complete_values(const struct dims *d, const char *name, const char *text, size_t start,
			  size_t pos, size_t max, size_t rows,
			  void (*offer)(void *arg, const char *word), void *arg);
/* The i-th word of status, in the order of its bits; NULL past the end. */
const char *query_status_word(size_t i, uint64_t *ret_bit);
