// SPDX-License-Identifier: Apache-2.0
/*
 * flow_sockets.c: edges through pipes and sockets. The ends of a TCP connection have each other's addresses, those of a
 * pair of unix sockets each other's inode; both ends of a pipe are one file.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "analysis/flow/flow_pass.h"
#include "schema/ops.h"

/* ---- finding the peer ---- */

bool flow_is_loopback(struct bytes a)
{
	return (a.len > 4 && !memcmp(a.data, "127.", 4)) ||
	       (a.len > 5 && !memcmp(a.data, "[::1]", 5));
}

/* Loopback addresses are only unique within one network namespace of one machine. */
static uint64_t address_key(const struct flow_state *s, const struct flow_call *c,
			    struct bytes from, struct bytes to)
{
	uint64_t key[4] = {hash_bytes(from.data, from.len), hash_bytes(to.data, to.len)};

	if (flow_is_loopback(from)) {
		key[2] = s->tasks[c->task].machine + 1;
		key[3] = (uint64_t)s->tasks[c->task].net_ns;
	}
	return hash_bytes(key, sizeof(key));
}

static uint64_t ino_key(const struct flow_state *s, const struct flow_call *c, uint64_t own,
			uint64_t other)
{
	const uint64_t key[] = {s->tasks[c->task].machine, own, other};

	return hash_bytes(key, sizeof(key));
}

/* Connects two ends by two channels: each receives what the other sends. */
static void sockets_join(struct flow_state *s, uint32_t a, uint32_t b)
{
	struct flow_object *x = &s->objects[a], *y = &s->objects[b];
	bool apart = x->place != y->place;

	x->twin = b;
	y->twin = a;
	y->channels[FLOW_SEND] = x->channels[FLOW_RECEIVE];
	y->channels[FLOW_RECEIVE] = x->channels[FLOW_SEND];
	s->channels[x->channels[FLOW_SEND]].apart = apart;
	s->channels[x->channels[FLOW_RECEIVE]].apart = apart;
}

/* False after an error. */
static bool sockets_channels(struct flow_state *s, uint32_t object, bool messages)
{
	struct flow_object *o = &s->objects[object];

	for (int side = 0; side < 2; side++) {
		o->channels[side] = flow_channel_new(s, messages ? VIA_DATAGRAM : VIA_STREAM);
		if (o->channels[side] == FLOW_NONE)
			return false;
		s->channels[o->channels[side]].messages = messages;
	}
	return true;
}

/* The object that waits under the peer's key; if several wait there, the match is ambiguous. */
static uint32_t sockets_waiting(struct flow_state *s, uint64_t key, bool *ret_more)
{
	uint64_t at;

	*ret_more = false;
	if (!map_get(&s->waiting, key, &at))
		return FLOW_NONE;
	*ret_more = s->objects[at].waiting != FLOW_NONE;
	return (uint32_t)at;
}

static void sockets_take_off(struct flow_state *s, uint64_t key, uint32_t first)
{
	uint32_t next = s->objects[first].waiting;

	if (next == FLOW_NONE)
		map_del(&s->waiting, key);
	else
		flow_failed(s, map_set(&s->waiting, key, next));
}

/* Appends to those already waiting under the key: connections with the same pair of addresses are consecutive. */
static void sockets_wait(struct flow_state *s, uint64_t key, uint32_t object)
{
	uint64_t at;

	if (!map_get(&s->waiting, key, &at)) {
		flow_failed(s, map_set(&s->waiting, key, object));
		return;
	}
	while (s->objects[at].waiting != FLOW_NONE)
		at = s->objects[at].waiting;
	s->objects[at].waiting = object;
}

