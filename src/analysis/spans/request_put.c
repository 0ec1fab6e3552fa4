// SPDX-License-Identifier: Apache-2.0
/* request_put.c: output of the analysis for programs: the tables of each view. */
#include "analysis/spans/requests.h"
#include "hist/hist.h"
#include "names/names.h"
#include "schema/vocab.h"

#define TIME_COLUMNS                                                                  \
	{"program", {QUERY_DUR}}, {"stalled", {QUERY_DUR}}, {"data", {QUERY_DUR}},    \
		{"meta", {QUERY_DUR}}, {"sync", {QUERY_DUR}}, {"net", {QUERY_DUR}},   \
		{"lock", {QUERY_DUR}}, {"wait", {QUERY_DUR}}, {"other", {QUERY_DUR}}, \
	{                                                                             \
		"unselected",                                                         \
		{                                                                     \
			QUERY_DUR                                                     \
		}                                                                     \
	}
#define PHASE_COLUMNS                                                                     \
	{"cpu", {QUERY_DUR}}, {"runq", {QUERY_DUR}}, {"io_wait", {QUERY_DUR}},            \
		{"sleep", {QUERY_DUR}}, {"queued", {QUERY_DUR}}, {"device", {QUERY_DUR}}, \
	{                                                                                 \
		"unphased",                                                               \
		{                                                                         \
			QUERY_INT                                                         \
		}                                                                         \
	}

static const struct answer_column group_columns[] = {
	{"name", {QUERY_TEXT}},
	{"part", {QUERY_INT}},
	{"source", {QUERY_TEXT}},
	{"count", {QUERY_INT}, ANSWER_COUNT},
	{"errors", {QUERY_INT}, ANSWER_COUNT},
	{"running", {QUERY_INT}, ANSWER_COUNT},
	{"cut", {QUERY_INT}, ANSWER_COUNT},
	{"total", {QUERY_DUR}},
	{"covered", {QUERY_DUR}},
	{"self", {QUERY_DUR}},
	{"least", {QUERY_DUR}},
	{"mean", {QUERY_DUR}},
	{"p50", {QUERY_DUR}},
	{"p90", {QUERY_DUR}},
	{"p99", {QUERY_DUR}},
	{"max", {QUERY_DUR}},
	{"calls", {QUERY_INT}, ANSWER_COUNT},
	{"bytes", {QUERY_SIZE}},
	TIME_COLUMNS,
	PHASE_COLUMNS,
};
static const struct answer_column log_columns[] = {
	{"start", {QUERY_TIME}},
	{"dur", {QUERY_DUR}},
	{"number", {QUERY_INT}},
	{"parent", {QUERY_INT}},
	{"name", {QUERY_TEXT}},
	{"service", {QUERY_TEXT}},
	{"kind", {QUERY_TEXT}},
	{"status", {QUERY_TEXT}},
	{"source", {QUERY_TEXT}},
	{"trace_id", {QUERY_TEXT}},
	{"span_id", {QUERY_TEXT}},
	{"thread_id", {QUERY_INT}},
	{"thread", {QUERY_TEXT}},
	{"self", {QUERY_DUR}},
	{"calls", {QUERY_INT}, ANSWER_COUNT},
	{"own_calls", {QUERY_INT}, ANSWER_COUNT},
	{"errors", {QUERY_INT}, ANSWER_COUNT},
	{"bytes", {QUERY_SIZE}},
	{"waited_calls", {QUERY_INT}, ANSWER_COUNT},
	{"waited", {QUERY_DUR}},
	{"estimated", {QUERY_INT}, ANSWER_COUNT},
	{"attributes", {QUERY_TEXT}},
	TIME_COLUMNS,
	PHASE_COLUMNS,
};
static const struct answer_column freq_columns[] = {{"name", {QUERY_TEXT}},
						    {"from", {QUERY_DUR}},
						    {"to", {QUERY_DUR}},
						    {"count", {QUERY_INT}, ANSWER_COUNT}};
