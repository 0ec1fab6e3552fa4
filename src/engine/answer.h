/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.h: an iterator over result rows from any source: an engine's result, a scan, a table of a report. All output
 * reads rows through it: the table on a terminal (cli/terminal/answer_print.h), CSV (below), JSON (answer_json.h), the
 * pages' columns (server/http/answer_table.c).
 *
 *   answer_of_result(&a, plan, result);
 *   while ((r = answer_next(&a, &err)) > 0) { v = answer_get(&a, 0); ... }
 *   answer_free(&a);
 */
#pragma once

#include "engine/ask.h"
#include "query/plan/plan.h"

/* The display format of a number, where its type permits several. */
enum answer_look {
	ANSWER_PLAIN, /* as it is: 30617 */
	ANSWER_COUNT, /* 498,448 */
	ANSWER_BITS,  /* 0x7f00 */
	ANSWER_CLOCK, /* a timestamp whose type is a duration */
	ANSWER_RATE,  /* the unit of the field's argument, per second */
	ANSWER_SHARE, /* a fraction 0..1: 37 % */
	ANSWER_MEAN,  /* 2.27 */
};

struct answer_column {
	const char *name; /* title, and the key in JSON */
	struct query_kind kind;
	enum answer_look look;
	const char *word, *unit;	/* type and unit in JSON; NULL: derived from `kind` */
	bool key;			/* a group key */
	const struct plan_field *field; /* of the plan; NULL: not from a plan */
	/* for tables on a terminal */
	bool people, programs; /* only for people; only for programs */
	bool dash;	       /* 0 is shown as "-" */
	bool alarm;	       /* any value but 0 and null indicates a failure */
	bool fixed;	       /* its text is never truncated */
	bool weight; /* values that are a large part of the column's sum are highlighted */
	/* in a table that is too wide the column with the highest value is dropped first; 0: never */
	unsigned char gives;
	/* minimum width, so that the layout is stable when the table is redrawn */
	unsigned char width;
};

struct answer {
	struct answer_column *columns; /* visible columns only */
	size_t count;
	/* Advances to the next row. 1; 0: end; ANSWER_PAUSE: no more for now, print what there is; negative. */
	int (*next)(struct answer *r, struct error *err);
	/*
	 * A value of the current row; its bytes are valid until the next row. Texts are escaped as by engine_escape().
	 * A number or a word may be returned as text, which is then printed.
	 */
	struct value (*get)(struct answer *r, size_t column);
	bool (*estimated)(const struct answer *r, size_t column); /* NULL: no value is */
	bool endless; /* counting the remaining rows would require reading the whole trace */
	void *arg;
};

#define ANSWER_PAUSE 2

/* Sets columns and count from the plan's output. 0 or -ENOMEM; free with answer_free(). */
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

/* True for a histogram or tally, whose values are bytes; the second: for text, which a program may have chosen. */
static inline bool answer_is_bars(const struct answer_column *c)
{
	return c->kind.type == QUERY_HIST || c->kind.type == QUERY_TALLY;
}

static inline bool answer_is_text(const struct answer_column *c)
{
	return c->kind.type == QUERY_TEXT || c->kind.type == QUERY_ENTITY;
}

/* Iterates over an engine's result, which is borrowed. 0 or -ENOMEM. */
int answer_of_result(struct answer *ret, const struct plan *p, struct engine_result *result);

/* At most `left` rows of another answer; `more` is set if that had further rows. */
struct answer_limit {
	struct answer *rows;
	uint64_t left;
	bool more;
};
/* Borrows the columns of limit->rows: nothing to free. */
struct answer answer_limited(struct answer_limit *limit);

/* ---- rows collected in memory ---- */

#define ANSWER_LIST_COLUMNS 40

struct answer_list {
	const struct answer_column *columns; /* borrowed */
	size_t column_count;
	struct value *cells; /* row by row; owns its texts */
	size_t count, cap;
	size_t at;			   /* rows returned so far */
	size_t shown[ANSWER_LIST_COLUMNS]; /* maps columns of the answer to columns of the list */
	int error;			   /* the first failure of answer_list_*() */
};

void answer_list_free(struct answer_list *l);
#define _cleanup_answer_list_ _cleanup_(answer_list_free)
/* Appends a cell: an integer, a float, a copy of a text, or null. */
void answer_list_int(struct answer_list *l, int64_t n);
void answer_list_uint(struct answer_list *l, uint64_t n); /* at most INT64_MAX */
void answer_list_float(struct answer_list *l, double v);  /* null unless finite */
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
/* Keeps only the first `rows` rows. */
void answer_list_cut(struct answer_list *l, size_t rows);
static inline size_t answer_list_rows(const struct answer_list *l)
{
	return l->column_count ? l->count / l->column_count : 0;
}
/* Iterates over all rows, with the columns for people or for programs. 0 or -ENOMEM. */
int answer_of_list(struct answer *ret, struct answer_list *l, bool people);

/* ---- values without units ---- */

/*
 * Appends a value without its unit: nanoseconds, bytes, ns since the epoch, a word, a text; a histogram or tally as
 * "256:6743 512:80", lower bound and count of each bucket. Must not be null. 0, -ENOMEM, or -EBADMSG if it is
 * malformed.
 */
int answer_put_plain(struct buf *out, const struct answer_column *c, const struct value *v);
/* Converts bytes to text that CSV and JSON can hold; if escaping is necessary, the text is in `room`. 0 or -ENOMEM. */
int answer_utf8(struct bytes *text, struct buf *room);
/*
 * Append a CSV line with the names, or with the current row: RFC 4180 with LF line ends; null is empty, an empty text
 * is "". Names and texts are passed through `safe` unless it is NULL. 0 or negative.
 */
typedef int answer_safe_fn(struct buf *out, const void *data, size_t len);
int answer_csv_names(struct buf *out, const struct answer *r, answer_safe_fn *safe);
int answer_csv_row(struct buf *out, struct answer *r, answer_safe_fn *safe);
