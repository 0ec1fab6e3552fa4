// SPDX-License-Identifier: Apache-2.0
/*
 * flow_anchors.c: pipes and unix sockets in recordings with missing calls. Their positions are counted, so that one missing call
 * would leave every later edge contested. Their calls are therefore collected, and joined at the end, when it is known which
 * contents occur only once.
 *
 * A pair is a send and a receive of equal length and hash that no other recorded call of either end has. Two pairs of calls that
 * are consecutive at both ends are an anchor: their edges are certain, the positions of both ends are made equal there, and edges
 * of the calls that follow are certain until a call may be missing again.
 *
 * Equal content alone is evidence: most of it is equal because data is copied. A pair excludes this, as within one stream the
 * bytes of a call arrive once, so that a wrong pair needs the same content twice in the stream, with a recording that lost the
 * receive of one and the send of the other. Two consecutive pairs need this of both contents, in the same order: four missing
 * calls, and none of those between. Anchors that contradict each other in their order are all discarded.
 */
#include <errno.h>

#include "analysis/flow/flow_pass.h"
#include "base/array.h"

#define LOGGED_MAX (3u << 20) /* calls collected over all channels: 96 MiB */

/* The calls of a channel, by side, in the order in which they returned. */
struct anchors {
	struct flow_state *s;
	struct flow_channel *c;
	const struct flow_logged *log;
	uint32_t *of[2]; /* indexes in the log */
	size_t count[2];
	bool *alone;	   /* [log]: does not overlap in time with another of its side */
	uint32_t *partner; /* [sends]: number of the receive of its pair; FLOW_NONE */
	struct map pairs;  /* node of a send -> that of the receive, of anchors */
};

bool flow_anchors_defer(const struct flow_state *s, struct flow_channel *c)
{
	if (!c->ends[0].used && !c->ends[1].used)
		c->deferred = s->run->lost || s->run->lost_unknown;
	return c->deferred;
}

static void anchors_log(struct flow_state *s, struct flow_channel *c, const struct flow_logged *x)
{
	flow_failed(s, array_add(c->log, c->log_count, c->log_cap, *x));
	if (++s->logged < LOGGED_MAX)
		return;
	for (size_t i = 0; i < s->channel_count; i++) {
		flow_anchors_join(s, &s->channels[i], false);
		s->channels[i].deferred = false;
	}
}

void flow_anchors_take(struct flow_state *s, const struct flow_call *call, struct flow_channel *c,
		       enum flow_side side, struct flow_item *item)
{
	struct flow_end *end = &c->ends[side];
	struct flow_logged x = {.bytes = item->bytes,
				.moved = item->moved,
				.node = item->node,
				.side = (uint8_t)side};

	item->pos = end->total;
	item->exact = !end->used || item->start >= end->ended;
	end->used = true;
	end->total += item->bytes;
	end->ended = MAX(end->ended, item->end);
	x.hashed = flow_content_hash(s, call, side, &x.hash);
	anchors_log(s, c, &x);
}

void flow_anchors_break(struct flow_state *s, struct flow_channel *c, int64_t start)
{
	anchors_log(s, c,
		    &(struct flow_logged){.moved = start, .node = FLOW_NONE, .side = FLOW_SEND});
}

static int64_t anchors_start(const struct anchors *a, const struct flow_logged *x)
{
	return x->node == FLOW_NONE ? x->moved : a->s->graph.nodes[x->node].start;
}

static int64_t anchors_ended(const struct anchors *a, const struct flow_logged *x)
{
	return x->node == FLOW_NONE ? INT64_MAX : flow_node_end(&a->s->graph.nodes[x->node]);
}

/* ---- pairs ---- */

static void anchors_alone(struct anchors *a, enum flow_side side)
{
	int64_t ended = INT64_MIN, start = INT64_MAX;

	for (size_t i = 0; i < a->count[side]; i++) {
		const struct flow_logged *x = &a->log[a->of[side][i]];

		a->alone[a->of[side][i]] = anchors_start(a, x) >= ended;
		ended = MAX(ended, anchors_ended(a, x));
	}
	for (size_t i = a->count[side]; i-- > 0;) {
		const struct flow_logged *x = &a->log[a->of[side][i]];

		a->alone[a->of[side][i]] &= anchors_ended(a, x) <= start;
		start = MIN(start, anchors_start(a, x));
	}
}

