/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval_internal.h: shared between the files of the evaluation.
 *
 * An expression becomes a tree of nodes that process chunks of rows (eval_build.c). A subtree that depends on one id,
 * or on one code, becomes a table by that id or code (eval_table.c), filled by the slow and simple evaluator of
 * single values (eval_scalar.c). Filters narrow a list of row numbers (eval_filter.c); values are computed for the
 * rows of a list (eval_values.c).
 */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/strpool.h"
#include "query/eval/eval.h"
#include "query/eval/pattern.h"
#include "schema/ops.h"
#include "schema/vocab.h"

#define CHUNK_ROWS    2048
#define CODES_MAX     4096  /* codes in a table by code: call numbers and errnos are below */
#define SET_SPAN_MAX  65536 /* largest span of an `in` that becomes a set of bits */
#define TRUE_IDS_MAX  4096  /* ids tried in the id set of a block */
#define TRACES_MAX    4096  /* traces read as one */
#define WORD_UNKNOWN  UINT32_MAX
#define TRUTH_UNKNOWN 2 /* in addition to 0 and 1 */

static_assert(CHUNK_ROWS % 64 == 0, "a chunk begins at a whole word of null bits");
static_assert(OP_CODE_MAX <= CODES_MAX, "a table by code has an entry for every operation");
static_assert(SET_SPAN_MAX % 64 == 0, "sets are whole words");

/* The representation of a node's values. */
enum rep {
	REP_INT, /* all types of query_kind_is_int(), and bools */
	REP_FLOAT,
	REP_WORD, /* number in the dictionary of the expression */
	REP_TEXT,
};

/* A stored text as queries see it: arguments in shell syntax. 0 or -ENOMEM. */
int query_column_text(const struct batch *b, unsigned int column, size_t row, struct arena *texts,
		      struct bytes *ret);

/* ---- words ---- */

struct dictionary {
	struct bytes *texts;
	size_t count, cap;
	uint64_t *slots; /* hash << 32 | number + 1 */
	size_t slots_cap;
	struct arena own; /* texts stored nowhere else */
};
void dictionary_free(struct dictionary *d);
/* Returns the number of the text, adding it if needed; `keep`: the text outlives the dictionary. 0 or -ENOMEM. */
int dictionary_add(struct dictionary *d, struct bytes text, bool keep, uint32_t *ret);

/* ---- eval_scalar.c: one value at a time ---- */

/* What a single value is computed for: an id, a code or a row. */
struct eval_scalar {
	const struct eval *e;
	const struct dims *dims;    /* NULL: no names are available */
	const struct value *fields; /* values of EXPR_FIELD; NULL: none */
	enum { SCALAR_NONE, SCALAR_ID, SCALAR_CODE, SCALAR_ROW } at;
	int64_t id; /* id for SCALAR_ID, code for SCALAR_CODE; -1: unknown */
	const struct batch *batch;
	size_t row;
	struct arena *texts; /* owns composed texts */
	bool kept;	     /* SCALAR_ID: the last name looked up is cached */
	enum query_name kept_name;
	int64_t kept_id;
	struct value kept_value;
	struct buf scratch;
	int failed; /* in the evaluation that runs: 0, or its first error */
};

/* Frees the scratch; for _cleanup_(). */
void scalar_done(struct eval_scalar *s);
/* 0, -ENOMEM, -EOVERFLOW (a pattern took too many steps). */
int scalar_value(struct eval_scalar *s, const struct expr *e, struct value *ret);
/* The value as a text of the language, as patterns see it. */
int scalar_text(struct eval_scalar *s, struct query_kind kind, const struct value *v,
		struct bytes *ret);
/* True if v is known and true. */
static inline bool value_true(const struct value *v)
{
	return !v->null && v->i;
}

/* ---- eval_number.c: arithmetic, shared by single values and columns ---- */

/* -1, 0, 1; exact, also between int and float, signed and unsigned. */
int compare_ints(int64_t a, bool a_unsigned, int64_t b, bool b_unsigned);
int compare_int_float(int64_t a, bool a_unsigned, double b);
static inline bool compare_holds(enum expr_compare cmp, int order)
{
	switch (cmp) {
	case COMPARE_EQ:
		return order == 0;
	case COMPARE_NE:
		return order != 0;
	case COMPARE_LT:
		return order < 0;
	case COMPARE_LE:
		return order <= 0;
	case COMPARE_GT:
		return order > 0;
	default:
		assert(cmp == COMPARE_GE);
		return order >= 0;
	}
}
double int_to_float(int64_t v, bool is_unsigned);
/* False if the result is unknown: overflow, division by zero. */
bool arith_int(enum expr_arith op, int64_t a, bool a_unsigned, int64_t b, bool b_unsigned,
	       bool ret_unsigned, int64_t *ret);
