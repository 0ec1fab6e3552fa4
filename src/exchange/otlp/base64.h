/* SPDX-License-Identifier: Apache-2.0 */
/* base64.h: RFC 4648's base64, with padding. */
#pragma once

#include "base/buf.h"
#include "base/map.h"

/* Appends data as base64 text. 0 or -ENOMEM. */
int base64_put(struct buf *to, struct bytes data);
/* Appends the bytes that a base64 text encodes, with or without padding, in either alphabet. 0, -EINVAL or -ENOMEM. */
int base64_take(struct buf *to, const char *text);
