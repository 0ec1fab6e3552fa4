// SPDX-License-Identifier: Apache-2.0
/* flow.c: `weir flow` as an analysis. */
#include "analysis/flow/flow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/flow/bytes/flow_verdicts.h"
#include "batch/ids.h"
#include "names/names.h"
#include "schema/ops.h"

#define OP_BIT(c) (1ull << OP_##c)
#define FROM_MAX  10000 /* maximum number of calls for --of */

static const struct analysis_reads flow_reads[] = {
	{TABLE_LOSS, ~0ull},
	{TABLE_CHUNK, ~0ull},
	{TABLE_OP, OP_BIT(START) | OP_BIT(DUR) | OP_BIT(THREAD_ID) | OP_BIT(KIND) | OP_BIT(OP) |
			   OP_BIT(RET) | OP_BIT(BYTES) | OP_BIT(FD) | OP_BIT(FILE_ID) |
			   OP_BIT(POS) | OP_BIT(SIZE) | OP_BIT(FLAGS) | OP_BIT(FILE2_ID) |
			   OP_BIT(POS2) | OP_BIT(A0) | OP_BIT(A1) | OP_BIT(A2) | OP_BIT(STATUS) |
			   OP_BIT(WAKER_ID) | OP_BIT(PEER_ID)},
	{TABLE_COUNT},
};

static const struct answer_column edge_columns[] = {
	{"via", {QUERY_TEXT}},
	{"certain", {QUERY_INT}, ANSWER_COUNT, .dash = true},
	{"contested", {QUERY_INT}, ANSWER_COUNT, .dash = true},
};

static const struct answer_column clock_columns[] = {
	{"host", {QUERY_TEXT}},	       {"from", {QUERY_TIME}},
	{"to", {QUERY_TIME}},	       {"offset", {QUERY_DUR}},
	{"half", {QUERY_DUR}},	       {"offset_end", {QUERY_DUR}},
	{"half_end", {QUERY_DUR}},     {"drift_low", {QUERY_FLOAT}},
	{"drift_high", {QUERY_FLOAT}}, {"pairs", {QUERY_INT}, ANSWER_COUNT},
};

static const struct answer_column verdict_columns[] = {
	{"number", {QUERY_INT}},       {"verdict", {QUERY_TEXT}},
	{"file", {QUERY_TEXT}},	       {"from", {QUERY_SIZE}},
	{"to", {QUERY_SIZE}},	       {"bytes", {QUERY_SIZE}},
	{"host", {QUERY_TEXT}},	       {"process", {QUERY_TEXT}},
	{"pid", {QUERY_INT}},	       {"first_call", {QUERY_TEXT}},
	{"first_at", {QUERY_TIME}},    {"first_op", {QUERY_INT}},
	{"second_call", {QUERY_TEXT}}, {"second_at", {QUERY_TIME}},
	{"second_op", {QUERY_INT}},    {"second_observation", {QUERY_TEXT}},
	{"note", {QUERY_TEXT}},
};

static const struct answer_column evidence_columns[] = {
	{"verdict", {QUERY_INT}}, {"label", {QUERY_TEXT}}, {"who", {QUERY_TEXT}},
	{"call", {QUERY_TEXT}},	  {"at", {QUERY_TIME}},	   {"text", {QUERY_TEXT}},
};

static const struct answer_column replication_columns[] = {
	{"way", {QUERY_TEXT}},
	{"objects", {QUERY_INT}, ANSWER_COUNT},
	{"bytes", {QUERY_SIZE}},
	{"lags", {QUERY_TEXT}},
};

/* The same as a graph: an edge for each folder and where its objects came from. */
static const struct answer_column hop_columns[] = {
	{"from", {QUERY_TEXT}},	 {"to", {QUERY_TEXT}}, {"objects", {QUERY_INT}, ANSWER_COUNT},
	{"bytes", {QUERY_SIZE}}, {"lag", {QUERY_DUR}},
};