static const struct answer_column heat_columns[] = {{"start", {QUERY_TIME}},
						    {"step", {QUERY_DUR}},
						    {"low", {QUERY_DUR}},
						    {"high", {QUERY_DUR}},
						    {"count", {QUERY_INT}, ANSWER_COUNT},
						    {"errors", {QUERY_INT}, ANSWER_COUNT},
						    {"slowest_start", {QUERY_TIME}},
						    {"slowest", {QUERY_DUR}},
						    {"number", {QUERY_INT}},
						    {"span_id", {QUERY_TEXT}},
						    {"name", {QUERY_TEXT}}};
static const struct answer_column tree_columns[] = {
	{"start", {QUERY_TIME}},   {"at", {QUERY_DUR}},	     {"dur", {QUERY_DUR}},
	{"depth", {QUERY_INT}},	   {"what", {QUERY_TEXT}},   {"name", {QUERY_TEXT}},
	{"number", {QUERY_INT}},   {"status", {QUERY_TEXT}}, {"op", {QUERY_TEXT}},
	{"file", {QUERY_TEXT}},	   {"part", {QUERY_TEXT}},   {"via", {QUERY_TEXT}},
	{"thread", {QUERY_TEXT}},  {"waker", {QUERY_TEXT}},  {"count", {QUERY_INT}, ANSWER_COUNT},
	{"time", {QUERY_DUR}},	   {"bytes", {QUERY_SIZE}},  {"errors", {QUERY_INT}, ANSWER_COUNT},
	{"queued", {QUERY_DUR}},   {"device", {QUERY_DUR}},  {"runq", {QUERY_DUR}},
	{"critical", {QUERY_DUR}},
};
static const struct answer_column path_columns[] = {
	{"start", {QUERY_TIME}},  {"at", {QUERY_DUR}}, {"dur", {QUERY_DUR}},
	{"thread", {QUERY_TEXT}}, TIME_COLUMNS,
};
static const struct answer_column compare_columns[] = {{"what", {QUERY_TEXT}},
						       {"median", {QUERY_DUR}},
						       {"slowest", {QUERY_DUR}},
						       {"difference", {QUERY_DUR}}};
static const struct answer_column trait_columns[] = {{"key", {QUERY_TEXT}},
						     {"value", {QUERY_TEXT}},
						     {"median", {QUERY_FLOAT}},
						     {"slowest", {QUERY_FLOAT}}};
static const struct answer_column cluster_columns[] = {
	{"count", {QUERY_INT}, ANSWER_COUNT},
	{"share", {QUERY_FLOAT}},
	{"typical", {QUERY_INT}, ANSWER_COUNT},
	{"typical_id", {QUERY_TEXT}},
	{"p50", {QUERY_DUR}},
	{"p99", {QUERY_DUR}},
	{"max", {QUERY_DUR}},
	{"program", {QUERY_FLOAT}},
	{"stalled", {QUERY_FLOAT}},
	{"data", {QUERY_FLOAT}},
	{"meta", {QUERY_FLOAT}},
	{"sync", {QUERY_FLOAT}},
	{"net", {QUERY_FLOAT}},
	{"lock", {QUERY_FLOAT}},
	{"wait", {QUERY_FLOAT}},
	{"other", {QUERY_FLOAT}},
	{"unselected", {QUERY_FLOAT}},
};

static void request_put_word(struct answer_list *t, const char *column, int64_t code)
{
	answer_list_str(t, code == UINT8_MAX ? NULL : vocab_word(column, code));
}

static int request_put_thread(const struct requests *q, struct answer_list *t, int64_t thread_id)
{
	_cleanup_buf_ struct buf name = {0};
	int r = thread_id < 0 ? 0 : names_thread(q->dims, thread_id, &name);

	if (r < 0)
		return r;
	answer_list_some(t, buf_bytes(&name));
	return r;
}

static void request_put_parts(struct answer_list *t, const int64_t *time, const int64_t *phase,
			      uint64_t unphased)
{
	for (unsigned int i = 0; i < SPAN_TIMES; i++)
		answer_list_int(t, time[i]);
	for (unsigned int i = 0; i < SPAN_PHASES; i++)
		answer_list_int(t, phase[i]);
	answer_list_uint(t, unphased);
}

