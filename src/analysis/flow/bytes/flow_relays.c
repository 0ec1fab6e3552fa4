// SPDX-License-Identifier: Apache-2.0
/*
 * flow_relays.c: processes that receive messages and send them on, as a proxy, a forwarder of DNS or a relay of syslog does:
 * messages that one of them alters, drops, sends twice or in another order.
 *
 * What a process received over one sequence is compared with what it sent over another, message by message; one of the two may
 * be a stream (flow_frames.c), both are left to flow_deliveries.c. Most relays
 * rewrite what they forward, filter it, or answer it themselves. So a pair of sequences is judged only if nearly all that
 * was received is sent on as it came, and what happens to more than a few messages is taken for the process's purpose.
 * Where answers go back to the sender, messages may be answered instead of forwarded, or repeated for want of an answer:
 * then only altered ones are reported.
 */
#include <errno.h>

#include "analysis/flow/bytes/flow_messages.h"
#include "base/array.h"

#define RELAY_LEAST 8 /* messages: fewer do not show that a process sends on what it receives */
/* messages sent on as they came, per one that was altered, and per occasion on which they were dropped, repeated or re-ordered */
#define ALTERED_TIMES 16
#define RELAY_TIMES   32
#define RELAY_MOST    5 /* all but one in five of the received messages are sent on */
/* bytes: where only hashes are recorded, shorter messages have equal sizes by chance */
#define RELAY_COMPARABLE 160

/* The received message to which a sent one is equal; FLOW_NONE: none. */
struct relay_origin {
	uint32_t sequence, at;
};

/* A message that a process sent and had not received. */
struct relay_own {
	int64_t process;
	uint32_t node;
};

struct relays {
	struct flow_state *s;
	struct flow_messages *m;
	struct relay_origin **origins; /* [sequence of sends][message] */
	struct map received;	       /* process and content -> sequence << 32 | message */
	struct relay_own *own;	       /* sorted */
	size_t own_count, own_cap;
};

/* What a process received over one sequence and sent over another. */
struct relay_pair {
	uint32_t in;	      /* sequence */
	uint32_t first, last; /* messages of it */
	size_t count;
};

struct relay_found {
	struct flow_suspect *all;
	size_t count, cap;
};

/* A pair that is judged. */
struct relay {
	struct relays *r;
	const struct flow_sequence *in, *out;
	const struct relay_origin *origins; /* of `out` */
	uint32_t in_at, first, span;	    /* in_at: the sequence; first, span: messages of it */
	uint32_t *to;			    /* [span]: what was sent for it; FLOW_NONE */
	size_t forwarded;
	bool one_way, ordered; /* ordered: a single thread receives and sends them */
};

static uint64_t relay_key(int64_t process, const struct flow_message *x)
{
	return flow_message_key(process, FLOW_RECEIVE, x->hash, x->size);
}

static const struct flow_node *relay_node(const struct relays *r, uint32_t node)
{
	return &r->s->graph.nodes[node];
}

/* ---- where messages came from ---- */

/* Equal messages are marked: it is not known which of them was sent on. */
static void relays_received(struct relays *r)
{
	for (uint32_t i = 0; i < r->m->count; i++) {
		struct flow_sequence *q = &r->m->all[i];

		for (uint32_t k = 0; k < q->count && q->side == FLOW_RECEIVE; k++) {
			uint64_t key = relay_key(q->process, &q->all[k]), before;

			q->all[k].other = FLOW_NONE; /* from now on: not FLOW_NONE if sent on */
			q->all[k].common = q->process >= 0 && map_get(&r->received, key, &before);
			if (q->all[k].common)
				r->m->all[before >> 32].all[(uint32_t)before].common = true;
			else if (q->process >= 0)
				flow_failed(r->s,
					    map_set(&r->received, key, (uint64_t)i << 32 | k));
		}
	}
}

