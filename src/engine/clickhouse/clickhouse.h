/* SPDX-License-Identifier: Apache-2.0 */
/* clickhouse.h: the engine behind clickhouse://HOST/DATABASE, for rows loaded by `weir load`. */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops clickhouse_engine;