bool arith_float(enum expr_arith op, double a, double b, double *ret);
/* Rounds to the nearest whole number, halves away from 0; false if it does not fit. */
bool round_float(double v, bool ret_unsigned, int64_t *ret);
/* True if durations and sizes are divided, or multiplied by a float: computed in floats, then rounded. */
static inline bool arith_rounds(const struct expr *e)
{
	return e->kind == EXPR_ARITH && e->type.type != QUERY_FLOAT &&
	       (e->arith == ARITH_DIV || e->arg[0]->type.type == QUERY_FLOAT ||
		e->arg[1]->type.type == QUERY_FLOAT);
}
/* BUCKET, LOG2, HOUR, MINUTE, ABS, BITAND, BITOR over ints; floats: BUCKET, LOG2, ABS. */
bool function_int(enum query_function f, int64_t a, bool a_unsigned, int64_t b, bool b_unsigned,
		  bool ret_unsigned, int64_t *ret);
bool function_float(enum query_function f, double a, double b, double *ret);

/* The ints for which a comparison with a constant (int, float) is true, as a range: empty if low > high. NE: as EQ. */
void query_const_range(enum expr_compare cmp, struct query_kind kind, const struct value *v,
		       __int128 *ret_low, __int128 *ret_high);
/* The comparison with its sides swapped. */
enum expr_compare query_compare_turned(enum expr_compare cmp);

static inline bool kind_unsigned(struct query_kind k)
{
	return k.type == QUERY_UINT;
}

/* ---- eval_table.c: by id or code ---- */

struct table_part {
	size_t count, cap; /* ids 0 .. count-1 */
	union {
		uint8_t *truth; /* bools: 0, 1, TRUTH_UNKNOWN */
		uint32_t *words;
		int64_t *ints;
		double *floats; /* NaN: unknown */
		void *any;
	};
	uint8_t *unknown; /* ints: 1 if unknown */
};

struct eval_table {
	const struct expr *expr;
	enum rep rep;
	bool is_bool, by_code;
	bool uses_process, uses_latest, uses_cgroup, uses_host; /* what else an entry depends on */
	bool uses_leader;	  /* the name of a process comes from its first thread's rows */
	enum table_id ids;	  /* the dimension table, unless by_code */
	unsigned int column;	  /* of the id or code */
	int other;		  /* column whose id is used if the first has no peer; -1: none */
	struct eval_table *known; /* with `other`: whether the id has a peer */
	struct dictionary *words;
	struct table_part *parts; /* one per trace; a single one if by_code */
	size_t part_count;
	struct table_part none; /* a single entry, for unknown ids */
	int64_t *true_ids;	/* bools by id: the ids that are true, ascending, if they are few */
	size_t true_count;
	bool true_listed;
};

/* Makes the table's entry for "no id"; by code, the whole table. */
int table_begin(struct eval *e, struct eval_table *t);
/* Updates the entries of the dimension rows that changed since `clocks`. */
int table_update(struct eval *e, struct eval_table *t, const struct dims *d, const uint64_t *clocks,
		 struct error *err);
void id_table_free(struct eval_table *t);

static inline const struct table_part *table_at(const struct eval_table *t, int64_t id,
						size_t *ret_at)
{
	uint64_t trace = id_recording(id), low = id_own(id);

	if (trace < t->part_count && low < t->parts[trace].count) {
		*ret_at = low;
		return &t->parts[trace];
	}
	*ret_at = 0;
	return &t->none;
}

static inline uint8_t table_truth(const struct eval_table *t, int64_t id)
{
	size_t at;
	const struct table_part *p = table_at(t, id, &at);

	return p->truth[at];
}

/* The id from which the entry of a row is looked up; -1: none. */
static inline int64_t table_id(const struct eval_table *t, const struct batch *b, uint32_t row)
{
	int64_t id = batch_get(b, t->column, row, -1);

	if (t->other >= 0 && table_truth(t->known, id) == 1)
		id = batch_get(b, (unsigned int)t->other, row, -1);
	return id;
}

/* ---- nodes ---- */

