/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.h: the trace file's records on disk (docs/FORMAT.md). Little-endian; inside store/ only.
 *
 *   file   = file header, blocks
 *   block  = block header, entries, extras, payload
 *   entry  = one section of the payload: a column, a null map, or a blob
 */
#pragma once

#include <string.h>

#include "base/util.h"
#include "base/varint.h"

#define STORE_VERSION  1
#define STORE_MAGIC    "WEIRTRC\n"
#define STORE_MARK_LEN 16

/*
 * Limits: a writer observes them and a reader rejects anything beyond, so that no length from a file is trusted
 * further.
 */
#define STORE_ROWS_MAX	   65536u
#define STORE_HEADER_MAX   (1u << 20) /* block header with its entries and extras */
#define STORE_PAYLOAD_MAX  (1u << 28)
#define STORE_BLOB_MAX	   (1u << 25) /* bytes of a byte column or blob, unpacked */
#define STORE_BLOB_CUT	   (1u << 22) /* the writer ends a block at this many bytes in byte columns */
#define STORE_ENTRIES_MAX  192u	      /* 64 columns, a null map each, and spare ones */
#define STORE_TRACES_MAX   4096u
#define STORE_LONG_CALL_NS 100000000ll
#define STORE_DICT_MAX	   256u
#define STORE_INDEX_EVERY  256u
#define STORE_SET_MAX	   16384u /* ids in a set; a block with more ids has no set */

struct file_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t header_len;	      /* the first block begins here */
	uint8_t mark[STORE_MARK_LEN]; /* random */
	int64_t created;	      /* ns since the epoch */
	uint64_t recording; /* random, the same in all its files; 0: it is this file alone */
	uint64_t part;	    /* number of the file in its recording: 0, 1, 2, ... */
	uint64_t checksum;  /* xxh3 of the preceding bytes */
};
static_assert(sizeof(struct file_header) == 64, "as documented");

static_assert(STORE_ENTRIES_MAX < UINT8_MAX, "entries are numbered in a byte");
static_assert(STORE_BLOB_CUT <= STORE_BLOB_MAX && STORE_BLOB_MAX <= STORE_PAYLOAD_MAX,
	      "what fits a block fits its payload");

enum block_kind {
	BLOCK_META = 1,	 /* names of tables, columns and vocabularies; begins a segment */
	BLOCK_ROWS = 2,	 /* rows of a table */
	BLOCK_INDEX = 3, /* headers of the blocks since the last index */
	BLOCK_END = 4,	 /* the file was closed in order */
	/* 5 was the rows of a user's own table, up to weir 0.1 */
	BLOCK_DIGEST = 6, /* rows of summary: the sum of several blocks' summaries */
	BLOCK_MADE =
		7, /* begins a generation of a table made after recording: its name and origin */
	BLOCK_MADE_ROWS = 8, /* rows of that table */
};

/* Blocks that leave a closed file closed: those appended to it, and their index. */
static inline bool block_is_appended(uint8_t kind)
{
	return kind == BLOCK_INDEX || kind == BLOCK_MADE || kind == BLOCK_MADE_ROWS;
}

/* Blocks of the recording itself, from which tables are made. */
static inline bool block_is_recorded(uint8_t kind)
{
	return kind == BLOCK_META || kind == BLOCK_ROWS || kind == BLOCK_DIGEST;
}

#define BLOCK_LONG_CALLS   1u /* block_header.flags: calls over 100 ms only */
#define BLOCK_ENDED	   8u /* of op: no call was unfinished */
#define BLOCK_MADE_LAST	   2u /* ends a generation, which is valid from here on */
#define BLOCK_MADE_PARTIAL 4u /* with BLOCK_MADE_LAST: it covers only a part of the trace */

