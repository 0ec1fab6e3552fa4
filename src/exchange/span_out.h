/* SPDX-License-Identifier: Apache-2.0 */
/* span_out.h: one span as the writers get it. Valid until the next. */
#pragma once

#include <errno.h>

#include "analysis/spans/spans.h"
#include "exchange/internal.h"
#include "exchange/spans_out.h"
#include "schema/vocab.h"

struct note_out {
	int64_t at;
	struct bytes name, text; /* text {NULL, 0}: none */
};

struct span_out {
	struct span_ids ids; /* trace and span are always there */
	struct bytes name, service;
	int64_t start, dur; /* of what was running, up to the end of the trace */
	int kind, status;   /* enum span_kind, span_status; -1: not known */
	json_t *attributes; /* an object, with the members of names.h */
	const struct note_out *notes;
	size_t note_count;
};

/* A span's number among those of all recordings. */
static inline int64_t span_key(uint64_t recording, int64_t number)
{
	return recording ? (int64_t)hash_u64((uint64_t)number + hash_u64(recording)) : number;
}

/* What is known of all spans by their number: here and below span_key(). */
struct span_known {
	int64_t parent; /* 0: none */
	uint64_t id;	/* of the span: its own, or made */
	uint64_t trace[2];
	bool has_trace;
};

/* The ids of a span or match as it is exported, by its number; "" where there is none. */
void spans_out_ids(const struct spans_out *o, uint64_t recording, int64_t number,
		   struct span_ids *ids);

/* A call that becomes a span. */
struct call_out {
	uint64_t key; /* of the span that made it, as below */
	int64_t id, start, dur, bytes;
	int64_t file_id; /* -1: none */
	int32_t op, err; /* err -1: it did not fail */
	uint8_t class;
};

/* What a span's calls amount to, by class of call. */
struct calls_sum {
	uint64_t calls[CLASS_COUNT];
	int64_t bytes[CLASS_COUNT], time[CLASS_COUNT];
	unsigned int vias; /* a bit for each from VIA_CONTEXT on */
};

/* spans_calls.c: the calls of spans, by spanset_number_key(). */
struct spans_calls {
	struct map sums; /* key -> index */
	struct calls_sum *sum;
	size_t count, cap;
	struct call_out *calls; /* by key, then start */
	size_t call_count, call_cap;
	uint64_t lost;
};
void spans_calls_free(struct spans_calls *c);
/* Time and threshold as of spans_out_options. */
int spans_calls_read(struct spans_calls *c, struct store *s, const struct spans_out_options *opt,
		     struct error *err);
/* Adds the sums as weir.io.*. 0 or -ENOMEM. */
int spans_calls_put(const struct spans_calls *c, uint64_t key, json_t *attributes);
/* The first of a span's calls, and how many. */
const struct call_out *spans_calls_of(const struct spans_calls *c, uint64_t key, size_t *ret);

/* A text of any bytes, mended. NULL: no memory. */
static inline json_t *json_mended(struct bytes b)
{
	bool mended;

	return json_of_bytes(b.data, b.len, &mended);
}

/* Takes a member out of an object: a new reference, NULL where it is not there. */
static inline json_t *json_take(json_t *object, const char *name)
{
	json_t *j = json_incref(json_object_get(object, name));

	if (j)
		json_object_del(object, name);
	return j;
}

/* Sets a member unless the value is NULL; takes it. 0 or -ENOMEM. */
static inline int json_set_some(json_t *object, const char *name, json_t *value)
{
	return value && json_object_set_new(object, name, value) < 0 ? -ENOMEM : 0;
}

/* otlp_out.c, zipkin_out.c, jaeger_out.c: a Span of that format, new; NULL: no memory. Take members of names.h out of the
 * span's attributes. */
json_t *zipkin_span(const struct span_out *s);
/* Adds the span to a document of Jaeger's: an object with "data". 0 or -ENOMEM. */
int jaeger_put(json_t *document, struct intern *traces, const struct span_out *s);
json_t *jaeger_document(void);
/* 1: the span has all tags of the object, each as an attribute of its own, of its service or of a note; 0: not; or -ENOMEM.
 * Values are compared as texts. What Jaeger has as tags (span.kind, error) is added to its attributes. */
int jaeger_has_tags(const struct span_out *s, const json_t *tags);
/* Adds the span to a request of OTLP's, below its resource and scope. 0 or -ENOMEM. */
int otlp_put(json_t *request, struct intern *groups, const struct span_out *s);
/* The attributes of a note: its text if that is an object, else {"value": text}; NULL: no memory. */
json_t *note_attributes(const struct note_out *n);
