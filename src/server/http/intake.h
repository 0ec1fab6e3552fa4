/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intake.h: spans that are sent to the server, into the trace that --spans named: one body at a time. A body is committed
 * before it is acknowledged.
 */
#pragma once

#include "exchange/spans_in.h"
#include "store/store.h"

#define INTAKE_MAX (16u << 20) /* bytes of a body, and of what it inflates to: some 30,000 spans */

struct intake;

/* The writer stays the caller's. 0 or negative. */
int intake_new(struct intake **ret, struct store_writer *w, struct error *err);
void intake_free(struct intake *i);
/* Appends what a body holds. -EINVAL: it is malformed; other errors: it cannot be written. */
int intake_take(struct intake *i, enum spans_format format, struct bytes body,
		struct spans_counts *ret, struct error *err);
