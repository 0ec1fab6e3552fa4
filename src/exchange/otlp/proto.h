/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto.h: protobuf's wire format, and the messages of OTLP's traces as field numbers. A message is converted from and
 * to the JSON form that OTLP defines for it, so that the meaning of the fields is implemented only once for reading and
 * writing.
 */
#pragma once

#include "exchange/internal.h"

/* depth of nested messages: a list within a value takes three */
#define PROTO_DEPTH_MAX (3 * SPANS_DEPTH_MAX + 16)

enum proto_type {
	PROTO_STRING,
	PROTO_BYTES, /* base64 in JSON */
	PROTO_HEX,   /* bytes that OTLP's JSON writes as hexadecimal digits: ids */
	PROTO_BOOL,
	PROTO_UINT,    /* varint: a number in JSON (uint32, an enum) */
	PROTO_INT64,   /* varint: a string in JSON */
	PROTO_FIXED32, /* a number in JSON */
	PROTO_FIXED64, /* a string in JSON */
	PROTO_DOUBLE,
	PROTO_MESSAGE,
};

struct proto_field {
	uint32_t number; /* 0: end of the list */
	enum proto_type type;
	const char *name; /* in JSON */
	bool repeated;
	const struct proto_field *message; /* the fields of a message */
};

/* Messages, as lists of their fields. */
extern const struct proto_field proto_resource[], proto_scope[], proto_span[];
extern const struct proto_field proto_request[]; /* ExportTraceServiceRequest */
extern const struct proto_field
	proto_profiles[]; /* ExportProfilesServiceRequest, v1development of 1.10.0 */

/* A field as encoded on the wire. */
struct proto_wire {
	uint32_t number, type; /* PROTO_WIRE_... */
	uint64_t value;	       /* of numeric wire types */
	struct bytes bytes;    /* of PROTO_WIRE_BYTES */
};

#define PROTO_WIRE_VARINT 0u
#define PROTO_WIRE_64	  1u
#define PROTO_WIRE_BYTES  2u
#define PROTO_WIRE_32	  5u

/* The input, for offsets in messages. */
struct proto_in {
	const uint8_t *begin; /* start of the body */
	size_t base;	      /* offset of the body in its file */
	bool mended;	      /* a string was not UTF-8 */
};

/* The next field of [*p, end): 1, 0 at the end, or -EINVAL with the offset of the invalid byte in the message. */
int proto_next(const struct proto_in *in, const uint8_t **p, const uint8_t *end,
	       struct proto_wire *ret, struct error *err);
/* Reads a message; unknown fields and fields of another type are skipped. 0 or negative. */
int proto_read(struct proto_in *in, const struct proto_field *fields, struct bytes message,
	       json_t **ret, struct error *err);
/*
 * Appends a message; JSON members that the message does not define are skipped. 0, -EINVAL: a value of the wrong type,
 * or -ENOMEM.
 */
int proto_write(struct buf *to, const struct proto_field *fields, const json_t *json);
