/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest_aside.h: digests for blocks that have none in the file, as in traces of earlier versions. They are made from
 * the summaries, encoded as in a file, and kept in memory while the store is open.
 */
#pragma once

#include "store/store.h"

struct digest_maker;
int digest_maker_new(struct digest_maker **ret, struct store *s) _must_check_;
void digest_maker_free(struct digest_maker *m);
DEFINE_CLEANUP(struct digest_maker *, digest_maker_free)
/*
 * Makes one more digest. Cursors may be in use, but not store_refresh(). Leaves a growing trace to its recorder. 1, 0
 * if there is nothing more to do, or negative: the remaining blocks stay without digests.
 */
int digest_maker_step(struct digest_maker *m) _must_check_;
