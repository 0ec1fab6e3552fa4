/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_parts.h: overviews that must read the calls themselves, as for a filter that summaries cannot evaluate. A
 * request with a time limit gets the sums of what was read so far, and its share of the trace; blocks are read from
 * all over the trace. The next request continues. In between the sums are kept, within the server's memory budget:
 * one part per question, shared by all clients. One pass makes both the brief overview and the whole one.
 */
#pragma once

#include "server/api/route_overview.h"

#define OVERVIEW_PARTS_MAX	3u
#define OVERVIEW_PARTS_IDLE_NS	10000000000ll /* how long a part is kept without a request */
#define OVERVIEW_PARTS_YIELD_NS 2000000000ll  /* the same while others wait for its memory */

struct overview_parts;
int overview_parts_new(struct overview_parts **ret) _must_check_;
void overview_parts_free(struct overview_parts *p);
/* Frees the parts that had no request for that long. */
void overview_parts_drop(struct server *s, int64_t idle_ns);
/*
 * Answers in `within` ms (0: when everything is read). Takes ownership of the filter. The whole overview is kept for
 * the next request.
 */
int overview_parts_answer(struct question *q, struct sums_filter *filter, bool brief,
			  int64_t within);
