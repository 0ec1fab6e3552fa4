/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * content.h: the bytes of a call, piece by piece: copied from the program's memory, hashed, sent.
 *
 * The state of a walk is kept in map memory: the verifier treats values read there as unknown, so that all steps of a
 * loop look the same to it. The hash is a separately verified function, with a constant number of words in each block.
 */
#pragma once

#include "bpf/lib/content/content_cache.h"
#include "bpf/lib/call/hold.h"
#include "bpf/lib/call/vector.h"
#include "schema/content_hash.h"
#include "schema/wire_content.h"

#define BLOCK_BYTES  64
#define BLOCK_WORDS  8
#define ROOM_CONTENT (sizeof(struct wire_content) + 8 * WIRE_CONTENT_PIECES)
#define ROOM_PAYLOAD (sizeof(struct wire_content) + CONTENT_PIECE)

/* Set before loading. */
const volatile struct wire_content_how content_how SEC(".rodata.content") = {};
const volatile __u64 content_keys[CONTENT_WORDS] SEC(".rodata.content") = {};

/* The bytes of a call being processed. */
struct content_room {
	__u32 busy;
	__u32 unread;	     /* a part of the piece could not be copied */
	__u64 user, left;    /* the rest of the current part of a vector */
	__u64 vector, parts; /* the parts after it */
	__u64 source[4];     /* initial values of the four above */
	__u64 cache; /* nonzero: pages of a file, and `user` is a position in it; 0: program memory */
	__u64 rest;	/* bytes of the call not copied yet */
	__u64 at;	/* offset of the piece in them */
	__u64 from, to; /* bounds of the call's bytes in the piece */
	__s64 pos;	/* of the call's first byte */
	__u64 total;	/* of the call */
	__u64 sent;	/* bytes whose outcome was sent in records */
	__u64 hash;
	__u32 skip, payload;  /* the piece is excluded; the bytes themselves are sent */
	__u32 counts, stream; /* only this walk counts the outcome of the bytes */
	__u32 saved, pad;     /* the vector is a copy of the program's */
	__s64 end;	      /* size of the file, if it is read and known; else 0 */
	__u64 sample;	      /* distinguishes pieces of one file or stream from another's */
	__u32 named, pad2;    /* length of the address that was sent last; 0: none */
	__u64 last[WIRE_ADDR_MAX / 8], name[WIRE_ADDR_MAX / 8]; /* that address, and the next */
	struct wire_content c;
	__u64 hashes[WIRE_CONTENT_PIECES];
	/* Twice the size: data is copied to an offset in the first half. */
	__u8 piece[2 * CONTENT_PIECE];
};

/* The loader sets the number: CONTENT_ROOMS per CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct content_room);
} content_rooms SEC(".maps");

static __always_inline struct content_room *content_room(void)
{
	__u32 base = bpf_get_smp_processor_id() * CONTENT_ROOMS;

	for (__u32 i = 0; i < CONTENT_ROOMS; i++) {
		__u32 at = base + i;
		struct content_room *m = bpf_map_lookup_elem(&content_rooms, &at);

		if (m && __sync_val_compare_and_swap(&m->busy, 0, 1) == 0)
			return m;
	}
	return NULL;
}

static __always_inline __u64 *piece_word(struct content_room *m, __u64 at)
{
	return (__u64 *)(m->piece + (at & (CONTENT_PIECE - 8)));
}

/*
 * Hashes the blocks within the bounds. These are read in each step: kept in registers, they make the verifier follow the
 * loop once for each block at which it may begin (276,000 steps for weir_content instead of 27,000).
 */
verified_alone int content_hash(struct content_room *m)
{
	const volatile __u64 *from, *to;
	__u64 sum = 0;

	if (!m)
		return 0;
	from = &m->from;
	to = &m->to;
	for (__u32 i = 0; i < CONTENT_PIECE / BLOCK_BYTES; i++) {
		const __u64 *words = (const __u64 *)(m->piece + i * BLOCK_BYTES);

		if ((i + 1) * BLOCK_BYTES <= *from)
			continue;
		if (i * BLOCK_BYTES >= *to)
			break;
#pragma unroll
		for (int w = 0; w < BLOCK_WORDS; w++)
			sum += content_mix(words[w] ^ content_keys[i * BLOCK_WORDS + w]);
	}
	m->hash = sum;
	return 0;
}

