// SPDX-License-Identifier: Apache-2.0
/* flow_content.c: assigns rows of chunk to their calls, and passes them on to pieces and links. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "analysis/flow/flow_pass.h"
#include "base/array.h"
#include "schema/content_hash.h"

#define SUSPECTS_MAX   10000
#define CALL_BYTES_MAX (1u << 20) /* payload bytes of one call that are examined */

/* ---- rows ---- */

static void chunk_cut(const struct batch *b, unsigned int column, uint32_t row, uint8_t to[8],
		      uint8_t *len)
{
	struct bytes v = batch_get_bytes(b, column, row);

	*len = (uint8_t)MIN(v.len, (size_t)7);
	if (*len)
		memcpy(to, v.data, *len);
}

static void content_count(struct flow_content_sums *sums, const struct flow_chunk *c)
{
	if (c->outcome < 0 || c->size <= 0)
		return;
	sums->bytes += (uint64_t)c->size;
	sums->by_outcome[c->outcome] += (uint64_t)c->size;
}

/* The rows of a call that began at `start`; if there are none, those of the call that began first, which has ended. */
static struct flow_chunks *chunks_at(struct flow_task *t, int64_t start)
{
	struct flow_chunks *first = t->chunks;

	for (size_t i = 0; i < FLOW_CHUNKS_OPEN; i++) {
		if (t->chunks[i].start == start)
			return &t->chunks[i];
		if (t->chunks[i].start < first->start)
			first = &t->chunks[i];
	}
	return first;
}

void flow_content_row(struct flow_state *s, const struct batch *b, uint32_t row)
{
	int64_t thread = batch_get(b, CHUNK_THREAD_ID, row, -1), outcome, start;
	uint32_t task;
	struct bytes payload = batch_get_bytes(b, CHUNK_CONTENT, row);
	struct flow_chunk c;
	struct flow_chunks *all;

	outcome = batch_get(b, CHUNK_OUTCOME, row, -1);
	outcome = outcome >= 0 && outcome < OUTCOME_COUNT ? outcome : -1;
	start = batch_get(b, CHUNK_START, row, INT64_MIN);
	c = (struct flow_chunk){
		.file_id = batch_get(b, CHUNK_FILE_ID, row, -1),
		.pos = batch_get(b, CHUNK_POS, row, -1),
		.call_pos = batch_get(b, CHUNK_CALL_POS, row, -1),
		.size = batch_get(b, CHUNK_SIZE, row, 0),
		.peer_id = batch_get(b, CHUNK_PEER_ID, row, -1),
		.form = (uint8_t)batch_get(b, CHUNK_FORM, row, FORM_COUNT),
		.way = (uint8_t)batch_get(b, CHUNK_WAY, row, WAY_COUNT),
		.outcome = (int8_t)outcome,
		.has_hash = !batch_is_null(b, CHUNK_HASH, row),
		.hash = (uint64_t)batch_get(b, CHUNK_HASH, row, 0),
		.contested = batch_get(b, CHUNK_CONTESTED, row, 0) == 1,
	};
	chunk_cut(b, CHUNK_HEAD, row, c.head, &c.head_len);
	chunk_cut(b, CHUNK_TAIL, row, c.tail, &c.tail_len);
	content_count(&s->content_sums, &c);
	s->content_sums.payload |= payload.len > 0;
	if (thread < 0 || c.call_pos < 0 || c.size < 0 || c.call_pos > FLOW_POS_MAX ||
	    c.size > FLOW_POS_MAX || c.pos > FLOW_POS_MAX)
		return;
	task = flow_task_of(s, thread);
	if (task == FLOW_NONE)
		return;
	all = chunks_at(&s->tasks[task], start);
	if (all->start != start) {
		all->count = 0;
		buf_clear(&all->bytes);
		all->start = start;
	}
	c.content = all->bytes.len;
	if (payload.len && (payload.len != (size_t)c.size || all->bytes.len > CALL_BYTES_MAX))
		return;
	flow_failed(s, array_add(all->rows, all->count, all->cap, c));
	flow_failed(s, buf_append(&all->bytes, payload.data, payload.len));
}

