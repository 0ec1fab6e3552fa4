// SPDX-License-Identifier: Apache-2.0
/* route_spans.c: /v1/traces (OTLP/HTTP) and /api/v2/spans (Zipkin): receives spans from programs. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "exchange/otlp/body.h"
#include "server/http/intake.h"
#include "server/internal.h"

#define PROTOBUF "application/x-protobuf"
#define JSON	 "application/json"

/* google.rpc.Code */
#define RPC_INVALID_ARGUMENT 3u
#define RPC_UNAVAILABLE	     14u

static bool is_type(const struct http_request *r, const char *type)
{
	const char *given = http_header(r, "Content-Type");
	size_t len = strlen(type);

	return given && strncasecmp(given, type, len) == 0 && strchr("; \t", given[len]);
}

static void refuse(struct http_request *r, unsigned int status, bool protobuf, const char *message)
{
	_cleanup_buf_ struct buf out = {0};
	unsigned int code = status == 503 ? RPC_UNAVAILABLE : RPC_INVALID_ARGUMENT;

	if (status == 503)
		http_add_header(r, "Retry-After", "1");
	if (otlp_refusal(&out, protobuf, code, message) < 0)
		buf_clear(&out);
	http_reply(r, status, protobuf ? PROTOBUF : JSON, &out);
}

/* Decompresses the body: *ret is the body itself, or its inflated form in *room. 0, or negative: refused. */
static int plain_body(struct http_request *r, bool protobuf, struct buf *room, struct bytes *ret)
{
	const char *encoding = http_header(r, "Content-Encoding");
	const struct buf *body = http_body(r);
	int e;

	*ret = (struct bytes){body->data, body->len};
	if (!encoding || !*encoding || strcasecmp(encoding, "identity") == 0)
		return 0;
	if (strcasecmp(encoding, "gzip") != 0) {
		refuse(r, 415, protobuf, "Content-Encoding: gzip or none");
		return -EINVAL;
	}
	e = http_inflate_max(body->data, body->len, INTAKE_MAX, room);
	if (e < 0) {
		refuse(r, e == -E2BIG ? 413 : 400, protobuf,
		       e == -E2BIG
			       ? "the body inflates to more than 16 MiB: send fewer spans at once"
			       : "the body is not gzip");
		return e;
	}
	*ret = (struct bytes){room->data, room->len};
	return 0;
}

/* Takes the body, during its turn; false if it was refused. */
static bool spans_take_turn(struct server *s, struct http_request *r, enum spans_format format,
			    struct spans_counts *ret)
{
	bool protobuf = format == SPANS_OTLP_PROTOBUF;
	_cleanup_buf_ struct buf room = {0};
	struct error err = {0};
	struct bytes body;
	int e;

	if (plain_body(r, protobuf, &room, &body) < 0)
		return false;
	e = intake_take(s->intake, format, body, ret, &err);
	if (e >= 0)
		return true;
	refuse(r, e == -EINVAL ? 400 : e == -E2BIG ? 413 : 503, protobuf, err.message);
	return false;
}

/* Takes the body; false if it was refused. */
static bool spans_take_body(struct server *s, struct http_request *r, enum spans_format format,
			    struct spans_counts *ret)
{
	bool protobuf = format == SPANS_OTLP_PROTOBUF, taken;

	if (!s->intake) {
		refuse(r, 404, protobuf,
		       "spans are not accepted: start weir serve with --spans FILE");
		return false;
	}
	if (intake_enter(s->intake) < 0) {
		refuse(r, 503, protobuf, "too many requests are waiting: send it again later");
		return false;
	}
	taken = spans_take_turn(s, r, format, ret);
	intake_leave(s->intake);
	return taken;
}

void otlp_post(void *arg, struct http_request *r)
{
	bool protobuf = is_type(r, PROTOBUF);
	_cleanup_buf_ struct buf out = {0}, text = {0};
	struct spans_counts counts = {0};

	if (!protobuf && !is_type(r, JSON)) {
		refuse(r, 415, false, "Content-Type: application/x-protobuf or application/json");
		return;
	}
	if (!spans_take_body(arg, r, protobuf ? SPANS_OTLP_PROTOBUF : SPANS_OTLP_JSON, &counts))
		return;
	if (spans_counts_put(&counts, &text) < 0 ||
	    otlp_response(&out, protobuf, counts.rejected, buf_str(&text)) < 0)
		return; /* answered with 500 */
	http_reply(r, 200, protobuf ? PROTOBUF : JSON, &out);
}

void zipkin_post(void *arg, struct http_request *r)
{
	struct spans_counts counts = {0};

	if (!is_type(r, JSON)) {
		refuse(r, 415, false, "Content-Type: application/json");
		return;
	}
	if (spans_take_body(arg, r, SPANS_ZIPKIN, &counts))
		http_reply_text(r, 202, NULL, "");
}
