/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h: what is known of the rows of a block from its header, before anything is decoded. */
#pragma once

#include "query/eval/eval.h"
#include "store/store.h"

/* False where no row of the block can be true for the only expression of e. */
bool facts_may_pass(const struct eval *e, const struct store *s, size_t block);
/* True where every row is known to be true for it. */
bool facts_all_pass(const struct eval *e, const struct store *s, size_t block);
/* True where it asks for a single call by what names it, be it for a column of a user's. */
bool facts_name_rows(const struct expr *e);
/*
 * When calls of a block of op ran: earliest start, latest end; open at a side where that is not known for all of them.
 * False where no call has a start: what that means is for the caller to say.
 */
bool facts_times(const struct store_block *b, int64_t *ret_start, int64_t *ret_end);
