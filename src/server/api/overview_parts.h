/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_parts.h: overviews that need the calls themselves, as for a filter that summaries cannot evaluate. A request that
 * cannot wait gets what was read so far, with its share of the trace; blocks are read from all over the trace. The next
 * request continues. In between the sums are kept, in their part of the server's memory: one for each question, whoever
 * asks it. One pass makes both the brief overview and the whole one.
 */
#pragma once

#include "server/api/route_overview.h"

#define OVERVIEW_PARTS_MAX	3u
#define OVERVIEW_PARTS_IDLE_NS	10000000000ll /* for which one is kept without a request */
#define OVERVIEW_PARTS_YIELD_NS 2000000000ll  /* the same while others wait for its memory */

struct overview_parts;
int overview_parts_new(struct overview_parts **ret) _must_check_;
void overview_parts_free(struct overview_parts *p);
/* Frees those without a request for so long. */
void overview_parts_drop(struct server *s, int64_t idle_ns);
/*
 * Answers in `within` ms (0: when all is read). Takes the filter. The whole overview is kept for the next request.
 */
int overview_parts_answer(struct question *q, struct sums_filter *filter, bool brief,
			  int64_t within);
