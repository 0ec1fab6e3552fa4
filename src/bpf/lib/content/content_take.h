/* SPDX-License-Identifier: GPL-2.0-only */
/* content_take.h: processes all bytes of a call or request, wherever they are. */
#pragma once

#include "bpf/lib/content/content.h"
#include "bpf/lib/content/content_begin.h"

#define BUFFER_MOST \
	65536 /* limit for files: longer ones are identified by their pieces, and not hashed twice */

/* Sets where the bytes begin; a walk then processes `total` of them. */
static __always_inline void content_source(struct content_room *m, __u64 user, __u64 left,
					   __u64 vector, __u64 parts)
{
	m->source[0] = user;
	m->source[1] = left;
	m->source[2] = vector;
	m->source[3] = parts < IOV_MAX ? parts : IOV_MAX;
}

/* Prepares the room for a walk over the call's bytes, the first of which is at `align` in its piece. */
static __always_inline void content_rewind(struct content_room *m, __u32 form, __u64 align,
					   __u64 at)
{
	m->user = m->source[0];
	m->left = m->source[1];
	m->vector = m->source[2];
	m->parts = m->source[3];
	m->rest = m->total;
	m->from = align;
	m->to = align;
	m->at = at;
	m->unread = 0;
	m->skip = 0;
	m->payload = !align && m->counts && content_how.mode >= WIRE_CONTENT_BYTES;
	m->c.form = form;
	m->c.bytes = 0;
	m->c.pieces = 0;
}

/*
 * The position of a call's bytes in its TCP stream, which was at `began` before: certain if that is known and no other
 * bytes moved since.
 */
static __always_inline void content_pos_tcp(struct content_room *m, __u64 file, bool known,
					    __u32 began, bool out, __s64 ret)
{
	struct thread_content after;
	__u32 ended, moved;

	if (!content_sequences(file, &after))
		return;
	ended = out ? after.out : after.in;
	moved = ended - began;
	m->pos = began;
	m->stream = 1;
	/* reading the end of the stream advances it by one more */
	if (known && (moved == ret || (!out && moved == ret + 1)))
		return;
	m->pos = (__u32)(ended - (__u32)ret);
	m->c.flags |= WIRE_CONTENT_CONTESTED;
}

/* The hash from the call's beginning, if its bytes are a single part and a single piece. */
verified_alone int content_join(struct content_room *m)
{
	__u64 size;

	if (!m)
		return 0;
	size = m->total;
	barrier_var(size);
	if (!size || size > CONTENT_PIECE ||
	    bpf_probe_read_user(m->piece, size, (void *)m->source[0]))
		return 0;
	content_rewind(m, WIRE_CONTENT_BUFFER, 0, 0);
	m->to = m->total;
	if (m->payload && content_how.limit)
		content_send_payload(m);
	content_hash_part(m);
	m->c.joined = m->hash;
	m->c.flags |= WIRE_CONTENT_JOINED;
	return 0;
}

/*
 * A read of a file from within a piece. Whole pieces are hashed in addition to the buffer, and the last one if the file
 * ends there, as they are compared with what was written. Other parts are in no hash but the buffer's: only parts that
 * are written add up to a piece.
 */
static __always_inline int content_inner(struct content_room *m)
{
	__u64 skip;
	__s64 end;

	if (!m)
		return 0;
	m->c.flags |= WIRE_CONTENT_COUNTS;
	content_rewind(m, WIRE_CONTENT_BUFFER, 0, 0);
	content_walk(m);
	m->c.flags &= ~WIRE_CONTENT_COUNTS;
	m->counts = 0;
	skip = CONTENT_PIECE - (m->pos & (CONTENT_PIECE - 1));
	end = m->pos + (__s64)m->total;
	if (end < m->end)
		end &= ~(__s64)(CONTENT_PIECE - 1);
	if (end <= m->pos + (__s64)skip)
		return 0;
	m->source[0] += skip;
	m->source[1] -= skip;
	m->total = end - m->pos - skip;
	content_rewind(m, WIRE_CONTENT_PIECE, 0, skip);
	return content_walk(m);
}

/* Hashes a call's bytes by their position and, if that is different, from the call's beginning. */
verified_alone int content_bytes(struct content_room *m)
{
	__u64 align;

	if (!m || !m->total)
		return 0;
	if (m->pos == WIRE_NONE) {
		if (m->counts)
			m->c.flags |= WIRE_CONTENT_COUNTS;
		content_rewind(m, WIRE_CONTENT_BUFFER, 0, m->at);
		return content_walk(m);
	}
	align = m->pos & (CONTENT_PIECE - 1);
	if (align && content_how.parts <= 1 && (m->stream || m->total <= BUFFER_MOST)) {
		if (m->end && m->source[1] >= m->total)
			return content_inner(m);
		if (!m->cache && m->total <= CONTENT_PIECE && m->source[1] >= m->total) {
			content_join(m);
		} else {
			content_rewind(m, WIRE_CONTENT_BUFFER, 0, 0);
			content_walk(m);
		}
	}
	if (m->counts)
		m->c.flags |= WIRE_CONTENT_COUNTS;
	content_rewind(m, WIRE_CONTENT_PIECE, align, 0);
	return content_walk(m);
}
