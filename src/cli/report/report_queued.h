/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_queued.h: requests submitted by libaio and io_uring. Traces of older recorders, and of kernels that do not
 * expose requests, contain only the submitting calls and not the resulting reads and writes; reports note this next
 * to their sums.
 */
#pragma once

#include "sums/rollup.h"
#include "base/buf.h"
#include "cli/terminal/loss_text.h"

/*
 * Appends "io_submit 17,852, io_uring_enter 3: ..." for the rows of a rollup by operation; nothing if there is no
 * such call, or its requests have rows. 0 or -ENOMEM.
 */
int queued_put(struct buf *out, const struct rollup *r, const struct loss_requests *requests);
