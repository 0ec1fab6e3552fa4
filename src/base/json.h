/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h: strings of JSON that are harmless on a terminal, too. A character that is not shown
 * (utf8.h) is written as \uXXXX, which every reader of JSON takes back to the same character.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"

/*
 * Appends the inside of a string. Bytes that are not UTF-8 become U+FFFD; characters of `also` (ASCII; may be "") are written
 * as \uXXXX as well. 0 or -ENOMEM.
 */
int json_escape(struct buf *to, const void *data, size_t len, const char *also);

/* Appends a document that another library wrote. 0 or -ENOMEM. */
int json_escape_document(struct buf *to, const char *text, size_t len);

/*
 * The next member of an object: *at begins at 0. A string comes without its quotes and with its escapes as they stand, behind its
 * quote; anything else as it is written. False at the end, or where it is no object.
 */
bool json_next_member(struct bytes object, size_t *at, struct bytes *key, struct bytes *value);
/* The value of a member: false where it has none. */
bool json_member(struct bytes object, struct bytes key, struct bytes *ret);