/* Zeroes words in the outermost blocks that are outside the call's bytes or split; saves the split ones. */
verified_alone int content_trim(struct content_room *m)
{
	__u64 from, to, head, tail;

	if (!m)
		return 0;
	from = m->from;
	to = m->to;
	head = from & ~(__u64)(BLOCK_BYTES - 1);
	tail = to & ~(__u64)(BLOCK_BYTES - 1);
	*(__u64 *)m->c.cut_head = 0;
	*(__u64 *)m->c.cut_tail = 0;
	m->c.head_len = from & 7 ? (8 - (from & 7) < to - from ? 8 - (from & 7) : to - from) : 0;
	if (m->c.head_len)
		*(__u64 *)m->c.cut_head = *piece_word(m, from) >> 8 * (from & 7);
	m->c.tail_len = (to & 7) && (to & ~7ull) >= from ? to & 7 : 0;
	if (m->c.tail_len)
		*(__u64 *)m->c.cut_tail = *piece_word(m, to) & ((1ull << 8 * (to & 7)) - 1);
	for (int w = 0; w < BLOCK_WORDS; w++) {
		if (head + 8 * w < from)
			*piece_word(m, head + 8 * w) = 0;
	}
	for (int w = 0; w < BLOCK_WORDS && tail < CONTENT_PIECE; w++) {
		if (tail + 8 * w + 8 > to)
			*piece_word(m, tail + 8 * w) = 0;
	}
	return 0;
}

/* Counts bytes whose record found no room: the call's row shows which. */
static __always_inline void content_lost(void)
{
	__sync_fetch_and_add(&shared.content_lost, 1);
}

/* Takes space in the ring except its last eighth, which is reserved for calls: content must not cause their loss. */
static __always_inline void *content_room_in_ring(struct ring_place *p, __u32 size, __u32 room,
						  __u32 *ret_seq)
{
	if (ring_fill(this_cpu()) + size > ring_bytes - ring_bytes / 8)
		return NULL;
	return ring_take(p, size, room, ret_seq);
}

/* Sends the pieces collected so far; `more`: another record continues with the same bytes. */
verified_alone int content_send(struct content_room *m, bool more)
{
	struct ring_place p;
	__u64 len;
	__u32 size;
	void *to;

	if (!m || !m->c.bytes)
		return 0;
	size = sizeof(m->c) + 8 * (m->c.pieces & 0x1ff);
	if (more)
		m->c.flags |= WIRE_CONTENT_MORE;
	else
		m->c.flags &= ~WIRE_CONTENT_MORE;
	to = content_room_in_ring(&p, size, ROOM_CONTENT, &m->c.head.seq);
	if (!to) {
		content_lost();
	} else {
		m->c.head.size = size;
		len = size;
		barrier_var(len); /* check and use must be adjacent for 6.1's verifier */
		if (len <= ROOM_CONTENT)
			bpf_probe_read_kernel(to, len, &m->c);
		ring_commit(&p);
		if (m->c.flags & WIRE_CONTENT_COUNTS)
			m->sent += m->c.bytes;
	}
	m->c.bytes = 0;
	m->c.pieces = 0;
	m->c.flags &= ~WIRE_CONTENT_JOINED;
	return 0;
}

/* Sends the content of the piece itself, up to the limit. */
verified_alone int content_send_payload(struct content_room *m)
{
	struct wire_content *r;
	struct ring_place p;
	__u64 len, padded;
	__u32 seq;

	if (!m)
		return 0;
	len = m->to - m->from;
	if (len > content_how.limit - m->at)
		len = content_how.limit - m->at;
	if (!len || len > CONTENT_PIECE)
		return 0;
	padded = sizeof(*r) + ((len + 7) & ~7ull);
	r = content_room_in_ring(&p, padded, ROOM_PAYLOAD, &seq);
	if (!r) {
		content_lost();
		return 0;
	}
	*r = m->c;
	r->head.size = padded;
	r->head.seq = seq;
	r->form = WIRE_CONTENT_PAYLOAD;
	r->flags &= ~(WIRE_CONTENT_COUNTS | WIRE_CONTENT_JOINED);
	r->pieces = 0;
	r->pos = m->pos == WIRE_NONE ? WIRE_NONE : m->pos + m->at;
	r->at = m->at;
	r->bytes = len;
	barrier_var(len);
	if (len <= CONTENT_PIECE)
		bpf_probe_read_kernel(r + 1, len, m->piece);
	ring_commit(&p);
	return 0;
}

/* Begins a record of pieces with the current one. */
static __always_inline void content_open(struct content_room *m, __u32 outcome)
{
	m->c.head_len = m->c.tail_len = 0;
	m->c.at = m->at;
	m->c.pos = m->pos == WIRE_NONE ? WIRE_NONE : m->pos + (__s64)m->at;
	m->c.outcome = outcome;
}

/* Whether sampling excludes the current piece: the same at both ends of a stream, and for every call. */
static __always_inline bool content_left_out(struct content_room *m)
{
	__u64 piece;

	if (content_how.parts <= 1)
		return false;
	/* without a position, the entire call or nothing */
	piece = m->pos == WIRE_NONE ? m->total : ((__u64)m->pos + m->at) / CONTENT_PIECE;
	return content_mix(piece * CONTENT_STEP + m->sample) & (content_how.parts - 1);
}