static void sockets_find(struct flow_state *s, const struct flow_call *c, uint32_t object,
			 const struct dims_file *f)
{
	uint64_t mine, theirs;
	uint32_t other;
	bool more;

	if (s->objects[object].kind == FLOW_IS_TCP) {
		if (!f->local.len || !f->peer.len)
			return;
		mine = address_key(s, c, f->local, f->peer);
		theirs = address_key(s, c, f->peer, f->local);
	} else {
		if (!f->ino || !f->peer_ino)
			return;
		mine = ino_key(s, c, f->ino, f->peer_ino);
		theirs = ino_key(s, c, f->peer_ino, f->ino);
	}
	other = sockets_waiting(s, theirs, &more);
	if (other == FLOW_NONE || other == object) {
		if (sockets_channels(s, object,
				     s->objects[object].kind == FLOW_IS_UNIX &&
					     (f->proto >> 16 & 0xf) != SOCK_STREAM))
			sockets_wait(s, mine, object);
		return;
	}
	sockets_take_off(s, theirs, other);
	sockets_join(s, other, object);
	for (int side = 0; side < 2 && more; side++)
		s->channels[s->objects[object].channels[side]].ambiguous = true;
}

/* Creates the channels of a pipe, or finds the peer of a socket. */
static void sockets_opened(struct flow_state *s, const struct flow_call *c, uint32_t object)
{
	struct flow_object *o = &s->objects[object];
	struct dims_file room;
	const struct dims_file *f;
	int64_t generation;

	if (o->opened)
		return;
	o->opened = true;
	if (o->kind == FLOW_IS_PIPE) {
		o->channels[0] = o->channels[1] = flow_channel_new(s, VIA_PIPE);
		return;
	}
	f = dims_newest_file(s->dims, o->file_id, &generation, &room);
	if (f)
		sockets_find(s, c, object, f);
}

/* ---- calls ---- */

/* If recorded calls created both ends, the connect precedes the accept. */
static void sockets_connected(struct flow_state *s, uint32_t object)
{
	const struct flow_object *o = &s->objects[object], *t;

	if (o->twin == FLOW_NONE)
		return;
	t = &s->objects[o->twin];
	if (o->by_connect != t->by_connect)
		flow_edge_of_calls(s, VIA_CONNECT, o->by_connect ? o->origin : t->origin,
				   o->by_connect ? t->origin : o->origin,
				   o->by_connect ? t->file_id : o->file_id,
				   !s->channels[o->channels[0]].ambiguous);
}

static void sockets_made(struct flow_state *s, struct flow_call *c, int64_t file_id, bool origin)
{
	uint32_t at = flow_object(s, file_id);
	struct flow_object *o;

	if (at == FLOW_NONE)
		return;
	o = &s->objects[at];
	if (o->kind != FLOW_IS_PIPE && o->kind != FLOW_IS_TCP && o->kind != FLOW_IS_UNIX)
		return;
	o->from_start = true;
	/* connect() after EINPROGRESS only asks for the result: the first one preceded the accept */
	origin = origin && o->origin == FLOW_NONE;
	if (origin) {
		o->origin = flow_call_node(s, c);
		o->by_connect = c->act == FLOW_CONNECT;
	}
	sockets_opened(s, c, at);
	if (origin)
		sockets_connected(s, at);
}

void flow_sockets_take(struct flow_state *s, struct flow_call *c)
{
	if (c->failed && !(c->act == FLOW_CONNECT && c->ret == -EINPROGRESS))
		return;
	if (c->act != FLOW_ACCEPT)
		sockets_made(s, c, c->file_id, c->act == FLOW_CONNECT);
	if (c->act != FLOW_CONNECT)
		sockets_made(s, c, c->file2_id, c->act == FLOW_ACCEPT);
}

/* Counts whether a send follows the receipt of something from the peer it is sent to. */
static void sockets_heard(struct flow_state *s, const struct flow_call *c, struct flow_channel *ch,
			  uint32_t object, enum flow_side side)
{
	if (side == FLOW_RECEIVE)
		s->tasks[c->task].heard = object;
	else if (s->tasks[c->task].heard == object)
		ch->pulled++;
	else
		ch->pushed++;
}

