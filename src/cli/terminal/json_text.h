/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h: JSON on a stream, without any character that a terminal interprets (base/json.h). */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/map.h"

/* Prints a quoted string, for short documents of fixed form; invalid UTF-8 becomes U+FFFD. */
void json_put_string(FILE *out, const void *data, size_t len);
/* The text unchanged if JSON can represent it, else made safe; null if there is none. */
json_t *json_text(struct bytes text);
/* Appends a value, or ", \"name\": value", and takes the reference. 0 or -ENOMEM. */
int json_put_value(struct buf *to, json_t *value);
int json_put_member(struct buf *to, const char *name, json_t *value);