static struct relay_origin relay_origin(struct relays *r, int64_t process,
					const struct flow_message *x)
{
	struct flow_message *in;
	uint64_t at;

	if (!map_get(&r->received, relay_key(process, x), &at))
		return (struct relay_origin){FLOW_NONE, FLOW_NONE};
	in = &r->m->all[at >> 32].all[(uint32_t)at];
	if (in->size != x->size ||
	    flow_node_end(relay_node(r, in->node)) > relay_node(r, x->node)->start)
		return (struct relay_origin){FLOW_NONE, FLOW_NONE};
	in->other = 0;
	return (struct relay_origin){(uint32_t)(at >> 32), (uint32_t)at};
}

static int compare_own(const void *a, const void *b)
{
	const struct relay_own *p = a, *q = b;

	return ORDER(p->process, q->process) ?: ORDER(p->node, q->node);
}

static int relays_sent(struct relays *r)
{
	r->origins = calloc(r->m->count + 1, sizeof(*r->origins));
	if (!r->origins)
		return -ENOMEM;
	for (size_t i = 0; i < r->m->count; i++) {
		const struct flow_sequence *q = &r->m->all[i];

		if (q->side != FLOW_SEND || q->process < 0)
			continue;
		r->origins[i] = malloc((q->count + 1) * sizeof(**r->origins));
		if (!r->origins[i])
			return -ENOMEM;
		for (size_t k = 0; k < q->count; k++) {
			r->origins[i][k] = relay_origin(r, q->process, &q->all[k]);
			if (r->origins[i][k].sequence == FLOW_NONE)
				flow_failed(r->s, array_add(r->own, r->own_count, r->own_cap,
							    (struct relay_own){q->process,
									       q->all[k].node}));
		}
	}
	array_sort(r->own, r->own_count, compare_own);
	return 0;
}

/* True if the process sent messages of its own between two calls. */
static bool relay_sent_own(const struct relays *r, int64_t process, uint32_t from, uint32_t to)
{
	const struct relay_own key = {process, from};
	size_t i = array_first(k, 0, r->own_count, compare_own(&r->own[k], &key) >= 0);

	return i < r->own_count && r->own[i].process == process && r->own[i].node <= to;
}

/* ---- a pair ---- */

/* True if the socket also has a sequence in the other direction, to or from the same address. */
static bool relay_answers(const struct relays *r, const struct flow_sequence *q)
{
	const struct flow_messages *m = r->m;
	uint64_t kinds;

	if (q->framing)
		return r->s->channels[r->s->objects[q->object].channels[!q->side]]
			.ends[!q->side]
			.moved;
	if (!q->address)
		return map_get(&m->kinds, (uint64_t)q->object << 1 | !q->side, &kinds);
	return map_get(&m->of, flow_sequence_key(q->object, !q->side, q->address), NULL) ||
	       map_get(&m->of, flow_sequence_key(q->object, !q->side, 0), NULL);
}

static const struct flow_message *relay_in(const struct relay *p, uint32_t i)
{
	return &p->in->all[p->first + i];
}

static void relay_suspect(const struct relay *p, struct relay_found *to,
			  const struct flow_suspect *found)
{
	const struct flow_object *o = p->r->s->objects;
	struct flow_suspect x = *found;

	x.spot = o[p->in->object].channels[FLOW_RECEIVE];
	x.out_spot = o[p->out->object].channels[FLOW_SEND];
	x.object = p->in->object;
	flow_failed(p->r->s, array_add(to->all, to->count, to->cap, x));
}

/* Number of links or differences between two messages, at the same place in both; *ret: the last one. */
static size_t relay_links(const struct flow_link *all, size_t count, const struct flow_message *in,
			  const struct flow_message *out, const struct flow_link **ret)
{
	size_t n = 0;

	for (size_t i = array_first(k, 0, count, all[k].out >= out->node);
	     i < count && all[i].out == out->node; i++) {
		if (all[i].in != in->node || all[i].in_pos < in->place ||
		    all[i].in_pos >= in->place + in->size ||
		    all[i].in_pos - in->place != all[i].out_pos - out->place)
			continue;
		*ret = &all[i];
		n++;
	}
	return n;
}