/* Hashes the available part of the piece. */
static __always_inline int content_hash_part(struct content_room *m)
{
	__u64 cut_head;
	__u8 head_len;

	if (m->to - m->from < CONTENT_PIECE) {
		head_len = m->c.head_len;
		cut_head = *(__u64 *)m->c.cut_head;
		content_trim(m);
		if (m->c.form == WIRE_CONTENT_BUFFER && m->c.tail_len)
			*piece_word(m, m->to) = *(__u64 *)m->c.cut_tail;
		if (m->c.pieces) { /* of the first piece */
			m->c.head_len = head_len;
			*(__u64 *)m->c.cut_head = cut_head;
		}
	}
	return content_hash(m);
}

/* The piece is complete, or the call's bytes are. */
verified_alone int content_piece(struct content_room *m)
{
	__u64 bytes, n;
	__u32 outcome;

	if (!m)
		return 0;
	bytes = m->to - m->from;
	outcome = m->skip     ? WIRE_CONTENT_DISCARDED
		  : m->unread ? WIRE_CONTENT_ABSENT
			      : WIRE_CONTENT_HANDLED;
	if (m->c.bytes && (m->c.outcome != outcome || m->c.pieces >= WIRE_CONTENT_PIECES))
		content_send(m, true);
	if (!m->c.bytes)
		content_open(m, outcome);
	if (outcome == WIRE_CONTENT_HANDLED) {
		if (m->payload && m->at < content_how.limit)
			content_send_payload(m);
		content_hash_part(m);
		n = m->c.pieces;
		m->hashes[n & (WIRE_CONTENT_PIECES - 1)] = m->hash;
		m->c.pieces = n + 1;
	}
	m->c.bytes += bytes;
	m->at += bytes;
	m->from = 0;
	m->to = 0;
	m->unread = 0;
	m->skip = 0;
	return 0;
}

/* Copies from the current position of the walk. Nonzero: unreadable. */
verified_alone int content_read(struct content_room *m, __u64 into, __u64 size)
{
	if (!m || into >= CONTENT_PIECE)
		return 1;
	if (m->cache)
		return cache_read(m->piece + into, size, m->cache, m->user);
	barrier_var(size); /* as in cache_read() */
	return size > CONTENT_PIECE ||
	       bpf_probe_read_user(m->piece + into, size, (void *)m->user) != 0;
}

/* Copies up to the end of the piece, the page, or the current part of a vector. 1: finished. */
static __always_inline int content_copy(struct content_room *m)
{
	__u64 len, to = m->to;

	if (!m->rest)
		return 1;
	if (!m->left) {
		struct iov e;

		if (!m->parts || (m->saved ? bpf_probe_read_kernel(&e, sizeof(e), (void *)m->vector)
					   : bpf_probe_read_user(&e, sizeof(e), (void *)m->vector)))
			return 1;
		m->vector += sizeof(e);
		m->parts--;
		m->user = e.base;
		m->left = e.len;
		return 0;
	}
	if (to == m->from)
		m->skip = content_left_out(m);
	len = CONTENT_PIECE - to;
	if (len > m->left)
		len = m->left;
	if (len > m->rest)
		len = m->rest;
	if (m->cache && len > PAGE_BYTES - m->user % PAGE_BYTES)
		len = PAGE_BYTES - m->user % PAGE_BYTES;
	if (!m->skip && content_read(m, to, len))
		m->unread = 1;
	m->user += len;
	m->left -= len;
	m->rest -= len;
	m->to = to + len;
	if (m->to >= CONTENT_PIECE || !m->rest)
		content_piece(m);
	return 0;
}

struct content_ctx {
	struct content_room *m;
};

static long content_step(__u32 i, struct content_ctx *ctx)
{
	/* when a request ends, the kernel may hold a lock */
	if (lossless && !(ctx->m->c.flags & WIRE_CONTENT_REQUEST))
		hold(bpf_ktime_get_ns());
	return content_copy(ctx->m);
}

/* Processes the bytes set up in the room. */
verified_alone int content_walk(struct content_room *m)
{
	struct content_ctx ctx = {.m = m};

	if (!m)
		return 0;
	if (!m->cache && m->left >= m->rest && m->to + m->rest <= CONTENT_PIECE)
		content_copy(m); /* one piece: the loop would cost more than the hash */
	else
		bpf_loop(2 * (__u32)(m->rest / CONTENT_PIECE + m->parts) + 4, content_step, &ctx,
			 0);
	if (m->to > m->from) /* the vector ended early */
		content_piece(m);
	content_send(m, false);
	return 0;
}