static uint64_t anchors_key(const struct flow_logged *x)
{
	return hash_u64(x->hash + hash_u64((uint64_t)x->moved));
}

/* Content -> number of the call of this side that has it, UINT64_MAX: several have. 0 or -ENOMEM. */
static int anchors_contents(const struct anchors *a, enum flow_side side, struct map *to)
{
	int r = 0;

	for (size_t i = 0; i < a->count[side] && r >= 0; i++) {
		const struct flow_logged *x = &a->log[a->of[side][i]];

		if (x->hashed)
			r = map_set(to, anchors_key(x),
				    map_get(to, anchors_key(x), NULL) ? UINT64_MAX : i);
	}
	return r;
}

/* The receive of the same content as a send; FLOW_NONE: none, or not only one. */
static uint32_t anchors_partner(const struct anchors *a, size_t send, const struct map contents[2])
{
	const struct flow_logged *x = &a->log[a->of[FLOW_SEND][send]], *y;
	uint64_t at[2];

	if (!x->hashed || !map_get(&contents[FLOW_SEND], anchors_key(x), &at[FLOW_SEND]) ||
	    !map_get(&contents[FLOW_RECEIVE], anchors_key(x), &at[FLOW_RECEIVE]) ||
	    at[FLOW_SEND] != send || at[FLOW_RECEIVE] == UINT64_MAX)
		return FLOW_NONE;
	y = &a->log[a->of[FLOW_RECEIVE][at[FLOW_RECEIVE]]];
	if (y->hash != x->hash || y->moved != x->moved || y->bytes != x->bytes ||
	    !a->alone[a->of[FLOW_SEND][send]] || !a->alone[a->of[FLOW_RECEIVE][at[FLOW_RECEIVE]]] ||
	    (!a->c->apart && anchors_start(a, x) >= anchors_ended(a, y)))
		return FLOW_NONE;
	return (uint32_t)at[FLOW_RECEIVE];
}

/* True if two sends in a row are received by two calls in a row. */
static bool anchors_adjoin(const struct anchors *a, size_t send)
{
	return send + 1 < a->count[FLOW_SEND] && a->partner[send] != FLOW_NONE &&
	       a->partner[send + 1] == a->partner[send] + 1;
}

/* Removes pairs that have no neighbour; all of them, if their order is not that of a stream. 0 or -ENOMEM. */
static int anchors_settle(struct anchors *a)
{
	int64_t last = -1;
	bool before = false, in_order = true;
	int r = 0;

	for (size_t i = 0; i < a->count[FLOW_SEND]; i++) {
		bool behind = anchors_adjoin(a, i);

		if (!before && !behind)
			a->partner[i] = FLOW_NONE;
		before = behind;
		if (a->partner[i] == FLOW_NONE)
			continue;
		in_order &= a->partner[i] > last;
		last = a->partner[i];
	}
	for (size_t i = 0; i < a->count[FLOW_SEND] && r >= 0; i++) {
		if (!in_order)
			a->partner[i] = FLOW_NONE;
		else if (a->partner[i] != FLOW_NONE)
			r = map_set(&a->pairs, a->log[a->of[FLOW_SEND][i]].node,
				    a->log[a->of[FLOW_RECEIVE][a->partner[i]]].node);
	}
	return r;
}

static int anchors_find(struct anchors *a)
{
	struct map contents[2] = {0};
	int r = 0;

	for (int side = 0; side < 2 && r >= 0; side++) {
		anchors_alone(a, (enum flow_side)side);
		r = anchors_contents(a, (enum flow_side)side, &contents[side]);
	}
	for (size_t i = 0; i < a->count[FLOW_SEND] && r >= 0; i++)
		a->partner[i] = anchors_partner(a, i, contents);
	map_free(&contents[0]);
	map_free(&contents[1]);
	return r < 0 ? r : anchors_settle(a);
}

/* ---- joining ---- */

