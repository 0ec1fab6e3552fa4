// SPDX-License-Identifier: Apache-2.0
/*
 * flow_links.c: finds bytes that leave a process among those that entered it.
 *
 * With payload: of incoming bytes, a table holds a block of 32 bytes at every 64th byte; outgoing bytes are searched
 * block by block, at every offset, with a rolling hash (Karp and Rabin, 1987; rsync finds moved blocks this way). A
 * match is extended byte by byte in both directions, across the calls that took the bytes. A difference with equal
 * bytes on both sides was made by the process. With hashes alone, complete calls are compared.
 */
#include <errno.h>
#include <string.h>

#include "analysis/flow/bytes/flow_content.h"
#include "analysis/flow/flow_graph.h"
#include "base/array.h"

#define BLOCK	   32u
#define GRID	   64u
#define PRIME	   0x100000001b3ull
#define RESYNC	   16u	 /* equal bytes that end a difference */
#define RESYNC_MAX 8192u /* maximum length of a difference */
/* minimum number of them that differ from the byte before: zeros that fill a block are followed by anything */
#define RESYNC_LEAST  4u
#define OFFSET_BITS   20
#define SEGMENT_MAX   (1u << OFFSET_BITS)
#define KNOWN_TWICE   (1ull << 63) /* flag of map values: the same also entered elsewhere before */
#define BESIDE	      256u	   /* bytes next to a difference that must be significant */
#define UNLIKE_LEAST  48u
#define HEADER_MAX    16u /* bytes: of a block of data */
#define SHIFTED_LEAST 4u  /* bytes that it moved past; fewer are equal by chance */
/* bytes on either side of a difference within which its true source is searched for */
#define AROUND 128u

/*
 * Most blocks that are searched for are not in the table, which is larger than the caches of a CPU: 512 KiB of marks show it.
 * 300,000 datagrams of 320 bytes took 3.8 s instead of 5.7 (medians of 5, in turns).
 */
#define MARK_BITS 22

static size_t mark_word(uint64_t key)
{
	return key >> (64 - MARK_BITS + 6);
}

static uint64_t mark_bit(uint64_t key)
{
	return 1ull << (key >> (64 - MARK_BITS) & 63);
}

void flow_links_end(struct flow_links *l)
{
	map_free(&l->calls);
	map_free(&l->last);
	map_free(&l->given);
}

void flow_links_free(struct flow_links *l)
{
	flow_links_end(l);
	for (size_t i = 0; i < l->segment_count; i++)
		free(l->segments[i].bytes);
	free(l->segments);
	free(l->links);
	free(l->differences);
	map_free(&l->blocks);
	free(l->marks);
	*l = (struct flow_links){0};
}

static void links_failed(struct flow_links *l, int r)
{
	if (r < 0 && l->r >= 0)
		l->r = r;
}

static uint64_t links_key(int64_t process_id, uint64_t hash)
{
	return hash_u64(hash ^ hash_u64((uint64_t)process_id));
}

static uint64_t block_hash(const uint8_t *b)
{
	uint64_t h = 0;

	for (size_t i = 0; i < BLOCK; i++)
		h = h * PRIME + b[i] + 1;
	return h;
}

/* The hash of the block that begins one byte later, at b + 1. `top`: the factor of the first byte. */
static uint64_t hash_roll(uint64_t hash, uint64_t top, const uint8_t *b)
{
	return (hash - (b[0] + 1ull) * top) * PRIME + b[BLOCK] + 1;
}

static uint64_t hash_top(void)
{
	uint64_t top = 1;

	for (size_t i = 1; i < BLOCK; i++)
		top *= PRIME;
	return top;
}

/* True for a block of equal bytes, such as zeros, which occurs everywhere. */
static bool is_dull(const uint8_t *b)
{
	return !memcmp(b, b + 1, BLOCK - 1);
}

/* ---- input ---- */

static void segment_add(struct flow_links *l, int64_t process_id, const struct flow_segment *s)
{
	uint64_t key = links_key(process_id, s->spot), before;
	uint32_t at = (uint32_t)l->segment_count;

	if (array_add(l->segments, l->segment_count, l->segment_cap, *s) < 0) {
		free(s->bytes);
		links_failed(l, -ENOMEM);
		return;
	}
	if (map_get(&l->last, key, &before) &&
	    l->segments[before].pos + l->segments[before].size == s->pos) {
		l->segments[before].behind = at;
		l->segments[at].before = (uint32_t)before;
	}
	links_failed(l, map_set(&l->last, key, at));
}