/* True if a sent message is a received one, altered in one place; *ret_range: in it. */
static bool relay_differs(const struct relay *p, const struct flow_message *in,
			  const struct flow_message *out, int64_t range[2])
{
	const struct flow_links *l = &p->r->s->links;
	const struct flow_link *d = NULL;
	size_t n;

	if (in->size != out->size ||
	    flow_node_end(relay_node(p->r, in->node)) > relay_node(p->r, out->node)->start)
		return false;
	range[0] = 0;
	range[1] = in->size;
	n = relay_links(l->differences, l->difference_count, in, out, &d);
	if (n == 1) {
		range[0] = d->in_pos - in->place;
		range[1] = range[0] + d->bytes;
	}
	if (n || l->payload) /* enough bytes around the difference are equal */
		return n == 1 && !d->weak;
	return in->size >= RELAY_COMPARABLE && in->other == FLOW_NONE;
}

/* The only message of the process's own that it sent between two others; FLOW_NONE: none, or several. */
static uint32_t relay_between(const struct relay *p, uint32_t from, uint32_t to)
{
	uint32_t found = FLOW_NONE;

	for (uint32_t i = from + 1; i < to; i++) {
		if (p->origins[i].sequence != FLOW_NONE)
			continue;
		if (found != FLOW_NONE)
			return FLOW_NONE;
		found = i;
	}
	return found;
}

/* Number of messages among those sent on that the process had not received. */
static size_t relay_own(const struct relay *p)
{
	uint32_t first = FLOW_NONE, last = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < p->span; i++) {
		first = MIN(first, p->to[i]);
		last = p->to[i] == FLOW_NONE ? last : MAX(last, p->to[i]);
	}
	for (uint32_t k = first; k < last; k++)
		n += p->origins[k].sequence == FLOW_NONE;
	return n;
}

/*
 * Single messages between two that were sent on, if another one was sent between these. A process that also sends others of
 * its own may have made this one as well.
 */
static void relay_altered(struct relay *p, struct relay_found *found)
{
	size_t own_count = relay_own(p);

	for (uint32_t i = 1; i + 1 < p->span; i++) {
		const struct flow_message *x = relay_in(p, i);
		uint32_t own = p->to[i] != FLOW_NONE || x->common || p->to[i - 1] == FLOW_NONE ||
					       p->to[i + 1] == FLOW_NONE
				       ? FLOW_NONE
				       : relay_between(p, p->to[i - 1], p->to[i + 1]);
		int64_t range[2];

		if (own == FLOW_NONE || !relay_differs(p, x, &p->out->all[own], range))
			continue;
		p->to[i] = own;
		relay_suspect(p, found,
			      &(struct flow_suspect){.what = FLOW_FORWARDED_OTHER,
						     .first = x->node,
						     .second = p->out->all[own].node,
						     .beside = FLOW_NONE,
						     .from = x->pos + range[0],
						     .to = x->pos + range[1],
						     .place = x->place + range[0]});
	}
	if (found->count == own_count)
		return;
	p->r->s->unfollowed_messages += found->count;
	found->count = 0;
}

/* Messages [from, to), between two that were sent on, were not. The process sent nothing else meanwhile. */
static void relay_gap(struct relay *p, uint32_t from, uint32_t to, struct relay_found *found)
{
	uint32_t before = p->to[from - 1], behind = p->to[to];
	bool known =
		before < behind && !relay_sent_own(p->r, p->in->process, p->out->all[before].node,
						   p->out->all[behind].node);

	for (uint32_t i = from; i < to; i++)
		known &= !relay_in(p, i)->common && relay_in(p, i)->other == FLOW_NONE;
	if (!known) {
		for (uint32_t i = from; i < to; i++)
			p->r->s->unfollowed_messages += relay_in(p, i)->other == FLOW_NONE;
		return;
	}
	relay_suspect(
		p, found,
		&(struct flow_suspect){.what = FLOW_FORWARDED_NEVER,
				       .first = relay_in(p, from)->node,
				       .second = FLOW_NONE,
				       .beside = FLOW_NONE,
				       .from = relay_in(p, from)->pos,
				       .to = relay_in(p, to)->pos,
				       .place = to - from > 1 ? -1 : relay_in(p, from)->place});
}

