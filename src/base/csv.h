/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h: comma-separated values as RFC 4180 has them, with plain line ends. */
#pragma once

#include "base/buf.h"

/* A value that is no text: in quotes where it must be. 0 or -ENOMEM. */
int csv_put(struct buf *to, const char *value, size_t len);

/*
 * A text, which programs and users of the recorded host may have chosen: a spreadsheet must not take
 * it for a formula. One that begins with = + - @, a tab or a carriage return gets an apostrophe in
 * front, and so does one that begins with an apostrophe: whoever needs the exact text takes one off.
 * An empty text is "", so that it differs from no value. 0 or -ENOMEM.
 */
int csv_put_text(struct buf *to, const char *text, size_t len);
