/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval_fields.h: evaluates an expression over values from the caller (EXPR_FIELD), one set at a time: for conditions
 * that compare several rows, whose single-row parts were already evaluated over batches (eval.h).
 */
#pragma once

#include "query/eval/eval.h"

struct eval_fields;

/* Prepares the expressions, which must outlive it. Negative with a message on failure. */
int eval_fields_new(struct eval_fields **ret, const struct expr *const *exprs, size_t count,
		    struct error *err);
void eval_fields_free(struct eval_fields *f);
DEFINE_CLEANUP(struct eval_fields *, eval_fields_free)
/* Sets where names of entities are looked up; NULL: they have no names. */
void eval_fields_dims(struct eval_fields *f, const struct dims *d);
/*
 * Computes the value of one of the expressions; `fields` is indexed by column. Texts are valid until the next call.
 * 0, -ENOMEM, -EOVERFLOW.
 */
int eval_fields_value(struct eval_fields *f, const struct expr *e, const struct value *fields,
		      struct value *ret);
/* Formats a value of the kind as text: a word, a name, a number. Valid until the next call. 0 or -ENOMEM. */
int eval_fields_text(struct eval_fields *f, struct query_kind kind, const struct value *v,
		     struct bytes *ret);
