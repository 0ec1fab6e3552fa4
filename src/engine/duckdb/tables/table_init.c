/* SPDX-License-Identifier: Apache-2.0 */
/* table_init.c: how every table function begins: a state for all threads or for one, and how many of them. */
#include <stdlib.h>

#include "engine/duckdb/internal.h"

void *table_state_new(duckdb_init_info info, size_t size, duckdb_delete_callback_t free_state)
{
	const struct duckdb_api *d = duckdb_loaded();
	void *state = calloc(1, size);

	if (state)
		d->init_set_init_data(info, state, free_state);
	else
		d->init_set_error(info, "out of memory");
	return state;
}

void table_set_threads(duckdb_init_info info, const struct duck *e, size_t parts)
{
	size_t threads = MIN(parts, (size_t)e->threads);

	duckdb_loaded()->init_set_max_threads(info, MAX(threads, (size_t)1));
}
