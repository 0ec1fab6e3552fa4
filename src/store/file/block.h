/* SPDX-License-Identifier: Apache-2.0 */
/* block.h: a block in memory: encodes a batch, reads a header. Inside store/ only. */
#pragma once

#include "batch/batch.h"
#include "store/codec/codec.h"

/* ---- building ---- */

struct encoder;

int encoder_new(struct encoder **ret, bool compress) _must_check_;
void encoder_free(struct encoder *e);
DEFINE_CLEANUP(struct encoder *, encoder_free)

/* Contents of a header in addition to the rows. */
struct block_facts {
	struct bytes events; /* stored as is (block_events.h); empty: none */
	int64_t until;	     /* EXTRA_UNTIL; UNTIL_UNKNOWN: none */
	struct bytes digest; /* EXTRA_DIGEST, if the rows are part of a digest; else empty */
};
#define UNTIL_UNKNOWN INT64_MIN

/*
 * Makes a block of the rows; block_seal() sets mark, seq and last_index. Zeroes the batch's values under null bits.
 * The bytes belong to the encoder until its next use. 0, -ENOMEM, or -EMSGSIZE past a limit.
 */
int encode_rows(struct encoder *e, struct batch *b, uint8_t flags, const struct block_facts *facts,
		struct buf **ret) _must_check_;
/* Makes a block that holds one blob. */
int encode_blob(struct encoder *e, enum block_kind kind, uint8_t flags, struct bytes data,
		struct buf **ret) _must_check_;
/* Fills in the fields that place the block in its file, and the header's checksum. */
void block_seal(struct buf *block, const uint8_t mark[static STORE_MARK_LEN], uint64_t seq,
		uint64_t last_index);
uint64_t block_checksum(const uint8_t *header, size_t len);

/* ---- reading a header ---- */

/* A checked header: entries and extras lie within it, sections within the payload. */
struct block_view {
	const struct block_header *head;
	const struct block_entry *entries;
	const uint8_t *extras; /* the first one */
};

/*
 * Checks the header of `len` bytes (aligned to 8; as long as its header_len says). -EBADMSG, with the reason in
 * *ret_why, if anything in it is invalid.
 */
int block_view(const uint8_t *header, size_t len, struct block_view *ret,
	       const char **ret_why) _must_check_;
/* The next extra after `from` (NULL: the first), or NULL. */
const struct block_extra *block_extra(const struct block_view *v, const struct block_extra *from);
/* True if the sorted set holds the id. */
bool block_set_has(const struct block_extra *set, uint64_t id);
