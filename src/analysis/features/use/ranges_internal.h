/* SPDX-License-Identifier: Apache-2.0 */
/* ranges_internal.h: the two halves of a set, ranges (ranges.c) and whole pages (ranges_pages.c), which never overlap. */
#pragma once

#include "analysis/features/use/ranges.h"

int64_t ranges_array_put(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to,
			 uint32_t owner);
int64_t ranges_array_cut(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to,
			 uint32_t owner, int64_t *ret_owned);

/* Makes bits of the whole pages, if most ranges are such. False: they are not, or there is no room. */
bool ranges_make_pages(struct ranges *r, struct ranges_room *room);
void ranges_pages_free(struct ranges *r, struct ranges_room *room);
/* Where there are too many ranges beside the pages: makes whole pages of them. False: they lie beyond. */
bool ranges_round_pages(struct ranges *r, struct ranges_room *room);
/* For both halves. */
int64_t ranges_pages_put(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to);
/* For the pages alone, also where only a part of one is cut or counted. */
int64_t ranges_pages_cut(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to);
int64_t ranges_pages_within(const struct ranges *r, int64_t from, int64_t to);
/* The first run of pages that ends beyond `pos`. */
bool ranges_pages_next(const struct ranges *r, int64_t pos, struct range *ret);
