// SPDX-License-Identifier: Apache-2.0
/*
 * flow_from.c: --of: all later locations of the bytes that some calls moved. A location is a call that took them, at
 * the other end of a stream or from a file; its process's later outputs of these bytes are found by content. Bytes that a
 * process made itself are found again where the same thread puts them out once more. Without content the search ends in
 * the first process.
 */
#include <errno.h>
#include <string.h>

#include "analysis/flow/flow.h"
#include "analysis/flow/bytes/flow_verdicts.h"
#include "base/array.h"
#include "names/names.h"
#include "schema/ops.h"

#define ROWS_MAX      20000
#define RANGES_BEFORE 1024

/* ---- the calls ---- */

/* The direction of the verb of a sentence; OP_WAY_NONE: not a sentence. */
static enum op_way from_verb(const char *word, size_t len)
{
	static const struct {
		const char *word;
		enum op_way way;
	} verbs[] = {{"wrote", OP_WAY_OUT},
		     {"sent", OP_WAY_OUT},
		     {"read", OP_WAY_IN},
		     {"received", OP_WAY_IN}};

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strlen(verbs[i].word) == len && !memcmp(verbs[i].word, word, len))
			return verbs[i].way;
	}
	return OP_WAY_NONE;
}

/* "op in (write, ...)": with `out` calls that move bytes out of a program; those that copy to their first or second file. */
static void from_put_ops(struct buf *to, bool out, enum op_copy copy)
{
	const char *before = "op in (";

	for (uint32_t code = 0; code < op_code_end(); code++) {
		if (!(out && op_way(code) == OP_WAY_OUT) &&
		    !(copy != OP_COPY_NONE && op_copy(code) == copy))
			continue;
		buf_printf(to, "%s%s", before, op_def(code)->name);
		before = ", ";
	}
	buf_printf(to, ")");
}

int flow_from_calls(const char *text, struct buf *to)
{
	size_t who = strcspn(text, " "), verb = who + strspn(text + who, " "),
	       verb_len = strcspn(text + verb, " ");
	const char *path = text + verb + verb_len + strspn(text + verb + verb_len, " "),
		   *any = strchr("/*", *path) ? "" : "**/"; /* also for no path: "**" below */
	enum op_way way = from_verb(text + verb, verb_len);

	if (!who || way == OP_WAY_NONE || strpbrk(text, "\"\\"))
		return buf_printf(to, "%s", text);
	if (!*path)
		path = "**";
	buf_printf(to, "bytes > 0 && (comm == \"%.*s\" || exe ~ \"**/%.*s\") && (%s(", (int)who,
		   text, (int)who, text, way == OP_WAY_IN ? "!" : "");
	from_put_ops(to, true, OP_COPY_TO_FIRST);
	buf_printf(to, ") && path ~ \"%s%s\" || ", any, path);
	from_put_ops(to, false, way == OP_WAY_OUT ? OP_COPY_TO_SECOND : OP_COPY_TO_FIRST);
	return buf_printf(to, " && path2 ~ \"%s%s\")", any, path);
}

/* ---- the tree ---- */

/* Edges over streams, bytes that reads took from files, and those put out again, each by the node that it comes from. */
struct from_lists {
	uint32_t *first, *next;
};

/* A call took bytes that another sent out. */
struct from_place {
	uint32_t node;
	int64_t file_id, pos, bytes;
	const char *via;
};

struct from_walk {
	struct flow_verdicts *v;
	struct answer_list *rows;
	struct from_lists edges, takings, agains;
	struct map seen; /* places already listed */
	int64_t origin;
	uint64_t left_out;
	size_t count;
};

static bool moves_bytes(const struct flow_arc *e)
{
	return e->via == VIA_STREAM || e->via == VIA_PIPE || e->via == VIA_DATAGRAM;
}

