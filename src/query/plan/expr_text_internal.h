/* SPDX-License-Identifier: Apache-2.0 */
/* expr_text_internal.h: expressions of a stage, whose fields have names. */
#pragma once

#include "query/plan/plan.h"

struct text_writer {
	struct buf *out;
	enum table_id table;		 /* EXPR_COLUMN, EXPR_NAME are of its rows */
	const struct plan_field *fields; /* EXPR_FIELD */
	size_t field_count;
};

int text_write(struct text_writer *w, const struct expr *e);
/* A text as the language has it, with its quotes. 0 or -ENOMEM. */
int text_write_quoted(struct buf *out, struct bytes t);
