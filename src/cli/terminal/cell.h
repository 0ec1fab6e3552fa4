/* SPDX-License-Identifier: Apache-2.0 */
/* cell.h: displays one value of an answer: with its unit, times in the chosen zone, flags as words. */
#pragma once

#include "cli/terminal/format.h"
#include "engine/answer.h"
#include "schema/flags.h"

enum cell_times { CELL_LOCAL, CELL_UTC, CELL_REL };

struct cell_style {
	enum cell_times times;
	int64_t origin; /* for CELL_REL, and times in JSON: ns since the epoch */
	/* for op.flags, if all rows are of operations with the same words; else they are shown as a number */
	enum word_set flags;
	const char *null; /* NULL: "-" */
};

/* As --rel and --utc request; without them local times, or relative ones on a narrow terminal. */
enum cell_times cell_times_of(bool rel, bool utc);
/* The words of op.flags that apply to every row that the plan's filter passes. */
enum word_set cell_flag_words(const struct plan *p);
/* True for a column of operations; for one of op.flags; for one of a vocabulary. */
bool cell_is_op(const struct answer_column *c);
bool cell_is_flags(const struct answer_column *c);
bool cell_has_words(const struct answer_column *c, enum query_type type, const char *vocab);

/* True if the column's values are right-aligned. */
bool cell_is_number(const struct answer_column *c);
/*
 * Formats for a table: "5.20 us", "108 MiB", "+1.234567 s", "-" for null, "~4,711" if estimated. Texts are made safe
 * for a terminal. Not for histograms. 0 or -ENOMEM.
 */
int cell_put(struct buf *out, const struct answer_column *c, const struct value *v, bool estimated,
	     const struct cell_style *style);
/* A number with that unit ("ns", "bytes", "") in short form, for the labels of an axis. */
struct text cell_number(const char *unit, int64_t v);