static struct flow_chunks *chunks_of(struct flow_state *s, const struct flow_call *c)
{
	struct flow_chunks *all = chunks_at(&s->tasks[c->task], c->start);

	return all->count && all->start == c->start ? all : NULL;
}

static bool chunk_is_of(const struct flow_chunk *k, enum flow_side side)
{
	return k->way == (side == FLOW_SEND ? WAY_OUT : WAY_IN);
}

bool flow_chunk_is_piece(const struct flow_chunk *k, enum flow_side side)
{
	return chunk_is_of(k, side) && (k->form == FORM_PIECE || k->form == FORM_PART);
}

int64_t flow_content_pos(struct flow_state *s, const struct flow_call *c, enum flow_side side,
			 bool *ret_sure)
{
	const struct flow_chunks *all = chunks_of(s, c);

	for (size_t i = 0; all && i < all->count; i++) {
		const struct flow_chunk *k = &all->rows[i];

		if (!chunk_is_of(k, side) || k->pos < 0 || k->pos < k->call_pos)
			continue;
		*ret_sure = !k->contested;
		return k->pos - k->call_pos;
	}
	return -1;
}

/* ---- a call ---- */

/* The call's bytes from the start on, if they are available in one piece. */
static const uint8_t *call_payload(const struct flow_chunks *all, enum flow_side side,
				   size_t *ret_size)
{
	const uint8_t *from = NULL;
	size_t size = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct flow_chunk *k = &all->rows[i];

		if (k->form != FORM_PAYLOAD || !chunk_is_of(k, side))
			continue;
		if ((size_t)k->call_pos != size || k->content + (size_t)k->size > all->bytes.len ||
		    (from && all->bytes.data + k->content != from + size))
			break;
		from = from ? from : all->bytes.data + k->content;
		size += (size_t)k->size;
	}
	*ret_size = size;
	return from;
}

/* The hash of the call's bytes from the start on: as recorded, or combined from pieces that begin there. */
static bool content_call_hash(const struct flow_chunks *all, enum flow_side side, int64_t bytes,
			      uint64_t *ret)
{
	int64_t done = 0;
	uint64_t n = 0;

	*ret = 0;
	for (size_t i = 0; i < all->count; i++) {
		const struct flow_chunk *k = &all->rows[i];

		if (chunk_is_of(k, side) && k->form == FORM_BUFFER && k->call_pos == 0 &&
		    k->size == bytes && k->has_hash) {
			*ret = k->hash;
			return true;
		}
	}
	for (size_t i = 0; i < all->count; i++) {
		const struct flow_chunk *k = &all->rows[i];
		uint64_t hash = k->hash, word = 0;

		if (!flow_chunk_is_piece(k, side))
			continue;
		if (!k->has_hash || k->pos < 0 || k->pos % CONTENT_PIECE || k->call_pos != done ||
		    k->head_len)
			return false;
		if (k->tail_len) {
			memcpy(&word, k->tail, k->tail_len);
			hash += content_hash_word(word, (uint32_t)(k->size / 8));
		}
		*ret = content_hash_join(*ret, hash, n++);
		done += k->size;
	}
	return done == bytes && bytes > 0;
}

bool flow_content_hash(struct flow_state *s, const struct flow_call *c, enum flow_side side,
		       uint64_t *ret)
{
	const struct flow_chunks *all = chunks_of(s, c);

	return all && content_call_hash(all, side, c->bytes, ret);
}

const struct flow_chunk *flow_content_message(struct flow_state *s, const struct flow_call *c,
					      enum flow_side side, size_t *at)
{
	const struct flow_chunks *all = chunks_of(s, c);

	while (all && *at < all->count) {
		const struct flow_chunk *k = &all->rows[(*at)++];

		if (chunk_is_of(k, side) && k->form == FORM_BUFFER)
			return k;
	}
	return NULL;
}

bool flow_content_side(struct flow_state *s, const struct flow_call *c, enum flow_side *ret)
{
	const struct flow_chunks *all = chunks_of(s, c);

	if (!all || all->rows[0].way >= WAY_COUNT)
		return false;
	*ret = chunk_is_of(&all->rows[0], FLOW_SEND) ? FLOW_SEND : FLOW_RECEIVE;
	return true;
}

