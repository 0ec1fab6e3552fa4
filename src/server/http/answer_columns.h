/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer_columns.h: writes a table of numbers and words as an answer: in the compact binary form
 * (application/vnd.weir.columns in docs/openapi.yaml), or as JSON if requested.
 */
#pragma once

#include "server/internal.h"

struct columns_col {
	const char *name;
	const char *type, *unit; /* as in `weir query --json` */
	bool coded;		 /* the values are indices into words; else numbers */
	const double *f;	 /* [rows]; NaN: null */
	const uint32_t *u;	 /* [rows], if coded; COLUMNS_NULL: null */
	const char *const *words;
	size_t word_count;
};

#define COLUMNS_NULL UINT32_MAX

/* Writes q->out in the requested form. 0 or -ENOMEM. */
int columns_write(struct question *q, const struct columns_col *cols, size_t count, size_t rows);
/* The same with additional members: "name": value, ... */
int columns_write_with(struct question *q, const struct buf *members,
		       const struct columns_col *cols, size_t count, size_t rows);