static int lists_new(struct from_lists *by, size_t nodes, size_t count)
{
	by->first = malloc((nodes + 1) * sizeof(*by->first));
	by->next = malloc((count + 1) * sizeof(*by->next));
	if (!by->first || !by->next)
		return -ENOMEM;
	memset(by->first, 0xff, (nodes + 1) * sizeof(*by->first));
	return 0;
}

static void lists_add(struct from_lists *by, uint32_t node, size_t i)
{
	by->next[i] = by->first[node];
	by->first[node] = (uint32_t)i;
}

static int lists_make(struct from_walk *w)
{
	const struct flow_state *s = w->v->s;
	const struct flow_graph *g = &s->graph;
	int r = lists_new(&w->edges, g->node_count, g->edge_count);

	if (r >= 0)
		r = lists_new(&w->takings, g->node_count, s->taking_count);
	if (r >= 0)
		r = lists_new(&w->agains, g->node_count, s->again_count);
	for (size_t i = g->edge_count; i-- > 0 && r >= 0;) {
		if (moves_bytes(&g->edges[i]))
			lists_add(&w->edges, g->edges[i].from, i);
	}
	for (size_t i = s->taking_count; i-- > 0 && r >= 0;)
		lists_add(&w->takings, s->takings[i].writer, i);
	for (size_t i = s->again_count; i-- > 0 && r >= 0;)
		lists_add(&w->agains, s->agains[i].first, i);
	return r;
}

static void from_row(struct from_walk *w, int depth, uint32_t node, const char *via,
		     int64_t file_id, int64_t pos, int64_t bytes)
{
	const struct flow_state *s = w->v->s;
	const struct flow_node *n = &s->graph.nodes[node];
	_cleanup_buf_ struct buf host = {0}, who = {0};
	int64_t at = flow_time_start(s, node);
	char room[32];

	flow_verdict_failed(w->v, flow_place_name(s, flow_node_place(&s->graph, n), &host));
	flow_verdict_failed(w->v, names_process(s->dims, flow_node_process(s, node), &who));
	if (!depth)
		w->origin = at;
	w->count++;
	answer_list_int(w->rows, depth);
	answer_list_text(w->rows, buf_bytes(&host));
	answer_list_text(w->rows, buf_bytes(&who));
	answer_list_str(w->rows, op_name(n->op, room));
	flow_put_file(w->rows, s, file_id);
	answer_list_int(w->rows, at);
	answer_list_int(w->rows, at - w->origin);
	answer_list_int(w->rows, pos);
	answer_list_int(w->rows, bytes);
	answer_list_str(w->rows, via);
	answer_list_int(w->rows, flow_node_row(&s->graph, n));
}

/* True for a place that is to be listed: it was not already, and the list is not full. */
static bool from_is_new(struct from_walk *w, int depth, uint32_t node, int64_t pos, int64_t bytes)
{
	const int64_t place[] = {node, pos, bytes};
	uint64_t key = hash_bytes(place, sizeof(place));

	if (map_get(&w->seen, key, NULL))
		return false;
	if (w->count >= ROWS_MAX || depth >= FLOW_TREE_DEPTH_MAX) {
		w->left_out++;
		return false;
	}
	flow_verdict_failed(w->v, map_set(&w->seen, key, 1));
	return w->v->r >= 0;
}

static int64_t spot_file(const struct flow_state *s, uint32_t spot)
{
	return spot & FLOW_SPOT_FILE ? s->objects[spot & ~FLOW_SPOT_FILE].file_id
				     : s->channels[spot].ends[FLOW_SEND].file_id;
}

/* True if both ends of a spot count the same bytes in the same way, so that positions can be compared. */
static bool is_comparable(const struct flow_state *s, uint32_t spot)
{
	const struct flow_channel *c;

	if (spot & FLOW_SPOT_FILE)
		return true;
	c = &s->channels[spot];
	return !c->messages && !c->deferred && c->ends[0].known == c->ends[1].known;
}