static uint64_t given_key(uint64_t segment, uint32_t spot)
{
	return segment << 32 | spot;
}

/* Adds an entry. If there is one already, both are copies, unless a process reads what it wrote itself. */
static void links_known(struct flow_links *l, struct map *in, uint64_t key, uint64_t segment,
			uint32_t at)
{
	uint64_t before;

	if (map_get(in, key, &before) &&
	    ((before & KNOWN_TWICE) ||
	     !map_get(&l->given, given_key(before >> OFFSET_BITS, l->segments[segment].spot),
		      NULL))) {
		l->segments[(before & ~KNOWN_TWICE) >> OFFSET_BITS].copied = true;
		l->segments[segment].copied = true;
		segment |= KNOWN_TWICE >> OFFSET_BITS;
	}
	links_failed(l, map_set(in, key, segment << OFFSET_BITS | at));
}

static void links_block_known(struct flow_links *l, uint64_t key, uint64_t segment, uint32_t at)
{
	if (!l->marks)
		l->marks = calloc(1 << (MARK_BITS - 6), sizeof(*l->marks));
	if (!l->marks) {
		links_failed(l, -ENOMEM);
		return;
	}
	l->marks[mark_word(key)] |= mark_bit(key);
	links_known(l, &l->blocks, key, segment, at);
}

int flow_links_in(struct flow_links *l, int64_t process_id, uint32_t spot, int64_t pos,
		  uint32_t node, const uint8_t *bytes, size_t size, const uint64_t *hash)
{
	struct flow_segment s = {.size = (uint32_t)MIN(size, (size_t)SEGMENT_MAX),
				 .node = node,
				 .spot = spot,
				 .before = FLOW_NONE,
				 .behind = FLOW_NONE,
				 .pos = pos};
	uint64_t at = l->segment_count;

	if (bytes && l->payload + s.size <= FLOW_PAYLOAD_MAX) {
		s.bytes = malloc(s.size + 1u);
		if (!s.bytes)
			return -ENOMEM;
		memcpy(s.bytes, bytes, s.size);
		l->payload += s.size;
	} else if (bytes || l->segment_count >= 4u << 20) {
		l->left_out++;
		return 0;
	}
	segment_add(l, process_id, &s);
	if (hash && !bytes && l->r >= 0)
		links_known(l, &l->calls, links_key(process_id, *hash + size), at, 0);
	for (uint32_t i = 0; s.bytes && i + BLOCK <= s.size && l->r >= 0; i += GRID) {
		if (!is_dull(s.bytes + i))
			links_block_known(l, links_key(process_id, block_hash(s.bytes + i)), at, i);
	}
	return l->r;
}

/* ---- output ---- */

/* A position in the bytes that entered. */
struct spot {
	uint32_t segment, at;
};

static bool spot_step(const struct flow_links *l, struct spot *s)
{
	if (++s->at < l->segments[s->segment].size)
		return true;
	if (l->segments[s->segment].behind == FLOW_NONE)
		return false;
	s->segment = l->segments[s->segment].behind;
	s->at = 0;
	return l->segments[s->segment].bytes != NULL;
}

static bool spot_back(const struct flow_links *l, struct spot *s)
{
	if (s->at) {
		s->at--;
		return true;
	}
	if (l->segments[s->segment].before == FLOW_NONE)
		return false;
	s->segment = l->segments[s->segment].before;
	s->at = l->segments[s->segment].size - 1;
	return l->segments[s->segment].bytes != NULL;
}

static uint8_t spot_byte(const struct flow_links *l, const struct spot *s)
{
	return l->segments[s->segment].bytes[s->at];
}

static int64_t spot_pos(const struct flow_links *l, const struct spot *s)
{
	return l->segments[s->segment].pos + s->at;
}

/* The output, and the position of the search in it. */
struct links_out {
	struct flow_links *l;
	int64_t process_id, pos;
	uint32_t spot, node;
	const uint8_t *bytes;
	size_t size, done; /* done: end of the part already matched */
};