/* For --list. */
static const struct answer_column list_columns[] = {
	{"via", {QUERY_TEXT}},		{"certainty", {QUERY_TEXT}}, {"from_host", {QUERY_TEXT}},
	{"from_process", {QUERY_TEXT}}, {"from_tid", {QUERY_INT}},   {"from_call", {QUERY_TEXT}},
	{"from_start", {QUERY_TIME}},	{"from_op", {QUERY_INT}},    {"to_host", {QUERY_TEXT}},
	{"to_process", {QUERY_TEXT}},	{"to_tid", {QUERY_INT}},     {"to_call", {QUERY_TEXT}},
	{"to_end", {QUERY_TIME}},	{"to_op", {QUERY_INT}},	     {"file", {QUERY_TEXT}},
	{"pos", {QUERY_SIZE}},		{"bytes", {QUERY_SIZE}},     {"from_lamport", {QUERY_INT}},
	{"to_lamport", {QUERY_INT}},
};

/* For --of. */
static const struct answer_column tree_columns[] = {
	{"depth", {QUERY_INT}}, {"host", {QUERY_TEXT}}, {"who", {QUERY_TEXT}},
	{"call", {QUERY_TEXT}}, {"file", {QUERY_TEXT}}, {"at", {QUERY_TIME}},
	{"delay", {QUERY_DUR}}, {"pos", {QUERY_SIZE}},	{"bytes", {QUERY_SIZE}},
	{"via", {QUERY_TEXT}},	{"op", {QUERY_INT}},
};

/* ---- names ---- */

static struct bytes host_of(const struct flow_state *s, size_t place)
{
	for (size_t i = 0; i < s->task_count; i++) {
		const struct dims_process *p;
		const struct dims_host *h;

		if (s->tasks[i].place != place)
			continue;
		p = dims_process(s->dims, s->tasks[i].process_id);
		h = p ? dims_host(s->dims, p->host_id) : NULL;
		if (h && h->name.len)
			return h->name;
	}
	return (struct bytes){NULL, 0};
}

int flow_place_name(const struct flow_state *s, size_t place, struct buf *out)
{
	struct bytes host = host_of(s, place), base;
	const char *path = place < store_trace_count(s->run->store)
				   ? store_trace_path(s->run->store, place)
				   : NULL;
	bool again = !host.len;

	for (size_t i = 0; i < store_recording_count(s->run->store) && !again; i++)
		again = i != place && !bytes_compare(host_of(s, i), host);
	if (!again || !path)
		return buf_append(out, host.data ? host.data : (const void *)"?",
				  host.data ? host.len : 1);
	base = names_base((struct bytes){(const uint8_t *)path, strlen(path)});
	if (base.len > 5 && !memcmp(base.data + base.len - 5, ".weir", 5))
		base.len -= 5;
	return buf_append(out, base.data, base.len);
}

int flow_put_process(const struct flow_state *s, size_t place, int64_t process_id, struct buf *out)
{
	if (store_recording_count(s->run->store) > 1) {
		flow_place_name(s, place, out);
		buf_printf(out, " ");
	}
	return names_process(s->dims, process_id, out);
}

int64_t flow_clock_applied(const struct flow_state *s, size_t place)
{
	return store_recording_clock(s->run->store, place).ahead -
	       store_recording_clock(s->run->store, 0).ahead;
}

size_t flow_hosts(const struct flow_state *s)
{
	size_t count = 0;

	for (size_t i = 0; i < store_recording_count(s->run->store); i++) {
		bool again = false;

		for (size_t k = 0; k < i && !again; k++)
			again = dims_machine(s->dims, id_compose(0, k)) ==
				dims_machine(s->dims, id_compose(0, i));
		count += !again;
	}
	return count;
}

uint64_t flow_left_out(const struct flow_result *f)
{
	const struct flow_state *s = &f->state;

	return s->graph.left_out + s->streams.dropped + s->forgotten + s->pieces.left_out +
	       s->links.left_out + f->verdicts_left_out;
}

/* ---- tables ---- */

