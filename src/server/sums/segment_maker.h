/* SPDX-License-Identifier: Apache-2.0 */
/* segment_maker.h: what summaries are made into segments with. For segment.c and segment_hot.c alone. */
#pragma once

#include "analysis/rollup/rollup.h"
#include "base/buf.h"
#include "server/sums/failures.h"
#include "server/sums/segment.h"

/* What one row of a summary says of its file. */
struct fact {
	int64_t id, thread, op, err;
	uint64_t calls, bytes, time, max;
	uint32_t hist;	      /* in maker.hists */
	uint16_t hist_len;    /* HIST_PACKED_MAX at most */
	uint8_t class, block; /* block: which of the segment's */
};

struct segment_maker {
	const struct store *store;
	struct store_cursor *cursor;
	struct fact *facts;
	uint32_t *order, *spare; /* of facts */
	size_t count, facts_cap, order_cap, spare_cap;
	struct buf hists, files, one;
	struct failures failures;
	struct hot *hot;
	size_t hot_count, hot_cap;
};

/* Appends a row of summary, but for its histogram as `sum` tells it; -1: null. */
int segment_put_row(struct batch *b, const struct rollup_row *sum, struct bytes hist) _must_check_;
/* Makes a batch of summary of them, which counts as the segment's. */
int segment_put_sums(struct segment *s, const struct rollup *sums, struct batch **ret) _must_check_;

/* ---- segment_hot.c ---- */

/* A file that many blocks name: its facts are those of order[from .. to). */
struct hot {
	uint64_t time;
	size_t from, to;
};
/* Notes the file of these facts where it is one. */
int segment_often_look(struct segment_maker *m, size_t from, size_t to) _must_check_;
/* Makes what the segment has of those that were noted. */
int segment_often_put(struct segment_maker *m, struct segment *s) _must_check_;
