// SPDX-License-Identifier: Apache-2.0
/* analysis.c: shared by analyses and their callers. */
#include "analysis/analysis.h"

#include <errno.h>
#include <string.h>

#include "query/query.h"

static const struct answer_column finding_columns[] = {
	{"severity", {QUERY_TEXT}}, {"rule", {QUERY_TEXT}},   {"finding", {QUERY_TEXT}},
	{"advice", {QUERY_TEXT}},   {"share", {QUERY_FLOAT}},
};

/* ---- for an analysis ---- */

struct answer_list *analysis_table(struct analysis_result *r, const char *name,
				   const struct answer_column *columns, size_t count)
{
	assert(r->count < ANALYSIS_TABLES_MAX);
	r->tables[r->count].name = name;
	r->tables[r->count].rows = (struct answer_list){.columns = columns, .column_count = count};
	return &r->tables[r->count++].rows;
}

void analysis_find(struct analysis_result *r, const struct analysis_finding *f)
{
	static const char *const severities[] = {"note", "warning", "problem"};

	answer_list_str(&r->findings, severities[f->severity]);
	answer_list_str(&r->findings, f->rule);
	answer_list_str(&r->findings, f->text);
	answer_list_str(&r->findings, f->advice);
	answer_list_float(&r->findings, f->share);
}

int analysis_stream_part(struct engine_merge **ret, const struct analysis_input *in,
			 const struct analysis_run *run, int64_t from, int64_t to,
			 struct error *err)
{
	bool all = run->from == INT64_MIN && run->to == INT64_MAX,
	     part = from != INT64_MIN || to != INT64_MAX;
	const struct analysis_reads *reads = in->analysis->reads;
	struct scan_request requests[TABLE_COUNT];
	size_t count = 0;

	assert(in->analysis->order == ANALYSIS_STREAM && reads);
	for (; reads[count].table != TABLE_COUNT; count++) {
		assert(count < TABLE_COUNT);
		requests[count] = (struct scan_request){
			.table = reads[count].table,
			.columns = reads[count].columns,
			.from = MAX(run->from, from),
			.to = MIN(run->to, to),
			.filter = reads[count].table == TABLE_OP ? run->where : NULL,
			.part = part && all, /* a time range excludes rows without an end */
		};
	}
	return engine_merge_new(ret, run->store, run->engine, requests, count, err);
}

int analysis_stream(struct engine_merge **ret, const struct analysis_input *in,
		    const struct analysis_run *run, struct error *err)
{
	return analysis_stream_part(ret, in, run, INT64_MIN, INT64_MAX, err);
}

void analysis_asked_free(struct analysis_asked *a)
{
	answer_free(&a->rows);
	engine_result_free(a->result);
	plan_free(a->plan);
	*a = (struct analysis_asked){0};
}

int analysis_ask(struct analysis_asked *ret, const struct analysis_run *run, const char *pipeline,
		 struct error *err)
{
	struct query_error why = {0};
	int r = query_parse_users(pipeline, strlen(pipeline), run->users, &ret->plan, &why);

	if (r >= 0 && run->selection && ret->plan->table == TABLE_OP)
		r = plan_and_where(ret->plan, run->selection, &why);
	if (r < 0)
		return error_set(err, r, "%s: %s", pipeline, why.err.message);
	ret->plan->from = run->from;
	ret->plan->to = run->to;
	r = engine_ask(run->engine, ret->plan, NULL, &ret->result, err);
	return r < 0 ? r : answer_of_result(&ret->rows, ret->plan, ret->result);
}

int analysis_scan(const struct analysis_input *in, const struct analysis_run *run,
		  const struct scan_request *q, analysis_row_fn *take, void *arg, struct error *err)
{
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n = 0;
	int r = engine_scan_new(&scan, run->store, q, err);

	while (r >= 0 && (n = engine_scan_next(scan, &b, &rows, err)) > 0) {
		const int64_t *ends = engine_scan_ends(scan);

		if (in && analysis_stopped(in))
			return error_set(err, -EINTR, "interrupted");
		for (ssize_t i = 0; i < n && r >= 0; i++)
			r = take(arg, b, rows[i], ends[rows[i]]);
	}
	return r < 0 ? r : (int)n;
}

struct calls_selected {
	struct map *to;
	size_t most;
	const char *option, *text;
	struct error *err;
};

static int analysis_calls_row(void *arg, const struct batch *b, uint32_t row, int64_t end _unused_)
{
	struct calls_selected *c = arg;

	if (c->to->count == c->most)
		return error_set(c->err, -EINVAL,
				 "%s '%s': more than %zu calls match; select fewer", c->option,
				 c->text, c->most);
	return map_set(c->to, (uint64_t)batch_row_id(b, row), 0);
}

