/* SPDX-License-Identifier: Apache-2.0 */
/* span_out.h: one span as passed to the writers. Valid until the next one. */
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
	struct span_ids ids; /* trace and span are always set */
	struct bytes name, service;
	int64_t start, dur; /* if still running: up to the end of the trace */
	int kind, status;   /* enum span_kind, span_status; -1: unknown */
	json_t *attributes; /* an object, including the members of names.h */
	const struct note_out *notes;
	size_t note_count;
};

/* A span number that is unique over all recordings. */
static inline int64_t span_key(uint64_t recording, int64_t number)
{
	return recording ? (int64_t)hash_u64((uint64_t)number + hash_u64(recording)) : number;
}

/* What is known of each span, by its number; numbers here and below are those of span_key(). */
struct span_known {
	int64_t parent; /* 0: none */
	uint64_t id;	/* of the span: its own, or generated */
	uint64_t trace[2];
	bool has_trace;
};

/* The ids under which a span or match is exported, by its number; "" if there is none. */
void spans_out_ids(const struct spans_out *o, uint64_t recording, int64_t number,
		   struct span_ids *ids);

/* A call exported as a span. */
struct call_out {
	uint64_t key; /* of the span that the call belongs to, as below */
	int64_t id, start, dur, bytes;
	int64_t file_id; /* -1: none */
	int32_t op, err; /* err -1: the call succeeded */
	uint8_t class;
};

/* Sums over the calls of a span, by class of call. */
struct calls_sum {
	uint64_t calls[CLASS_COUNT];
	int64_t bytes[CLASS_COUNT], time[CLASS_COUNT];
	unsigned int vias; /* one bit for each via from VIA_CONTEXT on */
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
/* Time range and threshold are those of spans_out_options. */
int spans_calls_read(struct spans_calls *c, struct store *s, const struct spans_out_options *opt,
		     struct error *err);
/* Adds the sums as weir.io.*. 0 or -ENOMEM. */
int spans_calls_put(const struct spans_calls *c, uint64_t key, json_t *attributes);
/* The first of a span's calls, and their number. */
const struct call_out *spans_calls_of(const struct spans_calls *c, uint64_t key, size_t *ret);

/* A string from arbitrary bytes, repaired. NULL: no memory. */
static inline json_t *json_mended(struct bytes b)
{
	bool mended;

	return json_of_bytes(b.data, b.len, &mended);
}

/* Removes a member from an object: returns a new reference, NULL if it is missing. */
static inline json_t *json_take(json_t *object, const char *name)
{
	json_t *j = json_incref(json_object_get(object, name));

	if (j)
		json_object_del(object, name);
	return j;
}

/* Sets a member unless the value is NULL; takes ownership of it. 0 or -ENOMEM. */
static inline int json_set_some(json_t *object, const char *name, json_t *value)
{
	return value && json_object_set_new(object, name, value) < 0 ? -ENOMEM : 0;
}

/*
 * otlp_out.c, zipkin_out.c, jaeger_out.c: a new span in that format; NULL: no memory. They remove members of names.h
 * from the span's attributes.
 */
json_t *zipkin_span(const struct span_out *s);
/* Adds the span to a Jaeger document: an object with "data". 0 or -ENOMEM. */
int jaeger_put(json_t *document, struct intern *traces, const struct span_out *s);
json_t *jaeger_document(void);
/*
 * 1: the span has all tags of the object, each as its own attribute or as one of its service or a note; 0: it does not;
 * or -ENOMEM. Values are compared as text. Properties that Jaeger represents as tags (span.kind, error) are added to
 * its attributes.
 */
int jaeger_has_tags(const struct span_out *s, const json_t *tags);
/* Adds the span to an OTLP request, below its resource and scope. 0 or -ENOMEM. */
int otlp_put(json_t *request, struct intern *groups, const struct span_out *s);
/* The attributes of a note: its text if that is a JSON object, else {"value": text}; NULL: no memory. */
json_t *note_attributes(const struct note_out *n);