enum eval_node_kind {
	EVAL_CONST,
	EVAL_COLUMN,
	EVAL_BYTES, /* a column of byte strings */
	EVAL_STOP,
	EVAL_TABLE,
	EVAL_NOT,
	EVAL_ALL,   /* and, of any number */
	EVAL_ANY,   /* or */
	EVAL_RANGE, /* int: (uint64_t)(v - low) <= span, inverted if negate */
	EVAL_SET,   /* int: a bit of `bits` at v - low */
	EVAL_LIST,  /* int: in a sorted list */
	EVAL_BITS,  /* int: (v & mask) == bits */
	EVAL_IS_NULL,
	EVAL_COMPARE,
	EVAL_ARITH,
	EVAL_CALL, /* function_int() or function_float() */
	EVAL_IF,
	EVAL_COALESCE,
	EVAL_SLOW, /* evaluated value by value */
};

/* True for a call that had not ended when the recording did: its duration is the time up to that point. */
static inline bool eval_unfinished(const struct batch *b, size_t row)
{
	return b->table == TABLE_OP && batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED;
}

struct eval_node {
	enum eval_node_kind kind;
	enum rep rep;
	bool is_bool, is_unsigned;
	const struct expr *expr;
	struct eval_node **args;
	size_t arg_count;
	unsigned int cost; /* per row, roughly in ns */
	union {
		struct value value; /* CONST; for REP_WORD, .i is its word */
		unsigned int column;
		struct {
			unsigned int start, dur; /* STOP: columns */
		};
		struct eval_table *table;
		struct {
			uint64_t low, span, mask, bits;
			bool negate;
			uint64_t *set; /* SET */
			int64_t *list; /* LIST; unsigned if the argument is */
			size_t count;
		};
		enum expr_compare cmp;
		enum expr_arith arith;
		enum query_function function;
	};
};

struct eval_expr {
	const struct expr *expr;
	struct eval_node *root;
	struct dictionary words;
};

struct eval {
	struct eval_expr *exprs;
	size_t count;
	struct eval_table **tables;
	size_t table_count, tables_cap;
	struct map patterns;	      /* const struct expr * -> struct query_pattern * */
	struct arena memory;	      /* memory of the nodes */
	const struct dims *dims;      /* of the last eval_names() */
	uint64_t clocks[TABLE_COUNT]; /* state of the dimension rows that the tables include */
	const atomic_bool *stop;      /* ends eval_names(); NULL: none */
	int failed;		      /* 0, or the first error in building the nodes */
};

static inline bool eval_stopped(const struct eval *e)
{
	return e->stop && atomic_load(e->stop);
}

/* eval_build.c */
int build_expr(struct eval *e, struct eval_expr *x, struct error *err);
/* Compiles the patterns, which all threads share. */
int eval_patterns(struct eval *e, const struct expr *from, struct error *err);

/* ---- running ---- */

struct rows_out {
	int64_t *i;
	double *f;
	struct bytes *t;
	uint64_t *nulls;
	size_t cap;
	struct arena texts;
};

struct eval_scratch {
	const struct eval *e;
	struct arena memory; /* a stack of temporary memory */
	struct arena texts;
	struct rows_out *out; /* by expression */
};

struct eval_run {
	const struct eval *e;
	struct eval_scratch *s;
	const struct batch *b;
	const struct dictionary *words; /* those of the expression */
	struct arena *texts;
};

/* Rows rows[0 .. n), or base .. base + n if rows is NULL. */
struct row_list {
	const uint32_t *rows;
	uint32_t base;
	size_t n;
};

static inline uint32_t row_at(struct row_list r, size_t i)
{
	return r.rows ? r.rows[i] : r.base + (uint32_t)i;
}

/* Values of at most CHUNK_ROWS rows: entry j belongs to row j of the list. */
struct eval_values {
	const int64_t *i; /* or words */
	const double *f;
	const struct bytes *t;
	const uint8_t *unknown; /* 1: unknown; NULL: all are known */
};

/* eval_values.c. 0 or negative. */
int eval_node_values(struct eval_run *r, const struct eval_node *n, struct row_list rows,
		     struct eval_values *ret);
/* The same as floats or texts, whatever the node's representation. */
int eval_node_floats(struct eval_run *r, const struct eval_node *n, struct row_list rows,
		     struct eval_values *ret);
int eval_node_texts(struct eval_run *r, const struct eval_node *n, struct row_list rows,
		    struct eval_values *ret);
/*
 * eval_filter.c: the rows for which the node is known to be `want`. Returns their number or negative; out may be
 * rows.rows.
 */
ssize_t eval_node_filter(struct eval_run *r, const struct eval_node *n, bool want,
			 struct row_list rows, uint32_t *out);
