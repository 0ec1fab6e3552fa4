/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h: declarations that the files of the language share. Text -> tokens (lex.c) -> an untyped tree (struct
 * node; parse.c, parse_stages.c) -> typed expressions (check*.c) -> a plan (plan*.c).
 *
 * Failure: query_fail() records the first error in struct query_source. Functions that make something then return
 * NULL, others a negative errno; callers only propagate it.
 */
#pragma once

#include "base/arena.h"
#include "query/query.h"
#include "query/check/user_values.h"

#define QUERY_FIELDS_MAX 256 /* fields of one stage */

/* ---- the text, and the first error ---- */

struct query_source {
	const char *text; /* a NUL-terminated copy in the arena */
	size_t len;
	struct arena *arena;
	struct query_error *error;
	const struct query_users *users;     /* NULL: none */
	const struct query_rows_named *rows; /* NULL: a single row */
	bool look;  /* only resolve names; load no values of users' tables */
	int failed; /* 0 or negative: -EINVAL, -ENOMEM */
	size_t nodes;
};

/* Records an error about the bytes [pos, pos + len), unless one was recorded before. Returns the error's code. */
int query_fail(struct query_source *s, size_t pos, size_t len, const char *fmt, ...) _printf_(4, 5);
/* The same at something with a pos and a len, for functions that return a pointer: NULL. */
#define query_fail_at(s, at, ...) \
	((void)query_fail(s, (at)->pos, (at)->len, __VA_ARGS__), (void *)NULL)
int query_fail_memory(struct query_source *s);
/* Like arena_alloc(), and records a failure. */
void *query_alloc(struct query_source *s, size_t count, size_t size);
#define query_make(s, type)	    ((type *)query_alloc(s, 1, sizeof(type)))
#define query_array(s, count, type) ((type *)query_alloc(s, count, sizeof(type)))

/* Makes room for one more item of an array in the arena. 0, or -ENOMEM, which is recorded. */
#define query_grow(s, items, count, cap) \
	query_grow_array(s, (void **)&(items), count, &(cap), sizeof(*(items)))
int query_grow_array(struct query_source *s, void **items, size_t count, size_t *cap, size_t size);

/* ---- lex.c ---- */

enum query_token_kind {
	TOKEN_END,
	TOKEN_NAME,
	TOKEN_NUMBER,
	TOKEN_STRING,
	TOKEN_PIPE,
	TOKEN_OR,
	TOKEN_AND,
	TOKEN_NOT,
	TOKEN_EQ,
	TOKEN_NE,
	TOKEN_LT,
	TOKEN_LE,
	TOKEN_GT,
	TOKEN_GE,
	TOKEN_GLOB,
	TOKEN_NOT_GLOB,
	TOKEN_REGEX,
	TOKEN_NOT_REGEX,
	TOKEN_PLUS,
	TOKEN_MINUS,
	TOKEN_STAR,
	TOKEN_SLASH,
	TOKEN_PERCENT,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMMA,
	TOKEN_DOTS,
	TOKEN_BAD, /* the error is recorded */
};

struct number {
	enum query_type type; /* INT, UINT (above INT64_MAX), FLOAT, DUR, SIZE */
	int64_t i;
	double f;
};

struct query_token {
	enum query_token_kind kind;
	uint32_t pos, len;
	struct bytes text; /* NAME, STRING (without quotes and escapes) */
	struct number number;
};

/* Reads the token at or after *pos and advances *pos past it. */
void lex_next(struct query_source *s, size_t *pos, struct query_token *ret);
bool token_is(const struct query_token *t, const char *word); /* a name, ignoring case */
bool token_text_is(struct bytes b, const char *text);

/* ---- parse.c: the tree without types ---- */

enum node_kind {
	NODE_NUMBER,
	NODE_STRING,
	NODE_NAME,
	NODE_NULL,
	NODE_BOOL, /* number.i */
	NODE_SET,  /* %file: a set of calls */
	NODE_AND,  /* two or more */
	NODE_OR,
	NODE_NOT,
	NODE_NEG,
	NODE_COMPARE, /* comparison; op: enum expr_compare */
	NODE_ARITH,   /* arithmetic; op: enum expr_arith */
	NODE_GLOB,
	NODE_REGEX,
	NODE_LIKE,
	NODE_HAS, /* what, list */
	NODE_IS_NULL,
	NODE_IN,    /* what, list */
	NODE_RANGE, /* what, from, to */
	NODE_DOTS,  /* from .. to, in a list */
	NODE_CALL,
};

