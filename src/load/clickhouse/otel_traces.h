/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otel_traces.h: writes spans to the tables of OpenTelemetry's ClickHouse exporter, so that dashboards for those
 * (ClickStack, Grafana, Coroot) show them: `otel_traces`, and `otel_traces_trace_id_ts` for the search by id. Unlike
 * the exporter's, the second one has partitions by day and may drop rows too. Tables that a collector has created are
 * used unchanged.
 */
#pragma once

#include "clickhouse/server.h"
#include "load/load.h"

#define OTEL_VERSION 21008 /* first version with maps whose keys can be indexed */

/* The statements, each ended by ";\n"; none for an older version. */
int otel_ddl(unsigned int version, int64_t keep_ns, struct buf *out);

/* The origin of the spans: recording, file, and the names for messages. */
struct otel_of {
	uint32_t recording;
	uint64_t part;
	const char *id;
	struct bytes host;
};
/*
 * Adds the spans of a trace that are not present yet. A span is identified by recording, file and id, in the columns
 * WeirRecording and WeirPart, which weir adds, and SpanId. *ret_spans: number of spans added. An older server gets
 * none.
 */
int otel_load(struct clickhouse *c, const struct otel_of *of, struct store *s, uint64_t *ret_spans,
	      struct error *err);
