/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search_fields.h: rows as documents.
 *
 * A document is one row of a table of events with the names that its ids stand for: there are no joins. It has
 *
 *   @timestamp  when the row ended (order_ends()), for pages; `end` is the same in ns, exact
 *   unended     true where that is not known: such rows are in no range of time
 *   rec, part, n  its place: the recording, the file of that, and block and row in the file. They make its id.
 *   second      true: the call once more, with its second file as the first (batch/seconds.h)
 *   omitted     names of the fields whose text was too long for an index
 *
 * and a field for every column that is no id, and for every name: comm, path, host, ... Codes are words. Numbers are signed:
 * of a UINT the same bits. Texts are escaped as engine_escape() does.
 */
#pragma once

#include <jansson.h>

#include "query/expr.h"

#define SEARCH_FIELDS_MAX 96
#define SEARCH_TEXT_MAX	  8000 /* bytes of a text in an index; Lucene's bound is 32,766 */

/* n: rows of blocks of long calls are behind the others of a file, calls on a second file behind all. */
#define SEARCH_ROW_BITS	  16
#define SEARCH_LONG_BIT	  (1ll << 40)
#define SEARCH_SECOND_BIT (1ll << 41)

enum search_kind { SEARCH_NUMBER, SEARCH_WORD, SEARCH_TEXT };

struct search_field {
	const char *name;
	enum search_kind kind;
	unsigned int column; /* of the table; of a name that of the id */
	bool is_name;
	enum query_name of;
	const char *vocab; /* WORD */
};

struct search_fields {
	enum table_id table;
	struct search_field list[SEARCH_FIELDS_MAX];
	size_t count;
};

/* True for tables whose rows become documents. */
bool search_has_table(enum table_id table);
void search_fields_of(enum table_id table, struct search_fields *ret);
/* The field of EXPR_COLUMN and EXPR_NAME; NULL: documents have none. */
const struct search_field *search_field_find(const struct search_fields *f, const struct expr *e);
/* The index template of the table's data stream: settings and mappings. NULL: -ENOMEM. */
json_t *search_template(const struct search_fields *f, const char *prefix, bool finds_columns,
			const char *policy, bool elastic);
