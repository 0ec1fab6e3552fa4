/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h: comma-separated values as in RFC 4180, with plain line ends. */
#pragma once

#include "base/buf.h"

/* Appends a value that is not text, quoted if necessary. 0 or -ENOMEM. */
int csv_put(struct buf *to, const char *value, size_t len);

/*
 * Appends a text. Programs and users of the recorded host may have chosen it, and a spreadsheet must not interpret it
 * as a formula: a text that begins with = + - @, a tab or a carriage return gets an apostrophe prepended, and so does
 * one that begins with an apostrophe. Removing one apostrophe restores the exact text. An empty text is written as "",
 * to distinguish it from a missing value. 0 or -ENOMEM.
 */
int csv_put_text(struct buf *to, const char *text, size_t len);
