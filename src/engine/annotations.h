/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotations.h: the tables that users appended to a trace (store/user/user.h), as the language knows them
 * (query/check/user_values.h). Values come into memory when a query names them, up to ANNOTATIONS_BYTES_MAX.
 *
 *   annotations_new(&a, store, &err);
 *   query_parse_users(text, len, annotations_get(a), &plan, &why);
 */
#pragma once

#include "base/error.h"
#include "query/check/user_values.h"
#include "store/user/user.h"

#define ANNOTATIONS_BYTES_MAX (192ull << 20) /* of values: beside the engine's own memory */

struct annotations;

/* The store must outlive it, and it the plans. 0 or -ENOMEM. */
int annotations_new(struct annotations **ret, const struct store *s, struct error *err);
void annotations_free(struct annotations *a);
DEFINE_CLEANUP(struct annotations *, annotations_free)
/*
 * The tables that there are by now; what was got before stays valid. NULL where there never was one,
 * a is NULL, or memory ran out. Any thread.
 */
const struct query_users *annotations_get(struct annotations *a);

/* True for columns whose values are ids of the trace, so that a trace's number is composed into them:
 * those called as the schema's, and row_id. `id` alone says nothing. */
bool annotations_is_id(const struct user_column *c);
/* Of such a column: the id of several traces that a value of one stands for. */
int64_t annotations_compose(const struct store *s, const struct user_table *t,
			    const struct user_column *c, int64_t v);
/* False where the tables have other columns. */
bool annotations_same_shape(const struct user_table *a, const struct user_table *b);
