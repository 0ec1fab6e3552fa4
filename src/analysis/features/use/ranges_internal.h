/* SPDX-License-Identifier: Apache-2.0 */
/* ranges_internal.h: the two parts of a set, ranges (ranges.c) and whole pages (ranges_pages.c), which do not overlap. */
#pragma once

#include "analysis/features/use/ranges.h"

int64_t ranges_array_put(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to,
			 uint32_t owner);
int64_t ranges_array_cut(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to,
			 uint32_t owner, int64_t *ret_owned);

/* Converts whole pages to bits if most ranges are whole pages. False: they are not, or there is no room. */
bool ranges_make_pages(struct ranges *r, struct ranges_room *room);
void ranges_pages_free(struct ranges *r, struct ranges_room *room);
/* If there are too many ranges besides the pages, extends them to whole pages. False: they are beyond the pages. */
bool ranges_round_pages(struct ranges *r, struct ranges_room *room);
/* Operates on both parts. */
int64_t ranges_pages_put(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to);
/* Operate on pages only, also if only part of a page is removed or counted. */
int64_t ranges_pages_cut(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to);
int64_t ranges_pages_within(const struct ranges *r, int64_t from, int64_t to);
/* The first run of pages that ends after `pos`. */
bool ranges_pages_next(const struct ranges *r, int64_t pos, struct range *ret);
