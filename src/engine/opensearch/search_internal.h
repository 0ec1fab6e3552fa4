/* SPDX-License-Identifier: Apache-2.0 */
/* search_internal.h: shared between the files of the engine. */
#pragma once

#include <stdatomic.h>

#include "engine/ask.h"
#include "engine/local/local.h"
#include "opensearch/search_fields.h"
#include "opensearch/search_server.h"

#define SEARCH_TERMS_MAX 65536 /* index.max_terms_count */
#define SEARCH_PAGE	 10000 /* index.max_result_window, search.max_buckets is above */
/* integers below are exact in a double, the type of the server's sums */
#define SEARCH_EXACT_MAX 9007199254740992.0

struct search_engine {
	struct engine engine;
	struct search_server server;
	uint64_t memory_max;
	json_t *recordings; /* those of the chosen machines; NULL: all */
	atomic_bool stopped;
};

/* ---- search_filter.c ---- */

/*
 * The query for the documents for which `e` is true (or, if `negated`, false; if it is unknown, neither finds the
 * document). NULL: OpenSearch cannot evaluate it, which the error says, or out of memory.
 */
json_t *search_filter(const struct search_fields *f, const struct expr *e, bool negated,
		      struct error *err);
/* The same for a plan: its table's rows, range and `where`. NULL with an error. */
json_t *search_plan_filter(const struct search_fields *f, const struct plan *p, struct error *err);
/* The field of a plain column or name; NULL with a message if there is none. */
const struct search_field *search_plain(const struct search_fields *f, const char *what,
					const struct expr *e, struct error *err);

/* Restricts a query to the chosen recordings; takes ownership. NULL: -ENOMEM. */
json_t *search_of_hosts(const struct search_engine *e, json_t *query);

/* ---- search_values.c: the server's values as rows ---- */

struct search_rows {
	struct local_rows rows;
	struct local_env env;
	struct value *cells; /* [width], of the current row */
	struct buf *texts;   /* [text_count], unescaped */
	size_t text_count;   /* the width of rows until the stages after reading change it */
};

int search_rows_new(struct search_rows *r, struct search_engine *e, const struct plan *p);
void search_rows_free(struct search_rows *r);
/* Starts a row of nulls. */
void search_rows_begin(struct search_rows *r);
/* Sets a cell of the row from a value of a document or bucket, converted to the field's type. 0 or negative. */
int search_rows_set(struct search_rows *r, size_t column, const json_t *j);

/* ---- search_groups.c, search_rows.c ---- */

/* The request for groups, without the position to continue from; `unended`: groups of the rows without an end. */
int search_groups_request(const struct search_fields *f, const struct plan *p, bool unended,
			  json_t **ret, struct error *err);
/* Groups are read in the server's order; search_groups_sort() sorts them by their keys. */
int search_groups_read(const struct plan *p, bool unended, struct search_rows *t,
		       const json_t *aggs, json_t **ret_after, struct error *err);
int search_groups_sort(const struct plan *p, struct search_rows *t);
/* True if rows without an end need a request of their own. */
bool search_groups_unended(const struct plan *p);
int search_rows_request(const struct search_fields *f, const struct plan *p, json_t **ret,
			size_t *ret_limit, struct error *err);
int search_rows_read(const struct search_fields *f, const struct plan *p, struct search_rows *t,
		     const json_t *hits, struct error *err);

/* ---- search_scan.c ---- */

int search_scan_new(struct search_engine *e, const struct scan_request *q, struct engine_scan **ret,
		    struct error *err);
