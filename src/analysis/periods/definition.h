/* SPDX-License-Identifier: Apache-2.0 */
/*
 * definition.h: definitions of periods: what begins one, what ends it, and what is kept of it.
 *
 *   request : op == accept4 && err is null : op == close && end.file == begin.file2 : peer = begin.peer
 *   query(request) : op == sendto && thread == parent.thread : op == recvfrom && end.file == begin.file
 *
 * A condition is an expression of the language over a call. Its event is the call's end, or with `enter` in front the call's
 * beginning. In END `begin.` is the call that began the period, `parent.` that of the period around it, `parent.parent.`
 * one further out; a name without any of them, or behind `end.`, is of the call that is looked at. In captures `end.` is the
 * call that ended it.
 *
 * What reads one row alone is taken out of each expression and evaluated over batches (struct period_take); an equality of
 * something of the event with something of an open period is a key of a hash; the rest is evaluated value by value.
 */
#pragma once

#include "base/option.h"
#include "query/eval/eval_fields.h"
#include "query/query.h"

#define PERIODS_MAX	    30 /* definitions: two bits each in a word */
#define PERIOD_TAKES_MAX    32 /* values of one row: a bit each in a word */
#define PERIOD_KEYS_MAX	    8
#define PERIOD_CAPTURES_MAX 16
#define PERIOD_NEEDS_MAX    32
#define PERIOD_DEPTH_MAX    8  /* periods within one another */
#define PERIOD_NAME_MAX	    63 /* bytes */

/* An expression over values: EXPR_FIELD's column is level * PERIOD_TAKES_MAX + number of the value. */
enum period_level {
	LEVEL_EVENT,  /* the event itself */
	LEVEL_BEGIN,  /* the event that began the period */
	LEVEL_PARENT, /* that which began its parent; further ones follow */
	PERIOD_LEVELS = LEVEL_PARENT + PERIOD_DEPTH_MAX,
};
#define PERIOD_FIELDS (PERIOD_LEVELS * PERIOD_TAKES_MAX)

struct period_expr {
	struct expr *e; /* NULL: none */
	uint16_t needs[PERIOD_NEEDS_MAX];
	size_t need_count;
	bool needs_event;
};

/* A value that is taken of the row of an event. */
struct period_take {
	const struct expr *expr; /* over one row */
	struct buf text;	 /* the same as text, to find it again */
};

struct period_key {
	unsigned int take;	  /* of the event */
	struct period_expr other; /* of the open period; what it is equal to */
};

/* BEGIN or END. */
struct period_role {
	bool end, enter;
	const struct expr *own; /* what reads the event's row alone; NULL: true */
	struct period_take takes[PERIOD_TAKES_MAX];
	size_t take_count;
	struct period_key keys[PERIOD_KEYS_MAX];
	size_t key_count;
	struct period_expr rest;
};

struct period_capture {
	char *name;
	struct period_expr value;
	bool number; /* is written without quotes */
};

struct period {
	char *name;
	uint64_t hash;	    /* of its text */
	int parent;	    /* of the set; -1: none */
	unsigned int depth; /* 0: it has no parent */
	bool last;	    /* begins under that parent alone that began last */
	struct period_role begin, end;
	struct period_capture captures[PERIOD_CAPTURES_MAX];
	size_t capture_count;
	struct plan *plans[2 + PERIOD_CAPTURES_MAX]; /* own the expressions */
	size_t plan_count;
};

struct period_set {
	struct period *items[PERIODS_MAX]; /* parents before their children */
	size_t count;
	void **memory; /* of expressions that were made of others */
	size_t memory_count, memory_cap;
	bool scan; /* no keys: every open period is compared, for tests */
};

void period_set_free(struct period_set *s);
/* The number of the definition of this name, or -1. */
int period_find(const struct period_set *s, const char *name, size_t len);
/* Adds one. -EINVAL with the character of the text where it is wrong. */
int period_define(struct period_set *s, const char *text, struct error *err);
/* Adds `NAME : capture = expr, ...`, each with an expression of the language, to a definition. */
int period_capture(struct period_set *s, struct period *p, const char *name, const char *text,
		   size_t at, size_t len, struct error *err);

/* compile.c: takes an expression apart. The plan that owns it must outlive the set. */
int period_compile(struct period_set *s, struct period *p, struct period_role *role,
		   struct expr *where, struct error *err);
/* The expression over values. `role` is that of its LEVEL_EVENT. */
int period_lift(struct period_set *s, struct period *p, struct period_role *role, struct expr *e,
		struct period_expr *ret, struct error *err);

/* lttng.c: definitions as lttng-analyses has them. */
bool period_is_lttng(const struct buf *text);
/* `NAME(PARENT) : BEGIN : END` in LTTng's syntax as one of ours. -EINVAL with the character. */
int period_from_lttng(const char *text, struct buf *ret, struct error *err);
/* `NAME : BEGINCAPS : ENDCAPS`: adds them to a definition. */
int period_lttng_captures(struct period_set *s, const char *text, struct error *err);

/* sets.c: definitions in files, and those that are part of the program. */
struct period_text {
	const char *name, *text;
};
extern const struct period_text period_texts[]; /* ends with {NULL} */
int period_use(struct period_set *s, const char *name, struct error *err);
int period_file(struct period_set *s, const char *path, struct error *err);
