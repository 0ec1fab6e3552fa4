/* SPDX-License-Identifier: Apache-2.0 */
/* documents.h: converts a block of a trace to the lines of a _bulk request. Inside load/opensearch/ only. */
#pragma once

#include "load/load.h"
#include "opensearch/search_fields.h"

/* JSON of the names for an id, made once per block. */
struct documents_names {
	struct map at;	 /* id in one column -> offset in text */
	struct buf text; /* pieces, each preceded by its length (uint32_t) */
};

struct documents {
	struct search_fields fields;
	struct documents_names names[SCHEMA_COLUMNS_MAX]; /* by column of the id */
	struct buf scratch, escaped, omitted;
};

void documents_free(struct documents *d);

/* The position of the rows of a block. */
struct documents_place {
	const char *rec;
	uint64_t part;
	int64_t n;   /* of row 0 */
	bool second; /* calls under their second file; batch->numbers has the rows' numbers */
	const int64_t *ends; /* by number of the row */
	const struct map
		*there; /* n of documents that are present already and are left out; NULL: none */
};

/* Appends rows from *row on until `out` has `most` bytes; *row is then the first remaining one. 0 or -ENOMEM. */
int documents_write(struct documents *d, const struct batch *b, const struct dims *dims,
		    const struct documents_place *at, size_t most, size_t *row, struct buf *out);
/* Clears the cache of names, before another block. */
void documents_forget(struct documents *d);
/* The n of a block's first row. */
int64_t documents_n(uint64_t seq, bool long_calls, bool second);
