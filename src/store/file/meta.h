/* SPDX-License-Identifier: Apache-2.0 */
/* meta.h: a file's names of its tables, columns and codes. Inside store/ only. */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "schema/schema.h"

/* Our numbers for the file's tables and columns; 0xff: unknown here, skipped. */
struct meta {
	uint8_t table[256];
	uint8_t column[TABLE_COUNT][256];
};

/* Writes the names of this version, as text. */
int meta_write(struct buf *out);
/* For a file without names: its numbers are ours. */
void meta_default(struct meta *m);
/* -EBADMSG if a line is malformed. */
int meta_read(struct meta *m, struct bytes text) _must_check_;
