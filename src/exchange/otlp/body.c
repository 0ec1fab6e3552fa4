// SPDX-License-Identifier: Apache-2.0
#include "exchange/otlp/body.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exchange/otlp/proto.h"

/* clang-format off */
static const struct proto_field partial[] = {
	{1, PROTO_INT64, "rejectedSpans"},
	{2, PROTO_STRING, "errorMessage"},
	{0},
};
static const struct proto_field response[] = {
	{1, PROTO_MESSAGE, "partialSuccess", .message = partial},
	{0},
};
static const struct proto_field refusal[] = {
	{1, PROTO_UINT, "code"},
	{2, PROTO_STRING, "message"},
	{0},
};
/* clang-format on */

static int put(struct buf *to, bool protobuf, const struct proto_field *message, const json_t *j)
{
	if (!j)
		return -ENOMEM;
	return protobuf ? proto_write(to, message, j) : json_write(to, j);
}

int otlp_response(struct buf *to, bool protobuf, uint64_t rejected, const char *message)
{
	_cleanup_json_ json_t *j = NULL;
	char count[32];

	snprintf(count, sizeof(count), "%llu", (unsigned long long)rejected);
	if (*message)
		j = json_pack("{s:{s:s, s:s}}", "partialSuccess", "rejectedSpans", count,
			      "errorMessage", message);
	else
		j = json_object();
	return put(to, protobuf, response, j);
}

int otlp_refusal(struct buf *to, bool protobuf, unsigned int code, const char *message)
{
	bool mended;
	_cleanup_json_ json_t *j = json_pack("{s:i, s:o}", "code", (int)code, "message",
					     json_of_bytes(message, strlen(message), &mended));

	return put(to, protobuf, refusal, j);
}
