/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans_out.h: exports rows of span and period in the formats of other tools: OTLP in JSON or protobuf, Zipkin's and
 * Jaeger's JSON.
 *
 *   spans_out_new(&o, store, &(struct spans_out_options){...}, &err);
 *   spans_sink_new(&sink, SPANS_OUT_OTLP, &err);
 *   spans_out_each(o, sink_each, &arg, &err);       // spans_sink_put(), and write sink->out now and then
 *   spans_sink_end(sink);
 *
 * Spans without ids get ids generated from their numbers, the same each time; their children refer to these.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "exchange/spans_sample.h"
#include "store/store.h"

#define SPANS_CALLS_MAX 1000000u /* calls exported as spans: all are in memory, 64 bytes each */

#define SPANS_NO_SERVICE "(none)" /* service name for Jaeger if a span has none */

enum spans_out_format {
	SPANS_OUT_OTLP,	    /* JSON: one ExportTraceServiceRequest per line */
	SPANS_OUT_PROTOBUF, /* the same as one message */
	SPANS_OUT_ZIPKIN,   /* an array of spans */
	SPANS_OUT_JAEGER,   /* one document, kept in memory until the end */
};

/* Selects rows. Strings are borrowed; NULL: any. */
struct spans_out_options {
	int64_t from, to; /* spans that overlap [from, to); INT64_MIN, INT64_MAX: open */
	const char *service, *name;
	int64_t dur_min, dur_max;    /* dur_max 0: any */
	const struct intern *traces; /* ids as lower-case text */
	bool apart; /* give the two sides of a call that share one id, as in Zipkin, two ids */
	bool brief; /* only names, ids and times, without attributes, notes and calls */
	bool calls; /* add sums of the calls that a span made */
	/* requests to keep; NULL: all. Not together with service and name */
	const struct sample_rules *sample;
	/* Returns true if nobody waits for the result any more: -EINTR. NULL: never. */
	bool (*stopped)(const void *arg);
	const void *arg;
	int64_t calls_ns; /* calls of at least this duration are exported as spans, too; -1: none */
};

struct spans_out;
struct span_out; /* exchange/span_out.h */

/* Reads what spans refer to: notes, numbers and calls. */
int spans_out_new(struct spans_out **ret, struct store *s, const struct spans_out_options *opt,
		  struct error *err);
void spans_out_free(struct spans_out *o);
DEFINE_CLEANUP(struct spans_out *, spans_out_free)
/* The number of calls dropped because of SPANS_CALLS_MAX. */
uint64_t spans_out_calls_lost(const struct spans_out *o);
/* The result of sampling; NULL: none was requested. */
const struct spans_sample *spans_out_sample(const struct spans_out *o);
/* Calls `take` with each span; a negative result ends the iteration. */
typedef int spans_out_fn(void *arg, const struct span_out *span);
int spans_out_each(struct spans_out *o, spans_out_fn *take, void *arg, struct error *err);

struct spans_sink;
int spans_sink_new(struct spans_sink **ret, enum spans_out_format format, struct error *err);
void spans_sink_free(struct spans_sink *s);
DEFINE_CLEANUP(struct spans_sink *, spans_sink_free)
int spans_sink_put(struct spans_sink *s, const struct span_out *span);
int spans_sink_end(struct spans_sink *s);
/* The output so far; the caller writes it and clears it. */
struct buf *spans_sink_out(struct spans_sink *s);
