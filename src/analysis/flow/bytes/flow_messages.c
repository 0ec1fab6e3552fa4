// SPDX-License-Identifier: Apache-2.0
/*
 * flow_messages.c: datagrams that were dropped, delivered twice, altered or re-ordered between two sockets.
 *
 * Datagrams have no numbers. Those that one socket sent to one address and those that one socket received from there are two
 * sequences, matched by content. What is between two matched datagrams is known to have arrived or not: a socket returns
 * datagrams in the order in which they arrived. One unmatched datagram on either side is the same one, altered. If there
 * are more, or some have no content, this is counted instead.
 */
#include <errno.h>
#include <string.h>

#include "analysis/flow/bytes/flow_messages.h"
#include "base/array.h"

#define CUT_TIMES      4 /* whole messages, per message for which a buffer was too small */
#define MESSAGE_NAMED  1
#define MESSAGE_ANYONE 2

void flow_messages_free(struct flow_state *s)
{
	struct flow_messages *m = &s->messages;

	for (size_t i = 0; i < m->count; i++) {
		for (size_t k = 0; k < m->all[i].count; k++)
			free(m->all[i].all[k].payload);
		free(m->all[i].all);
		buf_free(&m->all[i].begun);
	}
	free(m->all);
	map_free(&m->of);
	map_free(&m->known);
	map_free(&m->kinds);
	*m = (struct flow_messages){0};
}

static int64_t message_pos(const struct flow_sequence *q)
{
	return q->count ? q->all[q->count - 1].pos + q->all[q->count - 1].size : 0;
}

/* The payload is kept if its other end is searched for by content. */
static struct flow_message_at message_add(struct flow_state *s, const struct flow_moved *at,
					  int64_t process, const struct flow_message *x,
					  const uint8_t *payload)
{
	struct flow_messages *m = &s->messages;
	uint64_t address = at->address.len ? hash_bytes(at->address.data, at->address.len) : 0;
	struct flow_message_at ret = {.sequence = FLOW_NONE, .place = x->place};
	struct flow_message y = *x;
	bool is_new;
	struct flow_sequence *q =
		array_of_key(m->all, m->count, m->cap, &m->of,
			     flow_sequence_key(at->object, at->side, address), &is_new);

	if (!q) {
		flow_failed(s, -ENOMEM);
		return ret;
	}
	if (is_new)
		*q = (struct flow_sequence){.object = at->object,
					    .side = at->side,
					    .address = address,
					    .process = process,
					    .partner = FLOW_NONE,
					    .channel = FLOW_NONE,
					    .anyone = !address};
	if (is_new)
		flow_failed(s, map_set(&m->known, flow_message_key(process, at->side, 0, 0), 1));
	if (q->process != process)
		q->process = -1;
	if (!at->hashed || m->messages == FLOW_MESSAGES_MAX) {
		q->unknown = q->unhashed = true;
		return ret;
	}
	y.pos = message_pos(q);
	y.other = FLOW_NONE;
	if (payload && m->payload + (uint64_t)y.size <= FLOW_MESSAGES_PAYLOAD_MAX) {
		y.payload = malloc((size_t)y.size + 1);
		if (y.payload)
			memcpy(y.payload, payload, (size_t)y.size);
		else
			flow_failed(s, -ENOMEM);
		m->payload += (uint64_t)y.size;
	}
	m->messages++;
	flow_failed(s,
		    map_set(&m->known, flow_message_key(process, at->side, x->hash, x->size), 1));
	if (array_add(q->all, q->count, q->cap, y) < 0) {
		free(y.payload);
		flow_failed(s, -ENOMEM);
		return ret;
	}
	ret.sequence = (uint32_t)(q - m->all);
	ret.at = (uint32_t)q->count - 1;
	return ret;
}

struct flow_message_at flow_message_moved(struct flow_state *s, const struct flow_call *c,
					  uint32_t spot, bool joins, const struct flow_moved *at)
{
	struct flow_end *end = &s->channels[spot].ends[at->side];
	size_t size;
	const uint8_t *payload = flow_content_payload(s, c, at->side, &size);
	struct flow_message x = {.hash = at->hash,
				 .node = at->node,
				 .size = (uint32_t)MIN(at->bytes, (int64_t)UINT32_MAX),
				 .place = end->next,
				 .cut = at->side == FLOW_RECEIVE &&
					(c->bytes == c->size || at->bytes < c->bytes)};

	/* one byte apart, so that bytes of two messages are not taken for one piece of data */
	end->next += x.size + 1;
	if (!payload || at->at + x.size > size)
		payload = NULL;
	else
		payload += at->at;
	if (at->hashed)
		flow_content_link(s, c, spot, at->side, x.place, payload, x.size, &at->hash);
	return message_add(s, at, s->tasks[c->task].process_id, &x, joins ? payload : NULL);
}