struct block_header {
	uint8_t mark[STORE_MARK_LEN]; /* the file's */
	uint64_t seq;		      /* 0, 1, 2, ... in the file */
	uint32_t header_len;	      /* bytes of this, entries and extras; a multiple of 8 */
	uint32_t payload_len;
	uint32_t rows;
	uint8_t kind;  /* enum block_kind */
	uint8_t table; /* BLOCK_ROWS, BLOCK_DIGEST: code of the table */
	uint8_t flags;
	uint8_t reserved;
	uint16_t entries;
	uint16_t extras;
	uint32_t reserved2;
	uint64_t last_index; /* offset of the last index block before this one; 0: none */
	uint64_t checksum;   /* of the whole header; see block_checksum() */
};
static_assert(sizeof(struct block_header) == 64, "as documented");

enum entry_kind {
	ENTRY_COLUMN = 1,
	ENTRY_NULLS = 2,
	ENTRY_BLOB = 3,
};

struct block_entry {
	uint8_t kind;	   /* enum entry_kind */
	uint8_t column;	   /* its number in the table */
	uint8_t transform; /* enum transform */
	uint8_t ref[2];	   /* columns that the transform reads; 0xff: none */
	uint8_t null_map;  /* 1 + number of the entry with the null map; 0: no row is null */
	uint8_t reserved[2];
	uint32_t nulls;	   /* rows that are null */
	uint32_t offset;   /* of the section in the payload */
	uint32_t len;	   /* of the section */
	uint32_t raw_len;  /* blob, null map: bytes unpacked */
	int64_t min, max;  /* of the values that are not null; byte columns: 1, 0 */
	uint64_t checksum; /* xxh3 of the section */
};
static_assert(sizeof(struct block_entry) == 48, "as documented");

enum extra_kind {
	EXTRA_ID_SET = 1, /* of a column: sorted ids, as varint distances from the id before */
	EXTRA_RANGE = 2,  /* two int64: first start, last end */
	EXTRA_EVENTS =
		3, /* per CPU: numbers given to events, and how many events arrived (block_events.h) */
	EXTRA_UNTIL =
		4, /* int64: every call that ended before it is in the file, or counted as lost */
	EXTRA_DIGEST = 5, /* varints: the part of a digest, and the blocks that it sums */
};

/* Followed by `len` bytes, padded to 8. */
struct block_extra {
	uint8_t kind;
	uint8_t column;
	uint16_t reserved;
	uint32_t len;
};
static_assert(sizeof(struct block_extra) == 8, "as documented");

/* How values are transformed before they are stored as a stream of integers; r is the stored residual. */
enum transform {
	TRANSFORM_NONE = 0,
	TRANSFORM_DELTA = 1,   /* r = v - v of the row before */
	TRANSFORM_SAME = 2,    /* r = v - a                           ref 0: a */
	TRANSFORM_NEGATED = 3, /* r = v + a                          ref 0: a */
	TRANSFORM_LAST = 4,    /* r = v - last v of the same key      ref 0: key */
	TRANSFORM_NEXT = 5,    /* r = v - last (v + a) of the key     ref 0: key, 1: a */
	TRANSFORM_END = 6,     /* r = (v + a) - (v + a) of the row before   ref 0: a */
	TRANSFORM_SWITCH =
		7, /* r = v - (a or last v, whichever was right for the key's last row)  ref 0: key, 1: a */
	TRANSFORM_COUNT,
};

/* Streams of integers (ints.c). */
enum ints_codec {
	INTS_CONST = 0,	 /* one value */
	INTS_PLANES = 1, /* least value, then byte planes of the distances from it */
	INTS_DICT = 2,	 /* up to 256 distinct values, then a byte per row that selects one */
};

/* A run of bytes (blob.c), also a plane of a stream. */
enum blob_mode {
	BLOB_RAW = 0,
	BLOB_FILL = 1, /* one byte, repeated */
	BLOB_ZSTD = 2,
};

enum bytes_mode {
	BYTES_PLAIN = 0, /* lengths, bytes */
	BYTES_DICT = 1,	 /* the same for the distinct strings, then their numbers */
};

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are used as they lie");

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Sums and differences wrap around, as a file may contain any 64 bits. */
static inline int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrap_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}