int64_t flow_call_messages(const struct flow_call *c)
{
	return strstr(op_def(c->op)->name, "mmsg") ? MAX(c->ret, (int64_t)0) : 1;
}

/* The messages of a pair of sockets, whose ends are joined by their number. */
static void sockets_messages(struct flow_state *s, const struct flow_call *c, uint32_t object,
			     enum flow_side side)
{
	uint32_t spot = s->objects[object].channels[side];
	struct flow_moved moved = {
		.object = object, .node = c->node, .side = side, .bytes = c->bytes};
	const struct flow_chunk *k;
	size_t i = 0;

	if (flow_call_messages(c) == 1 || !flow_content_messages(s, c, side)) {
		moved.hashed =
			flow_call_messages(c) == 1 && flow_content_hash(s, c, side, &moved.hash);
		flow_message_moved(s, c, spot, false, &moved);
		return;
	}
	while ((k = flow_content_message(s, c, side, &i))) {
		moved.hashed = true;
		moved.hash = k->hash;
		moved.at = (size_t)k->call_pos;
		moved.bytes = k->size;
		flow_message_moved(s, c, spot, false, &moved);
	}
}

void flow_sockets_doubt(struct flow_state *s, const struct flow_call *c)
{
	uint32_t at = flow_object(s, c->file_id);

	if (at == FLOW_NONE || s->objects[at].kind != FLOW_IS_PIPE)
		return;
	sockets_opened(s, c, at);
	if (s->objects[at].channels[0] != FLOW_NONE)
		s->channels[s->objects[at].channels[0]].ambiguous = true;
}

void flow_sockets_move(struct flow_state *s, struct flow_call *c, uint32_t object,
		       enum flow_side side)
{
	const struct flow_object *o = &s->objects[object];
	struct flow_channel *ch;
	struct flow_item item = {
		.moved = c->bytes, .start = c->start, .end = c->end, .file_id = o->file_id};
	int64_t pos = -1;
	bool sure = false;

	sockets_opened(s, c, object);
	if (o->channels[side] == FLOW_NONE) {
		s->alone++;
		return;
	}
	ch = &s->channels[o->channels[side]];
	if (o->kind == FLOW_IS_TCP)
		pos = flow_content_pos(s, c, side, &sure);
	if (pos < 0 && !o->from_start) {
		s->unplaced++;
		return;
	}
	item.node = flow_call_node(s, c);
	if (item.node == FLOW_NONE)
		return;
	item.bytes = ch->messages ? flow_call_messages(c) : c->bytes;
	ch->ends[side].place = c->place;
	ch->ends[side].task = c->task;
	ch->ends[side].file_id = o->file_id;
	sockets_heard(s, c, ch, object, side);
	if (o->kind != FLOW_IS_TCP && flow_anchors_defer(s, ch))
		flow_anchors_take(s, c, ch, side, &item);
	else
		flow_channel_take(&s->streams, ch, side, &item, pos, sure);
	if (ch->messages) {
		sockets_messages(s, c, object, side);
		return;
	}
	flow_content_moved(s, c, o->channels[side], side, item.exact ? item.pos : -1);
	flow_frames_moved(s, c, object, side, item.exact ? item.pos : -1);
}

void flow_sockets_unfinished(struct flow_state *s, const struct flow_call *c)
{
	int64_t at = c->file_id < 0 ? -1 : idmap_get(&s->object_of_version, c->file_id);
	uint32_t channel = at < 0 ? FLOW_NONE : s->objects[at].channels[FLOW_SEND];

	if (channel == FLOW_NONE)
		return;
	if (s->channels[channel].deferred)
		flow_anchors_break(s, &s->channels[channel], c->start);
	else
		flow_channel_break(&s->streams, &s->channels[channel], FLOW_SEND, c->start);
}
