/* SPDX-License-Identifier: Apache-2.0 */
/* documents.h: a block of a trace as the lines of a _bulk request. Inside load/opensearch/ only. */
#pragma once

#include "load/load.h"
#include "opensearch/search_fields.h"

/* JSON of the names behind an id, made once for a block. */
struct documents_names {
	struct map at;	 /* id of one column -> offset in text */
	struct buf text; /* pieces, each with its length in front (uint32_t) */
};

struct documents {
	struct search_fields fields;
	struct documents_names names[SCHEMA_COLUMNS_MAX]; /* by column of the id */
	struct buf scratch, escaped, omitted;
};

void documents_free(struct documents *d);

/* Where the rows of a block belong. */
struct documents_place {
	const char *rec;
	uint64_t part;
	int64_t n;	     /* of row 0 */
	bool second;	     /* calls on their second file; batch->numbers has the rows' numbers */
	const int64_t *ends; /* by number of the row */
	const struct map
		*there; /* n of documents that are there already: left out; NULL: none are */
};

/* Appends rows [*row, ...) until `out` has `most` bytes; *row is then the first that is left. 0 or -ENOMEM. */
int documents_write(struct documents *d, const struct batch *b, const struct dims *dims,
		    const struct documents_place *at, size_t most, size_t *row, struct buf *out);
/* Forgets the names, before another block. */
void documents_forget(struct documents *d);
/* The n of a block's first row. */
int64_t documents_n(uint64_t seq, bool long_calls, bool second);
