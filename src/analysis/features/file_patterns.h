/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_patterns.h: files by the pattern of their names: the path with # for what numbers it (names_pattern()), one end of a
 * connection, "pipe". A pattern has a number, so that features compare and keep 32 bits.
 *
 *   /var/log/app.4711            /var/log/app.#
 *   tcp 10.0.0.7:41234->10.0.0.2:5432   tcp #->10.0.0.2:5432, where the program connected
 *                                tcp 10.0.0.7:41234->#, where it accepted
 *
 * What several patterns have in common is a pattern as well: the folder, and the ending where it is the same:
 * /usr/include/stdio.h and /usr/include/errno.h are /usr/include/X.h with * for X.
 */
#pragma once

#include "analysis/features/feature.h"
#include "base/buf.h"
#include "base/map.h"

/* Patterns that are kept as they are. A tree of as many names has its further ones by folder, then by nothing but "*". */
#define FILE_PATTERNS_MAX  32768
#define FILE_PATTERNS_MORE 16384
#define FILE_PATTERN_ANY   0u /* the number of "*" */

#define FILE_PATTERNS_PAIRS 256 /* of which it is remembered what they have in common */

struct file_patterns {
	const struct feature_world *world;
	uint32_t *
		of_file; /* [file]: number + 1; 0: not asked for yet; ACCEPTED: and a connection that came in */
	size_t cap;
	struct intern texts;
	struct buf room;
	struct file_patterns_pair {
		uint32_t a, b, common; /* a: number + 1; 0: none */
	} pairs[FILE_PATTERNS_PAIRS];
};

/* 0 or -ENOMEM. The world outlives it. */
int file_patterns_init(struct file_patterns *p, const struct feature_world *w) _must_check_;
void file_patterns_free(struct file_patterns *p);
/* Frees what it knows of files; the patterns stay. */
void file_patterns_forget(struct file_patterns *p);
/* The file is a connection that was accepted: called before its pattern is asked for. 0 or -ENOMEM. */
int file_patterns_accepted(struct file_patterns *p, uint32_t file) _must_check_;
/* The socket was connected to the address of a file row: likewise. A connection that fails has no other name. 0 or -ENOMEM. */
int file_patterns_connected(struct file_patterns *p, uint32_t file, int64_t peer_id) _must_check_;
/* The pattern of a file. What it was named when it was first asked for holds. 0 or -ENOMEM. */
int file_patterns_of(struct file_patterns *p, uint32_t file, uint32_t *ret) _must_check_;
/* What two patterns have in common. 0 or -ENOMEM. */
int file_patterns_common(struct file_patterns *p, uint32_t a, uint32_t b,
			 uint32_t *ret) _must_check_;
/* Valid until the next call. */
struct bytes file_patterns_text(const struct file_patterns *p, uint32_t pattern);
