/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_content.h: what the bytes were that calls moved. Rows of table chunk come before their call, and are gathered by
 * thread until it does.
 *
 *   flow_pieces.c   the hash of each 4-KiB piece of a file, or of one end of a stream, as its parts add up
 *   flow_links.c    of recorded payload: which bytes a process wrote or sent are bytes that it had received or read, and where
 *                   they differ in between
 *
 * Equal content is evidence, not proof, that bytes came from somewhere.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "schema/vocab.h"

#define FLOW_POS_MAX	 (INT64_MAX / 8) /* positions beyond are none that was recorded */
#define FLOW_PIECES_MAX	 (3u << 20)	 /* 240 MiB */
#define FLOW_PAYLOAD_MAX (192u << 20)

/* A row of chunk. */
struct flow_chunk {
	int64_t file_id, pos, call_pos, size;
	uint64_t hash;
	uint8_t form, way;
	int8_t outcome; /* -1: another row says it */
	bool has_hash, contested;
	uint8_t head_len, tail_len, head[8], tail[8];
	size_t content; /* in the bytes of the rows */
};

/* Rows of one call that has not come yet. */
struct flow_chunks {
	struct flow_chunk *rows;
	size_t count, cap;
	struct buf bytes;
	int64_t start;
};

struct flow_content_sums {
	uint64_t bytes, by_outcome[OUTCOME_COUNT];
};

/* ---- pieces ---- */

/* A word that calls cut: bytes that are known of it. */
struct flow_cut {
	uint16_t word;
	uint8_t have, bytes[8];
};

/* 4 KiB of a file, or of one end of a stream. */
struct flow_piece {
	uint64_t sum;
	uint32_t node;	    /* the call that moved its last part */
	uint16_t covered;   /* bytes */
	uint16_t low, high; /* they lie between */
	bool doubtful;	    /* written over in part, contested, or not all was read */
	uint8_t cut_count;
	struct flow_cut cuts[3];
	uint8_t *payload; /* NULL: not kept */
};

struct flow_pieces {
	struct flow_piece *all;
	size_t count, cap;
	uint32_t *free; /* places of pieces that were dropped */
	size_t free_count, free_cap;
	uint64_t payload; /* bytes kept */
	uint64_t left_out;
};

/* Adds a part of a file or stream to the map of its pieces. `base` is its position 0. 0 or -ENOMEM. */
int flow_pieces_add(struct flow_pieces *p, struct map *of, const struct flow_chunk *c,
		    const uint8_t *payload, int64_t pos, uint32_t node) _must_check_;
static inline struct flow_piece *flow_piece_at(const struct flow_pieces *p, const struct map *of,
					       uint64_t index)
{
	uint64_t at;

	return map_get(of, index, &at) ? &p->all[at] : NULL;
}
/* Whether two pieces are alike, as far as they are covered. */
bool flow_pieces_same(const struct flow_piece *a, const struct flow_piece *b);
/* What lies behind `size` is gone. */
void flow_pieces_cut(struct flow_pieces *p, struct map *of, int64_t size);
void flow_pieces_free(struct flow_pieces *p);
/* Gives the piece's place to another. */
void flow_pieces_drop(struct flow_pieces *p, struct map *of, uint64_t index);

/* ---- links ---- */

#define FLOW_LINKS_MAX	     (1u << 20)
#define FLOW_DIFFERENCES_MAX (1u << 17)
#define FLOW_LINK_LEAST	     64 /* bytes: what is shorter is in many places by chance */

/* Where bytes came into a process, or left it: a file (FLOW_SPOT_FILE set) or a channel. */
#define FLOW_SPOT_FILE (1u << 31)

/* Bytes that left a process are bytes that had come into it. */
struct flow_link {
	uint32_t in, out; /* calls: the first that took some of them, the one that gave them away */
	uint32_t in_spot, out_spot;
	int64_t in_pos, out_pos, bytes;
	int64_t process_id;
	uint32_t segment;
};

/* Where they differ. */
struct flow_difference {
	uint32_t in, out;
	uint32_t in_spot, out_spot;
	int64_t in_pos, out_pos, bytes;
	int64_t process_id;
	bool edge; /* nothing equal lies on one side of it within the call */
	bool weak; /* what is equal beside it does not say much, as zeros do not */
};

/* What came into a process: bytes of one call. */
struct flow_segment {
	uint8_t *bytes;
	uint32_t size, node, spot;
	uint32_t before, behind; /* of the same spot, without a gap; FLOW_NONE */
	int64_t pos;
	bool copied; /* bytes of it came in elsewhere too */
};

struct flow_links {
	struct flow_link *links;
	size_t link_count, link_cap;
	struct flow_difference *differences;
	size_t difference_count, difference_cap;
	struct flow_segment *segments;
	size_t segment_count, segment_cap;
	struct map blocks; /* of a process's bytes -> segment << 20 | offset */
	struct map calls;  /* of hashes of whole calls -> segment, which then has no bytes */
	struct map last;   /* spot and process -> segment */
	struct map given;  /* segment and file to which bytes of it went */
	uint64_t payload, left_out;
};

/* Bytes, or where they are not kept (NULL) the hash, of a call that took them in. 0 or -ENOMEM. */
int flow_links_in(struct flow_links *l, int64_t process_id, uint32_t spot, int64_t pos,
		  uint32_t node, const uint8_t *bytes, size_t size,
		  const uint64_t *hash) _must_check_;
/* The same of one that gives them away: finds where they came from. */
int flow_links_out(struct flow_links *l, int64_t process_id, uint32_t spot, int64_t pos,
		   uint32_t node, const uint8_t *bytes, size_t size,
		   const uint64_t *hash) _must_check_;
/* Whether bytes of a segment came into the process elsewhere too, for the most part, at whatever distance. */
bool flow_links_copied(const struct flow_links *l, int64_t process_id, uint32_t segment,
		       uint32_t from, uint32_t to);
void flow_links_free(struct flow_links *l);
