/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_cell.h: one value of an answer as text: for people with its unit, for programs without.
 */
#pragma once

#include "cli/terminal/format.h"
#include "query/plan/plan.h"
#include "schema/flags.h"

enum cell_times { CELL_LOCAL, CELL_UTC, CELL_REL };

struct cell_style {
	enum cell_times times;
	int64_t origin; /* CELL_REL, and times in JSON: ns since the epoch */
	/* of op.flags, where all rows are of operations with the same words; else they are a number */
	enum word_set flags;
};

/* The words that op.flags have in every row that the plan's filter lets pass. */
enum word_set cell_flag_words(const struct plan *p);
/* True for a column of operations; for one of op.flags. */
bool cell_is_op(const struct plan_field *f);
bool cell_is_flags(const struct plan_field *f);

/* True where the column's values stand to the right. */
bool cell_is_number(const struct plan_field *f);
/*
 * For a table: "5.2us", "108.5 MiB", "+1.234567s", "-" where null, "~4,711" where estimated. Texts are made
 * safe for a terminal. Not for histograms. 0 or -ENOMEM.
 */
int cell_put(struct buf *out, const struct plan_field *f, const struct value *v, bool estimated,
	     const struct cell_style *style);
/* A number of that unit ("ns", "bytes", "") in little room: labels of an axis. */
struct text cell_number(const char *unit, int64_t v);
/* For CSV: nanoseconds, bytes, ns since the epoch, words, names; "from:count from:count ..." for
 * histograms. Nothing where null. */
int cell_put_csv(struct buf *out, const struct plan_field *f, const struct value *v);
