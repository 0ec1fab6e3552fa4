/* SPDX-License-Identifier: Apache-2.0 */
/* protobuf.h: fields of protobuf's wire format, each appended to the message `to`. Return what buf_status() does. */
#pragma once

#include "base/buf.h"

int protobuf_uint(struct buf *to, uint32_t field, uint64_t value);
int protobuf_bytes(struct buf *to, uint32_t field, struct bytes data);
/* A message as a field; an error of the message is one of `to`. */
int protobuf_message(struct buf *to, uint32_t field, const struct buf *message);
