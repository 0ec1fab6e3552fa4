/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_clocks.h: how far the clocks of recordings are apart, from what passed between them.
 *
 * A receive ends after its send began. So each pair bounds the offset of the receiver's clock from above where the sender's
 * is the other one, from below otherwise, at that moment. An offset that drifts evenly is a straight line between these
 * bounds: the lines that fit are a convex polygon of (offset, drift), which the convex hulls of the bounds decide (Moon,
 * Skelly, Towsley, "Estimation and Removal of Clock Skew from Network Delay Measurements", 1999, has the one-sided form).
 * Its extent is what is known, never less than the shortest delays. Where no line fits, time is cut in two until one does.
 *
 * Times are those of each recording; corrected times are those of the first one's clock.
 */
#pragma once

#include "base/util.h"

#define FLOW_WINDOWS_MAX 64

/* A stretch of time in which a clock drifts evenly against the first recording's. */
struct flow_clock_window {
	int64_t from, to;	/* of the first recording's clock */
	double low[2], high[2]; /* bounds of the offset at from and to, ns */
	double drift_low, drift_high;
};

/* The clock of one recording: its times less the offset are those of the first recording. */
struct flow_clock {
	bool known;  /* bounded on both sides; window_count is 1 at least */
	bool same;   /* it is the first one's own clock: one machine, and nothing contradicts */
	bool linked; /* some bytes passed */
	bool contradicts; /* in some window no line fits */
	uint16_t over;	  /* the recording over which it is linked to the first */
	uint64_t pairs;
	struct flow_clock_window windows[FLOW_WINDOWS_MAX];
	size_t window_count;
};

struct flow_clocks;

int flow_clocks_new(struct flow_clocks **ret) _must_check_;
void flow_clocks_free(struct flow_clocks *c);
/* A send at `from` that began at `start`, received at `to` by a call that ended at `end`. 0 or -ENOMEM. */
int flow_clocks_pair(struct flow_clocks *c, uint16_t from, int64_t start, uint16_t to,
		     int64_t end) _must_check_;
/* Solves for `count` recordings; machine[i] is that of recording i. 0 or -ENOMEM. */
int flow_clocks_solve(struct flow_clocks *c, const uint64_t *machine, size_t count) _must_check_;
/* NULL: no such recording. */
const struct flow_clock *flow_clock(const struct flow_clocks *c, size_t place);
/* The time by the first recording's clock; unchanged where that is not known. */
int64_t flow_clock_corrected(const struct flow_clocks *c, size_t place, int64_t t);
/* The middle of the bounds at that time of the recording, and half their width. */
double flow_clock_offset(const struct flow_clock *k, int64_t t, double *ret_half);
