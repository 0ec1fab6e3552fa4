/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans_out.h: rows of span and period, as other tools read them: OTLP in JSON or protobuf, Zipkin's and Jaeger's JSON.
 *
 *   spans_out_new(&o, store, &(struct spans_out_options){...}, &err);
 *   spans_sink_new(&sink, SPANS_OUT_OTLP, &err);
 *   spans_out_each(o, sink_each, &arg, &err);       // spans_sink_put(), and write sink->out now and then
 *   spans_sink_end(sink);
 *
 * Spans without ids get some that are made of their numbers, the same each time; their children follow.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "exchange/spans_sample.h"
#include "store/store.h"

#define SPANS_CALLS_MAX \
	1000000u /* calls that become spans: all of them are in memory, 64 bytes each */

#define SPANS_NO_SERVICE "(none)" /* what Jaeger gets where a span has none */

enum spans_out_format {
	SPANS_OUT_OTLP,	    /* JSON: an ExportTraceServiceRequest a line */
	SPANS_OUT_PROTOBUF, /* the same as one message */
	SPANS_OUT_ZIPKIN,   /* an array of spans */
	SPANS_OUT_JAEGER,   /* one document, in memory until the end */
};

/* Which rows. Texts are borrowed and may be NULL: any. */
struct spans_out_options {
	int64_t from, to; /* that overlap; INT64_MIN, INT64_MAX: open */
	const char *service, *name;
	int64_t dur_min, dur_max;    /* dur_max 0: any */
	const struct intern *traces; /* ids as text, in lower case */
	bool apart; /* two sides of a call that have one id, as Zipkin's may, get two */
	bool brief; /* names, ids and times alone: without attributes, notes and calls */
	bool calls; /* what calls a span made */
	const struct sample_rules
		*sample; /* which requests are kept; NULL: all. Not with service and name */
	/* True where nobody waits any more: -EINTR. NULL: never. */
	bool (*stopped)(const void *arg);
	const void *arg;
	int64_t calls_ns; /* those of this time or more become spans, too; -1: none do */
};

struct spans_out;
struct span_out; /* exchange/span_out.h */

/* Reads what spans refer to: notes, numbers, and their calls. */
int spans_out_new(struct spans_out **ret, struct store *s, const struct spans_out_options *opt,
		  struct error *err);
void spans_out_free(struct spans_out *o);
DEFINE_CLEANUP(struct spans_out *, spans_out_free)
/* Calls that are beyond SPANS_CALLS_MAX, and are left out. */
uint64_t spans_out_calls_lost(const struct spans_out *o);
/* What was sampled; NULL: nothing. */
const struct spans_sample *spans_out_sample(const struct spans_out *o);
/* Calls `take` with each span; a negative result of it ends that. */
typedef int spans_out_fn(void *arg, const struct span_out *span);
int spans_out_each(struct spans_out *o, spans_out_fn *take, void *arg, struct error *err);

struct spans_sink;
int spans_sink_new(struct spans_sink **ret, enum spans_out_format format, struct error *err);
void spans_sink_free(struct spans_sink *s);
DEFINE_CLEANUP(struct spans_sink *, spans_sink_free)
int spans_sink_put(struct spans_sink *s, const struct span_out *span);
int spans_sink_end(struct spans_sink *s);
/* What is to be written so far, for the caller to take and clear. */
struct buf *spans_sink_out(struct spans_sink *s);
