// SPDX-License-Identifier: Apache-2.0
/*
 * flow_keep.c: edges as rows of the table `edge` of their trace, in an order in which each stands behind those that lead
 * to it.
 */
#include <errno.h>

#include "analysis/flow/flow.h"
#include "store/made/made.h"

#define KEEP_ORIGIN  "weir.flow"
#define KEEP_VERSION 1

struct flow_keeping {
	const struct flow_state *state;
	bool part;
};

static int keep_ends(const struct flow_state *s, const struct flow_edge *e, struct batch *b,
		     size_t row)
{
	const struct flow_node *from = &s->graph.nodes[e->from], *to = &s->graph.nodes[e->to];
	int r = batch_set(b, EDGE_START, row, from->start);

	if (r >= 0)
		r = batch_set(b, EDGE_DUR, row, MAX(flow_node_end(to) - from->start, (int64_t)0));
	if (r >= 0 && from->row_id >= 0)
		r = batch_set(b, EDGE_FROM, row, from->row_id);
	if (r >= 0 && to->row_id >= 0)
		r = batch_set(b, EDGE_TO, row, to->row_id);
	if (r >= 0)
		r = batch_set(b, EDGE_FROM_THREAD, row, from->thread_id);
	return r < 0 ? r : batch_set(b, EDGE_TO_THREAD, row, to->thread_id);
}

static int keep_edge(const struct flow_state *s, const struct flow_edge *e, struct batch *b)
{
	ssize_t added = batch_add_row(b);
	size_t row = (size_t)added;
	int r = added < 0 ? (int)added : keep_ends(s, e, b, row);

	if (r >= 0)
		r = batch_set(b, EDGE_VIA, row, e->via);
	if (r >= 0)
		r = batch_set(b, EDGE_CERTAINTY, row, e->certainty);
	if (r >= 0 && e->file_id >= 0)
		r = batch_set(b, EDGE_FILE_ID, row, e->file_id);
	if (r >= 0 && e->pos >= 0)
		r = batch_set(b, EDGE_POS, row, e->pos);
	return r < 0 || e->pos < 0 ? r : batch_set(b, EDGE_BYTES, row, e->bytes);
}

static int flow_keep_put(void *arg, struct store_writer *w, uint64_t covered, struct error *err)
{
	const struct flow_keeping *k = arg;
	const struct flow_graph *g = &k->state->graph;
	const struct store_making what = {.table = TABLE_EDGE,
					  .origin = KEEP_ORIGIN,
					  .options = "flow",
					  .version = KEEP_VERSION,
					  .covered = covered};
	_cleanup_(batch_freep) struct batch *rows = NULL;
	int r = batch_new(&rows, TABLE_EDGE);

	if (r >= 0)
		r = store_made_begin(w, &what, err);
	for (size_t i = 0; i < g->node_count && r >= 0; i++) {
		for (uint32_t e = g->nodes[g->order[i]].in; e != FLOW_NONE && r >= 0;
		     e = g->edges[e].next_in) {
			r = keep_edge(k->state, &g->edges[e], rows);
			if (r < 0 || rows->rows < BATCH_ROWS_MAX)
				continue;
			r = store_made_rows(w, rows, err);
			batch_clear(rows);
		}
	}
	if (r >= 0 && rows->rows)
		r = store_made_rows(w, rows, err);
	if (r < 0)
		return error_errno(err, r, "cannot store the edges");
	return store_made_end(w, k->part, err);
}

int flow_keep(struct store *s, const struct flow_state *f, bool part, struct error *err)
{
	struct flow_keeping k = {f, part};
	int r = store_made_keep(s, true, flow_keep_put, &k, err);

	for (size_t i = 0; i < store_made_count(s) && r >= 0; i++) {
		const struct store_made *m = store_made(s, i);

		if (m && m->table == TABLE_EDGE && m->trace == TRACE_ASIDE)
			return error_set(
				err, -EROFS,
				"--keep: the edges cannot be stored: the trace is still being "
				"recorded or not writable, or there are several traces");
	}
	return r;
}