/* True if an edge is that of a message which a call sent among several, and not the one in the range. */
static bool is_other_message(const struct flow_state *s, uint32_t edge, uint32_t spot, int64_t from,
			     int64_t to)
{
	uint64_t place;

	return spot != FLOW_NONE && !(spot & FLOW_SPOT_FILE) && s->channels[spot].open &&
	       map_get(&s->sent_places, edge, &place) &&
	       ((int64_t)place >= to || (int64_t)place + s->graph.edges[edge].bytes <= from);
}

static void from_taken(struct from_walk *w, int depth, const struct from_place *p);
static void from_again(struct from_walk *w, int depth, const struct flow_again *k);

/* A call sent out bytes [from, to) of a spot, or everything it moved (FLOW_NONE): finds the calls that took them. */
static void from_given(struct from_walk *w, int depth, uint32_t node, uint32_t spot, int64_t from,
		       int64_t to)
{
	const struct flow_state *s = w->v->s;
	bool all = spot == FLOW_NONE || !is_comparable(s, spot);

	for (uint32_t i = w->edges.first[node]; i != FLOW_NONE; i = w->edges.next[i]) {
		const struct flow_arc *e = &s->graph.edges[i];
		struct from_place p = {e->to, flow_edge_file(&s->graph, e), e->pos, e->bytes,
				       e->certainty == CERTAINTY_CERTAIN ? vocab_word("via", e->via)
									 : "contested"};

		if (is_other_message(s, i, spot, from, to))
			continue;
		if (all || (p.pos < to && from < p.pos + p.bytes))
			from_taken(w, depth, &p);
	}
	for (uint32_t i = w->takings.first[node]; i != FLOW_NONE; i = w->takings.next[i]) {
		const struct flow_taking *t = &s->takings[i];
		int64_t first = all ? t->pos : MAX(t->pos, from),
			last = all ? t->pos + t->bytes : MIN(t->pos + (int64_t)t->bytes, to);
		struct from_place p = {t->reader, t->file_id, first, last - first,
				       t->contested ? "contested" : vocab_word("via", VIA_STORAGE)};

		if (first < last)
			from_taken(w, depth, &p);
	}
	for (uint32_t i = spot == FLOW_NONE ? w->agains.first[node] : FLOW_NONE; i != FLOW_NONE;
	     i = w->agains.next[i])
		from_again(w, depth, &s->agains[i]);
}

/* A thread put out all bytes of a call once more. */
static void from_again(struct from_walk *w, int depth, const struct flow_again *k)
{
	if (!from_is_new(w, depth, k->second, k->pos, k->bytes))
		return;
	from_row(w, depth, k->second, "equal content", spot_file(w->v->s, k->spot), k->pos,
		 k->bytes);
	from_given(w, depth + 1, k->second, FLOW_NONE, 0, 0);
}

/* The spot through which bytes entered their process; FLOW_NONE: unknown. */
static uint32_t spot_of(const struct flow_state *s, int64_t file_id)
{
	int64_t at = file_id < 0 ? -1 : idmap_find(&s->object_of_version, file_id);

	if (at < 0)
		return FLOW_NONE;
	return s->objects[at].kind == FLOW_IS_FILE ? (uint32_t)at | FLOW_SPOT_FILE
						   : s->objects[at].channels[FLOW_RECEIVE];
}

/* Bytes of a range that a process sent out, given by where they entered at the place. */
static void from_put_range(struct from_walk *w, int depth, const struct flow_range *k,
			   const struct from_place *p)
{
	int64_t first = MAX(p->pos, k->from), bytes = MIN(p->pos + p->bytes, k->to) - first,
		pos = k->out_pos + first - k->from;

	if (bytes <= 0 || !from_is_new(w, depth, k->out, pos, bytes))
		return;
	from_row(w, depth, k->out, k->differs ? "altered" : "content",
		 spot_file(w->v->s, k->out_spot), pos, bytes);
	from_given(w, depth + 1, k->out, k->out_spot, pos, pos + bytes);
}