/* Forgets the payload of a datagram that arrived as it was sent. */
static void message_arrived(struct flow_messages *m, struct flow_message *x, uint32_t other)
{
	x->other = other;
	m->payload -= x->payload ? (uint64_t)x->size : 0;
	free(x->payload);
	x->payload = NULL;
}

void flow_messages_match(struct flow_state *s, struct flow_message_at send,
			 struct flow_message_at receive, const uint32_t task[2])
{
	struct flow_messages *m = &s->messages;
	struct flow_sequence *a, *b;
	uint32_t channel;

	if (send.sequence == FLOW_NONE || receive.sequence == FLOW_NONE)
		return;
	a = &m->all[send.sequence];
	b = &m->all[receive.sequence];
	if (a->partner == FLOW_NONE && b->partner == FLOW_NONE) {
		channel = flow_channel_new(s, VIA_DATAGRAM);
		if (channel == FLOW_NONE)
			return;
		a->partner = receive.sequence;
		b->partner = send.sequence;
		a->channel = b->channel = channel;
		for (int side = 0; side < 2; side++) {
			s->channels[channel].ends[side].task = task[side];
			s->channels[channel].ends[side].place = s->tasks[task[side]].place;
		}
		s->channels[channel].apart = s->tasks[task[0]].place != s->tasks[task[1]].place;
	}
	if (a->partner != receive.sequence || b->partner != send.sequence)
		a->unknown = b->unknown = true;
	message_arrived(m, &a->all[send.at], receive.at);
	message_arrived(m, &b->all[receive.at], send.at);
}

/* ---- verdicts ---- */

/* A sequence of sends and its partner. */
struct messages_pair {
	struct flow_state *s;
	struct flow_sequence *sent, *got;
	size_t cut; /* messages for which a buffer was too small */
	bool report;
};

static void messages_suspect(struct messages_pair *p, enum flow_suspicion what, uint32_t first,
			     uint32_t second, uint32_t beside, int64_t from, int64_t to)
{
	flow_content_suspect(p->s, &(struct flow_suspect){.what = what,
							  .first = first,
							  .second = second,
							  .beside = beside,
							  .spot = p->sent->channel,
							  .object = p->got->object,
							  .from = from,
							  .to = to});
}

static void messages_common(struct messages_pair *p)
{
	struct flow_sequence *q = p->sent;
	_cleanup_(map_free) struct map seen = {0};
	uint64_t first;

	for (uint32_t i = 0; i < q->count; i++) {
		q->all[i].common = map_get(&seen, q->all[i].hash, &first);
		if (q->all[i].common)
			q->all[first].common = true;
		else
			flow_failed(p->s, map_set(&seen, q->all[i].hash, i));
	}
}

/* Received datagrams equal to one that arrived before are copies of it, and then match it too. */
static void messages_twice(struct messages_pair *p)
{
	_cleanup_(map_free) struct map seen = {0};
	struct flow_sequence *got = p->got;

	for (uint32_t i = 0; i < got->count; i++) {
		struct flow_message *x = &got->all[i];
		uint64_t first;

		if (x->other != FLOW_NONE) {
			flow_failed(p->s, map_set(&seen, x->hash, i));
			continue;
		}
		if (got->anyone || !map_get(&seen, x->hash, &first) ||
		    got->all[first].size != x->size || p->sent->all[got->all[first].other].common)
			continue;
		x->other = got->all[first].other;
		messages_suspect(p, FLOW_RECEIVED_TWICE, got->all[first].node, x->node,
				 p->sent->all[x->other].node, p->sent->all[x->other].pos,
				 p->sent->all[x->other].pos + x->size);
	}
}

static size_t messages_unmatched(const struct flow_sequence *q, size_t from, size_t to)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += q->all[i].other == FLOW_NONE;
	return n;
}

/* The only difference of two datagrams, in positions of the sender's sequence. They then match. */
static void messages_altered(struct messages_pair *p, size_t sent_at, size_t got_at)
{
	struct flow_message *sent = &p->sent->all[sent_at], *got = &p->got->all[got_at];
	bool known = sent->payload && got->payload;
	int64_t from = 0, to = sent->size;

	while (known && from < MIN(to, (int64_t)got->size) &&
	       sent->payload[from] == got->payload[from])
		from++;
	while (known && sent->size == got->size && to > from &&
	       sent->payload[to - 1] == got->payload[to - 1])
		to--;
	sent->other = (uint32_t)got_at;
	got->other = (uint32_t)sent_at;
	messages_suspect(p, FLOW_ALTERED_BETWEEN, sent->node, got->node, FLOW_NONE,
			 sent->pos + from, sent->pos + to);
}

