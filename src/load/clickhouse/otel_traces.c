// SPDX-License-Identifier: Apache-2.0
/* otel_traces.c: writes spans as rows of otel_traces, one JSON object each. */
#include "load/clickhouse/otel_traces.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "clickhouse/tables.h"
#include "exchange/span_out.h"
#include "exchange/spans_out.h"

#define BYTES_AT_ONCE (16u << 20)

/* Times are since the epoch; one request makes one part per partition. */
#define OTEL_SETTINGS                                                       \
	"&max_partitions_per_insert_block=0"                                \
	"&date_time_input_format=basic&input_format_parallel_parsing=0"     \
	"&max_insert_block_size=4194304&min_insert_block_size_rows=4194304" \
	"&min_insert_block_size_bytes=4294967296"

static const char otel_table[] =
	"CREATE TABLE IF NOT EXISTS `otel_traces` (\n"
	"  `Timestamp` DateTime64(9) CODEC(Delta, ZSTD(1)),\n"
	"  `TraceId` String CODEC(ZSTD(1)),\n"
	"  `SpanId` String CODEC(ZSTD(1)),\n"
	"  `ParentSpanId` String CODEC(ZSTD(1)),\n"
	"  `TraceState` String CODEC(ZSTD(1)),\n"
	"  `SpanName` LowCardinality(String) CODEC(ZSTD(1)),\n"
	"  `SpanKind` LowCardinality(String) CODEC(ZSTD(1)),\n"
	"  `ServiceName` LowCardinality(String) CODEC(ZSTD(1)),\n"
	"  `ResourceAttributes` Map(LowCardinality(String), String) CODEC(ZSTD(1)),\n"
	"  `ScopeName` String CODEC(ZSTD(1)),\n"
	"  `ScopeVersion` String CODEC(ZSTD(1)),\n"
	"  `SpanAttributes` Map(LowCardinality(String), String) CODEC(ZSTD(1)),\n"
	"  `Duration` UInt64 CODEC(ZSTD(1)),\n"
	"  `StatusCode` LowCardinality(String) CODEC(ZSTD(1)),\n"
	"  `StatusMessage` String CODEC(ZSTD(1)),\n"
	"  `Events` Nested(Timestamp DateTime64(9), Name LowCardinality(String), Attributes "
	"Map(LowCardinality(String), String)) CODEC(ZSTD(1)),\n"
	"  `Links` Nested(TraceId String, SpanId String, TraceState String, Attributes "
	"Map(LowCardinality(String), String)) CODEC(ZSTD(1)),\n"
	"  INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,\n"
	"  INDEX idx_res_attr_key mapKeys(ResourceAttributes) TYPE bloom_filter(0.01) "
	"GRANULARITY 1,\n"
	"  INDEX idx_res_attr_value mapValues(ResourceAttributes) TYPE bloom_filter(0.01) "
	"GRANULARITY 1,\n"
	"  INDEX idx_span_attr_key mapKeys(SpanAttributes) TYPE bloom_filter(0.01) GRANULARITY "
	"1,\n"
	"  INDEX idx_span_attr_value mapValues(SpanAttributes) TYPE bloom_filter(0.01) "
	"GRANULARITY 1,\n"
	"  INDEX idx_duration Duration TYPE minmax GRANULARITY 1\n"
	") ENGINE = MergeTree PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, "
	"toDateTime(Timestamp), Timestamp)";

static const char otel_times[] =
	"CREATE TABLE IF NOT EXISTS `otel_traces_trace_id_ts` (\n"
	"  `TraceId` String CODEC(ZSTD(1)),\n"
	"  `Start` DateTime CODEC(Delta, ZSTD(1)),\n"
	"  `End` DateTime CODEC(Delta, ZSTD(1)),\n"
	"  INDEX idx_trace_id TraceId TYPE bloom_filter(0.01) GRANULARITY 1\n"
	") ENGINE = MergeTree PARTITION BY toDate(Start) ORDER BY (TraceId, Start)";

/* Adds columns that a collector's table lacks, and defines the time range of spans. */
static const char otel_rest[] =
	"ALTER TABLE `otel_traces` ADD COLUMN IF NOT EXISTS `WeirRecording` UInt32, ADD COLUMN IF "
	"NOT EXISTS `WeirPart` UInt64;\n"
	"CREATE MATERIALIZED VIEW IF NOT EXISTS `otel_traces_trace_id_ts_mv` TO "
	"`otel_traces_trace_id_ts` AS SELECT TraceId, min(Timestamp) AS Start, max(Timestamp) AS "
	"End FROM `otel_traces` WHERE TraceId != '' GROUP BY TraceId;\n";

