/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_queued.h: requests that programs submit by libaio and io_uring. A trace has the calls that submit them, not the reads
 * and writes that they become, and reports say so beside their sums.
 */
#pragma once

#include "sums/rollup.h"
#include "base/buf.h"

/*
 * Appends "io_submit 17,852, io_uring_enter 3: ..." for the rows of a rollup by operation; nothing where there is no such
 * call. 0 or -ENOMEM.
 */
int queued_put(struct buf *out, const struct rollup *r);
