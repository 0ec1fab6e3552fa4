// SPDX-License-Identifier: Apache-2.0
/*
 * flow_datagrams.c: joins datagrams as far as possible, over IP and those of unix sockets with a name, to which any process
 * may send: they have no numbers, and over IP may be lost, duplicated and reordered. A receive matches a send to the port
 * or name of its socket, with the same number of bytes and equal content, from the sender's address if both know it. The
 * edge is certain if content was recorded and only one send matches; otherwise the earliest match is contested.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"

#include "analysis/flow/flow_pass.h"

/* datagrams of one port that wait for their other end; older ones are dropped */
#define DATAGRAMS_MAX 1024

/* A datagram moved by one call. */
struct flow_datagram {
	uint32_t node, task, object, spot; /* spot: its end of the socket */
	/*
	 * hashed: its content is known; apart: sent to an address of the loopback device; several: its call moved more
	 */
	bool hashed, apart, several;
	int64_t bytes, start, end, file_id;
	uint64_t hash;
	struct bytes from, to; /* addresses; empty: unknown */
	uint64_t port;	       /* what it is sent to, as a key; 0: unknown */
	struct flow_message_at message;
};

/* Waiting datagrams, in order: [first, first + count). */
struct flow_queue {
	struct flow_datagram *all;
	size_t first, count, cap;
};

/* Sends and receives of one port, or of one name. */
struct flow_port {
	struct flow_queue waiting[2];
};

void flow_datagrams_free(struct flow_state *s)
{
	struct flow_ports *p = &s->ports;

	for (size_t i = 0; i < p->count; i++) {
		for (int side = 0; side < 2; side++) {
			s->unfollowed += p->all[i].waiting[side].count;
			free(p->all[i].waiting[side].all);
		}
	}
	free(p->all);
	map_free(&p->of);
	*p = (struct flow_ports){0};
}

/* The host of "10.0.0.1:53" or "[::1]:53"; *ret_port: 0 if there is none. */
static struct bytes datagram_host(struct bytes a, uint64_t *ret_port)
{
	size_t at = a.len;

	*ret_port = 0;
	while (at && a.data[at - 1] != ':')
		at--;
	for (size_t i = at; at && i < a.len && i < at + 5; i++)
		*ret_port = *ret_port * 10 + (uint64_t)(a.data[i] - '0') % 10;
	return (struct bytes){a.data, at ? at - 1 : 0};
}

static bool datagram_is_any(struct bytes host)
{
	return bytes_is(host, "0.0.0.0") || bytes_is(host, "[::]");
}

/* True if two addresses may be equal: one is unknown, or a socket's wildcard address. */
static bool datagram_may_be(struct bytes a, struct bytes b)
{
	uint64_t x, y;
	struct bytes p = datagram_host(a, &x), q = datagram_host(b, &y);

	if (!a.len || !b.len || !bytes_compare(a, b))
		return true;
	return x && x == y && (datagram_is_any(p) || datagram_is_any(q) || !bytes_compare(p, q));
}

static bool datagram_fits(const struct flow_state *s, const struct flow_datagram *send,
			  const struct flow_datagram *receive)
{
	const struct flow_task *a = &s->tasks[send->task], *b = &s->tasks[receive->task];
	bool same = a->machine == b->machine && a->net_ns == b->net_ns;

	return send->bytes == receive->bytes &&
	       (!send->hashed || !receive->hashed || send->hash == receive->hash) &&
	       (!send->apart || same) && datagram_may_be(send->from, receive->from) &&
	       datagram_may_be(send->to, receive->to) &&
	       (a->machine != b->machine || send->start < receive->end);
}

static void datagram_edge(struct flow_state *s, const struct flow_datagram *send,
			  const struct flow_datagram *receive, bool certain)
{
	bool added = flow_graph_edge(&s->graph, &(struct flow_edge){.from = send->node,
								    .to = receive->node,
								    .pos = receive->message.place,
								    .bytes = receive->bytes,
								    .file_id = receive->file_id,
								    .via = VIA_DATAGRAM,
								    .certain = certain});

	if (added && send->several)
		flow_failed(s, map_set(&s->sent_places, s->graph.edge_count - 1,
				       (uint64_t)send->message.place));
}

/* Notes who is at the other end of one end of a socket: nobody, if it is several processes. */
static void datagram_other(struct flow_state *s, const struct flow_datagram *own,
			   enum flow_side side, const struct flow_datagram *other)
{
	struct flow_channel *ch = &s->channels[own->spot];
	struct flow_end *end = &ch->ends[!side];

