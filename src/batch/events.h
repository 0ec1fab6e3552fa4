/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h: numbering of a source's events, by CPU. Every attempt to send an event takes the next number, 0, 1, 2, ...,
 * so a number that never arrives is a lost event. Calls are events, and so are records of files and threads.
 */
#pragma once

#include <stdint.h>

/* Totals since the source was started; they never decrease. */
struct event_count {
	uint64_t next;	   /* every event with a smaller number was delivered or is lost */
	uint64_t came;	   /* how many of these were delivered */
	uint64_t filtered; /* calls that the selection rejected after they had ended */
};