static void relay_dropped(struct relay *p, struct relay_found *found)
{
	for (uint32_t i = 1, from = 0; i < p->span; i++) {
		if (p->to[i] == FLOW_NONE)
			continue;
		if (i > from + 1)
			relay_gap(p, from + 1, i, found);
		from = i;
	}
}

static void relay_twice(struct relay *p, struct relay_found *found)
{
	for (uint32_t k = 0; k < p->out->count; k++) {
		const struct relay_origin *o = &p->origins[k];
		const struct flow_message *x;
		uint32_t once;

		if (o->sequence != p->in_at)
			continue;
		x = &p->in->all[o->at];
		once = p->to[o->at - p->first];
		if (x->common || once == k)
			continue;
		relay_suspect(p, found,
			      &(struct flow_suspect){.what = FLOW_FORWARDED_TWICE,
						     .first = p->out->all[once].node,
						     .second = p->out->all[k].node,
						     .beside = x->node,
						     .from = x->pos,
						     .to = x->pos + x->size,
						     .place = x->place});
	}
}

/* Messages of one call are in order; those of others if the calls do not overlap. */
static bool relay_before(const struct relay *p, const struct flow_message *a,
			 const struct flow_message *b)
{
	return a->node == b->node ||
	       flow_node_end(relay_node(p->r, a->node)) <= relay_node(p->r, b->node)->start;
}

/* True if the later of two received messages was certainly sent on before the earlier one. */
static bool relay_passed(const struct relay *p, uint32_t early, uint32_t late)
{
	const struct flow_message *a = &p->out->all[p->to[early]], *b = &p->out->all[p->to[late]];

	return p->to[early] > p->to[late] &&
	       relay_before(p, relay_in(p, early), relay_in(p, late)) && relay_before(p, b, a);
}

static void relay_order(struct relay *p, struct relay_found *found)
{
	uint32_t first = FLOW_NONE; /* of the later ones the first sent */

	for (uint32_t i = p->span; i-- > 0;) {
		const struct flow_message *x = relay_in(p, i);

		if (p->to[i] == FLOW_NONE || x->common)
			continue;
		if (first == FLOW_NONE || p->to[i] < p->to[first]) {
			first = i;
		} else if (relay_passed(p, i, first)) {
			relay_suspect(
				p, found,
				&(struct flow_suspect){.what = FLOW_FORWARDED_LATE,
						       .first = p->out->all[p->to[first]].node,
						       .second = p->out->all[p->to[i]].node,
						       .beside = x->node,
						       .from = x->pos,
						       .to = x->pos + x->size,
						       .place = x->place});
		}
	}
}

/* Reports what happens seldom. */
static void relay_report(struct relay *p, size_t times,
			 void (*find)(struct relay *p, struct relay_found *found))
{
	struct relay_found found = {0};

	find(p, &found);
	for (size_t i = 0; i < found.count; i++) {
		if (found.count * times <= p->forwarded)
			flow_content_suspect(p->r->s, &found.all[i]);
	}
	free(found.all);
}

