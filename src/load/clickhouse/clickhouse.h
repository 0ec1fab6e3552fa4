/* SPDX-License-Identifier: Apache-2.0 */
/* clickhouse.h: ClickHouse as a target. */
#pragma once

#include "load/load.h"

extern const struct load_target_ops clickhouse_target;
