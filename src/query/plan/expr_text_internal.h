/* SPDX-License-Identifier: Apache-2.0 */
/* expr_text_internal.h: writes expressions of a stage, whose fields have names. */
#pragma once

#include "query/plan/plan.h"

struct text_writer {
	struct buf *out;
	enum table_id table;		 /* the table of EXPR_COLUMN and EXPR_NAME */
	const struct plan_field *fields; /* for EXPR_FIELD */
	size_t field_count;
};

int text_write(struct text_writer *w, const struct expr *e);
/* Writes a text in the language's quotes. 0 or -ENOMEM. */
int text_write_quoted(struct buf *out, struct bytes t);
