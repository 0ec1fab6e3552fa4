// SPDX-License-Identifier: Apache-2.0
/*
 * flow_from.c: --of: every later place of the bytes that some calls moved. A place is a call that took them, at the other
 * end of a stream or out of a file, and what its process then gave away of them, as their content shows. Without content
 * the way ends in the first process.
 */
#include <errno.h>
#include <string.h>

#include "analysis/flow/flow.h"
#include "analysis/flow/flow_verdicts.h"
#include "names/names.h"
#include "query/query.h"
#include "schema/ops.h"

#define FROM_MAX  10000 /* calls to begin at */
#define ROWS_MAX  5000
#define DEPTH_MAX 64

int flow_from_read(struct flow_state *s, const char *text, struct error *err)
{
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	_cleanup_(plan_freep) struct plan *plan = NULL;
	struct query_error why = {0};
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n = 0;
	int r = query_parse_expr(text, strlen(text), TABLE_OP, true, &plan, &why);

	if (r < 0)
		return error_set(err, r, "--of '%s': %s", text, why.err.message);
	const struct scan_request q = {.table = TABLE_OP,
				       .columns = 1ull << OP_START,
				       .from = s->run->from,
				       .to = s->run->to,
				       .filter = plan->where};

	r = engine_scan_new(&scan, s->run->store, &q, err);
	while (r >= 0 && (n = engine_scan_next(scan, &b, &rows, err)) > 0) {
		for (ssize_t i = 0; i < n && r >= 0; i++) {
			if (s->from.count >= FROM_MAX)
				s->from_left_out++;
			else
				r = map_set(&s->from, (uint64_t)batch_row_id(b, rows[i]),
					    FLOW_NONE);
		}
	}
	return r < 0 ? r : (int)MIN(n, (ssize_t)0);
}

/* ---- the tree ---- */

/* Edges by the node that they come from. */
struct from_edges {
	uint32_t *first, *next;
};

struct from_walk {
	struct flow_verdicts *v;
	struct answer_list *rows;
	struct from_edges by;
	struct map seen; /* nodes that were listed */
	int64_t origin;
	uint64_t left_out;
	size_t count;
};

static int edges_by_source(struct from_edges *by, const struct flow_graph *g)
{
	by->first = malloc((g->node_count + 1) * sizeof(*by->first));
	by->next = malloc((g->edge_count + 1) * sizeof(*by->next));
	if (!by->first || !by->next)
		return -ENOMEM;
	memset(by->first, 0xff, (g->node_count + 1) * sizeof(*by->first));
	for (size_t i = g->edge_count; i-- > 0;) {
		by->next[i] = by->first[g->edges[i].from];
		by->first[g->edges[i].from] = (uint32_t)i;
	}
	return 0;
}

static int from_row(struct from_walk *w, int depth, uint32_t node, const char *via, int64_t file_id,
		    int64_t pos, int64_t bytes)
{
	const struct flow_state *s = w->v->s;
	const struct flow_node *n = &s->graph.nodes[node];
	_cleanup_buf_ struct buf host = {0}, who = {0};
	int64_t at = flow_clock_corrected(s->clocks, n->place, n->start);
	char room[32];
	int r = flow_place_name(s, n->place, &host);

	if (r >= 0)
		r = names_process(s->dims, names_process_of(s->dims, n->thread_id), &who);
	if (!depth)
		w->origin = at;
	w->count++;
	answer_list_int(w->rows, depth);
	answer_list_text(w->rows, (struct bytes){host.data, host.len});
	answer_list_text(w->rows, (struct bytes){who.data, who.len});
	answer_list_str(w->rows, op_name(n->op, room));
	if (file_id >= 0)
		answer_list_text(w->rows, dims_file_name(s->dims, file_id));
	else
		answer_list_null(w->rows);
	answer_list_int(w->rows, at);
	answer_list_int(w->rows, at - w->origin);
	answer_list_int(w->rows, pos);
	answer_list_int(w->rows, bytes);
	answer_list_str(w->rows, via);
	answer_list_int(w->rows, n->row_id);
	return r;
}

static bool from_full(struct from_walk *w, int depth, uint32_t node)
{
	if (map_get(&w->seen, node, NULL))
		return true;
	if (w->count < ROWS_MAX && depth < DEPTH_MAX)
		return false;
	w->left_out++;
	return true;
}

static bool moves_bytes(const struct flow_edge *e)
{
	return e->via == VIA_STREAM || e->via == VIA_PIPE || e->via == VIA_DATAGRAM ||
	       e->via == VIA_STORAGE;
}

