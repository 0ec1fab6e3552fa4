/* SPDX-License-Identifier: Apache-2.0 */
/* sql_text.h: finds the ends of SQL statements as the engine reads them, past quotes, dollar quotes and comments; and words. */
#pragma once

#include "base/buf.h"

/* True if the text ends a statement: a semicolon outside of quotes and comments, followed by nothing. */
bool sql_is_complete(const char *text);
/*
 * The byte after a quoted text, comment or dollar quote that begins at p; NULL if it is not terminated, p itself if
 * none begins there.
 */
const char *sql_skip_quoted(const char *p);
/* True for a character of a name without quotes. */
bool sql_is_word_char(char c);
/*
 * The text after the next such whole word, in upper or lower case; NULL: there is none. Strings and comments are searched,
 * too, as only the engine knows for certain where they end.
 */
const char *sql_after_word(const char *sql, const char *word);
/* The same statements, with the rows of the last one written to a Parquet file. 0 or -ENOMEM. */
int sql_copy_to_parquet(const char *sql, const char *path, struct buf *ret);