struct node {
	enum node_kind kind;
	unsigned int op;
	unsigned int depth;
	uint32_t pos, len;
	struct bytes text; /* NAME, STRING, SET, CALL's function */
	struct number number;
	struct node *first, *next; /* operands; the next operand of the same parent */
	unsigned int count;
};

struct parser {
	struct query_source *s;
	struct query_token now, after; /* one token of lookahead */
	size_t pos;
	uint32_t end; /* end of the last token taken */
	unsigned int depth;
};

void parser_start(struct parser *p, struct query_source *s);
void parser_take(struct parser *p);
bool parser_accept(struct parser *p, enum query_token_kind kind);
bool parser_accept_word(struct parser *p, const char *word);
int parser_expected(struct parser *p, const char *what);
/* The same for functions that return a pointer: NULL. */
#define parser_missing(p, what) ((void)parser_expected(p, what), (void *)NULL)
struct node *query_parse_node(struct parser *p);
bool word_is_keyword(const struct query_token *t);

/* ---- parse_stages.c ---- */

struct query_item { /* an element of a list: an expression with a name or a direction */
	struct node *expr;
	struct bytes name; /* given with `as` */
	uint32_t name_pos;
	bool desc;
	struct query_item *next;
};

enum query_part_kind {
	PART_WHERE,
	PART_BY,	/* items, every */
	PART_AGGREGATE, /* aggregates, as items */
	PART_SORT,
	PART_HEAD,
	PART_TAIL,
	PART_SELECT,
	PART_JOIN,
};

struct query_part { /* a stage as written */
	enum query_part_kind kind;
	uint32_t pos, len;
	struct query_item *items;
	struct node *expr;
	int64_t number;	    /* HEAD, TAIL: count; BY: every, ns, 0: none */
	struct bytes table; /* JOIN */
	struct query_part *next;
};

struct query_pipeline {
	enum table_id table;
	const struct query_user_table *user; /* NULL: use `table` */
	struct query_part *parts;
};

int query_parse_parts(struct parser *p, struct query_pipeline *ret);
bool node_is_aggregate(const struct node *n);  /* a call of an aggregate */
bool node_has_aggregate(const struct node *n); /* contains one */

/* ---- vocabulary.c: words and functions ---- */

/* `p99`: AGGREGATE_PERCENTILE and 0.99. False: not an aggregate. */
bool aggregate_find(struct bytes name, enum query_aggregate *ret, double *ret_quantile);
int function_find(struct bytes name); /* enum query_function, or -1 */
const char *function_name(enum query_function f);
const char *aggregate_name(enum query_aggregate a);
/* Names that can be called, functions of a row first; of the percentiles only the usual ones. */
struct query_call {
	const char *name, *signature;
	bool aggregate;
};
const struct query_call *query_call(size_t i); /* NULL: past the last */
/* A word of a set of bits ("flags", "status"). The words of flags depend on the operation. */
struct bit_word {
	uint64_t mask, bits; /* true where (value & mask) == bits */
	struct value *ops;   /* codes of the operations that have the word; NULL: any */
	size_t op_count;
};
/* False if the word is unknown, or if memory ran out, which is recorded. */
bool bit_word_find(struct query_source *s, const char *set, struct bytes word,
		   struct bit_word *ret);
/* "; did you mean READ?" or "" */
const char *nearest_bit(const char *set, struct bytes word, char buf[static 96]);
const char *nearest_code(const char *vocab, struct bytes word, char buf[static 96]);

/* ---- check*.c: types ---- */

enum scope_kind {
	SCOPE_TABLE,  /* columns and names of the table's row */
	SCOPE_PLACED, /* fields that stand for expressions over the table's row */
	SCOPE_FIELDS, /* fields of the previous stage */
};

struct scope {
	enum scope_kind kind;
	enum table_id table;
	struct plan_field *fields;
	size_t count;
	/* SCOPE_FIELDS over rows of the table: a name that is not yet a field is added as a hidden
	 * one; there is room for QUERY_FIELDS_MAX */
	bool open;
	bool see_hidden; /* hidden fields may be named, as they are parts of a calculated field */
};

struct query_checker {
	struct query_source *s;
	struct scope scope;
};

/* Checks an expression of any type; hint (may be NULL) is the type that it is compared with. */
struct expr *check_expr(struct query_checker *c, struct node *n, const struct query_kind *hint);
/* The same for an expression that must be a condition. */
struct expr *check_condition(struct query_checker *c, struct node *n);
/* Checks the depth and size of a finished expression; a shared part counts once for each use. */
int check_limits(struct query_source *s, const struct expr *e);

