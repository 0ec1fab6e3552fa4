/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_tables.h: users' own tables (weir annotate) in ClickHouse. Which generation of one is in force, and its columns, is in
 * table `own`, which is written once its rows are there.
 */
#pragma once

#include "base/map.h"
#include "clickhouse/server.h"
#include "load/load.h"

/* The file that a table is of. */
struct own_of {
	uint32_t recording;
	uint64_t part;
	uint16_t day; /* of its rows */
};

/*
 * Makes the table where it is missing, and anew where only this file's earlier one had other columns. -EINVAL where the
 * database cannot have it; the message says why.
 */
int own_ready(struct clickhouse *server, const struct own_of *of, const struct store_made *m,
	      int64_t keep_ns, struct error *err);
/* The blocks of the generation that are there go into *ret. */
int own_blocks(struct clickhouse *server, const struct own_of *of, const struct store_made *m,
	       struct map *ret, struct error *err);
/* All rows are there: the generation is in force from now on. One without columns drops the table. */
int own_made(struct clickhouse *server, const struct own_of *of, const struct store_made *m,
	     struct error *err);
