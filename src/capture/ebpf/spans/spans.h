/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.h: what programs write into their rings of spans (span_rings.h) becomes rows of `span` and `note`. Their records are put
 * in the order of time, among those of the kernel too, so that a row has the thread's version of its time; a span
 * is a row when it ends.
 */
#pragma once

#include "capture/ebpf/contexts/announce.h"
#include "capture/ebpf/spans/span_rings.h"

#define SPANS_OPEN_MAX \
	(1u << 16)	/* of a process at once; what begins beyond is lost, and counted */
#define SPANS_TURN 4000 /* records that become rows at once, where more can wait */

struct spans;

int spans_new(struct spans **ret);
void spans_free(struct spans *s);
DEFINE_CLEANUP(struct spans *, spans_free)

/* The spans that are open. */
struct span_rows *spans_rows(struct spans *s);
/* One thing that a process marked cannot be recorded: it is counted, and a mark says why, unless there are many. 0 or negative. */
int spans_not_marked(struct decode *d, const char *text, size_t len, struct batch_set *out);
/* What the reader is to copy from, until spans_free(). */
struct span_rings *spans_rings(struct spans *s);
/* Takes what the reader copied. 0 or -ENOMEM. */
int spans_take(struct spans *s);
/* Gives what happened before `until` (monotonic), at most about SPANS_TURN records. 1: there is more, 0: that was all, negative. */
int spans_give(struct decode *d, int64_t until, struct batch_set *out);
/*
 * A record of the kernel has its turn: where it changes a process that marks spans, what was marked before comes first. 1: not
 * all of that was given, call again before the record is.
 */
int spans_first(struct decode *d, const struct wire_head *h, struct batch_set *out);
/* A taker of announce.c: the process marks spans, or does not any more. */
int spans_announced(struct decode *d, const struct announcement *a, struct batch_set *out);
/* A thread of a process that is older than the recording was seen: it may have announced its memory before. */
int spans_look(struct decode *d, const struct wire_thread *w, struct batch_set *out);
/* Rows for what was lost since the last time. */
int spans_losses(struct decode *d, int64_t now, struct batch_set *out);
/* As recording ends: copies and gives all that is left, and the spans that are open. 1: there is more, call again. */
int spans_end(struct decode *d, struct batch_set *out);
