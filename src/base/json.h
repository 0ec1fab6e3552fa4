/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h: JSON strings that are also harmless on a terminal. A character that must not be shown (utf8.h) is written as
 * \uXXXX, which a JSON parser turns back into the same character.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"

/*
 * Appends the inside of a string. Bytes that are not UTF-8 become U+FFFD; the ASCII characters in `also` (may be "")
 * are also written as \uXXXX. 0 or -ENOMEM.
 */
int json_escape(struct buf *to, const void *data, size_t len, const char *also);

/* Appends a document that another library wrote. 0 or -ENOMEM. */
int json_escape_document(struct buf *to, const char *text, size_t len);

/*
 * The next member of an object: start with *at = 0. A string value is returned without its quotes, escapes not decoded;
 * any other value as written. False at the end, or if this is not an object.
 */
bool json_next_member(struct bytes object, size_t *at, struct bytes *key, struct bytes *value);
/* The value of a member; false if the object has no such member. */
bool json_member(struct bytes object, struct bytes key, struct bytes *ret);