int analysis_calls(const struct analysis_input *in, const struct analysis_run *run,
		   const char *option, const char *text, size_t most, struct map *ret,
		   struct error *err)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;
	struct calls_selected c = {ret, most, option, text, err};
	struct query_error why = {0};
	struct error no_number = {0};
	int64_t row;
	int r;

	if (parse_int(text, &row, &no_number) >= 0)
		return map_get(ret, (uint64_t)row, NULL) ? 0 : map_set(ret, (uint64_t)row, 0);
	r = query_parse_expr(text, strlen(text), TABLE_OP, true, &plan, &why);
	if (r < 0)
		return error_set(err, r, "%s '%s': %s", option, text, why.err.message);
	const struct scan_request q = {.table = TABLE_OP,
				       .columns = 1ull << OP_START,
				       .from = run->from,
				       .to = run->to,
				       .filter = plan->where};

	return analysis_scan(in, run, &q, analysis_calls_row, &c, err);
}

/* ---- for callers ---- */

int analysis_answer(const struct analysis_input *in, struct analysis_result *ret, struct error *err)
{
	int r;

	assert(in->count > 0);
	*ret = (struct analysis_result){.findings = {.columns = finding_columns,
						     .column_count = ARRAY_SIZE(finding_columns)}};
	r = in->analysis->run(in, ret, err);
	if (r < 0)
		return error_errno(err, r, "%s", in->analysis->name);
	assert(ret->count);
	return 0;
}

void analysis_result_free(const struct analysis *a, struct analysis_result *r)
{
	for (size_t i = 0; i < r->count; i++)
		answer_list_free(&r->tables[i].rows);
	answer_list_free(&r->findings);
	if (r->own)
		a->free(r->own);
	*r = (struct analysis_result){0};
}

void analysis_run_within(struct analysis_run *run, int64_t first, int64_t last)
{
	run->first = MAX(run->from, first);
	run->first = MIN(run->first, last);
	run->last = MIN(run->to, last);
	run->last = MAX(run->last, run->first + 1);
}

/* ---- the document ---- */

struct analysis_document {
	const struct analysis_input *in;
	struct analysis_result *result;
	const struct answer_json *to;
};

static int document_put(void *arg, const void *data, size_t len)
{
	const struct answer_json *to = ((const struct analysis_document *)arg)->to;

	return to->put(to->arg, data, len);
}

/* {"columns": [...], "rows": [...]} */
static int document_put_table(struct buf *to, struct answer_list *list, int64_t origin,
			      struct error *err)
{
	_cleanup_answer_ struct answer rows = {0};
	int r = answer_of_list(&rows, list, false);

	if (r < 0)
		return r;
	buf_printf(to, "{");
	r = answer_json_table(to, &rows, origin, err);
	return r < 0 ? r : buf_printf(to, "}");
}

static int document_put_tables(const struct analysis_document *d, struct buf *to, struct error *err)
{
	struct analysis_result *result = d->result;
	int r = 0;

	for (size_t i = 1; i < result->count && r >= 0; i++) {
		buf_printf(to, "%s\"%s\": ", i > 1 ? ", " : ",\n\"tables\": {",
			   result->tables[i].name);
		r = document_put_table(to, &result->tables[i].rows, d->to->origin, err);
	}
	return r < 0 || result->count < 2 ? r : buf_printf(to, "}");
}

/* Appends the member "loss", which answer_json() requests last, and all members after it. */
static int document_put_rest(void *arg, struct buf *to, struct error *err)
{
	const struct analysis_document *d = arg;
	const struct analysis *a = d->in->analysis;
	int r = d->to->put_loss(d->to->arg, to, err);

	if (r >= 0)
		r = document_put_tables(d, to, err);
	if (r >= 0 && a->finds)
		r = buf_printf(to, ",\n\"findings\": ");
	if (r >= 0 && a->finds)
		r = document_put_table(to, &d->result->findings, d->to->origin, err);
	return r < 0 || !a->put_members ? r : a->put_members(d->in, d->result, to);
}

int analysis_json(const struct analysis_input *in, struct analysis_result *r,
		  const struct answer_json *j, struct error *err)
{
	struct analysis_document d = {in, r, j};
	const struct answer_json whole = {.origin = j->origin,
					  .compact = j->compact,
					  .put_loss = document_put_rest,
					  .put = document_put,
					  .arg = &d};
	_cleanup_answer_ struct answer rows = {0};
	int e = answer_of_list(&rows, &r->tables[0].rows, false);

	return e < 0 ? error_errno(err, e, "%s", in->analysis->name)
		     : answer_json(&rows, &whole, err);
}
