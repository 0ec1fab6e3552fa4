/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest_aside.h: digests of blocks that are in none, as those of earlier weirs: made of the summaries, for whoever has the
 * store open, and kept in memory, encoded as they would be in a file.
 */
#pragma once

#include "store/store.h"

struct digest_maker;
int digest_maker_new(struct digest_maker **ret, struct store *s) _must_check_;
void digest_maker_free(struct digest_maker *m);
DEFINE_CLEANUP(struct digest_maker *, digest_maker_free)
/*
 * Makes one more. Readers may be at work, but not store_refresh(). What a trace that grows lacks is its recorder's to
 * write. 1, 0 where there is nothing more to do, or negative: the rest stays without.
 */
int digest_maker_step(struct digest_maker *m) _must_check_;
