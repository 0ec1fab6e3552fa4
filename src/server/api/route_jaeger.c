// SPDX-License-Identifier: Apache-2.0
/*
 * route_jaeger.c: the API that Jaeger's page and Grafana's Jaeger data source use: services, their operations,
 * traces, and the calls between services. Since 2.19 the page requests lists from /api/v3/, before from /api/; a
 * single trace always comes from /api/. Times in parameters are microseconds since the epoch (RFC 3339 in v3),
 * durations as Go writes them.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/when.h"
#include "exchange/span_out.h"
#include "server/api/jaeger_sums.h"
#include "server/http/js.h"
#include "server/http/memory_budget.h"
#include "server/internal.h"

#define TRACES_DEFAULT 20
#define TRACES_MAX     1500

/* The state of an answer. */
struct jaeger {
	struct question *q;
	struct spans_out_options opt;
	struct intern names; /* services or operations, or ids of traces */
	int64_t *newest;     /* per trace: when its last span began */
	size_t newest_cap;
	int64_t first, last; /* time range of the chosen traces */
	json_t *tags;	     /* required tags of a span; NULL: none */
	bool bad_tag;
	struct spans_sink *sink;
	struct jaeger_sums sums;
	int (*sum)(struct jaeger_sums *s, const struct span_out *span);
};

static void jaeger_free(struct jaeger *j)
{
	intern_free(&j->names);
	free(j->newest);
	json_decref(j->tags);
	spans_sink_free(j->sink);
	jaeger_sums_free(&j->sums);
}

static int each(struct jaeger *j, spans_out_fn *take)
{
	_cleanup_(spans_out_freep) struct spans_out *o = NULL;
	int r = spans_out_new(&o, j->q->server->store, &j->opt, &j->q->err);

	return r < 0 ? r : spans_out_each(o, take, j, &j->q->err);
}

/* ---- services and operations ---- */

static int jaeger_take_name(struct jaeger *j, struct bytes name)
{
	uint32_t i;

	if (question_stopped(j->q))
		return -EINTR;
	return name.data ? intern_add(&j->names, name.data, name.len, &i) : 0;
}

/* Jaeger's word for a kind; "" if unknown. */
static const char *kind_word(int kind)
{
	const char *word = vocab_word("span_kind", kind);

	return word ? word : "";
}

static int take_service(void *arg, const struct span_out *span)
{
	static const struct bytes none = {(const uint8_t *)SPANS_NO_SERVICE,
					  sizeof(SPANS_NO_SERVICE) - 1};

	return jaeger_take_name(arg, span->service.data ? span->service : none);
}

static int take_operation(void *arg, const struct span_out *span)
{
	return jaeger_take_name(arg, span->name);
}

/* Collects names per kind: each is preceded by a byte with the kind plus 1. */
static int take_operation_kind(void *arg, const struct span_out *span)
{
	struct jaeger *j = arg;
	const char *kind = http_param(j->q->request, "spanKind"), *own = kind_word(span->kind);
	_cleanup_buf_ struct buf name = {0};
	uint8_t first = (uint8_t)(span->kind + 1);
	int r;

	if (kind && *kind && strcmp(kind, own) != 0)
		return 0;
	buf_append(&name, &first, 1);
	r = buf_append(&name, span->name.data, span->name.len);
	return r < 0 ? r : jaeger_take_name(j, buf_bytes(&name));
}

/* The end of every answer of /api/: {"data": [...], "total": N, ...} */
static int jaeger_put_end(struct js *out, size_t total)
{
	js_key_uint(out, "total", total);
	js_key_int(out, "limit", 0);
	js_key_int(out, "offset", 0);
	js_key_known(out, "errors", false, 0);
	js_close(out, '}');
	return out->error;
}

static void jaeger_put_list(const struct jaeger *j, bool kinds, struct js *out)
{
	js_open(out, '[');
	for (uint32_t i = 0; i < j->names.count; i++) {
		struct bytes name = intern_get(&j->names, i);

		if (!kinds) {
			js_bytes(out, name.data, name.len);
			continue;
		}
		js_open(out, '{');
		js_key_bytes(out, "name", (struct bytes){name.data + 1, name.len - 1});
		js_key_string(out, "spanKind", kind_word(name.data[0] - 1));
		js_close(out, '}');
	}
	js_close(out, ']');
}

