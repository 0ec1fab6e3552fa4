// SPDX-License-Identifier: Apache-2.0
/* flow_channel.c: joins the two ends of a stream. */
#include "analysis/flow/edges/flow_channel.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

#define WALK_MAX   4096 /* edges that a late call can make contested */
#define WALK_TRIES 128	/* consecutive edges before its start, after which the walk stops */
#define GHOSTS	   512
#define SAME_MAX   64 /* edges of a node searched for an existing equal one */

/* ---- edges ---- */

/* True if the two calls have an edge. If it is contested, its range is then that of both. */
static bool edge_widened(struct flow_graph *g, const struct flow_edge *x)
{
	uint32_t e = g->nodes[x->to].in;

	for (int i = 0; i < SAME_MAX && e != FLOW_NONE; i++, e = g->edges[e].next_in) {
		struct flow_arc *y = &g->edges[e];
		int64_t pos = y->pos, end = MAX(pos + y->bytes, x->pos + x->bytes);

		if (y->from != x->from)
			continue;
		if (y->certainty == CERTAINTY_CONTESTED) {
			pos = MIN(pos, x->pos);
			y->pos = flow_edge_pos(pos);
			y->bytes = flow_edge_bytes(end - pos);
		}
		return true;
	}
	return false;
}

static void channel_edge(struct flow_channels *all, struct flow_channel *c,
			 const struct flow_edge *e)
{
	struct flow_edge edge = *e;

	if (!e->certain && edge_widened(all->graph, e))
		return;
	edge.via = c->via;
	edge.chain = c->chain;
	if (flow_graph_edge(all->graph, &edge))
		c->chain = (uint32_t)all->graph->edge_count - 1;
}

/* Offset of an end's positions if it has sequence numbers and the other end counts from 0. */
static int64_t channel_shift(const struct flow_channel *c, enum flow_side side)
{
	return c->ends[side].known && !c->ends[!side].known ? c->ends[side].origin : 0;
}

/* Bytes that both moved according to the order of return; or, if that is uncertain, that both may have moved. */
static void channel_join(struct flow_channels *all, struct flow_channel *c, struct flow_item *s,
			 struct flow_item *r)
{
	int64_t shift[2] = {channel_shift(c, FLOW_SEND), channel_shift(c, FLOW_RECEIVE)};
	int64_t s_pos = s->pos - shift[0], r_pos = r->pos - shift[1];
	int64_t from = MAX(s_pos, r_pos), to = MIN(s_pos + s->bytes, r_pos + r->bytes);
	bool sure = s->exact && r->exact && !c->ambiguous, meet = from < to,
	     late = !c->apart && s->start >= r->end;

	if (meet) {
		s->left -= to - from;
		r->left -= to - from;
		c->late += late && sure;
	}
	if (!sure) {
		/* the whole range in which they may be: a later call can move it on (channel_shifted) */
		from = MAX(s->low - shift[0], r->low - shift[1]);
		to = MIN(s->high - shift[0], r->high - shift[1]);
	}
	if (from >= to || (late && !meet))
		return;
	channel_edge(all, c,
		     &(struct flow_edge){.from = s->node,
					 .to = r->node,
					 .pos = from + shift[1],
					 .bytes = c->messages ? MIN(s->moved, r->moved) : to - from,
					 .file_id = r->file_id,
					 .certain = sure && !late});
	if (all->pair && sure && meet && c->apart)
		all->pair(all->arg, c, s->node, r->node);
}

/* ---- calls that overlap ---- */

static void item_widen(struct flow_item *y, int64_t bytes)
{
	if (y->exact) {
		y->low = y->pos;
		y->high = y->pos + y->bytes;
		y->exact = false;
	}
	y->high += bytes;
}

/*
 * Calls whose bytes seemed to be all received, until another call turns out to have overlapped with them: some of their
 * bytes may be after its own.
 */
struct channel_ghosts {
	struct flow_item all[GHOSTS];
	size_t count;
	/* the pieces joined meanwhile, newest first */
	struct channel_past {
		uint32_t mine, theirs;
		int64_t from, to, file_id;
	} past[WALK_MAX];
	size_t past_count;
};

