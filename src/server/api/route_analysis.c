// SPDX-License-Identifier: Apache-2.0
/* route_analysis.c: /analysis/NAME: runs an analysis (analysis/analysis.h) over the served traces. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "server/http/pool.h"
#include "server/sums/pass.h"
#include "store/file/read/verify.h"
#include "sums/scan.h"

#define SIDES 2

/* One side: which part of the traces it covers. */
struct analysis_part {
	struct buf text;	   /* the filter; empty: none */
	struct sums_filter chosen; /* the compiled filter */
	struct scan_filter filter;
};

struct analysis_question {
	struct question *q;
	const struct analysis *analysis;
	void *options;
	struct analysis_part parts[SIDES];
	struct analysis_run runs[SIDES];
	size_t count;
	bool parted; /* a parameter distinguishes the sides */
};

static void analysis_question_free(struct analysis_question *a)
{
	if (a->options)
		options_release(a->analysis->options, a->options);
	free(a->options);
	for (size_t i = 0; i < SIDES; i++) {
		sums_filter_free(&a->parts[i].chosen);
		buf_free(&a->parts[i].text);
	}
}

/* ---- parameters ---- */

/* Reads the analysis' options from the request: those that take a value on the command line, or 1 for a flag. */
static int route_analysis_options(struct analysis_question *a)
{
	struct question *q = a->q;
	int r;

	a->options = calloc(1, MAX(a->analysis->options_size, (size_t)1));
	if (!a->options)
		return -ENOMEM;
	options_defaults(a->analysis->options, a->options);
	for (const struct option *o = a->analysis->options; !option_end(o); o++) {
		const char *value = o->long_name ? http_param(q->request, o->long_name) : NULL;
		struct error why = {0};

		r = value && *value ? option_take(o, a->options, value, &why) : 0;
		if (r < 0)
			return question_error(q, r, "%s=: %s", o->long_name, why.message);
	}
	return a->analysis->check ? a->analysis->check(a->options, &q->err) : 0;
}

/* The name of a side's parameter: a_from, or from if the analysis has one side or a_from is absent. */
static const char *route_analysis_name(struct analysis_question *a, unsigned int side,
				       const char *name, char buf[static 16])
{
	const char *value;

	snprintf(buf, 16, "%c_%s", side ? 'b' : 'a', name);
	value = a->analysis->sides == SIDES ? http_param(a->q->request, buf) : NULL;
	if (!value || !*value)
		return name;
	a->parted = true;
	return buf;
}

/*
 * Combines the filter of both sides with that of this side, after checking each alone, so that error positions refer
 * to its own text.
 */
static int route_analysis_filter(struct analysis_question *a, unsigned int side)
{
	struct analysis_part *part = &a->parts[side];
	struct question *q = a->q;
	char buf[16];
	const char *name = route_analysis_name(a, side, "filter", buf);
	const char *const filters[] = {q->filter, name == buf ? http_param(q->request, buf) : NULL};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(filters) && r >= 0; i++) {
		if (!filters[i])
			continue;
		if (strlen(filters[i]) > FILTER_MAX)
			return question_error(q, -E2BIG, "%s= is longer than %u KiB", name,
					      FILTER_MAX >> 10);
		r = question_filter_check(q, filters[i]);
		if (r >= 0)
			r = buf_printf(&part->text, "%s(%s)", part->text.len ? " and " : "",
				       filters[i]);
	}
	return r < 0 ? r : question_filter(q, buf_str(&part->text), &part->chosen);
}

/* Counts lost rows of tables other than op. A cause without a number counts as 1. */
static uint64_t route_analysis_lost_beside(const json_t *loss)
{
	uint64_t sum = 0;

	for (int cause = 0; cause < CAUSE_COUNT; cause++) {
		const json_t *n = json_object_get(json_object_get(loss, "causes"),
						  vocab_word("cause", cause));

		if (cause_is_beside((enum loss_cause)cause))
			sum += n ? (uint64_t)MAX(json_integer_value(n), 1) : 0;
	}
	return sum;
}

/* The calls and rows missing from the traces, as in every answer. */
static void route_analysis_lost(const struct question *q, struct analysis_run *run)
{
	json_t *loss = json_loadb((const char *)q->loss.data, q->loss.len, 0, NULL);

	run->lost = (uint64_t)json_integer_value(json_object_get(loss, "events"));
	run->lost_unknown = json_is_true(json_object_get(loss, "at_least"));
	run->lost_beside = route_analysis_lost_beside(loss);
	run->loss = buf_bytes(&q->loss);
	json_decref(loss);
}

