/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.h: turns what programs write to their span rings (span_rings.h) into rows of `span` and `note`. The records are
 * ordered by time together with the kernel's, so that a row has the version of the thread at its time; a span becomes a
 * row when it ends.
 */
#pragma once

#include "capture/ebpf/contexts/announce.h"
#include "capture/ebpf/spans/span_rings.h"

#define SPANS_OPEN_MAX (1u << 16) /* per process at once; further ones are lost, and counted */
#define SPANS_TURN     4000	  /* records that become rows at once, if more can wait */

struct spans;

int spans_new(struct spans **ret);
void spans_free(struct spans *s);
DEFINE_CLEANUP(struct spans *, spans_free)

/* The open spans. */
struct span_rows *spans_rows(struct spans *s);
/* Something that a process marked cannot be recorded: counts it, and adds a mark with the reason, unless there are
 * many. 0 or negative. */
int spans_not_marked(struct decode *d, const char *text, size_t len, struct batch_set *out);
/* The rings for the reader to copy from, until spans_free(). */
struct span_rings *spans_rings(struct spans *s);
/* Takes the data that the reader copied. 0 or -ENOMEM. */
int spans_take(struct spans *s);
/* Delivers events before `until` (monotonic), at most about SPANS_TURN records. 1: there are more, 0: that was all,
 * negative. */
int spans_give(struct decode *d, int64_t until, struct batch_set *out);
/*
 * Called before a kernel record in its turn: if it changes a process that marks spans, earlier spans must come first.
 * 1: not all were delivered, call again before processing the record.
 */
int spans_first(struct decode *d, const struct wire_head *h, struct batch_set *out);
/* For the table of announce.c: the process marks spans, or no longer does. */
int spans_announced(struct decode *d, const struct announcement *a, struct batch_set *out);
/* A thread of a process that is older than the recording was seen: looks for memory announced before. */
int spans_look(struct decode *d, const struct wire_thread *w, struct batch_set *out);
/* Adds rows for losses since the last time. */
int spans_losses(struct decode *d, int64_t now, struct batch_set *out);
/* At the end of recording: copies and delivers the rest, and the open spans. 1: there is more, call again. */
int spans_end(struct decode *d, struct batch_set *out);