/* `v3`: the name of the member in v3's answer; NULL: the form of /api/. */
static int jaeger_put_names(struct jaeger *j, bool kinds, const char *v3)
{
	struct js out = {.to = &j->q->out};

	js_open(&out, '{');
	js_key(&out, v3 ? v3 : "data");
	jaeger_put_list(j, kinds, &out);
	if (!v3)
		return jaeger_put_end(&out, j->names.count);
	js_close(&out, '}');
	return out.error;
}

static struct spans_out_options any(const struct question *q)
{
	return (struct spans_out_options){.from = INT64_MIN,
					  .to = INT64_MAX,
					  .calls_ns = -1,
					  .apart = true,
					  .brief = true,
					  .stopped = question_stops,
					  .arg = q};
}

/* A parameter that may be absent or empty, which means any. */
static const char *some_text(const char *name)
{
	return name && *name ? name : NULL;
}

static int put_services(struct question *q, const char *v3)
{
	_cleanup_(jaeger_free) struct jaeger j = {.q = q, .opt = any(q)};
	int r = each(&j, take_service);

	return r < 0 ? r : jaeger_put_names(&j, false, v3);
}

int jaeger_answer_services(struct question *q)
{
	return put_services(q, NULL);
}

int jaeger_answer_services_v3(struct question *q)
{
	return put_services(q, "services");
}

static int put_operations(struct question *q, const char *service, bool kinds, const char *v3)
{
	_cleanup_(jaeger_free) struct jaeger j = {.q = q, .opt = any(q)};
	int r;

	j.opt.service = some_text(service);
	r = each(&j, kinds ? take_operation_kind : take_operation);
	return r < 0 ? r : jaeger_put_names(&j, kinds, v3);
}

int jaeger_answer_operations(struct question *q)
{
	return put_operations(q, http_param(q->request, "service"), true, NULL);
}

int jaeger_answer_operations_v3(struct question *q)
{
	return put_operations(q, http_param(q->request, "service"), true, "operations");
}

int jaeger_answer_operations_of(struct question *q)
{
	return put_operations(q, http_part(q->request, 0), false, NULL);
}

/* ---- traces ---- */

/* Parses "1.5ms", "200us", "2s" to ns; 0 if absent. */
static int take_go_duration(struct question *q, const char *name, int64_t *ret)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1},	 {"us", 1e3}, {"µs", 1e3},  {"ms", 1e6},
		     {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
	const char *text = http_param(q->request, name);
	char *end;
	double v;

	if (!text || !*text)
		return 0;
	v = strtod(text, &end);
	for (size_t i = 0; end > text && v >= 0 && v < 1e9 && i < ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].unit) == 0) {
			*ret = (int64_t)(v * units[i].ns);
			return 0;
		}
	}
	return question_error(q, -EINVAL, "%s=%.40s: must be a duration such as 1.5ms", name, text);
}

static int take_us(struct question *q, const char *name, int64_t *ret)
{
	int64_t us;
	int r = question_number(q, name, 0, INT64_MAX / 1000, -1, &us);

	if (r >= 0 && us >= 0)
		*ret = us * NSEC_PER_USEC;
	return r;
}

/* "2026-11-21T14:00:03.5Z" */
static int take_when(struct question *q, const char *name, int64_t *ret)
{
	const char *text = some_text(http_param(q->request, name));

	if (!text || when_parse(text, strlen(text), NULL, ret) >= 0)
		return 0;
	return question_error(q, -EINVAL, "%s=%.40s: must be a time such as 2026-11-21T14:00:03Z",
			      name, text);
}

/* The names of the same parameters in the two interfaces. */
struct criteria {
	const char *service, *operation, *start, *end, *dur_min, *dur_max, *limit, *tags;
	int (*take_time)(struct question *q, const char *name, int64_t *ret);
};

static const struct criteria criteria_v1 = {"service", "operation",   "start",
					    "end",     "minDuration", "maxDuration",
					    "limit",   "tags",	      take_us};
static const struct criteria criteria_v3 = {
	"query.serviceName",  "query.operationName", "query.startTimeMin",
	"query.startTimeMax", "query.durationMin",   "query.durationMax",
	"query.searchDepth",  "query.attributes",    take_when};

/* The older interface's second form: tag=NAME:VALUE, repeated for each tag. */
static bool take_tag(void *arg, const char *name, const char *value)
{
	struct jaeger *j = arg;
	const char *colon = strcmp(name, "tag") == 0 ? strchr(value, ':') : NULL;

	if (strcmp(name, "tag") != 0)
		return false;
	j->bad_tag = !colon || json_object_setn_new(j->tags, value, (size_t)(colon - value),
						    json_string(colon + 1)) < 0;
	return j->bad_tag;
}