static void put_edges(struct answer_list *t, const struct flow_graph *g)
{
	for (size_t via = 0; via < VIA_COUNT; via++) {
		const uint64_t *n = g->by_via[via];

		if (!n[CERTAINTY_CERTAIN] && !n[CERTAINTY_CONTESTED])
			continue;
		answer_list_str(t, vocab_word("via", (int64_t)via));
		answer_list_uint(t, n[CERTAINTY_CERTAIN]);
		answer_list_uint(t, n[CERTAINTY_CONTESTED]);
	}
}

void flow_put_file(struct answer_list *t, const struct flow_state *s, int64_t file_id)
{
	answer_list_some(t, file_id >= 0 ? dims_file_name(s->dims, file_id) : (struct bytes){0});
}

int flow_put_end(struct answer_list *t, const struct flow_state *s, const struct flow_node *n,
		 struct bytes host, bool end)
{
	const struct dims_thread *thread = dims_thread(s->dims, flow_node_thread(&s->graph, n));
	int64_t process = names_process_of(s->dims, flow_node_thread(&s->graph, n));
	_cleanup_buf_ struct buf name = {0};
	char room[32];
	int r = process < 0 ? 0 : names_process(s->dims, process, &name);

	answer_list_text(t, host);
	answer_list_text(t, buf_bytes(&name));
	answer_list_known(t, thread ? thread->tid : -1);
	answer_list_str(t, op_name(n->op, room));
	answer_list_int(t, end ? flow_node_end(n) : n->start);
	answer_list_known(t, flow_node_row(&s->graph, n));
	return r;
}

/* Lists edges so that each follows those that lead to it; of more than `most` (0: all), evenly spaced ones. */
static int put_list(struct answer_list *t, const struct flow_state *s, size_t most)
{
	const struct flow_graph *g = &s->graph;
	size_t step = most ? (g->edge_count + most - 1) / most : 1, n = 0;
	size_t places = store_recording_count(s->run->store);
	_cleanup_free_ struct buf *hosts = calloc(places + 1, sizeof(*hosts));
	int r = hosts ? 0 : -ENOMEM;

	for (size_t i = 0; i < places && r >= 0; i++)
		r = flow_place_name(s, i, &hosts[i]);
	for (size_t i = 0; i < g->node_count && r >= 0; i++) {
		for (uint32_t k = g->nodes[g->order[i]].in; k != FLOW_NONE && r >= 0;
		     k = g->edges[k].next_in) {
			const struct flow_arc *e = &g->edges[k];
			const struct flow_node *from = &g->nodes[e->from], *to = &g->nodes[e->to];
			const struct buf *a = &hosts[MIN((size_t)flow_node_place(g, from), places)],
					 *b = &hosts[MIN((size_t)flow_node_place(g, to), places)];

			if (n++ % step)
				continue;
			answer_list_str(t, vocab_word("via", e->via));
			answer_list_str(t, vocab_word("certainty", e->certainty));
			r = flow_put_end(t, s, from, buf_bytes(a), false);
			r = r < 0 ? r
				  : flow_put_end(t, s, to, (struct bytes){b->data, b->len}, true);
			flow_put_file(t, s, flow_edge_file(g, e));
			answer_list_int(t, e->pos);
			answer_list_int(t, e->bytes);
			answer_list_int(t, g->lamport[e->from]);
			answer_list_int(t, g->lamport[e->to]);
		}
	}
	for (size_t i = 0; i < places && hosts; i++)
		buf_free(&hosts[i]);
	return r;
}

static int put_clocks(struct answer_list *t, const struct flow_state *s)
{
	int r = 0;

	for (size_t i = 1; i < store_recording_count(s->run->store) && r >= 0; i++) {
		const struct flow_clock *k = flow_clock(s->clocks, i);
		double applied = (double)flow_clock_applied(s, i);
		_cleanup_buf_ struct buf name = {0};

		r = flow_place_name(s, i, &name);
		for (size_t w = 0; r >= 0 && w < k->window_count; w++) {
			const struct flow_clock_window *v = &k->windows[w];

			answer_list_text(t, buf_bytes(&name));
			answer_list_int(t, v->from);
			answer_list_int(t, v->to);
			for (int e = 0; e < 2; e++) {
				answer_list_int(t,
						(int64_t)(applied + (v->low[e] + v->high[e]) / 2));
				answer_list_int(t, (int64_t)((v->high[e] - v->low[e]) / 2));
			}
			answer_list_float(t, v->drift_low * 1e6);
			answer_list_float(t, v->drift_high * 1e6);
			answer_list_uint(t, k->pairs);
		}
	}
	return r;
}