static void ghost_add(struct channel_ghosts *ghosts, struct flow_graph *g, uint32_t node,
		      const struct flow_arc *e, int64_t apart)
{
	const struct flow_node *n = &g->nodes[node];
	int64_t pos = e->pos + apart, end = pos + e->bytes;

	for (size_t i = 0; i < ghosts->count; i++) {
		if (ghosts->all[i].node != node)
			continue;
		ghosts->all[i].low = MIN(ghosts->all[i].low, pos);
		ghosts->all[i].high = MAX(ghosts->all[i].high, end);
		return;
	}
	if (ghosts->count == GHOSTS) {
		g->left_out++;
		return;
	}
	ghosts->all[ghosts->count++] = (struct flow_item){.node = node,
							  .start = n->start,
							  .end = flow_node_end(n),
							  .low = pos,
							  .high = end,
							  .file_id = flow_edge_file(g, e)};
}

static int channel_past_compare(const void *a, const void *b)
{
	const struct channel_past *p = a, *q = b;

	return ORDER(p->from, q->from) ?: ORDER(p->to, q->to);
}

/*
 * The bytes of x may have been attributed to calls that ended while it ran. The bytes of each of these are then further
 * on, by up to as many bytes, and went to the calls that are recorded as receiving those positions. Those that earlier
 * calls like x have moved on are not in order of position.
 */
static void channel_shifted(struct flow_channels *all, struct flow_channel *c, enum flow_side side,
			    const struct flow_item *x, struct channel_ghosts *ghosts)
{
	array_sort(ghosts->past, ghosts->past_count, channel_past_compare);
	for (size_t i = 0; i < ghosts->past_count; i++) {
		const struct channel_past *p = &ghosts->past[i];

		for (size_t k = i + 1; k < ghosts->past_count; k++) {
			const struct channel_past *q = &ghosts->past[k];
			struct flow_edge add = {.from = side == FLOW_SEND ? p->mine : q->theirs,
						.to = side == FLOW_SEND ? q->theirs : p->mine,
						.pos = q->from,
						.bytes = q->to - q->from,
						.file_id = q->file_id};

			if (q->from >= p->to + x->bytes)
				break;
			if (q->mine != p->mine)
				channel_edge(all, c, &add);
		}
	}
}

/* Calls of the same end that returned while x ran: those that wait, and those already joined. */
static void channel_overlap(struct flow_channels *all, struct flow_channel *c, enum flow_side side,
			    struct flow_item *x, struct channel_ghosts *ghosts)
{
	struct flow_end *end = &c->ends[side];
	struct flow_graph *g = all->graph;
	uint32_t e = c->chain, other = FLOW_NONE;
	/* edges have the receiver's positions */
	int64_t apart = channel_shift(c, side) - channel_shift(c, FLOW_RECEIVE);
	int misses = 0, steps = 0;

	c->shared = true;
	x->exact = false;
	x->low = x->pos;
	x->high = x->pos + x->bytes;
	for (size_t i = end->count; i-- > end->first;) {
		struct flow_item *y = &end->items[i];

		if (y->end <= x->start && y->exact)
			break; /* those that are not exact are not in order of their ends */
		if (y->end <= x->start)
			continue;
		item_widen(y, x->bytes);
		x->low = MIN(x->low, y->pos);
	}
	for (; e != FLOW_NONE && steps < WALK_MAX && misses < WALK_TRIES; steps++) {
		const struct flow_arc *edge = &g->edges[e];
		uint32_t mine = side == FLOW_SEND ? edge->from : edge->to,
			 theirs = side == FLOW_SEND ? edge->to : edge->from, next = edge->chain;
		bool before = flow_node_end(&g->nodes[mine]) <= x->start;
		struct flow_edge add = {.from = side == FLOW_SEND ? x->node : theirs,
					.to = side == FLOW_SEND ? theirs : x->node,
					.pos = edge->pos,
					.bytes = edge->bytes,
					.file_id = flow_edge_file(g, edge)};

		misses = before ? misses + 1 : 0;
		if (!before && mine != x->node) {
			flow_graph_contest(g, e);
			ghost_add(ghosts, g, mine, edge, apart);
			ghosts->past[ghosts->past_count++] = (struct channel_past){
				mine, theirs, edge->pos, edge->pos + edge->bytes, add.file_id};
			if (!c->ends[side].known)
				x->low = MIN(x->low, edge->pos + apart);
			if (theirs != other)
				channel_edge(all, c, &add);
			other = theirs;
		}
		e = next;
	}
	g->left_out += steps == WALK_MAX;
	channel_shifted(all, c, side, x, ghosts);
}

