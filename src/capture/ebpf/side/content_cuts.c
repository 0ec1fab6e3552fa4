/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/side/content_cuts.h"

#include <errno.h>
#include <string.h>

#include "schema/content_hash.h"

#define STREAMS_MAX 512 /* concurrent, 16 MiB; the rest of an evicted one becomes a cut */

/* One direction of one file. */
struct cut_stream {
	uint64_t key, used;
	struct wire_content last; /* the last record */
	int64_t pos;		  /* of the current cut; WIRE_NONE */
	int64_t call_pos; /* its position in the last call; negative: it began in an earlier one */
	uint64_t gear;
	uint32_t len;
	uint8_t data[CUT_MOST];
};

struct cuts {
	uint64_t gears[256];
	struct map by_key; /* -> index */
	struct cut_stream *streams[STREAMS_MAX];
	size_t count;
	uint64_t clock;
};

int cuts_new(struct cuts **ret)
{
	struct cuts *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	for (uint32_t i = 0; i < ARRAY_SIZE(c->gears); i++)
		c->gears[i] = content_key(i);
	*ret = c;
	return 0;
}

void cuts_free(struct cuts *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++)
		free(c->streams[i]);
	map_free(&c->by_key);
	free(c);
}

/* Adds the row of the current cut, which ends here. */
static int cut_end(struct cut_stream *s, struct decode *d, struct batch_set *out)
{
	uint64_t hash = content_hash_bytes(s->data, s->len);
	const struct chunk_row row = {.pos = s->pos,
				      .call_pos = s->call_pos,
				      .size = s->len,
				      .form = FORM_CUT,
				      .outcome = NO_OUTCOME,
				      .hash = &hash};
	int r = s->len ? content_row(d, &s->last, &row, out) : 0;

	s->len = 0;
	s->gear = 0;
	return r;
}

/* The stream of a key; evicts the least recently used one if there are too many. */
static int cuts_stream(struct cuts *c, struct decode *d, uint64_t key, struct batch_set *out,
		       struct cut_stream **ret)
{
	struct cut_stream *s;
	uint64_t at = c->count;
	int r = 0;

	if (map_get(&c->by_key, key, &at)) {
		*ret = c->streams[at];
		return 0;
	}
	if (c->count < STREAMS_MAX) {
		s = malloc(sizeof(*s));
		if (!s)
			return -ENOMEM;
		c->streams[c->count++] = s;
	} else {
		at = 0;
		for (size_t i = 1; i < c->count; i++)
			at = c->streams[i]->used < c->streams[at]->used ? i : at;
		s = c->streams[at];
		r = cut_end(s, d, out);
		map_del(&c->by_key, s->key);
	}
	s->key = key;
	s->len = 0;
	s->gear = 0;
	s->call_pos = 0;
	s->last = (struct wire_content){.pos = WIRE_NONE};
	*ret = s;
	return r < 0 ? r : map_set(&c->by_key, key, at);
}

/* Whether the record continues where the last one ended, as far as known. */
static bool cut_follows(const struct cut_stream *s, const struct wire_content *w)
{
	if (w->pos == WIRE_NONE || s->last.pos == WIRE_NONE)
		return w->pos == s->last.pos;
	return w->pos == s->last.pos + (int64_t)s->last.bytes;
}

int cuts_add(struct cuts *c, struct decode *d, const struct wire_content *w, struct batch_set *out)
{
	const uint8_t *data = (const void *)(w + 1);
	uint64_t key = w->file << 1 | (w->flags & WIRE_CONTENT_OUT ? 1 : 0);
	struct cut_stream *s;
	int r = cuts_stream(c, d, key, out, &s);

	if (r >= 0 && !cut_follows(s, w))
		r = cut_end(s, d, out);
	if (r < 0)
		return r;
	if (s->last.thread != w->thread || s->last.call != w->call)
		s->call_pos -= (int64_t)(s->last.at + s->last.bytes);
	s->last = *w;
	s->used = ++c->clock;
	for (uint64_t i = 0; i < w->bytes && r >= 0; i++) {
		if (!s->len) {
			s->pos = w->pos == WIRE_NONE ? WIRE_NONE : w->pos + (int64_t)i;
			s->call_pos = (int64_t)(w->at + i);
		}
		s->data[s->len++] = data[i];
		s->gear = (s->gear << 1) + c->gears[data[i]];
		if ((s->len >= CUT_LEAST && !(s->gear >> (64 - CUT_BITS))) || s->len == CUT_MOST)
			r = cut_end(s, d, out);
	}
	return r;
}

int cuts_end(struct cuts *c, struct decode *d, struct batch_set *out)
{
	int r = 0;

	for (size_t i = 0; i < c->count && r >= 0; i++)
		r = cut_end(c->streams[i], d, out);
	return r;
}
