/* SPDX-License-Identifier: Apache-2.0 */
/* clickhouse.h: the engine behind clickhouse://HOST/DATABASE, whose rows `weir load` brought there. */
#pragma once

#include "engine/engine.h"

extern const struct engine_ops clickhouse_engine;
