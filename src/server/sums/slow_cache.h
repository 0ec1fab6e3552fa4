/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_cache.h: the longest calls of a trace, as rows in memory: some hundred thousand of a hundred million. A filter that
 * lets none pass but them (dur > 1ms) is answered from them, and no block is read. They are found once, when
 * the server has nothing else to do; blocks that came later are read by who asks.
 */
#pragma once

#include "server/sums/pass.h"

#define KEPT_CALLS_MAX 400000u	/* some 100 bytes each */
#define KEPT_SHARE     16u	/* but no more than one call in so many: else little is gained */
#define KEPT_TRACE_MIN 1000000u /* calls: of fewer all are soon read */

struct slow_cache;

/* Finds them. Returns when it is done, or the server stops. A trace that grows has none. */
void slow_cache_ahead(struct server *s);
void slow_cache_free(struct slow_cache *k);
/* They, where all calls that can pass are among them, with the columns; else NULL. */
const struct slow_cache *slow_cache_for(const struct server *s,
					const struct pass_filter *pass_filter, uint64_t columns);
/* The same for who tests that himself: how long they are, and which columns there are. NULL: there are none yet. */
const struct slow_cache *slow_cache_all(const struct server *s, int64_t *least, uint64_t *columns);
/* True where the block's are known: *ret has them, NULL where there are none. */
bool slow_cache_rows(const struct slow_cache *k, size_t block, const struct batch **ret);
