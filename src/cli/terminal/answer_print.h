/* SPDX-License-Identifier: Apache-2.0 */
/* answer_print.h: an answer on a stream: as an aligned table, as CSV, as JSON. */
#pragma once

#include <stdio.h>

#include "cli/terminal/cell.h"
#include "cli/terminal/loss_text.h"
#include "engine/answer.h"

struct answer_print {
	FILE *out;
	struct cell_style style;
	size_t width;	  /* columns; 0: as many as it takes (a pipe) */
	size_t rows_max;  /* rows of a list; 0: all */
	const char *more; /* how to get the rows behind rows_max; NULL: not said */
	bool colour;
	bool trends; /* counts by time and one key may be drawn */
};

/*
 * Rows as they come, under their titles. On a terminal every row is one line wherever that can be: texts get what the
 * numbers leave, paths are cut in their middle, and where that is too little, columns that give way are left out;
 * numbers never are cut. On a pipe nothing is cut, and each piece is printed when it is full, or when there are no more
 * rows for now. 0 or negative.
 */
int answer_text(const struct answer_print *p, struct answer *rows, struct error *err);
/* RFC 4180 with a line of names and plain line ends. A terminal gets texts as other tables show them; a pipe or file has
 * their bytes, behind an apostrophe where a spreadsheet would take them for a formula. 0 or negative. */
int answer_csv(FILE *out, struct answer *rows, struct error *err);

struct answer_document {
	int64_t origin;		   /* ns since the epoch: points in time are given since then */
	bool compact;		   /* on one line */
	const struct store *store; /* whose loss is read once all rows were, or: */
	const struct loss *loss;
	/* appends members behind "loss": ", \"name\": value"; NULL: there are none */
	int (*put_more)(void *arg, struct buf *to, struct error *err);
	void *arg;
};

/* One document, answer_json.h's. 0 or negative. */
int answer_print_json(FILE *out, struct answer *rows, const struct answer_document *d,
		      struct error *err);
