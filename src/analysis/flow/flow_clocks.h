/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_clocks.h: offsets between the clocks of recordings, derived from messages between them.
 *
 * A receive ends after its send began. Each pair therefore bounds the offset of the receiver's clock at that moment:
 * from above in one direction, from below in the other. An offset with constant drift is a straight line between these
 * bounds. The lines that fit are a convex polygon of (offset, drift), determined by the convex hulls of the bounds
 * (Moon, Skelly, Towsley, "Estimation and Removal of Clock Skew from Network Delay Measurements", 1999, describes the
 * one-sided form). Its extent is the uncertainty, never less than the shortest delays. If no line fits, time is divided
 * in two until one does.
 *
 * Input times are those of each recording; corrected times are those of the first recording's clock.
 */
#pragma once

#include "base/util.h"

#define FLOW_WINDOWS_MAX 64

/* An interval in which a clock drifts uniformly against that of the first recording. */
struct flow_clock_window {
	int64_t from, to;	/* by the first recording's clock */
	double low[2], high[2]; /* bounds of the offset at from and to, ns */
	double drift_low, drift_high;
};

/* The clock of one recording: its times minus the offset are times of the first recording. */
struct flow_clock {
	bool known;  /* bounded on both sides; window_count is at least 1 */
	bool same;   /* the first recording's own clock: the same machine, and no contradiction */
	bool linked; /* bytes passed to or from it */
	bool contradicts; /* in some window no line fits */
	uint16_t over;	  /* the recording through which it is linked to the first */
	uint64_t pairs;
	struct flow_clock_window windows[FLOW_WINDOWS_MAX];
	size_t window_count;
};

struct flow_clocks;

int flow_clocks_new(struct flow_clocks **ret) _must_check_;
void flow_clocks_free(struct flow_clocks *c);
/* Adds a send at `from` that began at `start`, received at `to` by a call that ended at `end`. 0 or -ENOMEM. */
int flow_clocks_pair(struct flow_clocks *c, uint16_t from, int64_t start, uint16_t to,
		     int64_t end) _must_check_;
/* Solves for `count` recordings; machine[i] is the machine of recording i. 0 or -ENOMEM. */
int flow_clocks_solve(struct flow_clocks *c, const uint64_t *machine, size_t count) _must_check_;
/* NULL if there is no such recording. */
const struct flow_clock *flow_clock(const struct flow_clocks *c, size_t place);
/* Converts t to the first recording's clock; unchanged if the clock is unknown. */
int64_t flow_clock_corrected(const struct flow_clocks *c, size_t place, int64_t t);
/* The middle of the bounds at time t of the recording, and half their width. */
double flow_clock_offset(const struct flow_clock *k, int64_t t, double *ret_half);