/* ---- groups ---- */

static void request_put_group(const struct requests *q, struct answer_list *t,
			      const struct requests_group *g)
{
	answer_list_some(t, g->name);
	answer_list_int(t, g->part);
	request_put_word(t, "source", q->spans.all[g->spans[0]].source);
	answer_list_uint(t, g->count);
	answer_list_uint(t, g->errors);
	answer_list_uint(t, g->running);
	answer_list_uint(t, g->cut);
	answer_list_int(t, g->total);
	answer_list_int(t, g->covered);
	answer_list_int(t, g->self);
	answer_list_int(t, requests_percentile(q, g, 0));
	answer_list_int(t, g->total / g->count);
	answer_list_int(t, requests_percentile(q, g, 0.5));
	answer_list_int(t, requests_percentile(q, g, 0.9));
	answer_list_int(t, requests_percentile(q, g, 0.99));
	answer_list_int(t, requests_percentile(q, g, 1));
	answer_list_uint(t, g->calls);
	answer_list_int(t, g->bytes);
	request_put_parts(t, g->time, g->phase, g->unphased);
}

/* ---- single requests ---- */

static int request_put_span(const struct requests *q, struct answer_list *t, uint32_t span)
{
	const struct spans *s = &q->spans;
	const struct span *k = &s->all[span];
	int64_t time[SPAN_TIMES];
	int r;

	answer_list_int(t, k->start);
	answer_list_int(t, span_dur(k));
	answer_list_int(t, k->number);
	answer_list_known(t, k->parent != SPAN_NONE ? s->all[k->parent].number : -1);
	answer_list_text(t, requests_name(q, span));
	answer_list_some(t, spanset_text(s, k->service));
	request_put_word(t, "span_kind", k->kind);
	request_put_word(t, "span_status", k->status);
	request_put_word(t, "source", k->source);
	answer_list_some(t, spanset_text(s, k->trace_id));
	answer_list_some(t, spanset_text(s, k->span_id));
	answer_list_known(t, k->thread_id);
	r = request_put_thread(q, t, k->thread_id);
	answer_list_int(t, k->sums.self);
	answer_list_uint(t, k->sums.calls);
	answer_list_uint(t, k->sums.own_calls);
	answer_list_uint(t, k->sums.errors);
	answer_list_int(t, k->sums.bytes);
	answer_list_uint(t, k->sums.waited_calls);
	answer_list_int(t, k->sums.waited);
	answer_list_int(t, k->sums.blurred);
	answer_list_some(t, spanset_text(s, k->attributes));
	spanset_times(k, time);
	request_put_parts(t, time, spanset_phases(s, k), k->sums.unphased);
	return r;
}

static int put_log(struct requests *q, struct answer_list *t, size_t top)
{
	int r = 0;

	for (size_t i = 0; i < q->chosen_count && i < top && r >= 0; i++)
		r = request_put_span(q, t, q->chosen[i]);
	return r;
}

/* ---- durations ---- */

/* Spans are sorted by duration, so rows of one bucket of the histogram are consecutive. */
static void put_freq(const struct requests *q, struct answer_list *t,
		     const struct requests_group *g)
{
	for (uint32_t i = 0, to; i < g->count; i = to) {
		unsigned int bucket = hist_bucket((uint64_t)span_dur(&q->spans.all[g->spans[i]]));

		for (to = i; to < g->count &&
			     hist_bucket((uint64_t)span_dur(&q->spans.all[g->spans[to]])) == bucket;
		     to++)
			;
		answer_list_some(t, g->name);
		answer_list_uint(t, hist_lower(bucket));
		answer_list_uint(t, hist_lower(bucket) + hist_width(bucket));
		answer_list_uint(t, to - i);
	}
}

/* ---- a tree ---- */