/* {"http.status_code": "500", ...} */
static int take_tags(struct jaeger *j, const struct criteria *c)
{
	const char *text = some_text(http_param(j->q->request, c->tags));
	bool tag = http_param(j->q->request, "tag") != NULL;
	json_error_t error;

	if (tag && c != &criteria_v1)
		return question_error(j->q, -EINVAL,
				      "tag: give tags as a JSON object, %s={\"NAME\":\"VALUE\"}",
				      c->tags);
	if (!text && !tag)
		return 0;
	j->tags = text ? json_loads(text, JSON_REJECT_DUPLICATES, &error) : json_object();
	if (!json_is_object(j->tags))
		return question_error(j->q, -EINVAL,
				      "%s=%.40s: expected a JSON object like {\"NAME\":\"VALUE\"}",
				      c->tags, text ?: "");
	http_each_param(j->q->request, take_tag, j);
	if (j->bad_tag)
		return question_error(j->q, -EINVAL, "tag: expected tag=NAME:VALUE");
	j->opt.brief = !json_object_size(j->tags);
	return 0;
}

static int take_criteria(struct jaeger *j, const struct criteria *c, int64_t *ret_limit)
{
	struct question *q = j->q;
	int r = c->take_time(q, c->start, &j->opt.from);

	j->opt.service = some_text(http_param(q->request, c->service));
	j->opt.name = some_text(http_param(q->request, c->operation));
	if (r < 0)
		return r;
	r = c->take_time(q, c->end, &j->opt.to);
	if (r < 0)
		return r;
	r = take_go_duration(q, c->dur_min, &j->opt.dur_min);
	if (r < 0)
		return r;
	r = take_go_duration(q, c->dur_max, &j->opt.dur_max);
	if (r < 0)
		return r;
	r = question_number(q, c->limit, 1, TRACES_MAX, TRACES_DEFAULT, ret_limit);
	return r < 0 ? r : take_tags(j, c);
}

static int take_trace(void *arg, const struct span_out *span)
{
	struct jaeger *j = arg;
	size_t known = j->names.count;
	uint32_t i;
	int r = json_object_size(j->tags) ? jaeger_has_tags(span, j->tags) : 1;

	if (r <= 0)
		return r;
	r = intern_add(&j->names, span->ids.trace, TRACE_ID_TEXT, &i);
	if (r >= 0)
		r = grow((void **)&j->newest, &j->newest_cap, j->names.count, sizeof(*j->newest));
	if (r < 0)
		return r;
	if (i >= known || span->start > j->newest[i])
		j->newest[i] = span->start;
	return question_stopped(j->q) ? -EINTR : 0;
}

static int compare_newest(const void *a, const void *b, void *newest)
{
	const int64_t *at = newest;

	return ORDER(at[*(const uint32_t *)b], at[*(const uint32_t *)a]);
}

/* Keeps the `limit` newest of the traces found. */
static int keep_newest(struct jaeger *j, size_t limit)
{
	_cleanup_free_ uint32_t *order = calloc(j->names.count + 1, sizeof(*order));
	struct intern kept = {0};
	int r = order ? 0 : -ENOMEM;

	for (uint32_t i = 0; order && i < j->names.count; i++)
		order[i] = i;
	if (order && j->names.count)
		qsort_r(order, j->names.count, sizeof(*order), compare_newest, j->newest);
	for (size_t i = 0; r >= 0 && i < j->names.count && i < limit; i++) {
		struct bytes id = intern_get(&j->names, order[i]);
		uint32_t n;

		r = intern_add(&kept, id.data, id.len, &n);
	}
	intern_free(&j->names);
	j->names = kept;
	return r;
}

static int choose_search(struct jaeger *j, const struct criteria *c)
{
	int64_t limit;
	int r = take_criteria(j, c, &limit);

	if (r < 0)
		return r;
	r = each(j, take_trace);
	return r < 0 ? r : keep_newest(j, (size_t)limit);
}

/* Chooses the trace with an id, which may lack leading zeros. */
static int choose_id(struct jaeger *j, const char *id)
{
	char text[TRACE_ID_TEXT + 1];
	size_t len = strlen(id);
	uint32_t i;

	if (len > TRACE_ID_TEXT)
		return 0; /* matches no trace */
	memset(text, '0', sizeof(text));
	for (size_t k = 0; k < len; k++)
		text[TRACE_ID_TEXT - len + k] = (char)tolower((unsigned char)id[k]);
	return intern_add(&j->names, text, TRACE_ID_TEXT, &i);
}

