/* SPDX-License-Identifier: Apache-2.0 */
/* duckdb.h: DuckDB as the embedded engine. */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops duckdb_engine;