static void flow_free(void *own)
{
	struct flow_result *f = own;

	flow_state_free(&f->state);
	alike_free(f->alike);
	free(f);
}

int flow_take(struct flow_state *s, const struct analysis_input *in, const struct analysis_run *run,
	      int64_t from, int64_t to, struct error *err)
{
	const struct flow_options *o = in->options;
	struct analysis_run part = *run;
	_cleanup_buf_ struct buf calls = {0};
	int r = 0;

	part.from = MAX(run->from, from);
	part.to = MIN(run->to, to);
	if (o->from)
		r = flow_from_calls(o->from, &calls);
	if (r >= 0 && o->from)
		r = analysis_calls(in, &part, "--of", buf_str(&calls), FROM_MAX, &s->from, err);
	return r < 0 ? r : flow_pass_take(s, in, run, from, to, err);
}

int flow_tables(const struct analysis_input *in, const struct analysis_run *run,
		const struct flow_options *o, struct analysis_result *out, struct batch *keep,
		struct error *err)
{
	bool part = run->where || run->from != INT64_MIN || run->to != INT64_MAX;
	struct flow_result *f = calloc(1, sizeof(*f));
	struct flow_verdicts v = {.keep = keep};
	struct answer_list *edges, *clocks;
	int64_t from = INT64_MIN;
	int r = 0;

	if (!f)
		return -ENOMEM;
	out->own = f;
	if (!run->store)
		return error_set(err, -EOPNOTSUPP, "%s: flow reads trace files, not a store",
				 run->name);
	if (alike_wanted(&o->alike)) {
		struct alike_options alike = o->alike;

		alike.list = o->list;
		alike.most = o->most;
		return alike_run(&f->alike, in, &alike, out, err);
	}
	if (o->keep && in->shared)
		return error_set(err, -EINVAL, "--keep works only on the command line");
	v.rows = analysis_table(out, "verdicts", verdict_columns, ARRAY_SIZE(verdict_columns));
	v.evidence =
		analysis_table(out, "evidence", evidence_columns, ARRAY_SIZE(evidence_columns));
	v.replication = analysis_table(out, "replication", replication_columns,
				       ARRAY_SIZE(replication_columns));
	edges = analysis_table(out, "edges", edge_columns, ARRAY_SIZE(edge_columns));
	clocks = analysis_table(out, "clocks", clock_columns, ARRAY_SIZE(clock_columns));
	v.hops = analysis_table(out, "hops", hop_columns, ARRAY_SIZE(hop_columns));
	if (in->taken)
		from = flow_taken_use(in->taken, &f->state);
	f->state.run = run;
	if (o->past)
		r = flow_past_read(&f->state, in, o->past, err);
	if (r >= 0)
		r = flow_take(&f->state, in, run, from, INT64_MAX, err);
	if (r >= 0)
		r = flow_pass_end(&f->state, err);
	if (r >= 0 && o->keep)
		r = store_recording_count(run->store) > 1
			    ? flow_keep_clocks(&f->state, &f->clocks_kept, err)
			    : flow_keep(run->store, &f->state, part, err);
	if (r < 0)
		return r;
	v.s = &f->state;
	r = flow_verdicts_make(&v);
	if (r >= 0 && o->from)
		r = flow_from_put(
			&v, analysis_table(out, "tree", tree_columns, ARRAY_SIZE(tree_columns)),
			&f->tree_left_out);
	f->verdicts_left_out = v.left_out;
	f->uncompared = v.uncompared;
	flow_verdicts_free(&v);
	if (r < 0)
		return r;
	put_edges(edges, &f->state.graph);
	r = put_clocks(clocks, &f->state);
	if (r >= 0 && o->past)
		r = flow_past_put(&f->state, out, err);
	if (r >= 0 && o->list)
		r = put_list(analysis_table(out, "list", list_columns, ARRAY_SIZE(list_columns)),
			     &f->state, (size_t)o->most);
	return r;
}