	if (end->used && (end->task == FLOW_NONE ||
			  s->tasks[end->task].process_id != s->tasks[other->task].process_id))
		end->task = FLOW_NONE;
	else
		end->task = other->task;
	end->used = true;
	end->place = s->tasks[other->task].place;
	ch->apart = s->tasks[own->task].place != end->place;
}

static void datagram_joined(struct flow_state *s, const struct flow_datagram *send,
			    const struct flow_datagram *receive, bool certain)
{
	datagram_edge(s, send, receive, certain);
	if (certain && !send->from.len)
		s->objects[send->object].local = receive->from;
	datagram_other(s, send, FLOW_SEND, receive);
	datagram_other(s, receive, FLOW_RECEIVE, send);
	if (send->hashed && receive->hashed)
		flow_messages_match(s, send->message, receive->message,
				    (uint32_t[]){send->task, receive->task});
}

static struct flow_datagram *queue_at(const struct flow_queue *q, size_t i)
{
	return &q->all[q->first + i];
}

static int datagram_queue_add(struct flow_queue *q, const struct flow_datagram *d)
{
	size_t end = q->first + q->count;
	int r;

	if (end == q->cap && q->first > q->count) {
		memcpy(q->all, queue_at(q, 0), q->count * sizeof(*q->all));
		q->first = 0;
		end = q->count;
	}
	r = array_add(q->all, end, q->cap, *d);
	q->count = end - q->first;
	return r;
}

/* usually the first one */
static void datagram_queue_take(struct flow_queue *q, size_t at)
{
	memmove(queue_at(q, 1), queue_at(q, 0), at * sizeof(*q->all));
	q->first++;
	q->count--;
}

static void port_wait(struct flow_state *s, struct flow_queue *q, const struct flow_datagram *d)
{
	if (q->count == DATAGRAMS_MAX) {
		datagram_queue_take(q, 0);
		s->unfollowed++;
	}
	flow_failed(s, datagram_queue_add(q, d));
}

/* Joins it with the earliest match of the other side, or lets it wait. */
static void port_join(struct flow_state *s, struct flow_port *p, enum flow_side side,
		      const struct flow_datagram *d)
{
	struct flow_queue *other = &p->waiting[!side];
	size_t first = SIZE_MAX, fits = 0;
	struct flow_datagram x;

	for (size_t i = 0; i < other->count; i++) {
		const struct flow_datagram *o = queue_at(other, i);

		if (!(side == FLOW_SEND ? datagram_fits(s, d, o) : datagram_fits(s, o, d)))
			continue;
		first = fits++ ? first : i;
	}
	if (!fits) {
		port_wait(s, &p->waiting[side], d);
		return;
	}
	x = *queue_at(other, first);
	datagram_queue_take(other, first);
	datagram_joined(s, side == FLOW_SEND ? d : &x, side == FLOW_SEND ? &x : d,
			fits == 1 && d->hashed && x.hashed && d->to.len && x.to.len);
}

/* Keeps what is needed for verdicts; `at`: where it is in the call's bytes. */
static void datagram_message(struct flow_state *s, const struct flow_call *c, uint32_t object,
			     enum flow_side side, size_t at, struct flow_datagram *d)
{
	const struct flow_moved moved = {.object = object,
					 .node = d->node,
					 .side = side,
					 .hashed = d->hashed,
					 .hash = d->hash,
					 .at = at,
					 .bytes = d->bytes,
					 .address = side == FLOW_SEND ? d->to : d->from};

	d->message = flow_message_moved(s, c, d->spot, true, &moved);
}

static void datagram_take(struct flow_state *s, const struct flow_call *c, uint32_t object,
			  enum flow_side side, size_t at, struct flow_datagram *d)
{
	struct flow_ports *l = &s->ports;
	struct flow_port *p;

	datagram_message(s, c, object, side, at, d);
	p = array_of_key(l->all, l->count, l->cap, &l->of, d->port, NULL);
	if (p)
		port_join(s, p, side, d);
	else
		flow_failed(s, -ENOMEM);
}

