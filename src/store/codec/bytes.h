/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.h: encodes and decodes byte columns; inside store/ only. */
#pragma once

#include "batch/batch.h"
#include "store/codec/codec.h"

/* Appends the section of a byte column; `nulls` marks rows to leave out (NULL: none). 0 or -ENOMEM. */
int bytes_encode(struct codec *c, const struct batch *b, unsigned int column, const uint64_t *nulls,
		 struct buf *out) _must_check_;
/*
 * Fills ends[] (which has room for `rows`) and data of a column, n of whose rows are not null. 0, -EBADMSG or
 * -ENOMEM.
 */
int bytes_decode(struct codec *c, const uint8_t **p, const uint8_t *end, struct column *col,
		 const uint64_t *nulls, size_t rows, size_t n) _must_check_;
