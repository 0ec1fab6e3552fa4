/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql_answer.h: the rows of a statement as an answer. Values are DuckDB's text; points in time are also given in
 * nanoseconds.
 */
#pragma once

#include "engine/answer.h"

struct sql_answer {
	struct engine_result *result;
	struct buf *texts; /* of the current row, by column */
	bool short_types;  /* abbreviate ENUM types with very many words */
	int error;
};

/* 0 or -ENOMEM; call sql_answer_free() in either case, before the result is freed. */
int sql_answer_init(struct sql_answer *s, struct answer *ret, struct engine_result *result,
		    bool short_types);
void sql_answer_free(struct sql_answer *s);