/* Sets the addresses of a datagram. */
static void datagram_address(const struct flow_state *s, const struct dims_file *socket,
			     enum flow_side side, int64_t peer_id, struct flow_datagram *d)
{
	struct dims_file room;
	const struct dims_file *peer = peer_id < 0 ? NULL : dims_file(s->dims, peer_id, &room);
	struct bytes other = peer ? peer->peer : socket->peer,
		     own = socket->local.len ? socket->local : s->objects[d->object].local;

	d->from = side == FLOW_SEND ? own : other;
	d->to = side == FLOW_RECEIVE ? own : other;
	d->apart = flow_is_loopback(d->to);
	if (socket->family == AF_UNIX)
		d->port = d->to.len ? hash_bytes(d->to.data, d->to.len) ^
					      hash_u64(s->tasks[d->task].machine)
				    : 0;
	else
		datagram_host(d->to, &d->port);
}

/*
 * sendmmsg, recvmmsg. The call's address is that of the first datagram; the others have their own. If only some have, those
 * of the rest are unknown.
 */
static void datagrams_several(struct flow_state *s, const struct flow_call *c, uint32_t object,
			      enum flow_side side, const struct dims_file *socket,
			      struct flow_datagram *d)
{
	struct bytes *address = side == FLOW_SEND ? &d->to : &d->from;
	bool named = c->peer_id >= 0;
	const struct flow_chunk *k;
	size_t i = 0;

	for (size_t n = 0; (k = flow_content_message(s, c, side, &n));)
		named |= k->peer_id >= 0;
	d->hashed = flow_content_messages(s, c, side);
	if (!d->hashed) {
		s->unfollowed += (uint64_t)flow_call_messages(c);
		*address = named ? (struct bytes){0} : *address;
		datagram_message(s, c, object, side, 0, d);
		return;
	}
	while ((k = flow_content_message(s, c, side, &i))) {
		int64_t peer_id = k->peer_id < 0 && !k->call_pos ? c->peer_id : k->peer_id;

		datagram_address(s, socket, side, peer_id < 0 ? c->peer_id : peer_id, d);
		d->bytes = k->size;
		d->hash = k->hash;
		if (named && peer_id < 0)
			*address = (struct bytes){0};
		if (d->port)
			datagram_take(s, c, object, side, (size_t)k->call_pos, d);
		else
			s->unfollowed++;
	}
}

/* The bytes of one end of a socket as a spot. Its channel; FLOW_NONE after an error. */
static uint32_t datagram_spot(struct flow_state *s, const struct flow_call *c, uint32_t object,
			      enum flow_side side)
{
	struct flow_object *o = &s->objects[object];
	uint32_t at = o->channels[side];
	struct flow_end *end;

	if (at == FLOW_NONE) {
		at = o->channels[side] = flow_channel_new(s, VIA_DATAGRAM);
		if (at == FLOW_NONE)
			return at;
		s->channels[at].messages = s->channels[at].open = true;
	}
	end = &s->channels[at].ends[side];
	end->task = c->task;
	end->place = c->place;
	end->file_id = o->file_id;
	return at;
}

bool flow_datagrams_named(const struct flow_state *s, uint32_t object)
{
	struct dims_file room;
	int64_t generation;
	const struct dims_file *f =
		dims_newest_file(s->dims, s->objects[object].file_id, &generation, &room);

	return f && (f->proto >> 16 & 0xf) == SOCK_DGRAM &&
	       (f->local.len || f->peer.len || !f->peer_ino);
}

void flow_datagrams_move(struct flow_state *s, struct flow_call *c, uint32_t object,
			 enum flow_side side)
{
	struct dims_file room;
	int64_t generation;
	const struct dims_file *f =
		dims_newest_file(s->dims, s->objects[object].file_id, &generation, &room);
	struct flow_datagram d = {.node = flow_call_node(s, c),
				  .task = c->task,
				  .object = object,
				  .bytes = c->bytes,
				  .start = c->start,
				  .end = c->end,
				  .file_id = s->objects[object].file_id,
				  .several = flow_call_messages(c) != 1};

	if (d.node == FLOW_NONE || !f)
		return;
	d.spot = datagram_spot(s, c, object, side);
	if (d.spot == FLOW_NONE)
		return;
	datagram_address(s, f, side, c->peer_id, &d);
	if (d.several) {
		datagrams_several(s, c, object, side, f, &d);
		return;
	}
	if (!d.port) {
		s->unfollowed++;
		return;
	}
	d.hashed = flow_content_hash(s, c, side, &d.hash);
	datagram_take(s, c, object, side, 0, &d);
}
