/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotations.h: tables of which a trace declares the columns (store/made/made.h), as the language knows them
 * (query/check/user_values.h). Values come into memory when a query names them, up to ANNOTATIONS_BYTES_MAX.
 *
 *   annotations_new(&a, store, &err);
 *   query_parse_users(text, len, annotations_get(a), &plan, &why);
 */
#pragma once

#include "base/error.h"
#include "query/check/user_values.h"
#include "store/made/made.h"

#define ANNOTATIONS_BYTES_MAX (192ull << 20) /* of values: beside the engine's own memory */

struct annotations;

/* The store must outlive it, and it the plans. 0 or -ENOMEM. */
int annotations_new(struct annotations **ret, struct store *s, struct error *err);

/* What of a batch there is goes on to where it is wanted. */
typedef int annotations_take(void *arg, const struct batch *b, struct error *err);
/* Tables that lie elsewhere than in a store. What was given lives as long as the annotations. */
struct annotations_source {
	uint64_t (*changes)(void *arg); /* as store_made_changes() */
	size_t (*count)(void *arg);
	const struct store_made *(*at)(void *arg, size_t i); /* name, def and rows count */
	/* The values of a column, in the order of rows: batches of the table in which it is. */
	int (*read)(void *arg, const struct store_made *part, unsigned int column,
		    annotations_take *take, void *take_arg, struct error *err);
};
int annotations_new_of(struct annotations **ret, const struct annotations_source *source, void *arg,
		       struct error *err);
void annotations_free(struct annotations *a);
DEFINE_CLEANUP(struct annotations *, annotations_free)
/*
 * The tables that there are by now, and the spans; what was got before stays valid. NULL where a is NULL, or memory ran
 * out. Any thread.
 */
const struct query_users *annotations_get(struct annotations *a);

/* The unit (schema/schema.h) of a column of this name that holds whole numbers: those called as the schema's, and row_id, are
 * references, so that ids of several traces are told apart. `id` alone says nothing. */
const char *annotations_unit(const char *name);
/* False where the tables have other columns. */
bool annotations_same_shape(const struct table_def *a, const struct table_def *b);
