/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake.h: writes the spans that programs send to the server into the trace named by --spans. A body is committed
 * before it is acknowledged. The thread of each connection processes its body, one at a time, and the inflated body
 * is in memory only during that. A few requests wait for their turn; others are told to retry, so that memory does
 * not grow with the number of senders.
 */
#pragma once

#include "exchange/spans_in.h"
#include "store/store.h"

#define INTAKE_MAX (16u << 20) /* bytes of a body, before and after inflation: about 30,000 spans */

#define INTAKE_WAIT_MAX 8u /* bodies waiting for their turn */

struct intake;

/* The caller still owns the writer. 0 or negative. */
int intake_new(struct intake **ret, struct store_writer *w, struct error *err);
void intake_free(struct intake *i);
/* Waits for a turn, which intake_leave() ends. -EAGAIN: too many are waiting. */
int intake_enter(struct intake *i);
void intake_leave(struct intake *i);
/* Appends the spans of a body, during a turn. -EINVAL: it is malformed; other errors: it cannot be written. */
int intake_take(struct intake *i, enum spans_format format, struct bytes body,
		struct spans_counts *ret, struct error *err);
