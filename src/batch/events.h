/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h: how far a source numbers its events, CPU by CPU. Every attempt to send one takes the next number, 0,
 * 1, 2, ..., so a number that never comes is an event that was lost. Calls are events, and so is what tells of
 * files and threads.
 */
#pragma once

#include <stdint.h>

/* Totals since the source was started; none ever falls. */
struct event_count {
	uint64_t next;	   /* whatever has a smaller number was given, or is lost */
	uint64_t came;	   /* how many of these numbers came */
	uint64_t filtered; /* calls that the selection left out after they had ended */
};
