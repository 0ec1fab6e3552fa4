/* SPDX-License-Identifier: Apache-2.0 */
/* answer_print.h: prints an answer to a stream: as an aligned table, as CSV, as JSON. */
#pragma once

#include <stdio.h>

#include "cli/terminal/cell.h"
#include "cli/terminal/loss_text.h"
#include "engine/answer.h"

struct answer_print {
	FILE *out;
	struct cell_style style;
	size_t width;	  /* columns; 0: unlimited (a pipe) */
	size_t rows_max;  /* rows of a list; 0: all */
	const char *more; /* how to get the rows past rows_max; NULL: not mentioned */
	bool colour;
	bool trends; /* counts by time and one key may be drawn */
};

/*
 * Prints rows as they arrive, with titles. On a terminal a row is one line whenever possible: texts get the space
 * that the numbers leave, paths are cut in their middle, and if that is not enough, optional columns are left out;
 * numbers are never cut. In a pipe nothing is cut, and a piece is printed when it is full, or when no more rows are
 * available for now. 0 or negative.
 */
int answer_text(const struct answer_print *p, struct answer *rows, struct error *err);
/* The same for a list. */
int answer_text_list(const struct answer_print *p, struct answer_list *list, struct error *err);
/* For standard output: as wide as a terminal, which gets at most TEXT_ROWS_MAX rows. */
struct answer_print answer_print_out(struct cell_style style, const char *more);
/*
 * RFC 4180 with a line of names and plain line ends. A terminal gets texts made safe, as elsewhere; a pipe or file
 * gets their bytes, preceded by an apostrophe if a spreadsheet would take them for a formula. 0 or negative.
 */
int answer_csv(FILE *out, struct answer *rows, struct error *err);

struct answer_document {
	int64_t origin;		   /* ns since the epoch: points in time are relative to it */
	bool compact;		   /* on one line */
	const struct store *store; /* its loss is read once all rows were read, or: */
	const struct loss *loss;
	/* appends members after "loss": ", \"name\": value"; NULL: none */
	int (*put_more)(void *arg, struct buf *to, struct error *err);
	void *arg;
};

/* Prints one document as specified in answer_json.h. 0 or negative. */
int answer_print_json(FILE *out, struct answer *rows, const struct answer_document *d,
		      struct error *err);