/* True if most bytes are equal: only then is the one received taken for the one sent, as its sender is unknown. */
static bool messages_alike(const struct flow_message *a, const struct flow_message *b)
{
	size_t equal = 0;

	if (!a->payload || !b->payload || a->size != b->size)
		return false;
	for (size_t i = 0; i < a->size; i++)
		equal += a->payload[i] == b->payload[i];
	return equal >= FLOW_LINK_LEAST && equal > a->size / 2;
}

/* The only datagram that was received between two others, as was the only one of [from, to) sent. SIZE_MAX: none, or several. */
static size_t messages_alone(const struct messages_pair *p, size_t from, size_t to)
{
	size_t i = p->sent->all[from - 1].other + 1u, behind = p->sent->all[to].other;

	if (behind < i || to - from != 1 || messages_unmatched(p->got, i, behind) != 1)
		return SIZE_MAX;
	while (p->got->all[i].other != FLOW_NONE)
		i++;
	return i;
}

static bool message_is_cut(const struct flow_message *sent, const struct flow_message *got)
{
	return got->cut && got->size < sent->size &&
	       (!sent->payload || !got->payload || !memcmp(sent->payload, got->payload, got->size));
}

/* The rest of a message was discarded. The two then match. */
static void messages_cut(struct messages_pair *p, size_t sent_at, size_t got_at)
{
	struct flow_message *sent = &p->sent->all[sent_at], *got = &p->got->all[got_at];

	if (!message_is_cut(sent, got))
		return;
	p->cut++;
	if (!p->report)
		return;
	sent->other = (uint32_t)got_at;
	got->other = (uint32_t)sent_at;
	messages_suspect(p, FLOW_RECEIVED_CUT, sent->node, got->node, FLOW_NONE,
			 sent->pos + got->size, sent->pos + sent->size);
}

static void messages_gap_cut(struct messages_pair *p, size_t from, size_t to)
{
	size_t i = messages_alone(p, from, to);

	if (i != SIZE_MAX && !p->got->anyone)
		messages_cut(p, from, i);
}

/* What was sent between two matched datagrams, [from, to). One was altered if it is alone on both sides. */
static void messages_gap_altered(struct messages_pair *p, size_t from, size_t to)
{
	const struct flow_message *got = p->got->all;
	size_t i = messages_alone(p, from, to);

	if (i == SIZE_MAX || (got[i].cut && got[i].size != p->sent->all[from].size) ||
	    (p->got->anyone && !messages_alike(&p->sent->all[from], &got[i])))
		return;
	messages_altered(p, from, i);
}

/* The rest was dropped, unless one of those received, or equal ones, may be among them. */
static void messages_gap_dropped(struct messages_pair *p, size_t from, size_t to)
{
	const struct flow_message *all = p->sent->all;

	if (messages_unmatched(p->sent, from, to) < to - from ||
	    all[to].other < all[from - 1].other || messages_unmatched(p->got, 0, p->got->count)) {
		for (size_t i = from; i < to; i++)
			p->s->unfollowed_messages += all[i].other == FLOW_NONE && !all[i].common;
		return;
	}
	messages_suspect(p, FLOW_NEVER_RECEIVED, all[from].node, p->got->all[all[to].other].node,
			 FLOW_NONE, all[from].pos, all[to].pos);
}

/* Calls `judge` for what is between two datagrams that match, and equal no others. */
static void messages_gaps(struct messages_pair *p,
			  void (*judge)(struct messages_pair *p, size_t from, size_t to))
{
	const struct flow_sequence *sent = p->sent;
	size_t before = SIZE_MAX;

	for (size_t i = 0; i < sent->count; i++) {
		if (sent->all[i].other == FLOW_NONE || sent->all[i].common)
			continue;
		if (before != SIZE_MAX && i > before + 1)
			judge(p, before + 1, i);
		before = i;
	}
}

/* The later of two datagrams was received before the earlier one: none of the calls overlap, so their order is certain. */
static bool messages_passed(const struct messages_pair *p, size_t early, size_t late)
{
	const struct flow_node *n = p->s->graph.nodes;
	const struct flow_message *a = &p->sent->all[early], *b = &p->sent->all[late];

	return a->other > b->other && flow_node_end(&n[a->node]) <= n[b->node].start &&
	       flow_node_end(&n[p->got->all[b->other].node]) <= n[p->got->all[a->other].node].start;
}