static int take_bounds(void *arg, const struct span_out *span)
{
	struct jaeger *j = arg;

	j->first = MIN(j->first, span->start);
	j->last = MAX(j->last, span->start + span->dur);
	return 0;
}

static int jaeger_take_span(void *arg, const struct span_out *span)
{
	struct jaeger *j = arg;

	if (question_stopped(j->q))
		return -EINTR;
	return spans_sink_put(j->sink, span);
}

/* Writes the traces with all of their spans, and the calls that these made. */
static int put_traces(struct jaeger *j)
{
	struct buf *out;
	int r;

	spans_sink_free(TAKE_PTR(j->sink));
	r = spans_sink_new(&j->sink, SPANS_OUT_JAEGER, &j->q->err);
	if (r >= 0)
		r = each(j, jaeger_take_span);
	if (r >= 0)
		r = spans_sink_end(j->sink);
	if (r < 0)
		return r;
	out = spans_sink_out(j->sink);
	r = question_fits(j->q, out->len);
	return r < 0 ? r : buf_append(&j->q->out, out->data, out->len);
}

/* `id`: a single trace; NULL: those that match the search. */
static int answer_chosen(struct question *q, const char *id)
{
	_cleanup_(jaeger_free) struct jaeger j = {
		.q = q, .opt = any(q), .first = INT64_MAX, .last = INT64_MIN};
	int r = id ? choose_id(&j, id) : choose_search(&j, &criteria_v1);

	if (r < 0)
		return r;
	j.opt = any(q);
	j.opt.traces = &j.names;
	r = each(&j, take_bounds);
	if (r < 0)
		return r;
	if (j.last == INT64_MIN && id)
		return question_error(q, -ENOENT, "unknown trace id");
	j.opt.brief = false;
	if (j.last == INT64_MIN || !q->server->blocks.count) /* no calls */
		return put_traces(&j);
	j.opt.from = j.first;
	j.opt.to = j.last + 1;
	j.opt.calls = true;
	r = memory_budget_take_files(q);
	return r < 0 ? r : put_traces(&j);
}

int jaeger_answer_traces(struct question *q)
{
	return answer_chosen(q, http_param(q->request, "traceID"));
}

int jaeger_answer_trace(struct question *q)
{
	return answer_chosen(q, http_part(q->request, 0));
}

/* ---- sums ---- */

static int take_sum(void *arg, const struct span_out *span)
{
	struct jaeger *j = arg;

	return question_stopped(j->q) ? -EINTR : j->sum(&j->sums, span);
}

/* Passes each chosen span to the sums. */
static int each_sum(struct jaeger *j, int (*sum)(struct jaeger_sums *, const struct span_out *))
{
	j->sum = sum;
	return each(j, take_sum);
}

int jaeger_answer_summaries(struct question *q)
{
	_cleanup_(jaeger_free) struct jaeger j = {.q = q, .opt = any(q)};
	struct js out = {.to = &q->out};
	int r = choose_search(&j, &criteria_v3);

	j.opt = any(q);
	j.opt.traces = &j.names;
	r = r < 0 ? r : each_sum(&j, jaeger_sums_know);
	r = r < 0 ? r : each_sum(&j, jaeger_sums_line);
	if (r < 0)
		return r;
	jaeger_sums_put_lines(&j.sums, &j.names, &out);
	return out.error;
}

/* Calls between services in the `lookback` milliseconds before `endTs`. */
int jaeger_answer_dependencies(struct question *q)
{
	_cleanup_(jaeger_free) struct jaeger j = {.q = q, .opt = any(q)};
	const int64_t most = INT64_MAX / NSEC_PER_MSEC;
	struct js out = {.to = &q->out};
	int64_t end, lookback;
	int r = question_number(q, "endTs", 0, most, most, &end);

	r = r < 0 ? r : question_number(q, "lookback", 0, most, most, &lookback);
	r = r < 0 ? r
		  : each_sum(&j,
			     jaeger_sums_know); /* all spans, as a parent may have begun earlier */
	j.opt.to = end * NSEC_PER_MSEC;
	j.opt.from = (end - lookback) * NSEC_PER_MSEC;
	r = r < 0 ? r : each_sum(&j, jaeger_sums_call);
	if (r < 0)
		return r;
	js_open(&out, '{');
	js_key(&out, "data");
	jaeger_sums_put_calls(&j.sums, &out);
	return jaeger_put_end(&out, j.sums.pairs.count);
}
