/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h: evaluates expressions over a row in the simplest possible way. */
#pragma once

#include "query/expr.h"

struct reference {
	const struct dims *dims;
	const struct batch *batch;
	size_t row;
	/* texts made on the way; freed by reference_free() */
	char **texts;
	size_t count, cap;
};

void reference_free(struct reference *r);
struct value reference_value(struct reference *r, const struct expr *e);
/* The value as a text, as patterns see it. */
struct bytes reference_text(struct reference *r, struct query_kind kind, const struct value *v);
