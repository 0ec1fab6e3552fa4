/* SPDX-License-Identifier: Apache-2.0 */
/* sql_print.h: the rows of a statement as a table, as CSV, as JSON. */
#pragma once

#include "engine/engine.h"
#include "schema/vocab.h"

/* What is missing from the traces; sorted as `weir report` does. */
struct sql_loss {
	uint64_t events[CAUSE_COUNT];
	uint64_t lost; /* calls that have no row */
	bool at_least; /* more than that: some rows of `loss` do not know how many */
	struct store_damage damage;
};

/* Reads the loss that the store knows of by now. */
int sql_loss_read(struct store *s, struct sql_loss *ret, struct error *err);
/* One line on standard error where something is missing. */
void sql_loss_print(const struct sql_loss *loss);

/* Aligned; at most `rows_max` rows and `width` columns (0: no limit), then a line that says how
 * many more there are. */
int sql_print_table(struct engine_result *r, size_t rows_max, size_t width, struct error *err);
/* RFC 4180 with a line of names and plain line ends; NULL is empty, an empty text is "". */
int sql_print_csv(struct engine_result *r, struct error *err);
/* One document; points in time are nanoseconds since `origin`. */
int sql_print_json(struct engine_result *r, int64_t origin, const struct sql_loss *loss,
		   struct error *err);
