/* SPDX-License-Identifier: Apache-2.0 */
/* answer_table.h: writes the rows of an answer as columns. */
#pragma once

#include "engine/answer.h"
#include "server/internal.h"

/* Writes at most `limit` rows to q->out in the compact form. 0 or negative. */
int table_columns(struct question *q, struct answer *rows, int64_t limit);