static void anchors_replay(struct anchors *a, const struct flow_logged *x)
{
	struct flow_item item = {.node = x->node, .bytes = x->bytes, .moved = x->moved};

	if (x->node == FLOW_NONE) {
		flow_channel_break(&a->s->streams, a->c, FLOW_SEND, x->moved);
		return;
	}
	item.start = anchors_start(a, x);
	item.end = anchors_ended(a, x);
	item.file_id = a->c->ends[x->side].file_id;
	flow_channel_take(&a->s->streams, a->c, (enum flow_side)x->side, &item, -1, false);
}

/*
 * Joins calls [from, to) of each side by their positions since the first ones, which are equal at the time `since` (NULL:
 * when the stream began). An edge between calls that are not a pair is certain only if no call can be missing from then
 * until its receive.
 */
static void anchors_stretch(struct anchors *a, const size_t from[2], const size_t to[2],
			    const int64_t *since)
{
	struct flow_graph *g = &a->s->graph;
	size_t at[2] = {from[0], from[1]};
	uint32_t first = (uint32_t)g->edge_count;

	while (a->s->graph.r >= 0 && (at[0] < to[0] || at[1] < to[1])) {
		int side = at[0] >= to[0] || (at[1] < to[1] && a->of[1][at[1]] < a->of[0][at[0]]);

		anchors_replay(a, &a->log[a->of[side][at[side]++]]);
	}
	for (uint32_t e = first; e < g->edge_count; e++) {
		uint64_t receive;

		if (map_get(&a->pairs, g->edges[e].from, &receive) && receive == g->edges[e].to)
			continue;
		if (flow_is_lost(a->s, since ? *since : a->c->born,
				 flow_node_end(&g->nodes[g->edges[e].to])))
			flow_graph_contest(g, e);
	}
	/* of what is left nothing can have been received behind the next anchor */
	flow_channel_clear(&a->s->streams, a->c);
	a->c->ends[FLOW_SEND].total = a->c->ends[FLOW_RECEIVE].total;
}

/* Joins the calls from each anchor to the next one. */
static void anchors_join(struct anchors *a)
{
	size_t from[2] = {0, 0}, to[2];
	int64_t since = 0;
	bool anchored = false, before = false;

	for (size_t i = 0; i < a->count[FLOW_SEND]; i++) {
		uint32_t k = a->partner[i];

		if (k != FLOW_NONE && !before) {
			to[FLOW_SEND] = i;
			to[FLOW_RECEIVE] = k;
			anchors_stretch(a, from, to, anchored ? &since : NULL);
			from[FLOW_SEND] = i;
			from[FLOW_RECEIVE] = k;
		}
		before = anchors_adjoin(a, i);
		if (k == FLOW_NONE)
			continue;
		anchored = true;
		since = MIN(anchors_start(a, &a->log[a->of[FLOW_SEND][i]]),
			    anchors_start(a, &a->log[a->of[FLOW_RECEIVE][k]]));
	}
	anchors_stretch(a, from, a->count, anchored ? &since : NULL);
}

static int anchors_make(struct anchors *a, bool anchored)
{
	size_t n = a->c->log_count;
	int r;

	a->of[0] = malloc(n * sizeof(**a->of));
	a->of[1] = malloc(n * sizeof(**a->of));
	a->partner = malloc(n * sizeof(*a->partner));
	a->alone = calloc(n, sizeof(*a->alone));
	if (!a->of[0] || !a->of[1] || !a->partner || !a->alone)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		a->partner[i] = FLOW_NONE;
		a->of[a->log[i].side][a->count[a->log[i].side]++] = (uint32_t)i;
	}
	r = anchored ? anchors_find(a) : 0;
	if (r < 0)
		return r;
	anchors_join(a);
	return 0;
}

void flow_anchors_join(struct flow_state *s, struct flow_channel *c, bool anchored)
{
	struct anchors a = {.s = s, .c = c, .log = c->log};

	if (!c->log_count)
		return;
	for (int side = 0; side < 2; side++) {
		c->ends[side].used = false;
		c->ends[side].total = c->ends[side].ended = 0;
	}
	flow_failed(s, anchors_make(&a, anchored));
	free(a.of[0]);
	free(a.of[1]);
	free(a.partner);
	free(a.alone);
	map_free(&a.pairs);
	s->logged -= c->log_count;
	free(c->log);
	c->log = NULL;
	c->log_count = c->log_cap = 0;
}
