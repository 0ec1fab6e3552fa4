/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query: the language. Text becomes a typed plan (query.h, plan.h); an expression is evaluated over
 * a batch (eval.h); its largest part that the kernel can test is cut off (pushdown.h). Whoever
 * executes a whole plan is an engine (engine/ask.h). May use batch, hist.
 *
 *   from op | where op in (read, pread64) && dur > 1ms && path ~ "*.sst"
 *   | by thread, op every 100ms | count() as calls, sum(bytes), p99(dur), hist(dur)
 *   | where calls > 10 | join thread | sort p99 desc, comm | select comm, p99 | head 10
 *
 * A pipeline is stages with `|` between; `from TABLE` first, op where it is left out. `where` is
 * optional: a stage that is an expression is a filter. `by` goes with the aggregates of the next
 * stage; aggregates without `by` give one row.
 *
 * Expressions, loosest first: `||` or; `&&` and; `!` not; `== != < <= > >=` (also = and <>), `in
 * (..)`, `in a..b` (both ends included), `~` glob, `!~`, `=~` regular expression, `like`, `has`
 * (flags), `is null`, `is not null`, `between a and b`; `|` and `&` of bits are written bitor(a,b),
 * bitand(a,b); `+ -`; `* / %`; unary `-`; calls, names, literals, brackets.
 *
 * Logic is three-valued as in SQL: what is compared with an unknown (null) value is unknown; `where`
 * keeps what is true. `/` of two whole numbers gives a float; a division by 0 and an overflow give
 * null. Text compares by bytes.
 */
#pragma once

#include "base/error.h"
#include "query/plan/plan.h"

#define QUERY_TEXT_MAX	(64u << 10) /* bytes of a query's text */
#define QUERY_DEPTH_MAX 200	    /* nested brackets and operators */
#define QUERY_NODES_MAX 20000	    /* operands and operators of one query */

/* Where in the text an error is, for a caret under the character. */
struct query_error {
	size_t pos, len;  /* bytes of the text; len may be 0 (at the end) */
	struct error err; /* one line: what was expected, the nearest name */
};

/*
 * Parses and checks a pipeline; `text` is copied. Memory belongs to the plan. -EINVAL: *err (not
 * NULL) says what and where; -ENOMEM.
 */
int query_parse(const char *text, size_t len, struct plan **ret, struct query_error *err);
/* The same with the tables that users appended to the trace in question; they may be NULL, and
 * outlive the plan. */
struct query_users;
int query_parse_users(const char *text, size_t len, const struct query_users *users,
		      struct plan **ret, struct query_error *err);
/* An expression over a row of `table` alone, which must be of type bool where `filter`. In *ret a
 * plan with nothing but that: plan->where (filter) or the only field. */
int query_parse_expr(const char *text, size_t len, enum table_id table, bool filter,
		     struct plan **ret, struct query_error *err);
int query_parse_expr_users(const char *text, size_t len, enum table_id table, bool filter,
			   const struct query_users *users, struct plan **ret,
			   struct query_error *err);
/* The error as lines: the message, the text, a caret. For a terminal. 0 or -ENOMEM. */
int query_error_text(const struct query_error *e, const char *text, size_t len, struct buf *out);

/*
 * What may stand at byte `pos` of an unfinished text, for completion: calls `offer` with each word
 * (name, function, keyword, vocabulary word) that begins with what is there. `ret_start` is where
 * that word begins. Values of texts (paths, comms) are the caller's: then `ret_value_of` is the name
 * whose value is expected, else NULL. `users` may be NULL.
 */
void query_complete(const char *text, size_t pos, const struct query_users *users,
		    void (*offer)(void *arg, const char *word), void *arg, size_t *ret_start,
		    const char **ret_value_of);
/* Words of status, in order of their bits; NULL at the end. */
const char *query_status_word(size_t i, uint64_t *ret_bit);
