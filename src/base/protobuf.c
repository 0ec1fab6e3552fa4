/* SPDX-License-Identifier: Apache-2.0 */
#include "base/protobuf.h"

enum { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

int protobuf_uint(struct buf *to, uint32_t field, uint64_t value)
{
	buf_varint(to, (uint64_t)field << 3 | WIRE_NUMBER);
	return buf_varint(to, value);
}

int protobuf_bytes(struct buf *to, uint32_t field, struct bytes data)
{
	buf_varint(to, (uint64_t)field << 3 | WIRE_BYTES);
	buf_varint(to, data.len);
	return buf_append(to, data.data, data.len);
}

int protobuf_message(struct buf *to, uint32_t field, const struct buf *message)
{
	buf_varint(to, (uint64_t)field << 3 | WIRE_BYTES);
	buf_varint(to, message->len);
	return buf_add(to, message);
}
