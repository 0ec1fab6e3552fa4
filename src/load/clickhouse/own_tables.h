/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_tables.h: users' own tables (weir annotate) in ClickHouse. Table `own` records which generation of each is in
 * force, and its columns; it is written once the rows are present.
 */
#pragma once

#include "base/map.h"
#include "clickhouse/server.h"
#include "load/load.h"

/* The file that a table belongs to. */
struct own_of {
	uint32_t recording;
	uint64_t part;
	uint16_t day; /* of its rows */
};

/*
 * Creates the table if it is missing, and again if only this file's earlier one had other columns. -EINVAL if the
 * database cannot have it; the message gives the reason.
 */
int own_ready(struct clickhouse *server, const struct own_of *of, const struct store_made *m,
	      int64_t keep_ns, struct error *err);
/* Adds the blocks of the generation that are present to *ret. */
int own_blocks(struct clickhouse *server, const struct own_of *of, const struct store_made *m,
	       struct map *ret, struct error *err);
/* Puts the generation in force, once all of its rows are present. One without columns drops the table. */
int own_made(struct clickhouse *server, const struct own_of *of, const struct store_made *m,
	     struct error *err);
