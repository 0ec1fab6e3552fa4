/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h: UTF-8 as RFC 3629 has it, and which characters are harmless on a screen. */
#pragma once

#include "base/util.h"

/* The character at `data`: its bytes, 0 where they are not UTF-8 (overlong, a surrogate, cut). `len` is at least 1. */
size_t utf8_decode(const void *data, size_t len, uint32_t *ret);

/*
 * False for what a terminal obeys, for what changes the direction of a line, and for what cannot be
 * seen: controls (C0, DEL, C1), bidirectional and other format characters, private use, tags.
 */
bool utf8_is_shown(uint32_t c);
