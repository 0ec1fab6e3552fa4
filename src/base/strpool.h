/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strpool.h: byte strings kept once each, at addresses that never move (struct intern gives dense
 * ids but moves its data). Starts as {0}; strpool_free() at the end.
 */
#pragma once

#include "base/map.h"
#include "base/util.h"

struct strpool {
	struct strpool_chunk *chunks; /* newest first */
	size_t free;		      /* bytes left in the newest */
	struct bytes *slots;	      /* power of two; data NULL is free */
	size_t cap, count;
	size_t bytes; /* memory held by chunks and slots */
};

void strpool_free(struct strpool *p);
/*
 * The pool's own copy of the string, valid until strpool_free(); followed by a NUL that its length
 * does not count. {NULL, 0} stays what it is. 0 or -ENOMEM.
 */
int strpool_add(struct strpool *p, const void *data, size_t len, struct bytes *ret) _must_check_;
