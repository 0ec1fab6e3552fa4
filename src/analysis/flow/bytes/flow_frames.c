// SPDX-License-Identifier: Apache-2.0
/*
 * flow_frames.c: messages in streams, for relays that receive datagrams and send them on over a connection, or the other way round.
 *
 * A stream shows no borders, and which bytes a program puts between messages is not known. So the stream of a process that
 * also moves datagrams is divided in each of the usual ways at once. The one that yields most messages which the process
 * moved as datagrams is right, and flow_relays.c then compares messages, whatever they came through. With hashes alone
 * only whole calls can be compared. If no way yields any, as with messages wrapped in JSON, nothing is judged.
 */
#include <errno.h>
#include <string.h>

#include "analysis/flow/bytes/flow_messages.h"
#include "base/array.h"
#include "schema/content_hash.h"

#define FRAME_MAX	(64u << 10) /* bytes: what a datagram can hold */
#define FRAME_DIGITS	6
#define FLOW_FRAMES_MAX (1u << 19) /* messages: 28 MiB */
#define FRAMES_LEAST	8	   /* known messages that show how a stream is divided */
/* calls, after which the right way is chosen if it is known, and after which the stream is not divided any more */
#define FRAMES_CHOOSE  64
#define FRAMES_GIVE_UP 1024
#define FRAMING_MOST \
	8 /* bytes: a call with fewer may be the size of the next message, or what is between two */

/* Sizes of the parts of a message in a stream. */
struct frame {
	size_t head, size, tail;
};

static int frame_of_size(const uint8_t *bytes, size_t head, bool little, struct frame *ret)
{
	ret->head = head;
	ret->size = 0;
	for (size_t i = 0; i < head; i++)
		ret->size = ret->size << 8 | bytes[little ? head - 1 - i : i];
	return ret->size > FRAME_MAX ? -EBADMSG : 1;
}

static int frame_counted(const uint8_t *bytes, size_t size, struct frame *ret)
{
	size_t i = 0;

	for (; i < size && i <= FRAME_DIGITS && bytes[i] >= '0' && bytes[i] <= '9'; i++)
		ret->size = ret->size * 10 + bytes[i] - '0';
	ret->head = i + 1;
	if (i == size && i <= FRAME_DIGITS)
		return 0;
	return !i || bytes[i] != ' ' || ret->size > FRAME_MAX ? -EBADMSG : 1;
}

static int frame_ended(const uint8_t *bytes, size_t size, uint8_t by, size_t own, struct frame *ret)
{
	const uint8_t *end = memchr(bytes, by, MIN(size, (size_t)FRAME_MAX));

	if (!end)
		return size >= FRAME_MAX ? -EBADMSG : 0;
	ret->size = (size_t)(end - bytes) + own;
	ret->tail = 1 - own;
	return 1;
}

/* The message at the beginning of the bytes. 1; 0: more bytes are needed; -EBADMSG: they are not framed in this way. */
static int frame_at(enum flow_framing framing, const uint8_t *bytes, size_t size, struct frame *ret)
{
	size_t head = framing == FRAMED_BY_2 ? 2 : 4;
	int r;

	*ret = (struct frame){0};
	if (framing == FRAMED_BY_LINE || framing == FRAMED_AS_LINE)
		return frame_ended(bytes, size, '\n', framing == FRAMED_AS_LINE, ret);
	if (framing == FRAMED_BY_NUL)
		return frame_ended(bytes, size, 0, 0, ret);
	if (framing == FRAMED_BY_COUNT)
		r = frame_counted(bytes, size, ret);
	else
		r = size < head ? 0
				: frame_of_size(bytes, head, framing == FRAMED_BY_4_LITTLE, ret);
	return r > 0 ? size >= ret->head + ret->size : r;
}

/* ---- a stream ---- */

static void frame_add(struct flow_state *s, struct flow_sequence *q, uint32_t node, int64_t pos,
		      size_t size, uint64_t hash)
{
	struct flow_messages *m = &s->messages;

	if (m->frames == FLOW_FRAMES_MAX) {
		q->unhashed = true;
		return;
	}
	m->frames++;
	flow_failed(s, array_add(q->all, q->count, q->cap,
				 (struct flow_message){.hash = hash,
						       .pos = pos,
						       .place = pos,
						       .node = node,
						       .size = (uint32_t)size,
						       .other = FLOW_NONE}));
}

/* Adds the messages that are complete in the bytes at `pos`; returns the number of bytes that they and their framing have. */
static size_t frames_divide(struct flow_state *s, struct flow_sequence *q, uint32_t node,
			    int64_t pos, const uint8_t *bytes, size_t size)
{
	size_t done = 0;
	struct frame f;
	int r;

	while ((r = frame_at(q->framing, bytes + done, size - done, &f)) > 0) {
		bool first = !done && q->begun.len && q->side == FLOW_SEND;

		done += f.head;
		if (f.size)
			frame_add(s, q, first ? q->begun_by : node, pos + (int64_t)done, f.size,
				  content_hash_bytes(bytes + done, f.size));
		done += f.size + f.tail;
	}
	q->useless = r < 0;
	q->unhashed |= r < 0;
	return done;
}