static int otel_put_end(const char *time, int64_t keep_ns, struct buf *out)
{
	if (keep_ns)
		buf_printf(out, " TTL toDate(%s) + toIntervalDay(%lld)", time,
			   (long long)((keep_ns + CLICKHOUSE_DAY_NS - 1) / CLICKHOUSE_DAY_NS));
	return buf_printf(out, " SETTINGS ttl_only_drop_parts = 1;\n");
}

int otel_ddl(unsigned int version, int64_t keep_ns, struct buf *out)
{
	if (version < OTEL_VERSION)
		return buf_status(out);
	buf_append(out, otel_table, sizeof(otel_table) - 1);
	otel_put_end("Timestamp", keep_ns, out);
	buf_append(out, otel_times, sizeof(otel_times) - 1);
	otel_put_end("Start", keep_ns, out);
	return buf_append(out, otel_rest, sizeof(otel_rest) - 1);
}

/* ---- a row ---- */

/* "1795537438.492724213" */
static json_t *otel_time(int64_t ns)
{
	char text[40];

	ns = MAX(ns, (int64_t)0);
	snprintf(text, sizeof(text), "%lld.%09lld", (long long)(ns / NSEC_PER_SEC),
		 (long long)(ns % NSEC_PER_SEC));
	return json_string(text);
}

static json_t *otel_resource(const struct otel_of *of, const struct span_out *s)
{
	_cleanup_json_ json_t *kept = json_take(s->attributes, NAME_RESOURCE);
	_cleanup_json_ json_t *all = json_is_object(kept) ? json_copy(kept) : json_object();
	int r = all ? 0 : -ENOMEM;

	if (r >= 0 && s->service.data)
		r = json_set_some(all, "service.name", json_mended(s->service));
	if (r >= 0 && of->host.len && !json_object_get(all, "host.name"))
		r = json_set_some(all, "host.name", json_mended(of->host));
	return r < 0 ? NULL : json_as_texts(all);
}

/* Adds to a list column of the row, which must be as long as its neighbours. */
static int otel_add(json_t *row, const char *list, json_t *value)
{
	return value && json_array_append_new(json_object_get(row, list), value) == 0 ? 0 : -ENOMEM;
}

static int otel_events(json_t *row, const struct span_out *s)
{
	static const char *const lists[] = {"Events.Timestamp", "Events.Name", "Events.Attributes"};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lists) && r >= 0; i++)
		r = json_set_some(row, lists[i], json_array());
	for (size_t i = 0; i < s->note_count && r >= 0; i++) {
		_cleanup_json_ json_t *attributes = note_attributes(&s->notes[i]);

		r = otel_add(row, lists[0], otel_time(s->notes[i].at));
		if (r >= 0)
			r = otel_add(row, lists[1], json_mended(s->notes[i].name));
		if (r >= 0)
			r = otel_add(row, lists[2], json_as_texts(attributes));
	}
	return r;
}

static json_t *otel_text(const json_t *object, const char *name)
{
	const json_t *v = json_object_get(object, name);

	return json_is_string(v) ? json_copy((json_t *)v) : json_string("");
}

static int otel_links(json_t *row, const struct span_out *s)
{
	static const char *const lists[] = {"Links.TraceId", "Links.SpanId", "Links.TraceState"};
	static const char *const names[] = {"traceId", "spanId", "traceState"};
	_cleanup_json_ json_t *links = json_take(s->attributes, NAME_LINKS);
	json_t *link;
	size_t i;
	int r = json_set_some(row, "Links.Attributes", json_array());

	for (size_t k = 0; k < ARRAY_SIZE(lists) && r >= 0; k++)
		r = json_set_some(row, lists[k], json_array());
	json_array_foreach(links, i, link)
	{
		for (size_t k = 0; k < ARRAY_SIZE(lists) && r >= 0; k++)
			r = otel_add(row, lists[k], otel_text(link, names[k]));
		if (r >= 0)
			r = otel_add(row, "Links.Attributes",
				     json_as_texts(json_object_get(link, "attributes")));
	}
	return r;
}

/* Attributes that have columns of their own are moved there. NULL: no memory. */
static json_t *otel_row(const struct otel_of *of, const struct span_out *s)
{
	static const char *const kinds[] = {"Internal", "Server", "Client", "Producer", "Consumer"};
	static const char *const states[] = {"Unset", "Ok", "Error"};
	bool kind = s->kind >= 0 && s->kind < (int)ARRAY_SIZE(kinds),
	     state = s->status >= 0 && s->status < (int)ARRAY_SIZE(states);
	_cleanup_json_ json_t *scope = json_take(s->attributes, NAME_SCOPE);
	json_t *row = json_pack(
		"{so,so,so,ss,ss,ss,ss,ss,sI,sI,sI,so,so*,so*,so,so}", "Timestamp",
		otel_time(s->start), "SpanName", json_mended(s->name), "ServiceName",
		s->service.data ? json_mended(s->service) : json_string(""), "TraceId",
		s->ids.trace, "SpanId", s->ids.span, "ParentSpanId", s->ids.parent, "SpanKind",
		kind ? kinds[s->kind] : "Unspecified", "StatusCode",
		states[state ? s->status : SPAN_STATUS_UNSET], "Duration", (json_int_t)s->dur,
		"WeirRecording", (json_int_t)of->recording, "WeirPart", (json_int_t)of->part,
		"ResourceAttributes", otel_resource(of, s), "TraceState",
		json_take(s->attributes, NAME_TRACE_STATE), "StatusMessage",
		json_take(s->attributes, NAME_DESCRIPTION), "ScopeName", otel_text(scope, "name"),
		"ScopeVersion", otel_text(scope, "version"));
	int r = row ? otel_events(row, s) : -ENOMEM;

	if (r >= 0)
		r = otel_links(row, s);
	if (r >= 0)
		r = json_object_set_new(row, "SpanAttributes", json_as_texts(s->attributes));
	if (r >= 0)
		return row;
	json_decref(row);
	return NULL;
}

