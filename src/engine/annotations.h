/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotations.h: tables whose columns are declared by a trace (store/made/made.h), for the language
 * (query/check/user_values.h). Values are read into memory when a query uses them, up to ANNOTATIONS_BYTES_MAX.
 *
 *   annotations_new(&a, store, &err);
 *   query_parse_users(text, len, annotations_get(a), &plan, &why);
 */
#pragma once

#include "base/error.h"
#include "query/check/user_values.h"
#include "store/made/made.h"

/* bytes of values, in addition to the engine's own memory */
#define ANNOTATIONS_BYTES_MAX (192ull << 20)

struct annotations;

/* The store must outlive the annotations, and these the plans. 0 or -ENOMEM. */
int annotations_new(struct annotations **ret, struct store *s, struct error *err);

/* Receives the values of one batch. */
typedef int annotations_take(void *arg, const struct batch *b, struct error *err);
/* Tables stored outside a store. Everything returned lives as long as the annotations. */
struct annotations_source {
	uint64_t (*changes)(void *arg); /* as store_made_changes() */
	size_t (*count)(void *arg);
	const struct store_made *(*at)(void *arg, size_t i); /* only name, def and rows are used */
	/* Reads a column in the order of rows, as batches of its table. */
	int (*read)(void *arg, const struct store_made *part, unsigned int column,
		    annotations_take *take, void *take_arg, struct error *err);
};
int annotations_new_of(struct annotations **ret, const struct annotations_source *source, void *arg,
		       struct error *err);
void annotations_free(struct annotations *a);
DEFINE_CLEANUP(struct annotations *, annotations_free)
/* The current tables, and the spans; earlier results stay valid. NULL if a is NULL, or out of memory. Thread-safe. */
const struct query_users *annotations_get(struct annotations *a);

/*
 * The unit (schema/schema.h) of an integer column of this name. Names of the schema's references, and row_id, are
 * references, so that ids of several traces are distinguished. `id` alone is not one.
 */
const char *annotations_unit(const char *name);
/* False if their columns differ. */
bool annotations_same_shape(const struct table_def *a, const struct table_def *b);
