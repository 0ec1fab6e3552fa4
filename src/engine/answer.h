/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.h: rows, one after another, wherever they come from: an engine's result, a scan, a table of a
 * report. Everything that prints or sends rows reads them here: the table on a terminal
 * (cli/terminal/answer_print.h), CSV (below), JSON (answer_json.h), the pages' columns
 * (server/http/answer_table.h).
 *
 *   answer_of_result(&a, plan, result);
 *   while ((r = answer_next(&a, &err)) > 0) { v = answer_get(&a, 0); ... }
 *   answer_free(&a);
 */
#pragma once

#include "engine/ask.h"
#include "query/plan/plan.h"

/* How people read a number, where its type leaves a choice. */
enum answer_look {
	ANSWER_PLAIN, /* as it is: 30617 */
	ANSWER_COUNT, /* 498,448 */
	ANSWER_BITS,  /* 0x7f00 */
	ANSWER_CLOCK, /* a point in time though its type is a duration */
	ANSWER_RATE,  /* of the field's argument, a second */
	ANSWER_SHARE, /* 0..1 of a whole: 37 % */
	ANSWER_MEAN,  /* 2.27 */
};

struct answer_column {
	const char *name; /* title, and key in JSON */
	struct query_kind kind;
	enum answer_look look;
	const char *word, *unit;	/* type and unit in JSON; NULL: those of `kind` */
	bool key;			/* rows were grouped by it */
	const struct plan_field *field; /* of the plan; NULL where there is none */
	/* of a table on a terminal */
	bool people, programs; /* only one of them get this column */
	bool dash;	       /* 0 is "-" */
	bool alarm;	       /* anything but 0 and null is a failure */
	bool fixed;	       /* a text that is never cut */
	bool weight;	       /* large parts of the column's sum stand out */
	unsigned char gives; /* what is too wide leaves out the column with the highest, never 0 */
	unsigned char
		width; /* at the least, so that the table does not move when it is drawn again */
};

struct answer {
	struct answer_column *columns; /* what is shown: without the hidden ones */
	size_t count;
	/* 1: at the next row; 0: at the end; ANSWER_PAUSE: no more right now, print what there
	 * is; negative */
	int (*next)(struct answer *r, struct error *err);
	/*
	 * A value of the row at hand; bytes are valid until the next row. Texts are escaped as engine_escape() does. A
	 * number or a word may come as its text, which is then what is printed.
	 */
	struct value (*get)(struct answer *r, size_t column);
	bool (*estimated)(const struct answer *r, size_t column); /* NULL: none is */
	bool endless; /* to count what is left would be to read the whole trace */
	void *arg;
};

#define ANSWER_PAUSE 2

/* Fills columns and count from what the plan gives. 0 or -ENOMEM; answer_free(). */
int answer_init(struct answer *r, const struct plan *p);
void answer_free(struct answer *r);
#define _cleanup_answer_ _cleanup_(answer_free)

static inline int answer_next(struct answer *r, struct error *err)
{
	return r->next(r, err);
}

static inline struct value answer_get(struct answer *r, size_t column)
{
	return r->get(r, column);
}

static inline bool answer_estimated(const struct answer *r, size_t column)
{
	return r->estimated && r->estimated(r, column);
}

/* A column whose values are bytes of a histogram or a tally; texts, which a program may have chosen. */
static inline bool answer_is_bars(const struct answer_column *c)
{
	return c->kind.type == QUERY_HIST || c->kind.type == QUERY_TALLY;
}

static inline bool answer_is_text(const struct answer_column *c)
{
	return c->kind.type == QUERY_TEXT || c->kind.type == QUERY_ENTITY;
}

/* The rows of an engine's result, which is not owned. 0 or -ENOMEM. */
int answer_of_result(struct answer *ret, const struct plan *p, struct engine_result *result);

/* At most `left` rows of another answer. `more` is set once there was a further one. */
struct answer_limit {
	struct answer *rows;
	uint64_t left;
	bool more;
};
/* Borrows the columns of limit->rows: nothing to free. */
struct answer answer_limited(struct answer_limit *limit);

/* ---- rows that are gathered in memory ---- */

#define ANSWER_LIST_COLUMNS 40

struct answer_list {
	const struct answer_column *columns; /* borrowed */
	size_t column_count;
	struct value *cells; /* row after row; texts are owned */
	size_t count, cap;
	size_t at;			   /* rows given */
	size_t shown[ANSWER_LIST_COLUMNS]; /* columns of the answer */
	int error;			   /* the first failure of answer_list_*() */
};

void answer_list_free(struct answer_list *l);
#define _cleanup_answer_list_ _cleanup_(answer_list_free)
/* Adds the next cell: a number, a float, a copy of a text, or nothing. */
void answer_list_int(struct answer_list *l, int64_t n);
void answer_list_uint(struct answer_list *l, uint64_t n); /* at most INT64_MAX */
void answer_list_float(struct answer_list *l, double v);  /* null where it is not finite */
void answer_list_text(struct answer_list *l, struct bytes text);
void answer_list_str(struct answer_list *l, const char *text); /* NULL: null */
void answer_list_null(struct answer_list *l);
/* A cell that may be null: unless `known`, where n is negative, where the text is empty. */
void answer_list_if(struct answer_list *l, bool known, int64_t n);
static inline void answer_list_known(struct answer_list *l, int64_t n)
{
	answer_list_if(l, n >= 0, n);
}
void answer_list_some(struct answer_list *l, struct bytes text);
/* Keeps the first `rows` rows. */
void answer_list_cut(struct answer_list *l, size_t rows);
static inline size_t answer_list_rows(const struct answer_list *l)
{
	return l->column_count ? l->count / l->column_count : 0;
}
/* The rows, from the first, for people or for programs. 0 or -ENOMEM. */
int answer_of_list(struct answer *ret, struct answer_list *l, bool people);

/* ---- values without units ---- */

/*
 * A value without its unit: nanoseconds, bytes, ns since the epoch, a word, a text; a histogram or a tally as
 * "256:6743 512:80", lower end and count of each bucket. Not null. 0, -ENOMEM, or -EBADMSG where it is malformed.
 */
int answer_put_plain(struct buf *out, const struct answer_column *c, const struct value *v);
/* Bytes as a text that CSV and JSON can hold: `room` has it where it had to be escaped. 0 or -ENOMEM. */
int answer_utf8(struct bytes *text, struct buf *room);
/* A line of CSV with the names, one with the row at hand: RFC 4180 with plain line ends, nothing where null, an empty text
 * is "". Names and texts go through `safe` first, unless it is NULL. 0 or negative. */
typedef int answer_safe_fn(struct buf *out, const void *data, size_t len);
int answer_csv_names(struct buf *out, const struct answer *r, answer_safe_fn *safe);
int answer_csv_row(struct buf *out, struct answer *r, answer_safe_fn *safe);