bool flow_content_messages(struct flow_state *s, const struct flow_call *c, enum flow_side side)
{
	int64_t count = flow_call_messages(c), bytes = 0;
	const struct flow_chunk *k;
	size_t i = 0;

	while ((k = flow_content_message(s, c, side, &i))) {
		bytes += k->size;
		count -= k->has_hash && k->call_pos + k->size == bytes;
	}
	return !count && bytes == c->bytes;
}

const uint8_t *flow_content_payload(struct flow_state *s, const struct flow_call *c,
				    enum flow_side side, size_t *ret_size)
{
	const struct flow_chunks *all = chunks_of(s, c);

	*ret_size = 0;
	return all ? call_payload(all, side, ret_size) : NULL;
}

/* ---- pieces ---- */

static bool piece_known(const struct flow_piece *p)
{
	return p && !p->doubtful && p->covered;
}

void flow_content_suspect(struct flow_state *s, const struct flow_suspect *what)
{
	if (s->suspect_count >= SUSPECTS_MAX) {
		s->graph.left_out++;
		return;
	}
	flow_failed(s, array_add(s->suspects, s->suspect_count, s->suspect_cap, *what));
}

/* Compares a piece once both ends of a stream have all of it. */
static void stream_compare(struct flow_state *s, uint32_t channel, uint64_t index)
{
	struct flow_channel *c = &s->channels[channel];
	struct flow_piece *a = flow_piece_at(&s->pieces, &c->ends[FLOW_SEND].pieces, index),
			  *b = flow_piece_at(&s->pieces, &c->ends[FLOW_RECEIVE].pieces, index);

	if (!a || !b || a->covered != b->covered || a->covered < CONTENT_PIECE)
		return;
	if (piece_known(a) && piece_known(b) && !flow_pieces_same(a, b) && !c->ambiguous)
		flow_content_suspect(
			s, &(struct flow_suspect){.what = FLOW_ALTERED_BETWEEN,
						  .first = a->node,
						  .second = b->node,
						  .spot = channel,
						  .beside = FLOW_NONE,
						  .object = FLOW_NONE,
						  .from = (int64_t)index * CONTENT_PIECE,
						  .to = (int64_t)(index + 1) * CONTENT_PIECE});
	flow_pieces_drop(&s->pieces, &c->ends[FLOW_SEND].pieces, index);
	flow_pieces_drop(&s->pieces, &c->ends[FLOW_RECEIVE].pieces, index);
}

static void content_stream(struct flow_state *s, struct flow_call *c, const struct flow_chunks *all,
			   uint32_t channel, enum flow_side side, int64_t pos)
{
	struct flow_end *end = &s->channels[channel].ends[side];

	for (size_t i = 0; i < all->count && end->known; i++) {
		const struct flow_chunk *k = &all->rows[i];
		int64_t at = pos + k->call_pos;

		if (!flow_chunk_is_piece(k, side))
			continue;
		flow_failed(s, flow_pieces_add(&s->pieces, &end->pieces, k, at, c->node));
		stream_compare(s, channel, (uint64_t)at / CONTENT_PIECE);
	}
}

/* A read returned other bytes than calls wrote to the piece. */
void flow_content_read_back(struct flow_state *s, struct flow_call *c, uint32_t object,
			    const struct flow_chunk *k, uint32_t by, bool unsure)
{
	const struct flow_file *f = &s->files[s->objects[object].file];
	const struct flow_piece *p =
		flow_piece_at(&s->pieces, &f->pieces, (uint64_t)k->pos / CONTENT_PIECE);
	struct flow_piece read = {.sum = k->hash, .covered = (uint16_t)k->size};

	if (!piece_known(p) || k->size != CONTENT_PIECE || p->covered != CONTENT_PIECE ||
	    !k->has_hash || k->contested || flow_pieces_same(p, &read) ||
	    flow_node_end(&s->graph.nodes[p->node]) > c->start || flow_call_node(s, c) == FLOW_NONE)
		return;
	flow_content_suspect(s, &(struct flow_suspect){.what = FLOW_READ_BACK,
						       .first = p->node,
						       .second = c->node,
						       .spot = object | FLOW_SPOT_FILE,
						       .beside = by,
						       .unsure = unsure,
						       .object = object,
						       .from = k->pos,
						       .to = k->pos + k->size});
}

