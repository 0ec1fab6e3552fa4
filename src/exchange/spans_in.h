/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange: spans of other tools, in and out: OpenTelemetry's OTLP, Zipkin's and Jaeger's JSON. May use engine.
 *
 * spans_in.h: bodies in one of these formats become rows of span and note. A body counts as a whole or not at all; of
 * what it holds nothing is left out silently (struct spans_counts).
 *
 *   spans_in_new(&s, &err);
 *   spans_in_read(s, SPANS_ANY, body, &err);          // as often as needed
 *   spans_in_finish(s, &err);
 *   while ((r = spans_in_next(s, rows, &err)) > 0) store_append_set(...)
 *
 * What a format has and the table of spans has not is kept in the attributes, under the names of exchange/names.h, so that
 * an export gives it back.
 */
#pragma once

#include "base/error.h"
#include "base/buf.h"
#include "batch/batch.h"

#define SPANS_BODY_MAX \
	(1u << 30) /* bytes of a body or file: rows of all of it are in memory at once */
#define SPANS_DEPTH_MAX	     32		 /* of arrays and lists in an attribute's value */
#define SPANS_TEXT_MAX	     (64u << 10) /* bytes of a name; what is longer is cut */
#define SPANS_ATTRIBUTES_MAX (1u << 20)	 /* bytes of a span's attributes; more are left out */
#define SPANS_SERVICE_SHORT  256u	 /* bytes of a service's name where there is no room */
/* What all spans of a body may have of what they have in common, which each gets a copy of; behind that they are without. */
#define SPANS_COMMON_TIMES 16u	       /* as long as the body, */
#define SPANS_COMMON_LEAST (64u << 20) /* and so many bytes more */

enum spans_format {
	SPANS_ANY, /* found by its content */
	SPANS_OTLP_JSON,
	SPANS_OTLP_PROTOBUF,
	SPANS_ZIPKIN,
	SPANS_FORMAT_COUNT,
};

/* "otlp-json", ... of each format but SPANS_ANY, from 0; NULL past the last. */
const char *spans_format_name(size_t i);
/* The format of such a name, or negative. */
int spans_format_find(const char *name);

struct spans_counts {
	uint64_t spans, notes;	 /* rows */
	uint64_t rejected;	 /* spans left out: their time is none that a trace can hold */
	uint64_t rejected_notes; /* likewise notes of spans that were taken */
	uint64_t repeated;	 /* spans left out: the same span stood there before */
	uint64_t bad_ids;	 /* of zeros, or of a wrong length: the row is without */
	uint64_t backwards;	 /* ended before they began: their time is 0 */
	uint64_t
		cut; /* texts cut, attributes left out, texts that were not UTF-8 and were mended */
};

struct spans_in;
int spans_in_new(struct spans_in **ret, struct error *err);
void spans_in_free(struct spans_in *s);
DEFINE_CLEANUP(struct spans_in *, spans_in_free)

/*
 * Takes a body, or a file of bodies one after another. *format: which one it was. -EINVAL: it is malformed; the message has
 * the byte, or the path of the value.
 */
int spans_in_read(struct spans_in *s, enum spans_format *format, struct bytes body,
		  struct error *err);
/* All was read: sorts by end, numbers the spans, finds their parents. 0 or negative. */
int spans_in_finish(struct spans_in *s, struct error *err);
/* Adds the next rows to the (empty) set, spans before notes; 1, 0 at the end, or negative. */
int spans_in_next(struct spans_in *s, struct batch_set *out);
const struct spans_counts *spans_in_counts(const struct spans_in *s);
/* When the first began and the last ended; INT64_MIN twice where there is none. */
void spans_in_range(const struct spans_in *s, int64_t *ret_first, int64_t *ret_last);
/* "3 without a usable time, 1 with a wrong id": what of the counts is worth a word; empty: nothing. 0 or -ENOMEM. */
int spans_counts_put(const struct spans_counts *c, struct buf *to);
