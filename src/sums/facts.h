/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h: what the header of a block proves about its rows, without decoding. */
#pragma once

#include "query/eval/eval.h"
#include "store/store.h"

/* False if the only expression of e is true for no row of the block. */
bool facts_may_pass(const struct eval *e, const struct store *s, size_t block);
/* True if it is known to be true for every row. */
bool facts_all_pass(const struct eval *e, const struct store *s, size_t block);
/* True if the expression selects single calls by a column that identifies them, including a user-defined column. */
bool facts_name_rows(const struct expr *e);
/*
 * The time that the calls of a block of op cover: earliest start and latest end. A side is open if it is unknown for
 * any of them. False if no call has a start; the caller decides what that means.
 */
bool facts_times(const struct store_block *b, int64_t *ret_start, int64_t *ret_end);
