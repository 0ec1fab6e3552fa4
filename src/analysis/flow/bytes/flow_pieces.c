// SPDX-License-Identifier: Apache-2.0
/* flow_pieces.c: hashes of pieces, summed over the parts that calls moved. */
#include <errno.h>
#include <string.h>

#include "analysis/flow/bytes/flow_content.h"
#include "base/array.h"
#include "schema/content_hash.h"

void flow_pieces_free(struct flow_pieces *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->all[i].payload);
	free(p->all);
	free(p->free);
	*p = (struct flow_pieces){0};
}

/* *ret NULL: none at the limit. 0 or -ENOMEM. */
static int piece_get(struct flow_pieces *p, struct map *of, uint64_t index, struct flow_piece **ret)
{
	*ret = flow_piece_at(p, of, index);
	if (*ret)
		return 0;
	if (p->free_count) {
		if (map_set(of, index, p->free[p->free_count - 1]) < 0)
			return -ENOMEM;
		*ret = &p->all[p->free[--p->free_count]];
		**ret = (struct flow_piece){0};
		return 0;
	}
	if (p->count >= FLOW_PIECES_MAX) {
		p->left_out++;
		return 0;
	}
	*ret = array_of_key(p->all, p->count, p->cap, of, index, NULL);
	return *ret ? 0 : -ENOMEM;
}

void flow_pieces_drop(struct flow_pieces *p, struct map *of, uint64_t index)
{
	uint64_t at;

	if (!map_get(of, index, &at))
		return;
	(void)map_del(of, index);
	if (p->all[at].payload) {
		free(p->all[at].payload);
		p->all[at].payload = NULL;
		p->payload -= CONTENT_PIECE;
	}
	if (grow((void **)&p->free, &p->free_cap, p->free_count + 1, sizeof(*p->free)) >= 0)
		p->free[p->free_count++] = (uint32_t)at;
}

/* Adds bytes of a word that calls split. The word is hashed once all eight are known. */
static void piece_cut(struct flow_piece *p, uint32_t word, uint32_t first, const uint8_t *bytes,
		      uint32_t len)
{
	struct flow_cut *cut = NULL;
	uint64_t value;

	for (size_t i = 0; i < p->cut_count; i++) {
		if (p->cuts[i].word == word)
			cut = &p->cuts[i];
	}
	if (!cut) {
		if (p->cut_count == ARRAY_SIZE(p->cuts)) {
			p->doubtful = true;
			return;
		}
		cut = &p->cuts[p->cut_count++];
		*cut = (struct flow_cut){.word = (uint16_t)word};
	}
	for (uint32_t i = 0; i < len && first + i < 8; i++) {
		cut->bytes[first + i] = bytes[i];
		cut->have |= (uint8_t)(1u << (first + i));
	}
	if (cut->have != 0xff)
		return;
	memcpy(&value, cut->bytes, sizeof(value));
	p->sum += content_hash_word(value, word);
	*cut = p->cuts[--p->cut_count];
}

static void piece_payload(struct flow_pieces *p, struct flow_piece *piece, const uint8_t *bytes,
			  uint32_t from, uint32_t len)
{
	if (!piece->payload) {
		if (p->payload + CONTENT_PIECE > FLOW_PAYLOAD_MAX)
			return;
		piece->payload = calloc(1, CONTENT_PIECE);
		if (!piece->payload)
			return;
		p->payload += CONTENT_PIECE;
	}
	memcpy(piece->payload + from, bytes, len);
}

int flow_pieces_payload(struct flow_pieces *p, struct map *of, const uint8_t *bytes, int64_t size,
			int64_t pos)
{
	struct flow_piece *piece;

	for (int64_t n; size > 0; bytes += n, pos += n, size -= n) {
		n = MIN(size, CONTENT_PIECE - pos % CONTENT_PIECE);
		if (piece_get(p, of, (uint64_t)(pos / CONTENT_PIECE), &piece) < 0)
			return -ENOMEM;
		if (piece)
			piece_payload(p, piece, bytes, (uint32_t)(pos % CONTENT_PIECE),
				      (uint32_t)n);
	}
	return 0;
}

int flow_pieces_add(struct flow_pieces *p, struct map *of, const struct flow_chunk *c, int64_t pos,
		    uint32_t node)
{
	uint64_t index = (uint64_t)pos / CONTENT_PIECE;
	uint32_t from = (uint32_t)((uint64_t)pos % CONTENT_PIECE), size = (uint32_t)c->size,
		 end = from + size;
	struct flow_piece *piece;

	if (c->size <= 0 || c->size > CONTENT_PIECE || end > CONTENT_PIECE || pos < 0)
		return 0;
	if (piece_get(p, of, index, &piece) < 0)
		return -ENOMEM;
	if (!piece)
		return 0;
	if (piece->covered && from <= piece->low && end >= piece->high) {
		/* completely overwritten */
		piece->doubtful = false;
		piece->sum = 0;
		piece->covered = 0;
		piece->cut_count = 0;
	} else if (piece->covered && from < piece->high && end > piece->low &&
		   (piece->covered == piece->high - piece->low ||
		    piece->covered + size > CONTENT_PIECE)) {
		/* partially overwritten: the previous content cannot be subtracted */
		piece->doubtful = true;
	}
	piece->low = (uint16_t)(piece->covered ? MIN(piece->low, from) : from);
	piece->high = (uint16_t)(piece->covered ? MAX(piece->high, end) : end);
	piece->covered = (uint16_t)MIN(piece->covered + size, (uint32_t)CONTENT_PIECE);
	piece->node = node;
	piece->doubtful |= c->contested || !c->has_hash;
	piece->sum += c->hash;
	if (c->head_len)
		piece_cut(piece, from / 8, from % 8, c->head, c->head_len);
	if (c->tail_len)
		piece_cut(piece, end / 8, 0, c->tail, c->tail_len);
	return 0;
}

void flow_pieces_cut(struct flow_pieces *p, struct map *of, int64_t size)
{
	uint64_t index, at, first = ((uint64_t)size + CONTENT_PIECE - 1) / CONTENT_PIECE;
	struct flow_piece *last;
	size_t pos = 0;

	while (map_next(of, &pos, &index, &at)) {
		if (index < first)
			continue;
		flow_pieces_drop(p, of, index);
		pos--; /* removal may have moved another entry to this slot */
	}
	last = size % CONTENT_PIECE ? flow_piece_at(p, of, first - 1) : NULL;
	if (last && last->high > size % CONTENT_PIECE)
		last->doubtful = true;
}

bool flow_pieces_same(const struct flow_piece *a, const struct flow_piece *b)
{
	if (a->sum != b->sum || a->covered != b->covered || a->cut_count != b->cut_count)
		return false;
	for (size_t i = 0; i < a->cut_count; i++) {
		const struct flow_cut *x = &a->cuts[i], *y = &b->cuts[i];

		if (x->word != y->word || x->have != y->have || memcmp(x->bytes, y->bytes, 8) != 0)
			return false;
	}
	return true;
}
