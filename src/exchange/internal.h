/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: shared between the files of exchange/. */
#pragma once

#include <jansson.h>

#include "exchange/names.h"
#include "exchange/spans_in.h"

#define _cleanup_json_ _cleanup_(json_decrefp)

#define TRACE_ID_TEXT 32
#define SPAN_ID_TEXT  16

/* An id as text, lower case; "" where there is none. */
struct span_ids {
	char trace[TRACE_ID_TEXT + 1], span[SPAN_ID_TEXT + 1], parent[SPAN_ID_TEXT + 1];
};

/* A span as the reader of a format gives it. JSON is borrowed. */
struct span_in {
	struct span_ids ids;
	struct bytes name, service; /* NULL: none */
	uint64_t start, end;	    /* ns since the epoch; 0: not given */
	int64_t dur;		    /* where `end` is 0; -1: it was running */
	int kind, status;	    /* enum span_kind, span_status; -1: none */
	bool shared;		    /* two sides of a call have one id: this is the server's */
	json_t *attributes;	    /* an object; NULL: none */
};

/* spans_in.c: a span, then its notes. 1: taken, 0: rejected (and so are its notes), or negative. */
int spans_in_put(struct spans_in *s, const struct span_in *in);
/* A note of the span that was put last. `attributes`: an object or NULL. */
int spans_in_put_note(struct spans_in *s, uint64_t at, struct bytes name, json_t *attributes);
/* Copies an id of `digits` (of any case) into `to`; one that is none is counted and "". `pad`: a shorter one gets zeros. */
void spans_in_id(struct spans_in *s, char *to, size_t digits, struct bytes text, bool pad);
/* Takes bytes of the room for what spans have in common; false where there is none left, and it is counted. */
bool spans_in_room(struct spans_in *s, size_t bytes);
/* Cuts a text to at most `max` bytes, between two characters; true where it was longer. */
bool spans_in_shorten(struct bytes *text, size_t max);
/* For a further body. */
void spans_in_more_room(struct spans_in *s, size_t body_bytes);
/* Counts a text that had to be mended. */
void spans_in_mended(struct spans_in *s);

/* The text of a JSON string; {NULL, 0} of anything else. */
static inline struct bytes json_text(const json_t *j)
{
	return json_is_string(j) ? (struct bytes){(const uint8_t *)json_string_value(j),
						  json_string_length(j)}
				 : (struct bytes){NULL, 0};
}
/* Appends text with U+FFFD for what is not UTF-8, and for NUL unless `nul`. 1 where there was any, 0, or -ENOMEM. */
int text_mend(struct bytes text, bool nul, struct buf *to);
/* A string of any bytes: what is no UTF-8 becomes U+FFFD, which sets *mended. NULL: no memory. */
json_t *json_of_bytes(const void *data, size_t len, bool *mended);
/* Sets a member, whose name may be any bytes but is kept without NUL; takes the value. 0 or -ENOMEM. */
int json_put(json_t *object, struct bytes name, json_t *value);
/* A whole number, or one written as a text (as proto3's JSON has 64 bits); false where it is none. */
bool json_u64(const json_t *j, uint64_t *ret);
bool json_i64(const json_t *j, int64_t *ret);

/* otlp_in.c, zipkin_in.c: one document. `base`: where it begins in the body, for messages. */
int otlp_json_read(struct spans_in *s, const json_t *document, struct error *err);
int otlp_protobuf_read(struct spans_in *s, struct bytes body, size_t base, struct error *err);
int zipkin_read(struct spans_in *s, const json_t *document, struct error *err);

/* otlp_value.c: AnyValue and lists of KeyValue, and the same as plain JSON. */
/* A new value; NULL with *r negative: -E2BIG nested too deep, -EINVAL none, -ENOMEM. */
json_t *otlp_plain(const json_t *any, unsigned int depth, int *r);
/* Adds a list of KeyValue (NULL: none) to an object. 0 or as above. */
int otlp_plain_list(const json_t *list, json_t *to, unsigned int depth);
/* A new AnyValue, a new list; NULL: no memory. */
json_t *otlp_any(const json_t *plain);
json_t *otlp_list(const json_t *object);
