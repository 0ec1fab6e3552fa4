/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.h: verifies that blocks are as they were written.
 *
 * A block of rows counts whole or not at all. Before any of it is used, the checksums of all its sections are
 * verified, once per state of its file. A summary is used only while the block that it stands for is intact too. So
 * every reader counts the same calls of a damaged trace, whichever columns or summaries it uses. This costs 0.25 s of
 * CPU per GB.
 */
#pragma once

#include "store/store.h"

/*
 * Verifies all blocks of rows of a trace (SIZE_MAX: of all traces) that were not verified since their file last
 * changed. Damage is added to store_damage(), of which *ret (may be NULL) is a copy. stop(arg) (may be NULL) is
 * tested before each block; the next call continues there. Other threads may read meanwhile. 0, -EINTR if stopped, or
 * -ENOMEM.
 */
int store_verify(struct store *s, size_t trace, bool (*stop)(void *arg), void *arg,
		 struct store_damage *ret) _must_check_;
/* The number of blocks not verified yet: damage in them is not in store_damage(). */
uint64_t store_unverified(const struct store *s);