static int request_put_line(const struct requests *q, struct answer_list *t,
			    const struct requests_line *l)
{
	const struct span *top = &q->spans.all[q->tree.of], *k = &q->spans.all[l->span];
	const struct requests_call *c = l->from < l->to ? &q->tree.calls[l->from] : NULL;
	_cleanup_buf_ struct buf name = {0};
	int r = requests_line_name(q, l, &name);

	answer_list_int(t, l->start);
	answer_list_int(t, l->start - top->start);
	answer_list_int(t, l->stop - l->start);
	answer_list_int(t, l->depth);
	answer_list_str(t, !c ? "span" : c->disk ? "disk" : l->to - l->from > 1 ? "calls" : "call");
	answer_list_some(t, buf_bytes(&name));
	answer_list_int(t, k->number);
	request_put_word(t, "span_status", c ? UINT8_MAX : k->status);
	answer_list_str(t, c ? vocab_word(c->disk ? "kind" : "op", c->op) : NULL);
	answer_list_some(t, c && c->file_id >= 0 ? dims_file_name(q->dims, c->file_id)
						 : (struct bytes){0});
	answer_list_str(t, c ? span_time_word(c->time) : NULL);
	request_put_word(t, "via", c ? c->via : UINT8_MAX);
	r = r < 0 ? r : request_put_thread(q, t, c ? c->thread_id : k->thread_id);
	r = r < 0 ? r : request_put_thread(q, t, c && l->to - l->from == 1 ? c->waker_id : -1);
	answer_list_uint(t, c ? l->to - l->from : k->sums.calls);
	answer_list_int(t, l->time);
	answer_list_int(t, l->bytes);
	answer_list_uint(t, c ? l->errors : k->sums.errors);
	answer_list_int(t, l->queued);
	answer_list_int(t, l->device);
	answer_list_int(t, l->runq);
	answer_list_int(t, l->critical);
	return r;
}

/* The segments of the critical path. */
static int request_put_segments(const struct requests *q, struct answer_list *t, size_t top)
{
	int r = 0;

	for (size_t i = 0; i < q->tree.path.count && i < top && r >= 0; i++) {
		const struct requests_segment *s = &q->tree.path.all[i];

		answer_list_int(t, s->start);
		answer_list_int(t, s->start - q->spans.all[q->tree.of].start);
		answer_list_int(t, s->stop - s->start);
		r = request_put_thread(q, t, s->thread_id);
		for (unsigned int k = 0; k < SPAN_TIMES; k++)
			answer_list_int(t, s->time[k]);
	}
	return r;
}

/* ---- comparisons, clusters ---- */

static void put_differences(struct answer_list *t, const struct requests_difference *d,
			    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		answer_list_some(t, d[i].what);
		answer_list_int(t, d[i].usual);
		answer_list_int(t, d[i].slow);
		answer_list_int(t, d[i].slow - d[i].usual);
	}
}

static int request_put_compare(struct requests *q, struct analysis_result *out, size_t top)
{
	const struct requests_compare *c = &q->compare;
	struct answer_list
		*times = analysis_table(out, "times", compare_columns, ARRAY_SIZE(compare_columns)),
		*files = analysis_table(out, "files", compare_columns, ARRAY_SIZE(compare_columns)),
		*traits =
			analysis_table(out, "attributes", trait_columns, ARRAY_SIZE(trait_columns)),
		*slow = analysis_table(out, "slowest", log_columns, ARRAY_SIZE(log_columns)),
		*usual = analysis_table(out, "median", log_columns, ARRAY_SIZE(log_columns));
	int r = 0;

	put_differences(times, c->times, c->slow_count ? SPAN_TIMES : 0);
	put_differences(files, c->files, MIN(c->file_count, top));
	for (size_t i = 0; i < c->trait_count; i++) {
		answer_list_some(traits, c->traits[i].key);
		answer_list_some(traits, c->traits[i].value);
		answer_list_float(traits, (double)c->traits[i].usual / c->usual_count);
		answer_list_float(traits, (double)c->traits[i].slow / c->slow_count);
	}
	for (uint32_t i = 0; i < c->slow_count && i < top && r >= 0; i++)
		r = request_put_span(q, slow, c->slow[c->slow_count - 1 - i]);
	for (uint32_t i = 0; i < c->usual_count && i < top && r >= 0; i++)
		r = request_put_span(q, usual, c->usual[i]);
	return r;
}

