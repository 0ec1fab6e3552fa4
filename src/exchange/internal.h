/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: shared between the files of exchange/. */
#pragma once

#include <jansson.h>

#include "exchange/names.h"
#include "exchange/spans_in.h"

#define _cleanup_json_ _cleanup_(json_decrefp)

#define TRACE_ID_TEXT 32
#define SPAN_ID_TEXT  16

/* Ids as text, in lower case; "" if there is none. */
struct span_ids {
	char trace[TRACE_ID_TEXT + 1], span[SPAN_ID_TEXT + 1], parent[SPAN_ID_TEXT + 1];
};

/* A span as passed on by the reader of a format. JSON values are borrowed. */
struct span_in {
	struct span_ids ids;
	struct bytes name, service; /* NULL: none */
	uint64_t start, end;	    /* ns since the epoch; 0: not given */
	int64_t dur;		    /* used if `end` is 0; -1: still running */
	int kind, status;	    /* enum span_kind, span_status; -1: none */
	bool shared;	    /* both sides of a call share one id; this is the server's side */
	json_t *attributes; /* an object; NULL: none */
};

/* spans_in.c: adds a span; its notes follow. 1: accepted, 0: rejected together with its notes, or negative. */
int spans_in_put(struct spans_in *s, const struct span_in *in);
/* Adds a note to the span added last. `attributes`: an object or NULL. */
int spans_in_put_note(struct spans_in *s, uint64_t at, struct bytes name, json_t *attributes);
/*
 * Copies an id of `digits` digits (in any case) into `to`; an invalid id is counted and becomes "". `pad`: zero-pads a
 * shorter id.
 */
void spans_in_id(struct spans_in *s, char *to, size_t digits, struct bytes text, bool pad);
/* Reserves bytes of the limit for data that spans share; false if it is exhausted, which is counted. */
bool spans_in_room(struct spans_in *s, size_t bytes);
/* Truncates a text to at most `max` bytes at a character boundary; true if it was longer. */
bool spans_in_shorten(struct bytes *text, size_t max);
/* Raises that limit for another body. */
void spans_in_more_room(struct spans_in *s, size_t body_bytes);
/* Counts a text that was not valid UTF-8 and was repaired. */
void spans_in_mended(struct spans_in *s);

/* The text of a JSON string; {NULL, 0} for any other value. */
static inline struct bytes json_text(const json_t *j)
{
	return json_is_string(j) ? (struct bytes){(const uint8_t *)json_string_value(j),
						  json_string_length(j)}
				 : (struct bytes){NULL, 0};
}
/* Appends text with U+FFFD in place of invalid UTF-8, and of NUL unless `nul`. 1 if anything was replaced, 0, or -ENOMEM. */
int text_mend(struct bytes text, bool nul, struct buf *to);
/* A string from arbitrary bytes: invalid UTF-8 becomes U+FFFD and sets *mended. NULL: no memory. */
json_t *json_of_bytes(const void *data, size_t len, bool *mended);
/* Sets a member. Its name may be any bytes; NUL and invalid UTF-8 become U+FFFD. Takes ownership of the value. 0 or -ENOMEM. */
int json_put(json_t *object, struct bytes name, json_t *value);
/* Appends a document. 0 or -ENOMEM. */
int json_write(struct buf *to, const json_t *j);
/* A value as a string, in the form that a user types it: without quotes. NULL: no memory. */
json_t *json_as_text(const json_t *v);
/* A new object with the values of another (none: empty) as strings. NULL: no memory. */
json_t *json_as_texts(const json_t *object);
/* An integer, also if written as a string (as proto3's JSON writes 64-bit numbers); false if it is not one. */
bool json_u64(const json_t *j, uint64_t *ret);
bool json_i64(const json_t *j, int64_t *ret);

/* otlp_in.c, zipkin_in.c: read one document. `base`: its offset in the body, for messages. */
int otlp_json_read(struct spans_in *s, const json_t *document, struct error *err);
int otlp_protobuf_read(struct spans_in *s, struct bytes body, size_t base, struct error *err);
int zipkin_read(struct spans_in *s, const json_t *document, struct error *err);

/* otlp_value.c: conversion between AnyValue or lists of KeyValue and plain JSON. */
/* A new value; NULL with *r negative: -E2BIG nested too deep, -EINVAL not a valid value, -ENOMEM. */
json_t *otlp_plain(const json_t *any, unsigned int depth, int *r);
/* Adds a list of KeyValue (NULL: nothing) to an object. 0 or an error as above. */
int otlp_plain_list(const json_t *list, json_t *to, unsigned int depth);
/* A new AnyValue; a new list. NULL: no memory. */
json_t *otlp_any(const json_t *plain);
json_t *otlp_list(const json_t *object);
