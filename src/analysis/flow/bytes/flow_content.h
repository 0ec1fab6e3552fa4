/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_content.h: the content of the bytes that calls moved. Rows of table chunk precede their call, and are collected
 * by thread until it follows.
 *   flow_pieces.c   the hash of each 4-KiB piece of a file, or of one end of a stream, summed over its parts
 *   flow_links.c    with recorded payload: which bytes that a process wrote or sent are bytes that it had received or read,
 *                   and where they differ
 * Equal content is evidence, not proof, that bytes have a common origin.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "schema/vocab.h"

#define FLOW_POS_MAX	 (INT64_MAX / 8) /* positions beyond this are invalid */
#define FLOW_PIECES_MAX	 (3u << 20)	 /* 240 MiB */
#define FLOW_PAYLOAD_MAX (192u << 20)

/* A row of chunk. */
struct flow_chunk {
	int64_t file_id, pos, call_pos, size;
	int64_t peer_id; /* of a message of several: its address; -1: unknown */
	uint64_t hash;
	uint8_t form, way;
	int8_t outcome; /* -1: given by another row */
	bool has_hash, contested;
	uint8_t head_len, tail_len, head[8], tail[8];
	size_t content; /* offset in the bytes of the rows */
};

/* Rows of a call that has not been read yet. */
struct flow_chunks {
	struct flow_chunk *rows;
	size_t count, cap;
	struct buf bytes;
	int64_t start;
};

struct flow_content_sums {
	uint64_t bytes, by_outcome[OUTCOME_COUNT];
	bool payload; /* some bytes themselves were recorded */
};

/* ---- pieces ---- */

/* A word split between calls: its known bytes. */
struct flow_cut {
	uint16_t word;
	uint8_t have, bytes[8];
};

/* 4 KiB of a file, or of one end of a stream. */
struct flow_piece {
	uint64_t sum;
	uint32_t node;	    /* the call that moved its last part */
	uint16_t covered;   /* number of bytes */
	uint16_t low, high; /* range that contains them */
	bool doubtful;	    /* partially overwritten, contested, or not read completely */
	uint8_t cut_count;
	struct flow_cut cuts[3];
	uint8_t *payload; /* NULL: not stored */
};

struct flow_pieces {
	struct flow_piece *all;
	size_t count, cap;
	uint32_t *free; /* indexes of dropped pieces */
	size_t free_count, free_cap;
	uint64_t payload; /* bytes stored */
	uint64_t left_out;
};

/* Adds a part of a file or stream, at position `pos`, to the map of its pieces. 0 or -ENOMEM. */
int flow_pieces_add(struct flow_pieces *p, struct map *of, const struct flow_chunk *c, int64_t pos,
		    uint32_t node) _must_check_;
/* Adds bytes to those stored of a file's pieces. 0 or -ENOMEM. */
int flow_pieces_payload(struct flow_pieces *p, struct map *of, const uint8_t *bytes, int64_t size,
			int64_t pos) _must_check_;
static inline struct flow_piece *flow_piece_at(const struct flow_pieces *p, const struct map *of,
					       uint64_t index)
{
	uint64_t at;

	return map_get(of, index, &at) ? &p->all[at] : NULL;
}
/* True if two pieces are equal, as far as they are covered. */
bool flow_pieces_same(const struct flow_piece *a, const struct flow_piece *b);
/* Removes everything beyond `size`. */
void flow_pieces_cut(struct flow_pieces *p, struct map *of, int64_t size);
void flow_pieces_free(struct flow_pieces *p);
/* Frees the piece for reuse. */
void flow_pieces_drop(struct flow_pieces *p, struct map *of, uint64_t index);

/* ---- links ---- */

#define FLOW_LINKS_MAX	     (1u << 20)
#define FLOW_DIFFERENCES_MAX (1u << 17)
#define FLOW_LINK_LEAST	     64 /* bytes; shorter matches occur in many places by chance */

/* Where bytes entered or left a process: a file (FLOW_SPOT_FILE set) or a channel. */
#define FLOW_SPOT_FILE (1u << 31)

/*
 * A range that left a process beside one that had entered it: a link, whose bytes are equal, or a difference, whose
 * bytes lie between equal ones.
 */
struct flow_link {
	/* calls: the first one that took some of the bytes in, and the one that sent them out */
	uint32_t in, out;
	uint32_t in_spot, out_spot;
	int64_t in_pos, out_pos, bytes;
	int64_t process_id;
	uint32_t segment; /* where it entered */
	/* of a difference: */
	bool edge; /* within the call, there are equal bytes on only one side of it */
	bool weak; /* the equal bytes next to it are weak evidence, such as zeros; or its own bytes were only moved a little */
};

/* Bytes that entered a process through one call. */
struct flow_segment {
	uint8_t *bytes;
	int64_t pos;
	uint32_t size, node, spot;
	uint32_t before, behind; /* contiguous segments of the same spot; FLOW_NONE */
	bool copied;		 /* some of its bytes also entered elsewhere */
};

struct flow_links {
	struct flow_link *links;
	size_t link_count, link_cap;
	struct flow_link *differences;
	size_t difference_count, difference_cap;
	struct flow_segment *segments;
	size_t segment_count, segment_cap;
	struct map blocks; /* block of a process's bytes -> segment << 20 | offset */
	uint64_t *marks;   /* a bit for each of these blocks, which several may share */
	struct map calls;  /* hash of a complete call -> segment, which then has no bytes */
	struct map last;   /* spot and process -> segment */
	struct map given;  /* segments and the files to which some of their bytes went */
	uint64_t payload, left_out;
	int r; /* the first error */
};

/* Adds the bytes of a call that took them in, or only their hash if bytes are not stored (NULL). 0 or -ENOMEM. */
int flow_links_in(struct flow_links *l, int64_t process_id, uint32_t spot, int64_t pos,
		  uint32_t node, const uint8_t *bytes, size_t size,
		  const uint64_t *hash) _must_check_;
/* The same for a call that sends bytes out: finds their origin. */
int flow_links_out(struct flow_links *l, int64_t process_id, uint32_t spot, int64_t pos,
		   uint32_t node, const uint8_t *bytes, size_t size,
		   const uint64_t *hash) _must_check_;
/* True if most bytes of a segment's range also entered the process elsewhere, at any distance. */
bool flow_links_copied(const struct flow_links *l, int64_t process_id, uint32_t segment,
		       uint32_t from, uint32_t to);
/* Call when all calls have been added: frees what only flow_links_in() and flow_links_out() read. */
void flow_links_end(struct flow_links *l);
void flow_links_free(struct flow_links *l);