/* ---- all spans ---- */

struct otel_loading {
	struct clickhouse *server;
	const struct otel_of *of;
	struct map there; /* otel_key() -> 1 */
	struct buf body;
	uint64_t added;
	struct error *err;
};

/* A span's id is unique only within its trace. */
static uint64_t otel_key(const char *trace, size_t len, const char *span)
{
	return hash_u64(hash_bytes(trace, len)) ^ strtoull(span, NULL, 16);
}

static int otel_learn(struct otel_loading *l)
{
	_cleanup_buf_ struct buf answer = {0};
	int r = clickhouse_ask(
		l->server, &answer, l->err,
		"SELECT TraceId, SpanId FROM otel_traces WHERE WeirRecording = %u AND WeirPart = "
		"%llu",
		l->of->recording, (unsigned long long)l->of->part);

	if (r < 0)
		return r;
	for (const char *at = buf_str(&answer); *at && r >= 0;) {
		size_t len = strcspn(at, "\t\n");

		if (at[len] == '\t')
			r = map_set(&l->there, otel_key(at, len, at + len + 1), 1);
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return r < 0 ? error_errno(l->err, r, "the spans that are there") : 0;
}

static int otel_send(struct otel_loading *l)
{
	const struct clickhouse_query q = {
		.sql = "INSERT INTO otel_traces FORMAT JSONEachRow",
		.settings = OTEL_SETTINGS,
		.id = l->of->id,
		.data = {l->body.data, (uint32_t)l->body.len},
	};
	_cleanup_buf_ struct buf answer = {0};
	int r = l->body.len ? clickhouse_run(l->server, &q, &answer, l->err) : 0;

	buf_clear(&l->body);
	return r;
}

static int otel_take(void *arg, const struct span_out *s)
{
	struct otel_loading *l = arg;
	_cleanup_json_ json_t *row = NULL;
	uint64_t one, key = otel_key(s->ids.trace, strlen(s->ids.trace), s->ids.span);
	int r;

	if (map_get(&l->there, key, &one))
		return 0;
	row = otel_row(l->of, s);
	r = row ? map_set(&l->there, key, 1) : -ENOMEM;
	if (r >= 0)
		r = json_write(&l->body, row);
	if (r >= 0)
		r = buf_append(&l->body, "\n", 1);
	if (r < 0)
		return error_errno(l->err, r, "a span");
	l->added++;
	return l->body.len < BYTES_AT_ONCE ? 0 : otel_send(l);
}

static bool otel_has(const struct store *s, enum table_id table)
{
	for (size_t i = 0; i < store_block_count(s); i++) {
		if (store_block(s, i)->table == table)
			return true;
	}
	return false;
}

int otel_load(struct clickhouse *c, const struct otel_of *of, struct store *s, uint64_t *ret_spans,
	      struct error *err)
{
	const struct spans_out_options opt = {.from = INT64_MIN,
					      .to = INT64_MAX,
					      .apart = true,
					      .calls = otel_has(s, TABLE_OP),
					      .calls_ns = -1};
	struct otel_loading l = {.server = c, .of = of, .err = err};
	_cleanup_(spans_out_freep) struct spans_out *spans = NULL;
	struct error why = {0};
	int r = 0;

	*ret_spans = 0;
	if (c->version < OTEL_VERSION || !(otel_has(s, TABLE_SPAN) || otel_has(s, TABLE_PERIOD)))
		return 0;
	r = spans_out_new(&spans, s, &opt, err);
	if (r >= 0)
		r = otel_learn(&l);
	if (r >= 0) {
		r = spans_out_each(spans, otel_take, &l, &why);
		if (r < 0 && err && !err->code)
			*err = why;
	}
	if (r >= 0)
		r = otel_send(&l);
	map_free(&l.there);
	buf_free(&l.body);
	*ret_spans = r < 0 ? 0 : l.added;
	return r;
}
