/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content_hash.h: the hash of content (record --content), shared by kernel programs and user space.
 *
 * A file or stream is divided into pieces of 4 KiB by position. The hash of a piece is a sum, modulo 2^64, over its 512
 * aligned little-endian words: of mix(word ^ key[i]) - mix(key[i]), i being the word's index in the piece. So parts of
 * a piece that were moved by different calls add up to the hash of the whole, in any order, and the hash of zeros is 0.
 * A word that is split between two calls belongs to neither part: its bytes are stored unhashed (columns head and tail
 * of table chunk), and content_hash_word() adds it once both are known.
 *
 * mix() is the finaliser of SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014;
 * constants by David Stafford's variant 13 of MurmurHash3's finaliser): shift, multiply, shift, multiply, shift. All
 * three shifts are needed: with only two, sums of pages that differ in two words collide a million times too often
 * (tests/schema/test_content_hash.c has the families). The keys are SplitMix64's own numbers from the seed 0. They are
 * not secret: collisions can be constructed deliberately.
 *
 * The bytes of a call have one more hash, which does not depend on their position: that of their pieces, counted from
 * the beginning of the call, joined in order (content_hash_join()); the last word is padded with zeros.
 */
#pragma once

#include <linux/types.h>

#define CONTENT_PIECE 4096 /* bytes */
#define CONTENT_WORDS 512
#define CONTENT_STEP  0x9e3779b97f4a7c15ull /* of SplitMix64 */

static inline __u64 content_mix(__u64 x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	x ^= x >> 31;
	return x;
}

/* The key of a word of a piece; i: 0 to 511. */
static inline __u64 content_key(__u32 i)
{
	return content_mix((i + 1) * CONTENT_STEP);
}

/* What a word contributes to the hash of its piece. */
static inline __u64 content_hash_word(__u64 word, __u32 i)
{
	return content_mix(word ^ content_key(i)) - content_mix(content_key(i));
}

/* Joins the hash of a call's bytes with the hash of the next piece; n: its index, from 0. The first piece's hash is
 * returned unchanged. */
static inline __u64 content_hash_join(__u64 hash, __u64 piece, __u64 n)
{
	return n ? hash + content_mix(piece + n * CONTENT_STEP) - content_mix(n * CONTENT_STEP)
		 : piece;
}

/* The hash of at most one piece of bytes that begin at a piece boundary; the last word is padded with zeros. */
static inline __u64 content_hash_piece(const void *data, __u64 len)
{
	const unsigned char *at = data;
	__u64 hash = 0;

	for (__u32 i = 0; i < len; i += 8) {
		__u64 word = 0;

		for (__u32 k = 0; k < 8 && i + k < len; k++)
			word |= (__u64)at[i + k] << 8 * k;
		hash += content_hash_word(word, i / 8);
	}
	return hash;
}

/* The position-independent hash of a call's bytes. */
static inline __u64 content_hash_bytes(const void *data, __u64 len)
{
	__u64 hash = 0;

	for (__u64 n = 0; n * CONTENT_PIECE < len; n++) {
		__u64 rest = len - n * CONTENT_PIECE;

		hash = content_hash_join(
			hash,
			content_hash_piece((const char *)data + n * CONTENT_PIECE,
					   rest < CONTENT_PIECE ? rest : CONTENT_PIECE),
			n);
	}
	return hash;
}
