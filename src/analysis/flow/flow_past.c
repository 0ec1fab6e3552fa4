// SPDX-License-Identifier: Apache-2.0
/*
 * flow_past.c: --past: the causes of a call. For each other thread it lists the last call that happened before it, and
 * the edge through which it did. All earlier calls of that thread happened before it as well.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/flow/flow.h"
#include "base/array.h"

#define PAST_MOST 10000 /* limit of the number of calls in the message */

static const struct answer_column past_columns[] = {
	{"before", {QUERY_DUR}}, {"host", {QUERY_TEXT}},    {"process", {QUERY_TEXT}},
	{"tid", {QUERY_INT}},	 {"call", {QUERY_TEXT}},    {"start", {QUERY_TIME}},
	{"op", {QUERY_INT}},	 {"via", {QUERY_TEXT}},	    {"certainty", {QUERY_TEXT}},
	{"file", {QUERY_TEXT}},	 {"to_host", {QUERY_TEXT}}, {"to_process", {QUERY_TEXT}},
	{"to_tid", {QUERY_INT}}, {"to_call", {QUERY_TEXT}}, {"to_end", {QUERY_TIME}},
	{"to_op", {QUERY_INT}},
};

/* An operation of the past, and its start by the first recording's clock. */
struct past_row {
	int64_t start;
	uint32_t edge;
	bool certain;
};

int flow_past_read(struct flow_state *s, const struct analysis_input *in, const char *text,
		   struct error *err)
{
	int r = analysis_calls(in, s->run, "--past", text, PAST_MOST, &s->from, err);
	uint64_t row, value, first = UINT64_MAX;
	size_t at = 0;

	if (r < 0)
		return r;
	if (!s->from.count)
		return error_set(err, -EINVAL, "--past '%s': no call matches", text);
	while (map_next(&s->from, &at, &row, &value))
		first = MIN(first, row);
	if (s->from.count > 1)
		return error_set(
			err, -EINVAL,
			"--past '%s': %zu calls match; name one of them: --past %llu is the "
			"first",
			text, s->from.count, (unsigned long long)first);
	return 0;
}

static int past_compare(const void *a, const void *b)
{
	const struct past_row *x = a, *y = b;

	return x->start == y->start ? ORDER(x->edge, y->edge)
				    : (x->start < y->start) - (x->start > y->start);
}

static void past_add(const struct flow_state *s, const struct flow_past *p, bool certain,
		     struct past_row *rows, size_t *count)
{
	rows[(*count)++] = (struct past_row){flow_time_start(s, p->node), p->edge, certain};
}

/* For each task the last operation that certainly happened before `node`, and a later one for which this is contested. */
static int past_find(const struct flow_state *s, uint32_t node, struct past_row **ret,
		     size_t *ret_count)
{
	const struct flow_graph *g = &s->graph;
	_cleanup_free_ struct flow_past *sure = malloc((g->tasks + 1) * sizeof(*sure)),
					*any = malloc((g->tasks + 1) * sizeof(*any));
	struct past_row *rows = malloc((2 * (size_t)g->tasks + 1) * sizeof(*rows));
	size_t count = 0;

	if (!sure || !any || !rows) {
		free(rows);
		return -ENOMEM;
	}
	flow_graph_past(g, node, true, sure);
	flow_graph_past(g, node, false, any);
	for (uint32_t t = 0; t < g->tasks; t++) {
		if (sure[t].edge != FLOW_NONE)
			past_add(s, &sure[t], true, rows, &count);
		if (any[t].edge != FLOW_NONE &&
		    (sure[t].node == FLOW_NONE || any[t].node > sure[t].node))
			past_add(s, &any[t], false, rows, &count);
	}
	array_sort(rows, count, past_compare);
	*ret = rows;
	*ret_count = count;
	return 0;
}

static int past_put_end(struct answer_list *t, const struct flow_state *s, uint32_t node, bool end)
{
	const struct flow_node *n = &s->graph.nodes[node];
	_cleanup_buf_ struct buf host = {0};
	int r = flow_place_name(s, flow_node_place(&s->graph, n), &host);

	return r < 0 ? r : flow_put_end(t, s, n, buf_bytes(&host), end);
}

static int past_put(struct answer_list *t, const struct flow_state *s, const struct past_row *p,
		    int64_t end)
{
	const struct flow_arc *e = &s->graph.edges[p->edge];
	int r;

	answer_list_int(t, end - p->start);
	r = past_put_end(t, s, e->from, false);
	if (r < 0)
		return r;
	answer_list_str(t, vocab_word("via", e->via));
	answer_list_str(
		t, vocab_word("certainty", p->certain ? CERTAINTY_CERTAIN : CERTAINTY_CONTESTED));
	flow_put_file(t, s, flow_edge_file(&s->graph, e));
	return past_put_end(t, s, e->to, true);
}

int flow_past_put(const struct flow_state *s, struct analysis_result *out, struct error *err)
{
	struct answer_list *t = analysis_table(out, "past", past_columns, ARRAY_SIZE(past_columns));
	_cleanup_free_ struct past_row *rows = NULL;
	uint64_t row, value;
	size_t count = 0, at = 0;
	int r;

	map_next(&s->from, &at, &row, &value);
	if (!s->root_count)
		return error_set(err, -EINVAL, "--past: no call %llu in what is selected",
				 (unsigned long long)row);
	r = past_find(s, s->roots[0].node, &rows, &count);
	for (size_t i = 0; i < count && r >= 0; i++)
		r = past_put(t, s, &rows[i], flow_time_end(s, s->roots[0].node));
	return r;
}
