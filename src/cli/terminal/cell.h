/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell.h: one value of an answer as people read it: with its unit, times in their zone, flags as words.
 */
#pragma once

#include "cli/terminal/format.h"
#include "engine/answer.h"
#include "schema/flags.h"

enum cell_times { CELL_LOCAL, CELL_UTC, CELL_REL };

struct cell_style {
	enum cell_times times;
	int64_t origin; /* CELL_REL, and times in JSON: ns since the epoch */
	/* of op.flags, where all rows are of operations with the same words; else they are a number */
	enum word_set flags;
	const char *null; /* NULL: "-" */
};

/* The words that op.flags have in every row that the plan's filter lets pass. */
enum word_set cell_flag_words(const struct plan *p);
/* True for a column of operations; for one of op.flags; for one of a vocabulary. */
bool cell_is_op(const struct answer_column *c);
bool cell_is_flags(const struct answer_column *c);
bool cell_has_words(const struct answer_column *c, enum query_type type, const char *vocab);

/* True where the column's values stand to the right. */
bool cell_is_number(const struct answer_column *c);
/*
 * For a table: "5.20 us", "108 MiB", "+1.234567 s", "-" where null, "~4,711" where estimated. Texts are made
 * safe for a terminal. Not for histograms. 0 or -ENOMEM.
 */
int cell_put(struct buf *out, const struct answer_column *c, const struct value *v, bool estimated,
	     const struct cell_style *style);
/* A number of that unit ("ns", "bytes", "") in little room: labels of an axis. */
struct text cell_number(const char *unit, int64_t v);
