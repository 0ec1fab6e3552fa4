/* SPDX-License-Identifier: Apache-2.0 */
/* table.h: the rows of an answer as columns, and as a file that the engine writes. */
#pragma once

#include "engine/answer.h"
#include "server/internal.h"

/* Writes q->out in the compact form: at most `limit` rows. 0 or negative. */
int table_columns(struct question *q, struct answer *rows, int64_t limit);
/* The statements with the last one's rows going to a file as Parquet. 0 or -ENOMEM. */
int table_copy_sql(const char *sql, const char *path, struct buf *ret);
