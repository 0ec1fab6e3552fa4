/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h: what the header of a block tells of its rows, before anything is decoded. */
#pragma once

#include "query/eval/eval.h"
#include "store/store.h"

/* A block as filters look at it (query/eval/eval.h); store and block are there for the ids. */
struct facts {
	struct eval_block block;
	const struct store *store;
	size_t number;
};

/* Points into *ret, which must not move. */
const struct eval_block *facts_of(struct facts *ret, const struct store *s, size_t block);
/* False where no row of the block can be true for the only expression of e. */
bool facts_may_pass(const struct eval *e, const struct store *s, size_t block);
/* True where every row is known to be true for it. */
bool facts_all_pass(const struct eval *e, const struct store *s, size_t block);
/* True where no call that is shorter can pass, nor one that took a time that is not known; of e the same. */
bool facts_need_long(const struct eval *e, int64_t least);
/* True where it asks for a single call by what names it, or for a column of a user's, that may be joined by that. */
bool facts_name_rows(const struct expr *e);
/*
 * When calls of a block of op ran: earliest start, latest end; open at a side where that is not known for all of them.
 * False where no call has a start: what that means is for the caller to say.
 */
bool facts_times(const struct store_block *b, int64_t *ret_start, int64_t *ret_end);
