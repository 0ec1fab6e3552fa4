/* SPDX-License-Identifier: Apache-2.0 */
/* opensearch_load.h: loads rows of a trace as documents into OpenSearch's data streams (opensearch/search_fields.h). */
#pragma once

#include "load/load.h"

extern const struct load_target_ops opensearch_target;
