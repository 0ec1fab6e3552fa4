/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel_traces.h: spans in the tables that OpenTelemetry's exporter for ClickHouse makes, so that screens which are written for
 * those (ClickStack, Grafana, Coroot) show them: `otel_traces`, and for the search by id `otel_traces_trace_id_ts`. Other than the
 * exporter's, the second one has partitions by day and may drop rows, too. Tables that a collector has made are taken as they are.
 */
#pragma once

#include "clickhouse/server.h"
#include "load/load.h"

#define OTEL_VERSION 21008 /* maps whose keys an index may have */

/* The statements, each ended by ";\n"; nothing for an older version. */
int otel_ddl(unsigned int version, int64_t keep_ns, struct buf *out);

/* Of whom the spans are: recording, file, and what loads of it are called. */
struct otel_of {
	uint32_t recording;
	uint64_t part;
	const char *id;
	struct bytes host;
};
/*
 * Adds the spans of a trace that are not there yet: a span is known by recording, file and id, which are in columns of weir's own
 * (WeirRecording, WeirPart) and SpanId. *ret_spans: how many were added. An older server gets none.
 */
int otel_load(struct clickhouse *c, const struct otel_of *of, struct store *s, uint64_t *ret_spans,
	      struct error *err);
