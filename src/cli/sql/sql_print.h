/* SPDX-License-Identifier: Apache-2.0 */
/* sql_print.h: the rows of a statement as a table, as CSV, as JSON. */
#pragma once

#include "cli/terminal/loss_text.h"
#include "engine/engine.h"

/* Aligned, types of very many words shortened; at most `rows_max` rows and `width` columns (0: no limit), then a line that says how
 * many more there are. */
int sql_print_table(struct engine_result *r, size_t rows_max, size_t width, struct error *err);
/* RFC 4180 with a line of names and plain line ends; NULL is empty, an empty text is "". */
int sql_print_csv(struct engine_result *r, struct error *err);
/* One document; points in time are nanoseconds since `origin`. At most `rows_max` rows (0: all); its
 * member "truncated" tells that there are more. */
int sql_print_json(FILE *out, struct engine_result *r, int64_t origin, const struct store *s,
		   uint64_t rows_max, struct error *err);
