/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_fields.h: the form of rows as documents.
 *
 * A document is one row of a table of events, with the names for its ids, as there are no joins. It has
 *
 *   @timestamp  when the row ended (order_ends()), for dashboards; `end` is the same, exact in ns
 *   unended     true if that is unknown: such rows are in no time range
 *   rec, part, n  its position: the recording, the file in it, and block and row in the file. They form its id.
 *   second      true: the call again, with its second file as the first (batch/seconds.h)
 *   omitted     names of the fields whose text was too long for an index
 *
 * and a field for every column that is not an id, and for every name: comm, path, host, ... Codes are words. Numbers
 * are signed: a UINT has the same bits. Texts are escaped as engine_escape() does.
 */
#pragma once

#include <jansson.h>

#include "query/expr.h"

#define SEARCH_FIELDS_MAX 96
#define SEARCH_TEXT_MAX	  8000 /* bytes of a text in an index; Lucene's bound is 32,766 */

/* n: rows of blocks of long calls come after the others of a file, calls under a second file after all. */
#define SEARCH_ROW_BITS	  16
#define SEARCH_LONG_BIT	  (1ll << 40)
#define SEARCH_SECOND_BIT (1ll << 41)

enum search_kind { SEARCH_NUMBER, SEARCH_WORD, SEARCH_TEXT };

struct search_field {
	const char *name;
	enum search_kind kind;
	unsigned int column; /* of the table; for a name, the column of the id */
	bool is_name;
	enum query_name of;
	const char *vocab; /* for WORD */
};

struct search_fields {
	enum table_id table;
	struct search_field list[SEARCH_FIELDS_MAX];
	size_t count;
};

/* True for tables whose rows become documents. */
bool search_has_table(enum table_id table);
void search_fields_of(enum table_id table, struct search_fields *ret);
/* The field for EXPR_COLUMN and EXPR_NAME; NULL: documents have none. */
const struct search_field *search_field_find(const struct search_fields *f, const struct expr *e);
/* Makes the index template of the table's data stream: settings and mappings. NULL: -ENOMEM. */
json_t *search_template(const struct search_fields *f, const char *prefix, bool finds_columns,
			const char *policy, bool elastic);