static void frames_take(struct flow_state *s, struct flow_sequence *q, uint32_t node, int64_t pos,
			const uint8_t *bytes, size_t size)
{
	struct buf *b = &q->begun;
	size_t done;

	if (!b->len) {
		done = frames_divide(s, q, node, pos, bytes, size);
		q->begun_by = node;
		flow_failed(s, buf_append(b, bytes + done, size - done));
		return;
	}
	pos -= (int64_t)b->len;
	flow_failed(s, buf_append(b, bytes, size));
	if (buf_status(b) < 0)
		return;
	done = frames_divide(s, q, node, pos, b->data, b->len);
	if (!done)
		return;
	memmove(b->data, b->data + done, b->len - done);
	b->len -= done;
	q->begun_by = node;
}

/* True if the process moved it as a message with borders, in the other direction. */
static bool frame_is_known(const struct flow_messages *m, const struct flow_sequence *q,
			   const struct flow_message *x)
{
	return map_get(&m->known, flow_message_key(q->process, !q->side, x->hash, x->size), NULL);
}

static size_t frames_known(const struct flow_messages *m, const struct flow_sequence *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->count; i++)
		n += frame_is_known(m, q, &q->all[i]);
	return n;
}

static void frames_drop(struct flow_messages *m, struct flow_sequence *q)
{
	m->frames -= q->count;
	free(q->all);
	q->all = NULL;
	q->count = q->cap = 0;
	buf_free(&q->begun);
	q->useless = true;
}

/* Leaves one of the sequences of a stream: of those with most known messages the one with fewest others. `last`: drops all if
 * none has enough. */
static void frames_choose(struct flow_messages *m, struct flow_sequence *all, bool last)
{
	size_t most = FRAMES_LEAST - 1;
	struct flow_sequence *best = NULL;

	for (int i = 0; i < FLOW_FRAMINGS - 1; i++) {
		size_t known = frames_known(m, &all[i]);

		if (known > most || (best && known == most && all[i].count < best->count)) {
			most = known;
			best = &all[i];
		}
	}
	for (int i = 0; i < FLOW_FRAMINGS - 1 && (best || last); i++) {
		if (&all[i] != best)
			frames_drop(m, &all[i]);
	}
}

/* The sequences of a stream, one for each way to divide it. NULL: out of memory. */
static struct flow_sequence *frames_of(struct flow_state *s, uint32_t object, enum flow_side side,
				       int64_t process)
{
	struct flow_messages *m = &s->messages;
	struct flow_sequence *q = NULL;
	bool is_new = true;
	size_t first = 0;

	for (int i = 1; i < FLOW_FRAMINGS && is_new; i++) {
		q = array_of_key(m->all, m->count, m->cap, &m->of,
				 flow_sequence_key(object, side, (uint64_t)i), &is_new);
		if (!q)
			return NULL;
		if (i == 1)
			first = (size_t)(q - m->all);
		if (is_new)
			*q = (struct flow_sequence){.object = object,
						    .side = side,
						    .process = process,
						    .partner = FLOW_NONE,
						    .channel = FLOW_NONE,
						    .framing = i,
						    .next = -1};
	}
	return &m->all[first];
}

/* What a call moved at a position of a stream; -1: unknown. */
struct frames_part {
	int64_t pos, process;
	uint32_t object, node;
	enum flow_side side;
	const uint8_t *bytes; /* NULL: unknown */
	size_t size;
	bool hashed;
	uint64_t hash;
};

static void frames_moved(struct flow_state *s, const struct frames_part *p)
{
	struct flow_sequence *all = frames_of(s, p->object, p->side, p->process);

	if (!all) {
		flow_failed(s, -ENOMEM);
		return;
	}
	for (int i = 0; i < FLOW_FRAMINGS - 1; i++) {
		struct flow_sequence *q = &all[i];

		if (q->useless)
			continue;
		if (q->process != p->process)
			q->process = -1;
		if (p->pos < 0 || (q->next >= 0 && q->next != p->pos) ||
		    !(q->framing == FRAMED_BY_CALL ? p->hashed : p->bytes != NULL)) {
			q->unhashed = true;
			buf_clear(&q->begun);
		} else if (q->framing == FRAMED_BY_CALL) {
			frame_add(s, q, p->node, p->pos, p->size, p->hash);
		} else {
			frames_take(s, q, p->node, p->pos, p->bytes, p->size);
		}
		q->next = p->pos < 0 ? -1 : p->pos + (int64_t)p->size;
	}
	if (all->count == FRAMES_CHOOSE || all->count == FRAMES_GIVE_UP)
		frames_choose(&s->messages, all, all->count == FRAMES_GIVE_UP);
}

