/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h: JSON on a stream, in which no character is left that a terminal obeys (base/json.h). */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* Prints a string with its quotes, for documents that are short and of fixed form; bytes that are no UTF-8 become U+FFFD. */
void json_put_string(FILE *out, const void *data, size_t len);
/* Prints a document, with jansson's flags. 0, -ENOMEM (also where `value` is NULL) or -EIO. */
int json_put(FILE *out, const json_t *value, size_t flags);
