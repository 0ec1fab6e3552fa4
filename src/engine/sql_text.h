/* SPDX-License-Identifier: Apache-2.0 */
/* sql_text.h: where statements of SQL end, as the engine reads them: quotes, dollar quotes and comments are skipped. */
#pragma once

#include "base/buf.h"

/* True where the text ends a statement: a semicolon outside of quotes and comments, and nothing
 * behind it. */
bool sql_is_complete(const char *text);
/* The same statements, the rows of the last into a Parquet file. 0 or -ENOMEM. */
int sql_copy_to_parquet(const char *sql, const char *path, struct buf *ret);