/* True if the process also moved messages in the other direction that have borders. */
static bool frames_wanted(const struct flow_messages *m, int64_t process, enum flow_side side)
{
	return m->count && process >= 0 &&
	       map_get(&m->known, flow_message_key(process, !side, FLOW_MOVES_MESSAGES, 0), NULL);
}

void flow_frames_moved(struct flow_state *s, const struct flow_call *c, uint32_t object,
		       enum flow_side side, int64_t pos)
{
	struct frames_part p = {.pos = pos,
				.process = s->tasks[c->task].process_id,
				.object = object,
				.node = c->node,
				.side = side};
	struct flow_task *t = &s->tasks[c->task];
	size_t size;

	if (!t->streams)
		flow_failed(s,
			    map_set(&s->messages.known,
				    flow_message_key(p.process, FLOW_SEND, FLOW_MOVES_STREAMS, 0),
				    1));
	t->streams = true;
	if (c->bytes <= 0 || !frames_wanted(&s->messages, p.process, side))
		return;
	p.size = (size_t)c->bytes;
	p.bytes = flow_content_payload(s, c, side, &size);
	if (p.bytes && side == FLOW_RECEIVE)
		return; /* the bytes are kept: flow_frames_end() */
	if (size != p.size)
		p.bytes = NULL;
	p.hashed = flow_content_hash(s, c, side, &p.hash);
	frames_moved(s, &p);
}

/* ---- all streams ---- */

/* Removes calls that moved a few bytes, if there are as many as messages: they are framing. */
static void frames_compact(const struct flow_messages *m, struct flow_sequence *q)
{
	size_t known = frames_known(m, q), few = 0, n = 0;

	for (size_t i = 0; i < q->count; i++)
		few += q->all[i].size <= FRAMING_MOST;
	if (q->framing != FRAMED_BY_CALL || few * 2 < known)
		return;
	for (size_t i = 0; i < q->count; i++) {
		const struct flow_message *x = &q->all[i];

		if (x->size > FRAMING_MOST || frame_is_known(m, q, x))
			q->all[n++] = *x;
	}
	q->count = n;
}

/* The socket that receives from each channel; FLOW_NONE. NULL: out of memory. */
static uint32_t *frames_receivers(const struct flow_state *s)
{
	uint32_t *of = malloc((s->channel_count + 1) * sizeof(*of));

	for (size_t i = 0; of && i < s->channel_count; i++)
		of[i] = FLOW_NONE;
	for (uint32_t i = 0; of && i < s->object_count; i++) {
		const struct flow_object *o = &s->objects[i];
		uint32_t at = o->channels[FLOW_RECEIVE];

		if ((o->kind == FLOW_IS_TCP || o->kind == FLOW_IS_UNIX) && at != FLOW_NONE &&
		    !s->channels[at].messages)
			of[at] = i;
	}
	return of;
}

/*
 * What was received before the first message was sent can contain the beginning of another one, which shows where those
 * behind it begin. So received streams are divided at the end, when it is known which of them a process sent on.
 */
static void frames_received(struct flow_state *s)
{
	_cleanup_free_ uint32_t *of = frames_receivers(s);

	if (!of) {
		flow_failed(s, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < s->links.segment_count && s->graph.r >= 0; i++) {
		const struct flow_segment *x = &s->links.segments[i];
		struct frames_part p = {.pos = x->pos,
					.process = flow_node_process(s, x->node),
					.object =
						x->spot & FLOW_SPOT_FILE ? FLOW_NONE : of[x->spot],
					.node = x->node,
					.side = FLOW_RECEIVE,
					.bytes = x->bytes,
					.size = x->size,
					.hashed = true};

		if (!x->bytes || p.object == FLOW_NONE ||
		    !frames_wanted(&s->messages, p.process, FLOW_RECEIVE))
			continue;
		p.hash = content_hash_bytes(p.bytes, p.size);
		frames_moved(s, &p);
	}
}

/* True if a stream has enough calls to show messages, and no way to divide it yields any. */
static bool frames_undivided(const struct flow_sequence *all, size_t calls)
{
	for (int i = 0; i < FLOW_FRAMINGS - 1; i++) {
		if (!all[i].useless)
			return false;
	}
	return !calls || calls >= FRAMES_LEAST; /* 0: given up before the end */
}

void flow_frames_end(struct flow_state *s)
{
	struct flow_messages *m = &s->messages;

	frames_received(s);
	for (size_t i = 0; i < m->count; i++) {
		size_t calls = m->all[i].count;

		if (m->all[i].framing != FRAMED_BY_CALL)
			continue;
		frames_choose(m, &m->all[i], true);
		s->undivided += !s->content_sums.payload && frames_undivided(&m->all[i], calls);
		for (int k = 0; k < FLOW_FRAMINGS - 1; k++)
			frames_compact(m, &m->all[i + (size_t)k]);
	}
}
