/* SPDX-License-Identifier: Apache-2.0 */
/* sql_answer.h: the rows of a statement as an answer. Values are the text that DuckDB gives them; points in time are also
 * nanoseconds. */
#pragma once

#include "engine/answer.h"

struct sql_answer {
	struct engine_result *result;
	struct buf *texts; /* of the row at hand, by column */
	bool short_types;  /* ENUM types of very many words are shortened */
	int error;
};

/* 0 or -ENOMEM; sql_answer_free() in either case, before the result. */
int sql_answer_init(struct sql_answer *s, struct answer *ret, struct engine_result *result,
		    bool short_types);
void sql_answer_free(struct sql_answer *s);
