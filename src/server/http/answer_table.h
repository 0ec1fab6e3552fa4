/* SPDX-License-Identifier: Apache-2.0 */
/* answer_table.h: the rows of an answer as columns. */
#pragma once

#include "engine/answer.h"
#include "server/internal.h"

/* Writes q->out in the compact form: at most `limit` rows. 0 or negative. */
int table_columns(struct question *q, struct answer *rows, int64_t limit);
