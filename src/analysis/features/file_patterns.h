/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_patterns.h: groups files by the pattern of their names: the path with # for its numbers (names_pattern()), one
 * end of a connection, "pipe". Patterns are numbered, so that features compare and store 32 bits.
 *   /var/log/app.4711            /var/log/app.#
 *   tcp 10.0.0.7:41234->10.0.0.2:5432   tcp #->10.0.0.2:5432, if the program connected
 *                                tcp 10.0.0.7:41234->#, if it accepted
 * The common part of several patterns is also a pattern: the folder, and the extension if it is the same. For
 * /usr/include/stdio.h and /usr/include/errno.h it is /usr/include/X.h with * for X.
 */
#pragma once

#include "analysis/features/feature.h"
#include "base/buf.h"
#include "base/map.h"

/* Patterns stored individually. Beyond that, patterns are reduced to their folder, and finally to "*". */
#define FILE_PATTERNS_MAX  32768
#define FILE_PATTERNS_MORE 16384
#define FILE_PATTERN_ANY   0u /* number of the pattern "*" */

#define FILE_PATTERNS_PAIRS 256 /* size of the cache for common patterns */

struct file_patterns {
	const struct feature_world *world;
	/* [file]: number + 1; 0: not computed yet; ACCEPTED: flag of an incoming connection */
	uint32_t *of_file;
	size_t cap;
	struct intern texts;
	struct buf room;
	struct file_patterns_pair {
		uint32_t a, b, common; /* a: number + 1; 0: unused */
	} pairs[FILE_PATTERNS_PAIRS];
};

/* 0 or -ENOMEM. The world must outlive it. */
int file_patterns_init(struct file_patterns *p, const struct feature_world *w) _must_check_;
void file_patterns_free(struct file_patterns *p);
/* Frees the mapping of files; the patterns stay. */
void file_patterns_forget(struct file_patterns *p);
/* Marks the file as an accepted connection; call before its pattern is requested. 0 or -ENOMEM. */
int file_patterns_accepted(struct file_patterns *p, uint32_t file) _must_check_;
/*
 * Sets the address of a file row to which the socket was connected, likewise. A connection that fails has no other
 * name. 0 or -ENOMEM.
 */
int file_patterns_connected(struct file_patterns *p, uint32_t file, int64_t peer_id) _must_check_;
/* The pattern of a file, according to its name at the first request. 0 or -ENOMEM. */
int file_patterns_of(struct file_patterns *p, uint32_t file, uint32_t *ret) _must_check_;
/* The common pattern of two patterns. 0 or -ENOMEM. */
int file_patterns_common(struct file_patterns *p, uint32_t a, uint32_t b,
			 uint32_t *ret) _must_check_;
/* Valid until the next call. */
struct bytes file_patterns_text(const struct file_patterns *p, uint32_t pattern);