static int64_t spot_file(const struct flow_state *s, uint32_t spot)
{
	return spot & FLOW_SPOT_FILE ? s->objects[spot & ~FLOW_SPOT_FILE].file_id
				     : s->channels[spot].ends[FLOW_SEND].file_id;
}

static int from_taken(struct from_walk *w, int depth, const struct flow_edge *e);

/* A call gave bytes away: who took them. */
static int from_given(struct from_walk *w, int depth, uint32_t node)
{
	const struct flow_graph *g = &w->v->s->graph;
	int r = 0;

	for (uint32_t e = w->by.first[node]; e != FLOW_NONE && r >= 0; e = w->by.next[e]) {
		if (moves_bytes(&g->edges[e]))
			r = from_taken(w, depth, &g->edges[e]);
	}
	return r;
}

/* Where the bytes of an edge came into their process; FLOW_NONE: not known. */
static uint32_t spot_of(const struct flow_state *s, const struct flow_edge *e)
{
	int64_t at = e->file_id < 0 ? -1 : idmap_find(&s->object_of_version, e->file_id);

	if (at < 0)
		return FLOW_NONE;
	return s->objects[at].kind == FLOW_IS_FILE ? (uint32_t)at | FLOW_SPOT_FILE
						   : s->objects[at].channels[FLOW_RECEIVE];
}

static int from_put_aside(struct from_walk *w, int depth, const struct flow_ranges *list,
			  const struct flow_edge *e)
{
	const struct flow_state *s = w->v->s;
	int64_t process = names_process_of(s->dims, s->graph.nodes[e->to].thread_id), from = e->pos,
		to = e->pos + (int64_t)e->bytes;
	uint32_t spot = spot_of(s, e);
	const struct flow_range *k;
	int r = 0;

	while (spot != FLOW_NONE && from < to && r >= 0 &&
	       (k = flow_range_in(list, process, spot, from, to))) {
		int64_t first = MAX(from, k->from), last = MIN(to, k->to);

		from = k->to;
		if (first >= last || from_full(w, depth, k->out))
			continue;
		r = map_set(&w->seen, k->out, 1);
		if (r >= 0)
			r = from_row(w, depth, k->out, k->differs ? "altered" : "content",
				     spot_file(s, k->out_spot), k->out_pos + first - k->from,
				     last - first);
		if (r >= 0)
			r = from_given(w, depth + 1, k->out);
	}
	return r;
}

/* A call took bytes: where its process put them. */
static int from_taken(struct from_walk *w, int depth, const struct flow_edge *e)
{
	int r;

	if (from_full(w, depth, e->to))
		return 0;
	r = map_set(&w->seen, e->to, 1);
	if (r >= 0)
		r = from_row(w, depth, e->to,
			     e->certainty == CERTAINTY_CERTAIN ? vocab_word("via", e->via)
							       : "contested",
			     e->file_id, e->pos, e->bytes);
	if (r >= 0 && op_copy(w->v->s->graph.nodes[e->to].op))
		return from_given(w, depth + 1, e->to); /* it gave away what it took */
	if (r >= 0)
		r = from_put_aside(w, depth + 1, &w->v->stored, e);
	return r < 0 ? r : from_put_aside(w, depth + 1, &w->v->sent, e);
}

static int from_compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The nodes of the calls to begin at, in the order in which they ended. */
static int from_roots(const struct map *from, uint32_t **ret, size_t *ret_count)
{
	size_t at = 0;
	uint64_t row, node;

	*ret_count = 0;
	*ret = malloc((from->count + 1) * sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	while (map_next(from, &at, &row, &node)) {
		if (node != FLOW_NONE)
			(*ret)[(*ret_count)++] = (uint32_t)node;
	}
	qsort(*ret, *ret_count, sizeof(**ret), from_compare);
	return 0;
}

int flow_from_put(struct flow_verdicts *v, struct answer_list *rows, uint64_t *ret_left_out)
{
	struct from_walk w = {.v = v, .rows = rows};
	_cleanup_free_ uint32_t *roots = NULL;
	size_t count = 0;
	int r = edges_by_source(&w.by, &v->s->graph);

	if (r >= 0)
		r = from_roots(&v->s->from, &roots, &count);
	for (size_t i = 0; i < count && r >= 0; i++) {
		if (from_full(&w, 0, roots[i]))
			continue;
		r = map_set(&w.seen, roots[i], 1);
		if (r >= 0)
			r = from_row(&w, 0, roots[i], NULL, -1, -1, -1);
		if (r >= 0)
			r = from_given(&w, 1, roots[i]);
	}
	*ret_left_out = w.left_out + v->s->from_left_out;
	free(w.by.first);
	free(w.by.next);
	map_free(&w.seen);
	return r;
}