/* check_name.c */
struct expr *check_name(struct query_checker *c, struct node *n);
bool name_resolves(const struct query_checker *c, const struct node *n);
int check_unknown_name(struct query_checker *c, const struct node *n);
/* The field that `p99(dur)` refers to after a stage of aggregates. */
struct expr *check_aggregate_name(struct query_checker *c, struct node *n);
/* A name of the table's row, without a scope: NULL if there is none (only check_user_name() records
 * an error). */
struct expr *check_schema_name(struct query_source *s, enum table_id table, struct bytes name,
			       uint32_t pos, uint32_t len);
/* The same, including users' columns. */
struct expr *check_table_name(struct query_source *s, enum table_id table, struct bytes name,
			      uint32_t pos, uint32_t len);
/* check_user.c: users' own tables. A user's column, `name` or `table.name`, for rows of `table`: NULL if
 * there is none, or after an error was recorded. */
struct expr *check_user_name(struct query_source *s, enum table_id table, struct bytes name,
			     uint32_t pos, uint32_t len);
/* The user's table of this name; NULL: none. */
const struct query_user_table *check_user_table(const struct query_source *s, struct bytes name);
/* Calls query_users.load(); an error is recorded at the stage. */
int check_user_load(struct query_source *s, const struct query_user_table *t, size_t column,
		    bool key, const struct query_part *at);
/* Offers what check_user_name() finds: columns by their names, with the table's name in front where
 * the column's alone is ambiguous. */
void check_user_offer(struct query_source *s, enum table_id table,
		      void (*offer)(void *arg, const char *word), void *arg);
/* The name of a node as a field: its text with normalized blanks. NULL: no memory. */
const char *node_name(struct query_source *s, const struct node *n);

/* check_literal.c */
struct expr *check_number(struct query_checker *c, struct node *n, const struct query_kind *hint);
struct expr *check_bare(struct query_checker *c, const struct node *n, int64_t value,
			const struct query_kind *hint);
struct expr *check_string(struct query_checker *c, struct node *n, const struct query_kind *hint);
struct expr *check_word(struct query_checker *c, struct node *n, const struct query_kind *hint);
struct expr *check_negative(struct query_checker *c, struct node *n, const struct query_kind *hint);
int64_t check_code_find(const char *vocab, struct bytes word);

/* check_pair.c: two operands that must agree */
int check_pair(struct query_checker *c, struct node *a, struct node *b, struct expr **ret_a,
	       struct expr **ret_b);
struct expr *check_compare(struct query_checker *c, struct node *n);
struct expr *check_arith(struct query_checker *c, struct node *n, const struct query_kind *hint);
/* True if values of the two types can be compared. */
bool kinds_agree(struct query_kind a, struct query_kind b);
/* Records why two operands do not agree; NULL. */
void *check_disagree(struct query_checker *c, const struct node *n, const struct expr *a,
		     const struct expr *b);
bool kind_has_order(struct query_kind k);
bool kind_is_number(struct query_kind k); /* INT, UINT, FLOAT, DUR, SIZE */
/* "a duration", "an errno" */
const char *query_kind_text(struct query_kind k);

/* check_match.c */
struct expr *check_in(struct query_checker *c, struct node *n);
struct expr *check_range(struct query_checker *c, struct node *n);
struct expr *check_match(struct query_checker *c, struct node *n);
struct expr *check_has(struct query_checker *c, struct node *n);

/* check_call.c */
struct expr *check_call(struct query_checker *c, struct node *n, const struct query_kind *hint);

/* Constructors; NULL if memory ran out. */
struct expr *expr_make_expr(struct query_source *s, enum expr_kind kind, struct query_kind type,
			    const struct node *at);
struct expr *expr_make_unary(struct query_source *s, enum expr_kind kind, struct query_kind type,
			     const struct node *at, struct expr *a);
struct expr *expr_make_binary(struct query_source *s, enum expr_kind kind, struct query_kind type,
			      const struct node *at, struct expr *a, struct expr *b);
struct expr *expr_make_int(struct query_source *s, struct query_kind type, const struct node *at,
			   int64_t value);
struct expr *expr_make_call(struct query_source *s, enum query_function f, struct query_kind type,
			    const struct node *at, struct expr *a, struct expr *b);
/* Joins all of them by and, or by or, as a balanced tree; nested ones of the same kind are merged. */
struct expr *expr_make_logic(struct query_source *s, enum expr_kind kind, struct expr **all,
			     size_t count);

static inline struct query_kind query_kind_of(enum query_type type)
{
	return (struct query_kind){.type = type};
}

static inline bool is_const(const struct expr *e)
{
	return e->kind == EXPR_CONST;
}
