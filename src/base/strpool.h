/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strpool.h: byte strings stored once each, at addresses that never move (struct intern gives dense ids but moves its
 * data). Starts as {0}; strpool_free() at the end.
 */
#pragma once

#include "base/map.h"
#include "base/util.h"

struct strpool {
	struct strpool_chunk *chunks; /* newest first */
	size_t free;		      /* bytes left in the newest chunk */
	struct bytes *slots;	      /* power of two; a slot is free if data is NULL */
	size_t cap, count;
	size_t bytes; /* memory held by chunks and slots */
};

void strpool_free(struct strpool *p);
/*
 * The pool's own copy of the string, valid until strpool_free(); followed by a NUL that the length does not include.
 * {NULL, 0} is returned unchanged. 0 or -ENOMEM.
 */
int strpool_add(struct strpool *p, const void *data, size_t len, struct bytes *ret) _must_check_;
