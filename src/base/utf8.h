/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h: UTF-8 as in RFC 3629, and which characters are harmless on a screen. */
#pragma once

#include "base/util.h"

/* Decodes the character at `data`: its length in bytes, 0 if it is not valid UTF-8 (overlong, a surrogate, truncated).
 * `len` is at least 1. */
size_t utf8_decode(const void *data, size_t len, uint32_t *ret);

/*
 * False for characters that a terminal interprets, that change the direction of a line, or that are invisible: controls
 * (C0, DEL, C1), bidirectional and other format characters, private use, tags.
 */
bool utf8_is_shown(uint32_t c);
