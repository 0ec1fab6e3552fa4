/* SPDX-License-Identifier: Apache-2.0 */
/*
 * definition.h: definitions of periods: what begins one, what ends it, and which values are kept.
 *
 *   request : op == accept4 && err is null : op == close && end.file == begin.file2 : peer = begin.peer
 *   query(request) : op == sendto && thread == parent.thread : op == recvfrom && end.file == begin.file
 *
 * A condition is an expression of the language over a call. Its event is the end of the call, or its beginning if
 * `enter` precedes the condition. In END, `begin.` is the call that began the period, `parent.` the call that began the
 * enclosing period, `parent.parent.` that of the next enclosing one; a name without any of them, or after `end.`,
 * refers to the call being tested. In captures `end.` is the call that ended the period.
 *
 * Parts of an expression that read a single row are separated and evaluated over batches (struct period_take); an
 * equality between the event and an open period becomes a key of a hash table; the rest is evaluated value by value.
 */
#pragma once

#include "base/option.h"
#include "query/eval/eval_fields.h"
#include "query/query.h"

#define PERIODS_MAX	    30 /* definitions: two bits each in a word */
#define PERIOD_TAKES_MAX    32 /* values of one row: one bit each in a word */
#define PERIOD_KEYS_MAX	    8
#define PERIOD_CAPTURES_MAX 16
#define PERIOD_NEEDS_MAX    32
#define PERIOD_DEPTH_MAX    8  /* nesting of periods */
#define PERIOD_NAME_MAX	    63 /* bytes */

/* An expression over values: the column of an EXPR_FIELD is level * PERIOD_TAKES_MAX + index of the value. */
enum period_level {
	LEVEL_EVENT,  /* the event itself */
	LEVEL_BEGIN,  /* the event that began the period */
	LEVEL_PARENT, /* the event that began its parent; further ancestors follow */
	PERIOD_LEVELS = LEVEL_PARENT + PERIOD_DEPTH_MAX,
};
#define PERIOD_FIELDS (PERIOD_LEVELS * PERIOD_TAKES_MAX)

struct period_expr {
	struct expr *e; /* NULL: none */
	uint16_t needs[PERIOD_NEEDS_MAX];
	size_t need_count;
	bool needs_event;
};

/* A value taken from the row of an event. */
struct period_take {
	const struct expr *expr; /* reads a single row */
	struct buf text;	 /* the same as text, to find duplicates */
};

struct period_key {
	unsigned int take;	  /* index of the event's value */
	struct period_expr other; /* value of the open period that must be equal */
};

/* BEGIN or END. */
struct period_role {
	bool end, enter;
	const struct expr *own; /* condition that reads only the event's row; NULL: true */
	struct period_take takes[PERIOD_TAKES_MAX];
	size_t take_count;
	struct period_key keys[PERIOD_KEYS_MAX];
	size_t key_count;
	struct period_expr rest;
};

struct period_capture {
	char *name;
	struct period_expr value;
	bool number; /* written without quotes */
};

struct period {
	char *name;
	uint64_t hash;	    /* of its text */
	int parent;	    /* index in the set; -1: none */
	unsigned int depth; /* 0: no parent */
	bool last;	    /* may only begin within the parent that began last */
	struct period_role begin, end;
	struct period_capture captures[PERIOD_CAPTURES_MAX];
	size_t capture_count;
	struct plan *plans[2 + PERIOD_CAPTURES_MAX]; /* own the expressions */
	size_t plan_count;
};

struct period_set {
	struct period *items[PERIODS_MAX]; /* parents before their children */
	size_t count;
	void **memory; /* of derived expressions */
	size_t memory_count, memory_cap;
	bool scan; /* tests: no keys, compare with every open period */
};

void period_set_free(struct period_set *s);
/* The index of the definition with this name, or -1. */
int period_find(const struct period_set *s, const char *name, size_t len);
/* Adds a definition. -EINVAL with the position of the error in the text. */
int period_define(struct period_set *s, const char *text, struct error *err);
/* Adds captures `NAME : capture = expr, ...`, expressions of the language, to a definition. */
int period_capture(struct period_set *s, struct period *p, const char *name, const char *text,
		   size_t at, size_t len, struct error *err);

/* -EINVAL: the reason, with the position in the text of a definition. */
int period_fail(struct error *err, const char *text, size_t at, const char *fmt, ...)
	_printf_(4, 5);

/* compile.c: splits an expression. The plan that owns it must outlive the set. */
int period_compile(struct period_set *s, struct period *p, struct period_role *role,
		   struct expr *where, struct error *err);
/* Converts an expression to one over values. `role` is that of LEVEL_EVENT. */
int period_lift(struct period_set *s, struct period *p, struct period_role *role, struct expr *e,
		struct period_expr *ret, struct error *err);

/* lttng.c: definitions in the syntax of lttng-analyses. */
bool period_is_lttng(const struct buf *text);
/* Converts `NAME(PARENT) : BEGIN : END` from LTTng's syntax. -EINVAL with the position of the error. */
int period_from_lttng(const char *text, struct buf *ret, struct error *err);
/* Adds captures `NAME : BEGINCAPS : ENDCAPS` to a definition. */
int period_lttng_captures(struct period_set *s, const char *text, struct error *err);

/* sets.c: definitions from files, and built-in ones. */
struct period_text {
	const char *name, *text;
};
extern const struct period_text period_texts[]; /* terminated by {NULL} */
int period_use(struct period_set *s, const char *name, struct error *err);
int period_file(struct period_set *s, const char *path, struct error *err);