void flow_channel_break(struct flow_channels *all, struct flow_channel *c, enum flow_side side,
			int64_t start)
{
	struct flow_graph *g = all->graph;
	int misses = 0;

	if (c->ends[side].known)
		return;
	for (uint32_t e = c->chain; e != FLOW_NONE && misses < WALK_TRIES; e = g->edges[e].chain) {
		uint32_t mine = side == FLOW_SEND ? g->edges[e].from : g->edges[e].to;
		bool before = flow_node_end(&g->nodes[mine]) <= start;

		misses = before ? misses + 1 : 0;
		if (!before)
			flow_graph_contest(g, e);
	}
}

/* ---- the queue ---- */

static void channel_pop(struct flow_channels *all, struct flow_channel *c, enum flow_side side)
{
	struct flow_end *end = &c->ends[side];
	int64_t total = c->ends[!side].total;

	while (end->first < end->count && end->items[end->first].left <= 0 &&
	       (end->items[end->first].exact || end->items[end->first].high <= total)) {
		end->first++;
		all->items--;
	}
	if (end->first == end->count)
		end->first = end->count = 0;
}

void flow_channel_clear(struct flow_channels *all, struct flow_channel *c)
{
	for (int side = 0; side < 2; side++) {
		struct flow_end *end = &c->ends[side];

		all->items -= end->count - end->first;
		free(end->items);
		end->items = NULL;
		end->first = end->count = end->cap = 0;
	}
}

void flow_channel_free(struct flow_channels *all, struct flow_channel *c)
{
	flow_channel_clear(all, c);
	free(c->log);
	*c = (struct flow_channel){.chain = FLOW_NONE};
}

static void channel_keep(struct flow_channels *all, struct flow_end *end, const struct flow_item *x)
{
	size_t at;

	if (all->items >= FLOW_ITEMS_MAX) {
		all->dropped++;
		return;
	}
	if (end->first > 64 && end->first > end->count / 2) {
		memmove(end->items, &end->items[end->first],
			(end->count - end->first) * sizeof(*end->items));
		end->count -= end->first;
		end->first = 0;
	}
	if (grow((void **)&end->items, &end->cap, end->count + 1, sizeof(*end->items)) < 0) {
		flow_graph_failed(all->graph, -ENOMEM);
		return;
	}
	at = end->count++;
	while (at > end->first && end->items[at - 1].pos > x->pos) {
		end->items[at] = end->items[at - 1];
		at--;
	}
	end->items[at] = *x;
	all->items++;
}

/* Extends a 32-bit sequence number relative to the last position. */
static int64_t unwrapped(const struct flow_end *end, int64_t pos)
{
	return end->known ? end->total + (int32_t)((uint32_t)pos - (uint32_t)end->total) : pos;
}

static uint64_t counted_key(uint32_t node, enum flow_side side)
{
	return (uint64_t)node * 2 + side;
}

bool flow_channel_counts(const struct flow_channels *all, const struct flow_channel *c,
			 uint32_t send, uint32_t receive)
{
	return !c->ends[FLOW_SEND].known || !c->ends[FLOW_RECEIVE].known ||
	       map_get(&all->counted, counted_key(send, FLOW_SEND), NULL) ||
	       map_get(&all->counted, counted_key(receive, FLOW_RECEIVE), NULL);
}

static void channel_counted(struct flow_channels *all, uint32_t node, enum flow_side side)
{
	flow_graph_failed(all->graph, map_set(&all->counted, counted_key(node, side), 1));
}

/* Notes a call without a position on an end that has known ones. */
static void channel_count(struct flow_channels *all, struct flow_end *end, enum flow_side side,
			  uint32_t node, bool overlaps)
{
	if (overlaps)
		end->run_count = FLOW_RUN_MAX + 1;
	else if (end->run_count < FLOW_RUN_MAX)
		end->run[end->run_count++] = node;
	else
		end->run_count = FLOW_RUN_MAX + 1;
	channel_counted(all, node, side);
}

/* No bytes are missing between the last two known positions. */
static void channel_prove(struct flow_channels *all, const struct flow_end *end,
			  enum flow_side side)
{
	for (uint32_t i = 0; i < end->run_count && end->run_count <= FLOW_RUN_MAX; i++)
		(void)map_del(&all->counted, counted_key(end->run[i], side));
}

