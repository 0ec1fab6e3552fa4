/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake.h: spans that are sent to the server, into the trace that --spans named. A body is committed before it is
 * acknowledged. Each is read by the thread of its connection, one at a time, and what it inflates to is in memory only then; few
 * wait for their turn, and others are asked to come again, so that memory does not follow from the number of senders.
 */
#pragma once

#include "exchange/spans_in.h"
#include "store/store.h"

#define INTAKE_MAX (16u << 20) /* bytes of a body, and of what it inflates to: some 30,000 spans */

#define INTAKE_WAIT_MAX 8u /* bodies that wait for their turn */

struct intake;

/* The writer stays the caller's. 0 or negative. */
int intake_new(struct intake **ret, struct store_writer *w, struct error *err);
void intake_free(struct intake *i);
/* Waits for a turn, which intake_leave() ends. -EAGAIN: too many wait. */
int intake_enter(struct intake *i);
void intake_leave(struct intake *i);
/* Appends what a body holds, in a turn. -EINVAL: it is malformed; other errors: it cannot be written. */
int intake_take(struct intake *i, enum spans_format format, struct bytes body,
		struct spans_counts *ret, struct error *err);