/* A write that overlapped with such a read in time explains the difference. */
static void file_explained(struct flow_state *s, const struct flow_call *c, uint32_t object,
			   const struct flow_chunk *k)
{
	for (size_t i = s->suspect_count; i-- > 0 && s->suspect_count - i < 64;) {
		struct flow_suspect *what = &s->suspects[i];

		if (what->what == FLOW_READ_BACK && what->spot == (object | FLOW_SPOT_FILE) &&
		    what->from < k->pos + k->size && k->pos < what->to &&
		    c->start < flow_node_end(&s->graph.nodes[what->second]))
			what->what = FLOW_EXPLAINED;
	}
}

/* Bytes [from, to) of a file were written, but not what they are. The kernel moves fewer than INT_MAX by one call. */
static void file_unknown(struct flow_state *s, struct flow_file *f, int64_t from, int64_t to,
			 uint32_t node)
{
	if (to - from > INT_MAX)
		to = from + INT_MAX;
	for (int64_t n; from < to; from += n) {
		n = MIN(to - from, CONTENT_PIECE - from % CONTENT_PIECE);
		flow_failed(s, flow_pieces_add(&s->pieces, &f->pieces,
					       &(struct flow_chunk){.size = n}, from, node));
	}
}

/*
 * The bytes of a write that no hash covers: the pieces that they are in cannot be compared, neither with another file nor with
 * what a read returns.
 */
static void content_gaps(struct flow_state *s, const struct flow_call *c,
			 const struct flow_chunks *all, struct flow_file *f, int64_t pos)
{
	int64_t done = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct flow_chunk *k = &all->rows[i];

		if (!flow_chunk_is_piece(k, FLOW_SEND) || !k->has_hash)
			continue;
		file_unknown(s, f, pos + done, pos + k->call_pos, c->node);
		done = MAX(done, k->call_pos + k->size);
	}
	file_unknown(s, f, pos + done, pos + c->bytes, c->node);
}

static void content_file(struct flow_state *s, struct flow_call *c, const struct flow_chunks *all,
			 uint32_t object, enum flow_side side, int64_t pos)
{
	struct flow_file *f = &s->files[s->objects[object].file];

	if (side == FLOW_RECEIVE && f->maps != FLOW_NONE) {
		flow_mapped_read(s, c, object, all);
		return;
	}
	if (side == FLOW_SEND)
		content_gaps(s, c, all, f, pos);
	for (size_t i = 0; i < all->count; i++) {
		const struct flow_chunk *k = &all->rows[i];
		bool piece = flow_chunk_is_piece(k, side),
		     payload = k->form == FORM_PAYLOAD && chunk_is_of(k, side) &&
			       k->content + (size_t)k->size <= all->bytes.len;

		if (k->pos < 0 || (!piece && !payload))
			continue;
		if (side == FLOW_RECEIVE) {
			if (piece)
				flow_content_read_back(s, c, object, k, FLOW_NONE, false);
			continue;
		}
		file_explained(s, c, object, k);
		flow_failed(s,
			    payload ? flow_pieces_payload(&s->pieces, &f->pieces,
							  all->bytes.data + k->content, k->size,
							  k->pos)
				    : flow_pieces_add(&s->pieces, &f->pieces, k, k->pos, c->node));
	}
}

/* Notes bytes with unknown content: data that seems never sent, or never stored, may be among them. */
static void content_unseen(struct flow_state *s, const struct flow_call *c, uint32_t spot,
			   enum flow_side side, int64_t bytes)
{
	if (bytes <= 0)
		return;
	if (!(spot & FLOW_SPOT_FILE))
		s->channels[spot].ends[side].unseen += bytes;
	if (side == FLOW_SEND && s->content_sums.bytes)
		flow_failed(s, map_set(&s->unseen, (uint64_t)s->tasks[c->task].process_id, 1));
}