/* What was sent for each received message. */
static void relay_map(struct relay *p)
{
	const struct flow_graph *g = &p->r->s->graph;
	uint32_t task = flow_node_task(g, &g->nodes[relay_in(p, 0)->node]);

	p->ordered = true;
	for (uint32_t i = 0; i < p->span; i++) {
		p->to[i] = FLOW_NONE;
		p->ordered &= flow_node_task(g, &g->nodes[relay_in(p, i)->node]) == task;
	}
	for (uint32_t k = 0; k < p->out->count; k++) {
		const struct relay_origin *o = &p->origins[k];

		if (o->sequence != p->in_at || p->to[o->at - p->first] != FLOW_NONE)
			continue;
		p->to[o->at - p->first] = k;
		p->forwarded += !p->in->all[o->at].common;
		p->ordered &= flow_node_task(g, &g->nodes[p->out->all[k].node]) == task;
	}
}

static void relay_verdicts(struct relay *p)
{
	if (p->in->unhashed || p->out->unhashed) {
		for (uint32_t i = 0; i < p->span; i++)
			p->r->s->unfollowed_messages += relay_in(p, i)->other == FLOW_NONE;
		return;
	}
	relay_report(p, ALTERED_TIMES, relay_altered);
	if (!p->one_way)
		return;
	relay_report(p, RELAY_TIMES, relay_dropped);
	relay_report(p, RELAY_TIMES, relay_twice);
	if (p->ordered)
		relay_report(p, RELAY_TIMES, relay_order);
}

static void relay_judge(struct relays *r, uint32_t out, const struct relay_pair *pair)
{
	const struct flow_sequence *in = &r->m->all[pair->in], *sent = &r->m->all[out];
	struct relay p = {.r = r,
			  .in = in,
			  .out = sent,
			  .origins = r->origins[out],
			  .in_at = pair->in,
			  .first = pair->first,
			  .span = pair->last - pair->first + 1,
			  .one_way = !relay_answers(r, in) && !relay_answers(r, sent)};

	if ((in->framing && sent->framing) || pair->count < RELAY_LEAST ||
	    pair->count < p.span / RELAY_MOST * (RELAY_MOST - 1) ||
	    (in->object == sent->object && in->address == sent->address))
		return; /* it is not forwarded, or echoed */
	p.to = malloc(p.span * sizeof(*p.to));
	if (!p.to) {
		flow_failed(r->s, -ENOMEM);
		return;
	}
	relay_map(&p);
	if (p.forwarded >= RELAY_LEAST && p.forwarded >= p.span / RELAY_MOST * (RELAY_MOST - 1))
		relay_verdicts(&p);
	free(p.to);
}

/* ---- all pairs ---- */

/* Pairs of a sequence of sends with those from which its messages came. */
static void relays_of(struct relays *r, uint32_t out)
{
	const struct flow_sequence *q = &r->m->all[out];
	_cleanup_(map_free) struct map of = {0};
	struct relay_pair *all = NULL;
	size_t count = 0, cap = 0;

	for (uint32_t k = 0; k < q->count; k++) {
		const struct relay_origin *o = &r->origins[out][k];
		struct relay_pair *pair;
		bool is_new;

		if (o->sequence == FLOW_NONE)
			continue;
		pair = array_of_key(all, count, cap, &of, o->sequence, &is_new);
		if (!pair) {
			flow_failed(r->s, -ENOMEM);
			break;
		}
		if (is_new)
			*pair = (struct relay_pair){o->sequence, o->at, o->at, 0};
		pair->first = MIN(pair->first, o->at);
		pair->last = MAX(pair->last, o->at);
		pair->count++;
	}
	for (size_t i = 0; i < count && r->s->graph.r >= 0; i++)
		relay_judge(r, out, &all[i]);
	free(all);
}

void flow_relays_judge(struct flow_state *s)
{
	struct relays r = {.s = s, .m = &s->messages};

	flow_frames_end(s);
	relays_received(&r);
	flow_failed(s, relays_sent(&r));
	for (uint32_t i = 0; i < r.m->count && s->graph.r >= 0; i++) {
		if (r.origins[i])
			relays_of(&r, i);
	}
	for (size_t i = 0; i < r.m->count && r.origins; i++)
		free(r.origins[i]);
	free(r.origins);
	free(r.own);
	map_free(&r.received);
}