/*
 * True if the equal bytes next to a difference show that both sides belong together: enough of them differ from the
 * byte before. Zeros and other long repetitions are next to everything.
 */
static bool links_belong(const struct links_out *o, struct spot in, size_t from, size_t to)
{
	struct spot at = in;
	size_t i = from, unlike = 0;
	bool more = true;

	while (i && from - i < BESIDE && spot_back(o->l, &at)) {
		i--;
		unlike += spot_byte(o->l, &at) == o->bytes[i] && o->bytes[i] != o->bytes[i + 1];
	}
	for (i = from; i < to && more; i++)
		more = spot_step(o->l, &in);
	for (i = to; more && i < o->size && i - to < BESIDE; i++) {
		unlike +=
			spot_byte(o->l, &in) == o->bytes[i] && i && o->bytes[i] != o->bytes[i - 1];
		more = spot_step(o->l, &in);
	}
	return unlike >= UNLIKE_LEAST;
}

/*
 * True if the output from `from` on is what entered `shift` bytes further on; `back`: the output that many bytes further on is what
 * entered here.
 */
static bool links_shifted(const struct links_out *o, struct spot in, size_t from, size_t to,
			  size_t shift, bool back)
{
	size_t at = from + (back ? shift : 0);

	for (size_t i = 0; i < shift && !back; i++) {
		if (!spot_step(o->l, &in))
			return false;
	}
	for (size_t n = to - from - shift; n; n--, at++) {
		if (spot_byte(o->l, &in) != o->bytes[at] || (n > 1 && !spot_step(o->l, &in)))
			return false;
	}
	return true;
}

/*
 * True if the difference consists of bytes that entered next to where they left, and of a few others: the header of a block
 * is in another place among the same data. git does so with what is pushed: it writes each object to a file of its own, in
 * which the blocks of deflate begin elsewhere.
 */
static bool links_reframed(const struct links_out *o, struct spot in, size_t from, size_t to)
{
	/* a difference at an edge begins with the call */
	for (; from < to && spot_byte(o->l, &in) == o->bytes[from]; from++) {
		if (!spot_step(o->l, &in))
			return false;
	}
	for (size_t k = 1; k <= HEADER_MAX && from + k + SHIFTED_LEAST <= to; k++) {
		if (links_shifted(o, in, from, to, k, false) ||
		    links_shifted(o, in, from, to, k, true))
			return true;
	}
	return false;
}

static struct flow_link links_make(const struct links_out *o, const struct spot *in, size_t from,
				   size_t to)
{
	const struct flow_segment *s = &o->l->segments[in->segment];

	return (struct flow_link){.in = s->node,
				  .out = o->node,
				  .in_spot = s->spot,
				  .out_spot = o->spot,
				  .in_pos = spot_pos(o->l, in),
				  .out_pos = o->pos + (int64_t)from,
				  .bytes = (int64_t)(to - from),
				  .process_id = o->process_id,
				  .segment = in->segment};
}

static void links_difference(const struct links_out *o, const struct spot *in, size_t from,
			     size_t to, bool edge)
{
	struct flow_links *l = o->l;
	struct flow_link d = links_make(o, in, from, to);

	if (l->difference_count >= FLOW_DIFFERENCES_MAX) {
		l->left_out++;
		return;
	}
	d.edge = edge;
	d.weak = !links_belong(o, *in, from, to) || links_reframed(o, *in, from, to);
	links_failed(l, array_add(l->differences, l->difference_count, l->difference_cap, d));
}

/* Finds where a block entered; *ret_twice: it also entered elsewhere. */
static bool block_find(const struct flow_links *l, int64_t process_id, const uint8_t *block,
		       uint64_t hash, struct spot *ret, bool *ret_twice)
{
	uint64_t key = links_key(process_id, hash), found;

	if (!l->marks || !(l->marks[mark_word(key)] & mark_bit(key)) ||
	    !map_get(&l->blocks, key, &found))
		return false;
	*ret_twice = found & KNOWN_TWICE;
	found &= ~KNOWN_TWICE;
	*ret = (struct spot){(uint32_t)(found >> OFFSET_BITS), (uint32_t)found & (SEGMENT_MAX - 1)};
	return !memcmp(l->segments[ret->segment].bytes + ret->at, block, BLOCK);
}

