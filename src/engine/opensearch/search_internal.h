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
#define SEARCH_EXACT_MAX \
	9007199254740992.0 /* whole numbers below are exact in a double, which sums of the server are */

struct search_engine {
	struct engine engine;
	struct search_server server;
	uint64_t memory_max;
	json_t *recordings; /* of the machines that were chosen; NULL: all */
	atomic_bool stopped;
};

/* ---- search_filter.c ---- */

/*
 * The query that finds the documents for which `e` is true (or, `negated`, is false: where it is unknown neither finds a
 * document). -EOPNOTSUPP: OpenSearch cannot test it, with the reason.
 */
int search_filter(const struct search_fields *f, const struct expr *e, bool negated, json_t **ret,
		  struct error *err);
/* Of a plan: its table's rows, range and `where`. */
int search_plan_filter(const struct search_fields *f, const struct plan *p, json_t **ret,
		       struct error *err);
/* The field of a plain column or name; NULL with a message where there is none. */
const struct search_field *search_plain(const struct search_fields *f, const char *what,
					const struct expr *e, struct error *err);

/* The same of the recordings that were chosen alone; takes the reference. NULL: -ENOMEM. */
json_t *search_of_hosts(const struct search_engine *e, json_t *query);

/* ---- search_values.c: what a server sends, as rows ---- */

struct search_rows {
	struct local_rows rows;
	struct local_env env;
	struct value *cells; /* [width], of the row that is read */
	uint8_t *estimates;  /* [width] */
	struct buf *texts;   /* [width], unescaped */
};

int search_rows_new(struct search_rows *r, struct search_engine *e, const struct plan *p);
void search_rows_free(struct search_rows *r);
/* Begins a row of nulls. */
void search_rows_begin(struct search_rows *r);
/* A value of a document or bucket in the row, as one of the field's type. 0 or negative. */
int search_rows_set(struct search_rows *r, size_t column, const json_t *j);

/* ---- search_groups.c, search_rows.c ---- */

/* The request for the answer, without its place to continue; *ret_more of calls without an end, or NULL. */
int search_groups_request(const struct search_fields *f, const struct plan *p, bool unended,
			  json_t **ret, struct error *err);
/* Groups come as the server has them; search_groups_sort() brings them into the order of their keys. */
int search_groups_read(const struct plan *p, bool unended, struct search_rows *t,
		       const json_t *aggs, json_t **ret_after, struct error *err);
int search_groups_sort(const struct plan *p, struct search_rows *t);
/* True where rows without an end are a group of their own. */
bool search_groups_unended(const struct plan *p);
int search_rows_request(const struct search_fields *f, const struct plan *p, json_t **ret,
			size_t *ret_limit, struct error *err);
int search_rows_read(const struct search_fields *f, const struct plan *p, struct search_rows *t,
		     const json_t *hits, struct error *err);

/* ---- search_scan.c ---- */

int search_scan_new(struct search_engine *e, const struct scan_request *q, struct engine_scan **ret,
		    struct error *err);
