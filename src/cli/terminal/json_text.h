/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h: JSON on a stream, in which no character is left that a terminal obeys (base/json.h). */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/map.h"

/* Prints a string with its quotes, for documents that are short and of fixed form; bytes that are no UTF-8 become U+FFFD. */
void json_put_string(FILE *out, const void *data, size_t len);
/* Text as it is where JSON can hold it, else made safe; null where there is none. */
json_t *json_text(struct bytes text);
/* Appends a value, or ", \"name\": value", and takes the reference. 0 or -ENOMEM. */
int json_put_value(struct buf *to, json_t *value);
int json_put_member(struct buf *to, const char *name, json_t *value);
