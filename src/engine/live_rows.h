/* SPDX-License-Identifier: Apache-2.0 */
/* live_rows.h: the current rows of a dimension table: the last one of each id. Inside engine/ only. */
#pragma once

#include "store/store.h"

/*
 * The current rows of a dimension table: the last one of each id. rows[from[k] .. from[k + 1]) are the rows in the
 * table's k-th block, ascending.
 */
struct live {
	size_t pin; /* number of blocks read */
	uint32_t *rows;
	size_t *from;	/* [blocks + 1] */
	size_t *blocks; /* their block numbers in the store */
	size_t block_count;
	int64_t *ids; /* all ids, ascending */
	size_t count;
};

/* Reads blocks [0, pin). Call live_free() also after a failure. */
int live_make(struct live *l, struct store *s, size_t pin, enum table_id table, struct error *err);
void live_free(struct live *l);