static int flow_run(const struct analysis_input *in, struct analysis_result *out, struct error *err)
{
	const struct flow_options *o = in->options;

	if (in->follow && (o->keep || o->as || o->past))
		return error_set(err, -EINVAL,
				 "--follow cannot be combined with --keep, --as or --past");
	return flow_tables(in, &in->runs[0], o, out, NULL, err);
}

static int flow_members(const struct analysis_input *in _unused_, const struct analysis_result *r,
			struct buf *to)
{
	const struct flow_result *f = r->own;
	const struct flow_state *s = &f->state;
	const struct flow_content_sums *c = &s->content_sums;

	if (f->alike)
		return alike_members(f->alike, to);
	buf_printf(to, ",\n\"content\": {\"bytes\": %llu", (unsigned long long)c->bytes);
	for (int i = 0; i < OUTCOME_COUNT; i++)
		buf_printf(to, ", \"%s\": %llu", vocab_word("outcome", i),
			   (unsigned long long)c->by_outcome[i]);
	return buf_printf(
		to,
		"},\n\"calls\": %llu, \"operations\": %zu, \"edges\": %zu, \"contradictions\": "
		"%llu, \"cycles\": %llu, \"unplaced\": %llu, \"unfollowed\": %llu, \"unjudged\": "
		"%llu, \"undivided\": %llu, \"mapped_unseen\": %s, \"mapped_unsure\": %llu, "
		"\"alone\": %llu, "
		"\"uncompared\": %llu, \"left_out\": %llu",
		(unsigned long long)s->calls, s->graph.node_count, s->graph.edge_count,
		(unsigned long long)s->contradictions, (unsigned long long)s->graph.cycles,
		(unsigned long long)s->unplaced, (unsigned long long)s->unfollowed,
		(unsigned long long)s->unfollowed_messages, (unsigned long long)s->undivided,
		flow_mapped_unseen(s, -1) ? "true" : "false", (unsigned long long)s->mapped_unsure,
		(unsigned long long)s->alone, (unsigned long long)f->uncompared,
		(unsigned long long)flow_left_out(f));
}

static const char *as_word(size_t i)
{
	static const char *const words[] = {"dot", "shiviz"};

	return i < ARRAY_SIZE(words) ? words[i] : NULL;
}

static const char *by_word(size_t i)
{
	static const char *const words[] = {"call", "file"};

	return i < ARRAY_SIZE(words) ? words[i] : NULL;
}

static int flow_check(const void *options, struct error *err)
{
	const struct flow_options *o = options;

	if (alike_wanted(&o->alike) && (o->keep || o->from || o->past || o->as))
		return error_set(err, -EINVAL,
				 "--similar, --groups and --order cannot be combined with --keep, "
				 "--of, --past or --as");
	if (o->from && o->past)
		return error_set(err, -EINVAL, "--of and --past cannot be combined");
	if (alike_check(&o->alike, err) < 0)
		return -EINVAL;
	for (size_t i = 0; o->as && as_word(i); i++) {
		if (!strcmp(as_word(i), o->as))
			return 0;
	}
	return o->as ? error_set(err, -EINVAL, "--as '%.40s': use dot or shiviz", o->as) : 0;
}