/* Datagrams after which one that was sent later had been received. */
static void messages_order(struct messages_pair *p)
{
	const struct flow_message *all = p->sent->all;
	size_t first = SIZE_MAX; /* of the later ones the first received */

	for (size_t i = p->sent->count; i-- > 0;) {
		if (all[i].other == FLOW_NONE || all[i].common)
			continue;
		if (first == SIZE_MAX || all[i].other < all[first].other)
			first = i;
		else if (messages_passed(p, i, first))
			messages_suspect(p, FLOW_RECEIVED_LATE, all[i].node,
					 p->got->all[all[i].other].node,
					 p->got->all[all[first].other].node, all[i].pos,
					 all[i].pos + all[i].size);
	}
}

/* Who reads less than most messages have wants only their beginnings. */
static bool messages_cut_seldom(const struct messages_pair *p, size_t whole)
{
	return p->cut && p->cut * CUT_TIMES <= whole;
}

/*
 * A pair of unix sockets loses nothing and keeps the order: messages are the same by their number. If the content of one
 * shows that they are not, calls overlapped or are missing.
 */
static void messages_numbered(struct flow_state *s, struct flow_sequence *sent)
{
	const struct flow_messages *m = &s->messages;
	const struct flow_object *o = &s->objects[sent->object];
	struct messages_pair p = {.s = s, .sent = sent};
	uint64_t at;
	size_t n;

	if (o->twin == FLOW_NONE ||
	    !map_get(&m->of, flow_sequence_key(o->twin, FLOW_RECEIVE, 0), &at))
		return;
	p.got = &m->all[at];
	sent->channel = o->channels[FLOW_SEND];
	n = MIN(sent->count, p.got->count);
	for (size_t i = 0; i < n; i++) {
		const struct flow_message *a = &sent->all[i], *b = &p.got->all[i];

		if (a->size == b->size ? a->hash != b->hash : !message_is_cut(a, b))
			return;
		p.cut += a->size != b->size;
	}
	if (sent->unhashed || p.got->unhashed || !messages_cut_seldom(&p, n - p.cut))
		return;
	p.report = true;
	for (size_t i = 0; i < n; i++)
		messages_cut(&p, i, i);
}

static void messages_judge(struct messages_pair *p)
{
	messages_common(p);
	messages_twice(p);
	for (size_t i = 0; i < p->sent->count; i++)
		p->s->unfollowed_messages +=
			p->sent->all[i].other == FLOW_NONE && p->sent->all[i].common;
	messages_gaps(p, messages_gap_cut);
	p->report = messages_cut_seldom(p, p->sent->count -
						   messages_unmatched(p->sent, 0, p->sent->count));
	if (p->report)
		messages_gaps(p, messages_gap_cut);
	messages_gaps(p, messages_gap_altered);
	messages_gaps(p, messages_gap_dropped);
	messages_order(p);
}

static uint64_t sequence_end(const struct flow_sequence *q)
{
	return (uint64_t)q->object << 1 | q->side;
}

static void messages_kinds(struct flow_state *s)
{
	struct flow_messages *m = &s->messages;

	for (size_t i = 0; i < m->count; i++) {
		uint64_t kinds = 0;

		if (m->all[i].framing)
			continue;
		map_get(&m->kinds, sequence_end(&m->all[i]), &kinds);
		kinds |= m->all[i].anyone ? MESSAGE_ANYONE : MESSAGE_NAMED;
		flow_failed(s, map_set(&m->kinds, sequence_end(&m->all[i]), kinds));
	}
}

/* True if datagrams of the sequence may be in another one: those of the socket of which the other address is not known. */
static bool messages_scattered(const struct flow_messages *m, const struct flow_sequence *q)
{
	uint64_t kinds = 0;

	map_get(&m->kinds, sequence_end(q), &kinds);
	return kinds == (MESSAGE_NAMED | MESSAGE_ANYONE) ||
	       (q->side == FLOW_SEND && kinds & MESSAGE_ANYONE);
}

void flow_messages_end(struct flow_state *s)
{
	struct flow_messages *m = &s->messages;

	messages_kinds(s);
	for (size_t i = 0; i < m->count && s->graph.r >= 0; i++) {
		struct messages_pair p = {s, &m->all[i]};

		if (p.sent->side != FLOW_SEND || p.sent->framing)
			continue;
		if (p.sent->partner == FLOW_NONE) {
			messages_numbered(s, p.sent);
			continue;
		}
		p.got = &m->all[p.sent->partner];
		if (p.sent->unknown || p.got->unknown || messages_scattered(m, p.sent) ||
		    messages_scattered(m, p.got))
			s->unfollowed_messages += messages_unmatched(p.sent, 0, p.sent->count);
		else
			messages_judge(&p);
	}
	if (m->count && s->graph.r >= 0)
		flow_relays_judge(s);
	flow_messages_free(s);
}
