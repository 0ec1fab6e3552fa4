/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange: spans of other tools, in and out: OpenTelemetry's OTLP, Zipkin's and Jaeger's JSON. May use engine.
 *
 * spans_in.h: turns bodies in one of these formats into rows of span and note. A body is accepted or rejected as a
 * whole; anything dropped from an accepted body is counted (struct spans_counts).
 *
 *   spans_in_new(&s, &err);
 *   spans_in_read(s, SPANS_ANY, body, &err);          // as often as needed
 *   spans_in_finish(s, &err);
 *   while ((r = spans_in_next(s, rows, &err)) > 0) store_append_set(...)
 *
 * Properties without a column in the table of spans are kept in the attributes, under the names of exchange/names.h, so
 * that an export restores them.
 */
#pragma once

#include "base/error.h"
#include "base/buf.h"
#include "batch/batch.h"

/* bytes of a body or file: the rows of all of it are in memory at once */
#define SPANS_BODY_MAX	(1u << 30)
#define SPANS_DEPTH_MAX 32	    /* nesting of arrays and lists in an attribute's value */
#define SPANS_TEXT_MAX	(64u << 10) /* bytes of a name; longer names are truncated */
/* bytes of a span's attributes; if larger they are dropped */
#define SPANS_ATTRIBUTES_MAX (1u << 20)
#define SPANS_SERVICE_SHORT  256u /* bytes of a service's name once the limit below is exhausted */
/* Limit on the copies of shared attributes over all spans of a body; further spans do not get a copy. */
#define SPANS_COMMON_TIMES 16u	       /* times the length of the body, */
#define SPANS_COMMON_LEAST (64u << 20) /* plus this many bytes */

enum spans_format {
	SPANS_ANY, /* detected from the content */
	SPANS_OTLP_JSON,
	SPANS_OTLP_PROTOBUF,
	SPANS_ZIPKIN,
	SPANS_FORMAT_COUNT,
};

/* "otlp-json", ...: the name of each format except SPANS_ANY, from 0; NULL past the last. */
const char *spans_format_name(size_t i);
/* The format with this name, or negative. */
int spans_format_find(const char *name);

struct spans_counts {
	uint64_t spans, notes;	 /* rows */
	uint64_t rejected;	 /* spans dropped: a trace cannot represent their time */
	uint64_t rejected_notes; /* the same for notes of accepted spans */
	uint64_t repeated;	 /* spans dropped: identical to an earlier span */
	uint64_t bad_ids;	 /* all zeros, or of a wrong length: the row gets no id */
	uint64_t backwards;	 /* ended before they began: their duration is set to 0 */
	/* texts truncated, attributes dropped, and texts repaired that were not UTF-8 */
	uint64_t cut;
};

struct spans_in;
int spans_in_new(struct spans_in **ret, struct error *err);
void spans_in_free(struct spans_in *s);
DEFINE_CLEANUP(struct spans_in *, spans_in_free)

/*
 * Reads a body, or a file of concatenated bodies. *format is set to the format found. -EINVAL: malformed; the message
 * has the byte offset or the path of the value.
 */
int spans_in_read(struct spans_in *s, enum spans_format *format, struct bytes body,
		  struct error *err);
/* After the last body: sorts by end, numbers the spans, finds their parents. 0 or negative. */
int spans_in_finish(struct spans_in *s, struct error *err);
/* Adds the next rows to the (empty) set, spans before notes; 1, 0 at the end, or negative. */
int spans_in_next(struct spans_in *s, struct batch_set *out);
const struct spans_counts *spans_in_counts(const struct spans_in *s);
/* The start of the first and the end of the last; INT64_MIN twice if there are none. */
void spans_in_range(const struct spans_in *s, int64_t *ret_first, int64_t *ret_last);
/* "3 without a usable time, 1 with a wrong id": the counts worth reporting; empty: none. 0 or -ENOMEM. */
int spans_counts_put(const struct spans_counts *c, struct buf *to);