/* Moves what an end counted from 0 to where its first known position shows that it is. */
static void channel_anchor(struct flow_channels *all, struct flow_channel *c, enum flow_side side,
			   int64_t pos)
{
	struct flow_end *end = &c->ends[side];
	struct flow_graph *g = all->graph;
	int64_t at = unwrapped(&c->ends[!side], pos), shift = at - end->total;

	for (size_t i = end->first; i < end->count; i++) {
		struct flow_item *x = &end->items[i];

		x->pos += shift;
		x->low += shift;
		x->high += shift;
		channel_counted(all, x->node, side);
	}
	for (uint32_t e = c->chain; e != FLOW_NONE; e = g->edges[e].chain) {
		struct flow_arc *k = &g->edges[e];

		if (side == FLOW_RECEIVE && k->pos >= 0)
			k->pos = flow_edge_pos(k->pos + shift);
		channel_counted(all, side == FLOW_SEND ? k->from : k->to, side);
	}
	end->origin = shift;
	end->total = at;
	end->known = true;
}

static void channel_place(struct flow_channels *all, struct flow_channel *c, enum flow_side side,
			  struct flow_item *x, int64_t pos, bool sure,
			  struct channel_ghosts *ghosts)
{
	struct flow_end *end = &c->ends[side];
	bool overlaps = end->used && x->start < end->ended;

	if (!c->ends[0].used && !c->ends[1].used)
		c->born = x->start;
	x->left = x->bytes;
	x->exact = true;
	if (pos >= 0 && end->used && !end->known)
		channel_anchor(all, c, side, pos);
	if (pos >= 0) {
		x->pos = unwrapped(end, pos);
		if (!end->used)
			end->origin = x->pos;
		if (sure && x->pos == end->total)
			channel_prove(all, end, side);
		end->run_count = 0;
		end->known = true;
		overlaps = !sure;
	} else {
		x->pos = end->total;
		if (end->known)
			channel_count(all, end, side, x->node, overlaps);
	}
	x->low = x->pos;
	x->high = x->pos + x->bytes;
	if (overlaps)
		channel_overlap(all, c, side, x, ghosts);
	for (size_t i = 0; i < ghosts->count; i++) {
		ghosts->all[i].pos = x->pos;
		ghosts->all[i].high += x->bytes;
	}
	end->used = true;
	end->total = MAX(end->total, x->pos + x->bytes);
	end->ended = MAX(end->ended, x->end);
	end->moved += (uint64_t)x->moved;
}

/* The first waiting call of the other end that may have bytes of x. */
static size_t channel_first(const struct flow_channel *c, enum flow_side side,
			    const struct flow_item *x)
{
	const struct flow_end *other = &c->ends[!side];
	int64_t low = x->low - channel_shift(c, side) + channel_shift(c, !side);
	size_t from = array_first(i, other->first, other->count,
				  other->items[i].pos + other->items[i].bytes > low);

	while (from > other->first && !other->items[from - 1].exact)
		from--;
	return from;
}

/* Joins it with all matching calls that wait at the other end. */
static void channel_match(struct flow_channels *all, struct flow_channel *c, enum flow_side side,
			  struct flow_item *x)
{
	struct flow_end *other = &c->ends[!side];
	int64_t high = x->high - channel_shift(c, side) + channel_shift(c, !side);

	for (size_t i = channel_first(c, side, x); i < other->count; i++) {
		struct flow_item *y = &other->items[i];

		if (y->exact && y->pos >= high)
			break;
		if (side == FLOW_SEND)
			channel_join(all, c, x, y);
		else
			channel_join(all, c, y, x);
	}
}

void flow_channel_take(struct flow_channels *all, struct flow_channel *c, enum flow_side side,
		       struct flow_item *item, int64_t pos, bool sure)
{
	struct channel_ghosts ghosts; /* 180 KiB: not initialized for each call */

	ghosts.count = ghosts.past_count = 0;
	channel_place(all, c, side, item, c->messages ? -1 : pos, sure, &ghosts);
	channel_match(all, c, side, item);
	if (item->left > 0 || !item->exact)
		channel_keep(all, &c->ends[side], item);
	for (size_t i = 0; i < ghosts.count; i++) {
		channel_match(all, c, side, &ghosts.all[i]);
		channel_keep(all, &c->ends[side], &ghosts.all[i]);
	}
	channel_pop(all, c, !side);
	channel_pop(all, c, side);
}
