/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.h: whether blocks are as they were written.
 *
 * A block of rows counts whole or not at all. Before anything of it is used, the checksums of all of its sections are
 * compared, once for each state of its file; a summary is used only while the block that it stands for holds too. So
 * every reader, whichever columns or summaries it wants, counts the same calls of a damaged trace. It costs 0.25 s of
 * CPU per GB.
 */
#pragma once

#include "store/store.h"

/*
 * Verifies all blocks of rows of a trace (SIZE_MAX: of all traces) that were not verified since their file last
 * changed. Damage goes into store_damage(), which *ret (may be NULL) then holds.
 * stop(arg) (may be NULL) is looked at before each block; the next call goes on there. Other threads may read
 * meanwhile. 0, -EINTR where it was stopped, or -ENOMEM.
 */
int store_verify(struct store *s, size_t trace, bool (*stop)(void *arg), void *arg,
		 struct store_damage *ret) _must_check_;
/* The number of blocks that were not verified yet: damage in them is not in store_damage(). */
uint64_t store_unverified(const struct store *s);
