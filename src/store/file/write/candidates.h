/* SPDX-License-Identifier: Apache-2.0 */
/* candidates.h: the transforms that the encoder tries for a column. Inside store/ only. */
#pragma once

#include "schema/schema.h"
#include "store/file/format.h"

struct candidate {
	enum transform kind;
	uint8_t ref[2];
};

/* At least one; the first is TRANSFORM_NONE. References never form a circle. */
const struct candidate *candidates(enum table_id table, unsigned int column, size_t *ret_count);