/* Finds the block at `at` of the output among bytes that entered elsewhere than on the spot that it is sent to. */
static bool links_block(const struct links_out *o, size_t at, uint64_t hash, struct spot *ret,
			bool *ret_twice)
{
	return block_find(o->l, o->process_id, o->bytes + at, hash, ret, ret_twice) &&
	       o->l->segments[ret->segment].spot != o->spot;
}

/* The length of the difference that begins here; 0: no equal bytes follow it. */
static size_t links_resync(const struct links_out *o, struct spot in, size_t at)
{
	size_t from = at, equal = 0, unlike = 0;

	for (; at < o->size && at - from < RESYNC_MAX; at++) {
		bool same = spot_byte(o->l, &in) == o->bytes[at];

		equal = same ? equal + 1 : 0;
		unlike = same ? unlike + (at && o->bytes[at] != o->bytes[at - 1]) : 0;
		if (equal >= RESYNC && (unlike >= RESYNC_LEAST || at + 1 == o->size))
			return at + 1 - equal - from;
		if (!spot_step(o->l, &in))
			break;
	}
	return 0;
}

/* True if bytes [from, to) of the output are those of another position, where the block of `i` is. */
static bool links_explains(const struct links_out *o, struct spot in, size_t i, size_t from,
			   size_t to)
{
	if (i >= from && i + BLOCK <= to)
		return true; /* at least some of them */
	for (; i > from; i--) {
		if (!spot_back(o->l, &in))
			return false;
	}
	for (; i < to; i++) {
		if (i >= from && spot_byte(o->l, &in) != o->bytes[i])
			return false;
		if (!spot_step(o->l, &in))
			return i + 1 == to;
	}
	return true;
}

/*
 * True if bytes [from, to) of the output, which differ from what entered at `in`, entered at another position. The
 * output was then assembled from several sources, or `in` is a copy of the true source that is not quite equal. Bytes
 * with more occurrences than are stored are assumed to explain the difference.
 */
static bool links_elsewhere(const struct links_out *o, struct spot in, size_t from, size_t to)
{
	size_t i = from > AROUND ? from - AROUND : 0, end = MIN(to + AROUND, o->size);
	uint64_t top = hash_top(), hash = end - i >= BLOCK ? block_hash(o->bytes + i) : 0;
	int64_t pos = spot_pos(o->l, &in) - (int64_t)from;
	struct spot other;
	bool twice;

	for (; i + BLOCK <= end; i++) {
		if (!is_dull(o->bytes + i) && links_block(o, i, hash, &other, &twice)) {
			bool same = o->l->segments[other.segment].spot ==
					    o->l->segments[in.segment].spot &&
				    spot_pos(o->l, &other) == pos + (int64_t)i;

			if (twice || (!same && links_explains(o, other, i, from, to)))
				return true;
		}
		if (i + BLOCK < end)
			hash = hash_roll(hash, top, o->bytes + i);
	}
	return false;
}

/* Extends a match forwards, across differences. Returns the end of the equal bytes. */
static size_t links_onwards(const struct links_out *o, struct spot in, size_t at)
{
	size_t end = at;
	bool more = true;

	while (more && at < o->size) {
		if (spot_byte(o->l, &in) == o->bytes[at]) {
			end = ++at;
			more = spot_step(o->l, &in);
			continue;
		}
		size_t len = links_resync(o, in, at);

		if (links_elsewhere(o, in, at, MIN(at + (len ? len : RESYNC_MAX), o->size)))
			break;
		if (!len) {
			links_difference(o, &in, at, o->size, true);
			break;
		}
		links_difference(o, &in, at, at + len, false);
		for (size_t i = 0; i < len; i++)
			more = spot_step(o->l, &in);
		at += len;
	}
	return end;
}

/* Extends a match backwards over equal bytes, down to the previous match. */
static size_t links_back(const struct links_out *o, struct spot *in, size_t at)
{
	struct spot s = *in;

	while (at > o->done && spot_back(o->l, &s) && spot_byte(o->l, &s) == o->bytes[at - 1]) {
		*in = s;
		at--;
	}
	return at;
}

