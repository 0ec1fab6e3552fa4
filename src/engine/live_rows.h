/* SPDX-License-Identifier: Apache-2.0 */
/* live_rows.h: the rows of a dimension table that hold: the last of each id. Inside engine/ only. */
#pragma once

#include "store/store.h"

/*
 * The rows of a dimension table that hold: the last of each id. rows[from[k] .. from[k + 1]) are
 * those of the k-th block of the table that was seen, ascending.
 */
struct live {
	size_t pin; /* blocks looked at */
	uint32_t *rows;
	size_t *from;	/* [blocks + 1] */
	size_t *blocks; /* their numbers in the store */
	size_t block_count;
	int64_t *ids; /* all ids there are, ascending */
	size_t count;
};

/* Over blocks [0, pin). live_free() also after a failure. */
int live_make(struct live *l, struct store *s, size_t pin, enum table_id table, struct error *err);
void live_free(struct live *l);
