/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jaeger_sums.h: spans summed as Jaeger's page lists them: a line per trace, and the calls between services. Spans
 * are passed in twice, so that children find their parents in any order.
 */
#pragma once

#include "base/map.h"
#include "exchange/span_out.h"
#include "server/http/js.h"

/* The sums of one trace. */
struct trace_sum {
	int64_t first, last; /* start of its first span, end of its last one */
	uint64_t spans, errors, orphans;
	int64_t root_start;
	bool has_root,
		root_whole; /* root_whole: the root has no parent; else its parent is missing */
	uint32_t root_service, root_name;
};

/* Spans of one service in a trace, or calls from one service to another. */
struct service_pair {
	uint32_t first, second; /* trace and service, or parent and child */
	uint64_t count, errors;
};

struct jaeger_sums {
	struct intern traces, texts; /* texts: services and names of roots */
	struct map spans;	     /* hash of trace and span -> service in texts */
	struct trace_sum *sums;	     /* by number in traces */
	struct map pairs;	     /* first and second -> index in pair */
	struct service_pair *pair;
	size_t pair_count, pair_cap, sums_cap;
};
void jaeger_sums_free(struct jaeger_sums *s);

/* First pass: registers the span. 0 or -ENOMEM. */
int jaeger_sums_know(struct jaeger_sums *s, const struct span_out *span);
/* Second pass: adds the span to the line of its trace. */
int jaeger_sums_line(struct jaeger_sums *s, const struct span_out *span);
/* Second pass: counts a call if the span's parent belongs to another service. */
int jaeger_sums_call(struct jaeger_sums *s, const struct span_out *span);

/* {"summaries": [...]}: the line of each of `traces`, in their order, in the form of api_v3's TraceSummary. */
void jaeger_sums_put_lines(struct jaeger_sums *s, const struct intern *traces, struct js *out);
/* [{"parent", "child", "callCount"}, ...] */
void jaeger_sums_put_calls(const struct jaeger_sums *s, struct js *out);
