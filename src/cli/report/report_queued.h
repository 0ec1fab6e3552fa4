/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_queued.h: requests that programs submit by libaio and io_uring. Traces of older recorders, and of kernels that do not
 * show them, have the calls that submit them, not the reads and writes that they become; reports say so beside their sums.
 */
#pragma once

#include "sums/rollup.h"
#include "base/buf.h"
#include "cli/terminal/loss_text.h"

/*
 * Appends "io_submit 17,852, io_uring_enter 3: ..." for the rows of a rollup by operation; nothing where there is no such
 * call, or what they hand over has rows. 0 or -ENOMEM.
 */
int queued_put(struct buf *out, const struct rollup *r, const struct loss_requests *requests);
