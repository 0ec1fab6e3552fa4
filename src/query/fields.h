/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h: expressions of later stages over the values of one row of fields, one at a time. */
#pragma once

#include "query/plan.h"

struct query_fields;

/* The expressions (EXPR_FIELD and what is made of it) must outlive it. */
int query_fields_new(struct query_fields **ret, const struct expr *const *exprs, size_t count,
		     struct error *err);
void query_fields_free(struct query_fields *f);
DEFINE_CLEANUP(struct query_fields *, query_fields_free)
/* Expression k over a row. Texts live until query_fields_clear(). 0, -ENOMEM, -EOVERFLOW: a pattern
 * takes too many steps. */
int query_fields_value(struct query_fields *f, size_t k, const struct dims *d,
		       const struct value *row, struct value *ret);
/* A value as a text, as patterns see it: a word, a name. The same life. */
int query_fields_text(struct query_fields *f, struct query_kind kind, const struct dims *d,
		      const struct value *v, struct bytes *ret);
void query_fields_clear(struct query_fields *f);
