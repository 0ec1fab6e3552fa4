/* SPDX-License-Identifier: Apache-2.0 */
/* host_sums.h: sums of the irq and mem objects that were not sent. */
#pragma once

#include "capture/ebpf/load/objects.h"

/*
 * The offset of a CPU's preempt_count from its run queue, from the kernel's types; 0: unknown, and work in interrupts
 * is attributed to the current thread of the CPU.
 */
int64_t sums_preempt_from_rq(void);
/* Appends them once no program runs any more, up to the time `over`: records for decode_side_all(). 0 or negative: some
 * are missing. */
int sums_last(const struct objects *o, uint64_t over, struct buf *out);
