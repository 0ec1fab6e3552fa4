// SPDX-License-Identifier: Apache-2.0
/* flow_keep.c: stores edges in table `edge` of their trace, so that each follows those that lead to it. */
#include "analysis/flow/flow.h"
#include "store/made/made.h"

#define KEEP_ORIGIN  "weir.flow"
#define KEEP_VERSION 1

static void keep_edge(const struct flow_state *s, const struct flow_arc *e, struct batch_row *row)
{
	const struct flow_graph *g = &s->graph;
	const struct flow_node *from = &g->nodes[e->from], *to = &g->nodes[e->to];
	int64_t from_row = flow_node_row(g, from), to_row = flow_node_row(g, to),
		file_id = flow_edge_file(g, e);

	row_set(row, EDGE_START, from->start);
	row_set(row, EDGE_DUR, MAX(flow_node_end(to) - from->start, (int64_t)0));
	row_set_if(row, from_row >= 0, EDGE_FROM, from_row);
	row_set_if(row, to_row >= 0, EDGE_TO, to_row);
	row_set(row, EDGE_FROM_THREAD, flow_node_thread(g, from));
	row_set(row, EDGE_TO_THREAD, flow_node_thread(g, to));
	row_set(row, EDGE_VIA, e->via);
	row_set(row, EDGE_CERTAINTY, e->certainty);
	row_set_if(row, file_id >= 0, EDGE_FILE_ID, file_id);
	if (e->pos >= 0) {
		row_set(row, EDGE_POS, e->pos);
		row_set(row, EDGE_BYTES, e->bytes);
	}
}

static int flow_keep_rows(void *arg, struct store_writer *w, struct error *err)
{
	const struct flow_state *s = arg;
	const struct flow_graph *g = &s->graph;

	for (size_t i = 0; i < g->node_count; i++) {
		for (uint32_t e = g->nodes[g->order[i]].in; e != FLOW_NONE;
		     e = g->edges[e].next_in) {
			struct batch_row row = store_made_row(w, err);

			keep_edge(s, &g->edges[e], &row);
			if (row.r < 0)
				return error_errno(err, row.r, "cannot store the edges");
		}
	}
	return 0;
}

int flow_keep(struct store *s, const struct flow_state *f, bool part, struct error *err)
{
	const struct store_making what = {.table = TABLE_EDGE,
					  .origin = KEEP_ORIGIN,
					  .options = "flow",
					  .version = KEEP_VERSION};

	return store_made_table(s, true, &what, part, "edges", flow_keep_rows, (void *)f, err);
}