static int put_clusters(struct requests *q, struct analysis_result *out, size_t top)
{
	const struct requests_clusters *c = &q->clusters;
	struct answer_list *t = analysis_table(out, "clusters", cluster_columns,
					       ARRAY_SIZE(cluster_columns)),
			   *odd = analysis_table(out, "outliers", log_columns,
						 ARRAY_SIZE(log_columns));
	uint64_t all = c->outlier_count;
	int r = 0;

	for (size_t i = 0; i < c->count; i++)
		all += c->all[i].size;
	for (size_t i = 0; i < c->count; i++) {
		const struct requests_cluster *k = &c->all[i];

		answer_list_uint(t, k->size);
		answer_list_float(t, (double)k->size / (double)all);
		answer_list_int(t, q->spans.all[k->typical].number);
		answer_list_some(t, spanset_text(&q->spans, q->spans.all[k->typical].span_id));
		answer_list_int(t, k->p50);
		answer_list_int(t, k->p99);
		answer_list_int(t, k->max);
		for (unsigned int i2 = 0; i2 < SPAN_TIMES; i2++)
			answer_list_float(t, k->centre[i2]);
	}
	for (size_t i = 0; i < c->outlier_count && i < top && r >= 0; i++)
		r = request_put_span(q, odd, c->outliers[i]);
	return r;
}

/* Limits of cells are those of their buckets; the last column may end after the last request. */
static void put_heat(const struct requests *q, struct answer_list *t, size_t top)
{
	const struct requests_heat *h = &q->heat;

	for (size_t i = 0; i < h->count && i < top; i++) {
		const struct requests_cell *c = &h->all[i];
		const struct span *k = &q->spans.all[c->slowest];

		answer_list_int(t, h->from + c->column * h->step);
		answer_list_int(t, h->step);
		answer_list_uint(t, hist_lower(c->bucket));
		answer_list_uint(t, hist_lower(c->bucket) + hist_width(c->bucket));
		answer_list_uint(t, c->requests);
		answer_list_uint(t, c->errors);
		answer_list_int(t, k->start);
		answer_list_int(t, span_dur(k));
		answer_list_int(t, k->number);
		answer_list_some(t, spanset_text(&q->spans, k->span_id));
		answer_list_text(t, requests_name(q, c->slowest));
	}
}

int requests_put(struct requests *q, const struct requests_options *o, struct analysis_result *out)
{
	size_t top = (size_t)o->top;
	struct answer_list *t;
	int r = 0;

	switch (q->view) {
	case REQUESTS_LOG:
		return put_log(q, analysis_table(out, "log", log_columns, ARRAY_SIZE(log_columns)),
			       top);
	case REQUESTS_TREE:
		t = analysis_table(out, "tree", tree_columns, ARRAY_SIZE(tree_columns));
		for (size_t i = 0; i < q->tree.count && r >= 0; i++)
			r = request_put_line(q, t, &q->tree.lines[i]);
		return r < 0 ? r
			     : request_put_segments(q,
						    analysis_table(out, "path", path_columns,
								   ARRAY_SIZE(path_columns)),
						    top);
	case REQUESTS_FREQ:
		t = analysis_table(out, "freq", freq_columns, ARRAY_SIZE(freq_columns));
		for (size_t i = 0; i < q->group_count && i < top; i++)
			put_freq(q, t, &q->groups[i]);
		return 0;
	case REQUESTS_HEAT:
		put_heat(q, analysis_table(out, "heat", heat_columns, ARRAY_SIZE(heat_columns)),
			 SIZE_MAX);
		return 0;
	case REQUESTS_COMPARE:
		return request_put_compare(q, out, top);
	case REQUESTS_CLUSTERS:
		return put_clusters(q, out, top);
	default:
		t = analysis_table(out, "names", group_columns, ARRAY_SIZE(group_columns));
		for (size_t i = 0; i < q->group_count && i < top; i++)
			request_put_group(q, t, &q->groups[i]);
		return 0;
	}
}
