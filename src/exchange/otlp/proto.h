/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto.h: protobuf's wire format and the messages of OTLP's traces, as numbers of fields. A message is read into, and
 * written from, the JSON that OTLP defines for it, so that there is one reader and one writer of what the fields mean.
 */
#pragma once

#include "exchange/internal.h"

#define PROTO_DEPTH_MAX (3 * SPANS_DEPTH_MAX + 16) /* of messages: a list in a value takes three */

enum proto_type {
	PROTO_STRING,
	PROTO_BYTES, /* base64 in JSON */
	PROTO_HEX,   /* bytes that OTLP writes as hexadecimal digits: ids */
	PROTO_BOOL,
	PROTO_UINT,    /* varint: a number in JSON (uint32, an enum) */
	PROTO_INT64,   /* varint: text in JSON */
	PROTO_FIXED32, /* a number in JSON */
	PROTO_FIXED64, /* text in JSON */
	PROTO_DOUBLE,
	PROTO_MESSAGE,
};

struct proto_message;

struct proto_field {
	uint32_t number; /* 0: the end */
	enum proto_type type;
	const char *name; /* in JSON */
	bool repeated;
	const struct proto_message *message;
};

struct proto_message {
	const char *name;
	const struct proto_field *fields;
};

extern const struct proto_message proto_resource, proto_scope, proto_span;
extern const struct proto_message proto_request; /* ExportTraceServiceRequest */
extern const struct proto_message
	proto_profiles; /* ExportProfilesServiceRequest, v1development of 1.10.0 */

/* A field as it stands on the wire. */
struct proto_wire {
	uint32_t number, type; /* PROTO_WIRE_... */
	uint64_t value;	       /* of what is a number */
	struct bytes bytes;    /* of what has a length */
};

#define PROTO_WIRE_VARINT 0u
#define PROTO_WIRE_64	  1u
#define PROTO_WIRE_BYTES  2u
#define PROTO_WIRE_32	  5u

/* What is being read, for the offset in messages. */
struct proto_in {
	const uint8_t *begin; /* of the body */
	size_t base;	      /* where in its file that is */
	bool mended;	      /* a text was no UTF-8 */
};

/* The next field of [*p, end): 1, 0 at the end, -EINVAL with the offset of the byte that is wrong. */
int proto_next(const struct proto_in *in, const uint8_t **p, const uint8_t *end,
	       struct proto_wire *ret, struct error *err);
/* Reads a message; fields that are unknown, or of another type, are skipped. 0 or negative. */
int proto_read(struct proto_in *in, const struct proto_message *m, struct bytes message,
	       json_t **ret, struct error *err);
/* Appends a message; members that the message has not are skipped. 0, -EINVAL: a value of another type, or -ENOMEM. */
int proto_write(struct buf *to, const struct proto_message *m, const json_t *json);
