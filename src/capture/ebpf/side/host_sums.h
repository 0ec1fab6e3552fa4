/* SPDX-License-Identifier: Apache-2.0 */
/* host_sums.h: what the objects of irq and mem have added up and not sent. */
#pragma once

#include "capture/ebpf/load/objects.h"

/*
 * How far a CPU's preempt_count lies behind its run queue, from the kernel's types; 0: not known, and what interrupts do is
 * taken for the thread's on whose CPU they run.
 */
int64_t sums_preempt_from_rq(void);
/* Adds it, once no program runs any more, up to the time `over`: records for decode_side_all(). 0 or negative: some are
 * missing. */
int sums_last(const struct objects *o, uint64_t over, struct buf *out);
