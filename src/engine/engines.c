// SPDX-License-Identifier: Apache-2.0
/* engines.c: the engines in this binary. A separate file, so that a test can link another list. */
#include "engine/clickhouse/clickhouse.h"
#include "engine/duckdb/duckdb.h"
#include "engine/opensearch/opensearch.h"

const struct engine_ops *const engines[] = {
#ifdef WEIR_ENGINE
	&duckdb_engine,
	&clickhouse_engine,
	&opensearch_engine,
#endif
	NULL,
};