static int route_analysis_run(struct analysis_question *a, unsigned int side)
{
	struct analysis_part *part = &a->parts[side];
	struct analysis_run *run = &a->runs[a->count++];
	struct question *q = a->q;
	const struct plan *plan;
	int64_t first, last;
	char buf[16];
	int r = route_analysis_filter(a, side);

	if (r < 0)
		return r;
	plan = part->chosen.plan;
	*run = (struct analysis_run){.side = side,
				     .name = store_trace_path(q->server->store, 0),
				     .store = q->server->store,
				     .where = plan ? plan->where : NULL,
				     .selection = plan ? buf_str(&part->text) : NULL,
				     .users = annotations_get(q->server->annotations)};
	r = question_time(q, route_analysis_name(a, side, "from", buf), INT64_MIN, &run->from);
	if (r < 0)
		return r;
	r = question_time(q, route_analysis_name(a, side, "to", buf), INT64_MAX, &run->to);
	if (r < 0)
		return r;
	if (run->from > run->to)
		return question_error(q, -EINVAL, "from is later than to");
	store_range(run->store, &first, &last);
	analysis_run_within(run, first, last);
	part->filter = (struct scan_filter){
		.from = run->from, .to = run->to, .where = plan ? &part->chosen : NULL};
	if (plan || run->from != INT64_MIN || run->to != INT64_MAX)
		run->filter = &part->filter;
	route_analysis_lost(q, run);
	return 0;
}

/* ---- the answer ---- */

static int route_analysis_put(void *arg, const void *data, size_t len)
{
	struct question *q = ((struct analysis_question *)arg)->q;
	int r = question_fits(q, q->out.len + len);

	return r < 0 ? r : buf_append(&q->out, data, len);
}

static int route_analysis_put_loss(void *arg, struct buf *to, struct error *err _unused_)
{
	const struct question *q = ((const struct analysis_question *)arg)->q;

	return buf_append(to, q->loss.data, q->loss.len);
}

static int route_analysis_work(struct analysis_question *a)
{
	const struct analysis_input in = {.analysis = a->analysis,
					  .runs = a->runs,
					  .count = a->count,
					  .options = a->options,
					  .threads = question_workers(a->q),
					  .shared = true,
					  .stopped = question_stops,
					  .arg = a->q};
	const struct answer_json document = {.origin = a->q->server->origin,
					     .compact = true,
					     .put_loss = route_analysis_put_loss,
					     .put = route_analysis_put,
					     .arg = a};
	struct analysis_result result = {0};
	int r = analysis_answer(&in, &result, &a->q->err);

	if (r >= 0)
		r = analysis_json(&in, &result, &document, &a->q->err);
	analysis_result_free(a->analysis, &result);
	return r;
}

static int route_analysis_work_engine(struct analysis_question *a)
{
	struct engine *e;
	int r = pool_take(a->q, &e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < a->count; i++)
		a->runs[i].engine = e;
	r = route_analysis_work(a);
	pool_give(a->q, e);
	return r;
}

static bool route_analysis_stops_verifying(void *arg)
{
	return question_stopped(arg);
}

/* Finds all damage: tables that an earlier run kept in the trace are an answer without reading the calls again. */
static int route_analysis_verify(struct question *q)
{
	int r = store_verify(q->server->store, SIZE_MAX, route_analysis_stops_verifying, q, NULL);

	if (r < 0)
		return question_error(q, r, "cannot verify the trace");
	return loss_is_current(q) ? 0 : loss_take(q);
}

static int route_analysis_answer(struct question *q)
{
	_cleanup_(analysis_question_free) struct analysis_question a = {
		.q = q, .analysis = analysis_named(http_part(q->request, 0))};
	int r;

	q->type = "application/json"; /* the only form */
	if (!a.analysis)
		return question_error(q, -ENOENT, "unknown analysis");
	r = route_analysis_options(&a);
	if (r >= 0)
		r = route_analysis_verify(q);
	for (unsigned int side = 0; side < MAX(a.analysis->sides, 1u) && r >= 0; side++)
		r = route_analysis_run(&a, side);
	if (r < 0)
		return r;
	if (a.analysis->sides == SIDES && !a.parted)
		return question_error(
			q, -EINVAL,
			"the two sides to compare are missing; give parts of the traces: "
			"a_to=5000000000&b_from=5000000000, or a_filter= and b_filter=");
	if (a.analysis->order != ANALYSIS_ASKS) {
		r = memory_budget_take_files(q);
		return r < 0 ? r : route_analysis_work(&a);
	}
	do {
		r = route_analysis_work_engine(&a);
	} while (pool_again(q, r));
	return r;
}

void analysis_get(void *arg, struct http_request *r)
{
	const struct analysis *a = analysis_named(http_part(r, 0));
	_cleanup_buf_ struct buf names = {0};
	struct http_route own;

	(void)!buf_printf(&names, "filter from to");
	if (!a || a->sides == SIDES)
		(void)!buf_printf(&names, " a_filter a_from a_to b_filter b_from b_to");
	for (const struct option *o = a ? a->options : NULL; !option_end(o); o++) {
		if (o->long_name && o->help)
			(void)!buf_printf(&names, " %s", o->long_name);
	}
	own = (struct http_route){.params = buf_str(&names)};
	if (params_admit(r, &own))
		question_run(arg, r, route_analysis_answer);
}
