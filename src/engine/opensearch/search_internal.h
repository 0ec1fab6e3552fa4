/* SPDX-License-Identifier: Apache-2.0 */
/* search_internal.h: shared between the files of the engine. */
#pragma once

#include <stdatomic.h>

#include "base/strpool.h"
#include "engine/ask.h"
#include "opensearch/search_fields.h"
#include "opensearch/search_server.h"

#define SEARCH_PAGE	10000	/* index.max_result_window, search.max_buckets is above */
#define SEARCH_ROWS_MAX 1000000 /* rows and groups in memory */
#define SEARCH_EXACT_MAX \
	9007199254740992.0 /* whole numbers below are exact in a double, which sums of the server are */

struct search_engine {
	struct engine engine;
	struct search_server server;
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
/* -EOPNOTSUPP: "OpenSearch cannot WHAT: EXPRESSION: WHY". */
int search_refuse(const struct search_fields *f, const char *what, const struct expr *e,
		  const char *why, struct error *err);
/* The field of a plain column or name; NULL with a message where there is none. */
const struct search_field *search_plain(const struct search_fields *f, const char *what,
					const struct expr *e, struct error *err);

/* ---- search_table.c: rows in memory ---- */

struct search_table {
	struct engine_result head;
	struct value *cells; /* [rows][width] */
	size_t rows, cap, width, at;
	const struct plan_field *fields; /* [width], of the last stage that was done */
	bool *estimated;		 /* [width] */
	unsigned int *shown;		 /* column of the result -> of width */
	struct strpool texts;
	struct buf scratch;
};

int search_table_new(struct search_table **ret, const struct plan_field *fields, size_t count);
void search_table_free(struct search_table *t);
DEFINE_CLEANUP(struct search_table *, search_table_free)
/* One more row, of nulls; NULL with a message: out of memory, or over SEARCH_ROWS_MAX. */
struct value *search_table_row(struct search_table *t, struct error *err);
/* A value of a document or bucket as one of the field's type. 0 or -ENOMEM. */
int search_table_value(struct search_table *t, struct query_kind kind, const json_t *j,
		       struct value *ret);
/* -EOPNOTSUPP for a stage that is not done here. */
int search_table_check(const struct plan *p, struct error *err);
/* Sorts by the keys and does the plan's stages. */
int search_table_finish(struct search_table *t, const struct plan *p, struct error *err);

/* ---- search_groups.c, search_rows.c ---- */

/* The request for the answer, without its place to continue; *ret_more of calls without an end, or NULL. */
int search_groups_request(const struct search_fields *f, const struct plan *p, bool unended,
			  json_t **ret, struct error *err);
int search_groups_read(const struct search_fields *f, const struct plan *p, bool unended,
		       struct search_table *t, const json_t *aggs, json_t **ret_after,
		       struct error *err);
/* True where rows without an end are a group of their own. */
bool search_groups_unended(const struct plan *p);
int search_rows_request(const struct search_fields *f, const struct plan *p, json_t **ret,
			size_t *ret_limit, struct error *err);
int search_rows_read(const struct search_fields *f, const struct plan *p, struct search_table *t,
		     const json_t *hits, struct error *err);

/* ---- search_scan.c ---- */

int search_scan_new(struct search_engine *e, const struct scan_request *q, struct engine_scan **ret,
		    struct error *err);