static const struct option flow_option_table[] = {
	{0, "keep", OPTION_FLAG, NULL,
	 "of one recording: store the edges in the trace, as table edge, for weir query and sql; "
	 "of "
	 "several: store their clocks, as table clock, by which every command then corrects times",
	 offsetof(struct flow_options, keep)},
	{0, "of", OPTION_STRING, "EXPR",
	 "list every later place of the bytes that these calls moved: 'client wrote /data/file' "
	 "(or "
	 "sent, read, received), or an expression: 'comm == \"client\" && op == sendto'; --from "
	 "takes them too",
	 offsetof(struct flow_options, from)},
	{0, "past", OPTION_STRING, "CALL",
	 "list what this call follows from: the last call of each thread that happened before it; "
	 "its "
	 "number, as column op has it, or an expression",
	 offsetof(struct flow_options, past)},
	{0, "as", OPTION_STRING, "FORMAT",
	 "print causes and effects as a graph for another tool: dot (GraphViz) or shiviz",
	 offsetof(struct flow_options, as), .words = as_word},
	{0, "list", OPTION_FLAG, NULL, "list every edge, with the two calls",
	 offsetof(struct flow_options, list)},
	{0, "most", OPTION_COUNT, "N",
	 "with --list or --order: at most N rows, chosen evenly if there are more",
	 offsetof(struct flow_options, most)},
	{0, "similar", OPTION_STRING, "CALL",
	 "list the calls whose data is equal or similar to what this call moved: its number, as in "
	 "columns named op, or an expression",
	 offsetof(struct flow_options, alike.similar)},
	{0, "groups", OPTION_FLAG, NULL,
	 "list groups of equal and similar data; with --list their members too",
	 offsetof(struct flow_options, alike.groups)},
	{0, "by", OPTION_STRING, "WHAT",
	 "with --similar and --groups: compare the data of each call, or of each file as a whole",
	 offsetof(struct flow_options, alike.by), .words = by_word},
	{0, "least", OPTION_COUNT, "PERCENT",
	 "with --similar and --groups: minimum share of common parts in percent, 50 to 100 "
	 "(default 80)",
	 offsetof(struct flow_options, alike.least)},
	{0, "order", OPTION_FLAG, NULL, "show in which order each epoch reads data again",
	 offsetof(struct flow_options, alike.order)},
	{0},
};

static const struct command_example flow_examples[] = {
	{"weir flow client.weir n1.weir n2.weir", "follow the bytes across three hosts"},
	{"weir flow --keep && weir query 'from edge | by via, certainty | count()'",
	 "store causes and effects in the trace, and query them"},
	{"weir flow --keep n1.weir n2.weir && weir query 'by host every 1s | count()' "
	 "n1.weir n2.weir",
	 "correct the clocks of two hosts, and query them by time"},
	{"weir flow --follow n1.weir n2.weir",
	 "the same, refreshed every second while both are recorded"},
	{"weir flow --from 'client wrote /data/file'", "every later place of what a client wrote"},
	{"weir flow --past 'op == \"fsync\" && dur > 1s'",
	 "which calls of other threads and hosts led to a slow one"},
	{"weir flow --similar 'path ~ \"**/model.bin\" && op == read' --by file",
	 "files that hold much of the same data"},
	{"weir flow --order --where 'path ~ \"**/*.tfrecord\"'",
	 "whether a second epoch reads in the same order"},
	{0},
};

const struct analysis analysis_flow = {
	.name = "flow",
	.summary = "follow bytes and causes across processes and hosts",
	.description =
		"Joins the calls of one or several traces by cause and effect: fork and wait, "
		"pipes and sockets by the position of each byte, futexes, locks, signals, "
		"files by "
		"range. An edge is certain, or contested if another call may have been the cause: "
		"for instance, overlapping calls of several threads on one end of a stream. Clocks "
		"are not trusted: messages between two hosts bound the offset between their "
		"clocks.",
	.examples = flow_examples,
	.order = ANALYSIS_STREAM,
	.files = true,
	.reads = flow_reads,
	.options = flow_option_table,
	.options_size = sizeof(struct flow_options),
	.from_otherwise = "of",
	.check = flow_check,
	.follow_anew = true,
	.take_in = flow_take_in,
	.free_taken = flow_taken_free,
	.run = flow_run,
	.put_members = flow_members,
	.free = flow_free,
};