/* The same of messages that a call took from a pair of sockets, where a place is their number: all that it took. */
static void from_put_messages(struct from_walk *w, int depth, const struct flow_ranges *l,
			      int64_t process, uint32_t spot, uint32_t node)
{
	for (size_t i = array_first(k, 0, l->count,
				    (ORDER(l->all[k].process_id, process)
					     ?: ORDER(l->all[k].in_spot, spot)
						     ?: ORDER(l->all[k].in, node)) >= 0);
	     i < l->count && l->all[i].process_id == process && l->all[i].in_spot == spot &&
	     l->all[i].in == node;
	     i++) {
		const struct flow_range *k = &l->all[i];

		from_put_range(w, depth, k,
			       &(struct from_place){.pos = k->from, .bytes = k->to - k->from});
	}
}

/* Visits ranges that begin before the end of the place and reach into it; those are adjacent. */
static void from_put_aside(struct from_walk *w, int depth, const struct flow_ranges *l,
			   const struct from_place *p)
{
	const struct flow_state *s = w->v->s;
	int64_t process = flow_node_process(s, p->node);
	uint32_t spot = spot_of(s, p->file_id);
	size_t i = flow_range_at(l, process, spot, p->pos);

	if (spot == FLOW_NONE)
		return;
	if (flow_spot_messages(w->v, spot) && !s->channels[spot].open) {
		from_put_messages(w, depth, l, process, spot, p->node);
		return;
	}
	for (size_t n = 0; n < RANGES_BEFORE && i && l->all[i - 1].process_id == process &&
			   l->all[i - 1].in_spot == spot;
	     n++)
		i--;
	for (; i < l->count; i++) {
		const struct flow_range *k = &l->all[i];

		if (k->process_id != process || k->in_spot != spot || k->from >= p->pos + p->bytes)
			break;
		from_put_range(w, depth, k, p);
	}
}

/* A call took bytes: finds where its process put them. */
static void from_taken(struct from_walk *w, int depth, const struct from_place *p)
{
	if (!from_is_new(w, depth, p->node, p->pos, p->bytes))
		return;
	from_row(w, depth, p->node, p->via, p->file_id, p->pos, p->bytes);
	/* a copy within the kernel sends out what it took */
	if (op_copy(w->v->s->graph.nodes[p->node].op)) {
		from_given(w, depth + 1, p->node, FLOW_NONE, 0, 0);
		return;
	}
	from_put_aside(w, depth + 1, &w->v->stored, p);
	from_put_aside(w, depth + 1, &w->v->sent, p);
}

/* A call to start from. What it took in, its process may have put out. */
static void from_root(struct from_walk *w, const struct flow_root *x)
{
	const struct flow_state *s = w->v->s;
	const struct from_place p = {x->node, x->file_id, x->pos, x->bytes, NULL};
	uint32_t spot = spot_of(s, x->file_id);

	if (!from_is_new(w, 0, x->node, -1, -1))
		return;
	from_row(w, 0, x->node, NULL, x->file_id, x->pos, x->bytes);
	from_given(w, 1, x->node, FLOW_NONE, 0, 0);
	if (op_way(s->graph.nodes[x->node].op) != OP_WAY_IN || spot == FLOW_NONE ||
	    (x->pos < 0 && !flow_spot_messages(w->v, spot)))
		return;
	from_put_aside(w, 1, &w->v->stored, &p);
	from_put_aside(w, 1, &w->v->sent, &p);
}

int flow_from_put(struct flow_verdicts *v, struct answer_list *rows, uint64_t *ret_left_out)
{
	struct from_walk w = {.v = v, .rows = rows};
	int r = lists_make(&w);

	for (size_t i = 0; i < v->s->root_count && r >= 0; i++)
		from_root(&w, &v->s->roots[i]);
	*ret_left_out = w.left_out + v->s->from_left_out;
	free(w.edges.first);
	free(w.edges.next);
	free(w.takings.first);
	free(w.takings.next);
	free(w.agains.first);
	free(w.agains.next);
	map_free(&w.seen);
	return r < 0 ? r : v->r;
}
