/* SPDX-License-Identifier: Apache-2.0 */
/* sql_text.h: finds the ends of SQL statements as the engine reads them: quotes, dollar quotes and comments are skipped. */
#pragma once

#include "base/buf.h"

/* True if the text ends a statement: a semicolon outside of quotes and comments, followed by nothing. */
bool sql_is_complete(const char *text);
/* The start of the last statement: after the last unquoted semicolon that is followed by something. */
const char *sql_last_statement(const char *text);
/* The same statements, with the rows of the last one written to a Parquet file. 0 or -ENOMEM. */
int sql_copy_to_parquet(const char *sql, const char *path, struct buf *ret);