/* For --of: bytes that the thread has already put out, as a program does that stores what it made, and then sends it. */
static void content_again(struct flow_state *s, const struct flow_call *c, uint32_t spot,
			  int64_t pos, size_t size, uint64_t hash)
{
	const uint64_t what[] = {s->tasks[c->task].number, size, hash};
	uint64_t key = hash_bytes(what, sizeof(what)), first;

	if (size < FLOW_LINK_LEAST || c->act == FLOW_COPY)
		return;
	if (s->put.count == FLOW_TAKINGS_MAX || s->again_count == FLOW_TAKINGS_MAX) {
		s->from_left_out++;
		return;
	}
	if (map_get(&s->put, key, &first) && first != c->node)
		flow_failed(s, array_add(s->agains, s->again_count, s->again_cap,
					 (struct flow_again){.first = (uint32_t)first,
							     .second = c->node,
							     .spot = spot,
							     .pos = pos,
							     .bytes = (int64_t)size}));
	flow_failed(s, map_set(&s->put, key, c->node));
}

void flow_content_link(struct flow_state *s, const struct flow_call *c, uint32_t spot,
		       enum flow_side side, int64_t pos, const uint8_t *bytes, size_t size,
		       const uint64_t *hash)
{
	int64_t process_id = s->tasks[c->task].process_id;

	if (side == FLOW_SEND && s->from.count && hash)
		content_again(s, c, spot, pos, size, *hash);
	flow_failed(s, side == FLOW_SEND ? flow_links_out(&s->links, process_id, spot, pos, c->node,
							  bytes, size, hash)
					 : flow_links_in(&s->links, process_id, spot, pos, c->node,
							 bytes, size, hash));
}

void flow_content_moved(struct flow_state *s, struct flow_call *c, uint32_t spot,
			enum flow_side side, int64_t pos)
{
	const struct flow_chunks *all = chunks_of(s, c);
	const uint8_t *payload;
	uint64_t hash;
	size_t size, known;
	bool hashed;

	if (!all || pos < 0 || c->bytes <= 0) {
		content_unseen(s, c, spot, side, c->bytes);
		return;
	}
	if (side == FLOW_SEND)
		flow_call_node(s, c);
	else if (s->root_count && s->roots[s->root_count - 1].node == c->node)
		s->roots[s->root_count - 1].pos = pos;
	if (spot & FLOW_SPOT_FILE)
		content_file(s, c, all, spot & ~FLOW_SPOT_FILE, side, pos);
	else
		content_stream(s, c, all, spot, side, pos);
	payload = call_payload(all, side, &size);
	/* recorded only once: the bytes sent out are the same */
	if (!payload && c->act == FLOW_COPY)
		payload = call_payload(all, !side, &size);
	hashed = content_call_hash(all, side, c->bytes, &hash);
	/* where bytes are recorded, a hash alone does not show parts of what other calls moved */
	known = payload ? size : hashed && !s->links.payload ? (size_t)c->bytes : 0;
	content_unseen(s, c, spot, side, c->bytes - (int64_t)known);
	size = payload ? size : hashed ? (size_t)c->bytes : 0;
	if (size && flow_call_node(s, c) != FLOW_NONE)
		flow_content_link(s, c, spot, side, pos, payload, size, hashed ? &hash : NULL);
}

void flow_content_free(struct flow_state *s)
{
	flow_pieces_free(&s->pieces);
	flow_links_free(&s->links);
	map_free(&s->unseen);
	free(s->suspects);
	for (size_t i = 0; i < s->task_count; i++) {
		for (size_t k = 0; k < FLOW_CHUNKS_OPEN; k++) {
			free(s->tasks[i].chunks[k].rows);
			buf_free(&s->tasks[i].chunks[k].bytes);
		}
	}
	for (size_t i = 0; i < s->file_count; i++)
		map_free(&s->files[i].pieces);
	for (size_t i = 0; i < s->channel_count; i++) {
		map_free(&s->channels[i].ends[0].pieces);
		map_free(&s->channels[i].ends[1].pieces);
	}
}