/* Notes that the file has bytes of these segments. */
static void links_give(struct links_out *o, const struct spot *in, size_t bytes)
{
	const struct flow_segment *all = o->l->segments;
	size_t have = all[in->segment].size - in->at;

	for (uint32_t i = in->segment;; have += all[i].size) {
		links_failed(o->l, map_set(&o->l->given, given_key(i, o->spot), 1));
		i = all[i].behind;
		if (have >= bytes || i == FLOW_NONE)
			return;
	}
}

static void links_add(struct links_out *o, const struct spot *in, size_t from, size_t to)
{
	struct flow_links *l = o->l;

	if (l->link_count >= FLOW_LINKS_MAX) {
		l->left_out++;
		return;
	}
	if (o->spot & FLOW_SPOT_FILE)
		links_give(o, in, to - from);
	links_failed(l,
		     array_add(l->links, l->link_count, l->link_cap, links_make(o, in, from, to)));
}

/*
 * The output before the first match, as far as it goes at the same distance. It differs up to the match, except for
 * equal bytes at its start that were too short or badly aligned to be found separately.
 */
static void links_before(struct links_out *o, struct spot in, size_t from)
{
	struct spot start, differs;
	size_t i = from, equal = 0;

	while (i && spot_back(o->l, &in))
		i--;
	if (i || links_elsewhere(o, in, 0, from))
		return;
	start = differs = in;
	while (equal < from && spot_byte(o->l, &differs) == o->bytes[equal] &&
	       spot_step(o->l, &differs))
		equal++;
	if (equal < RESYNC) {
		links_difference(o, &start, 0, from, true);
		return;
	}
	links_add(o, &start, 0, equal);
	links_difference(o, &differs, equal, from, false);
}

/* Records all equal bytes around a block found. */
static void links_found(struct links_out *o, struct spot in, size_t at)
{
	struct spot first = in;
	size_t from = links_back(o, &first, at), end = links_onwards(o, in, at);

	if (from && !o->done)
		links_before(o, first, from);
	links_add(o, &first, from, end);
	o->done = end;
}

static void links_scan(struct links_out *o)
{
	uint64_t top = hash_top(), hash = 0;
	struct spot in;
	bool twice, anew = true;

	for (size_t i = 0; i + BLOCK <= o->size && o->l->r >= 0;) {
		hash = anew ? block_hash(o->bytes + i) : hash_roll(hash, top, o->bytes + i - 1);
		anew = links_block(o, i, hash, &in, &twice);
		if (anew)
			links_found(o, in, i);
		i = anew ? o->done : i + 1;
	}
}

bool flow_links_copied(const struct flow_links *l, int64_t process_id, uint32_t segment,
		       uint32_t from, uint32_t to)
{
	const uint8_t *bytes = l->segments[segment].bytes;
	uint64_t top = hash_top(), hash = 0;
	uint32_t found = 0;
	struct spot other;
	bool twice;

	for (uint32_t i = from; i + BLOCK <= to; i++) {
		hash = i == from ? block_hash(bytes + i) : hash_roll(hash, top, bytes + i - 1);
		if (block_find(l, process_id, bytes + i, hash, &other, &twice))
			found += twice || other.segment != segment || other.at != i;
	}
	return found > (to - from) / GRID / 2;
}

int flow_links_out(struct flow_links *l, int64_t process_id, uint32_t spot, int64_t pos,
		   uint32_t node, const uint8_t *bytes, size_t size, const uint64_t *hash)
{
	struct links_out o = {.l = l,
			      .process_id = process_id,
			      .pos = pos,
			      .spot = spot,
			      .node = node,
			      .bytes = bytes,
			      .size = size};
	uint64_t at;

	if (bytes) {
		links_scan(&o);
		return l->r;
	}
	if (!hash || size < FLOW_LINK_LEAST ||
	    !map_get(&l->calls, links_key(process_id, *hash + size), &at))
		return 0;
	at &= ~KNOWN_TWICE;
	if (l->segments[at >> OFFSET_BITS].spot != spot)
		links_add(&o, &(struct spot){(uint32_t)(at >> OFFSET_BITS), 0}, 0, size);
	return l->r;
}
