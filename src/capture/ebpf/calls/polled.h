/* SPDX-License-Identifier: Apache-2.0 */
/* polled.h: processes with an io_uring polled by the kernel, as found by the programs; they become marks. */
#pragma once

#include "capture/ebpf/load/load.h"

/* Finds the rings that exist now; the programs see later ones. 0 or negative. */
int polled_look(const struct loaded *l);
/* Adds a mark "weir.polled" ("4711 fio") for each new process, and counts it. 0 or -ENOMEM. */
int polled_give(const struct loaded *l, const struct select *s, int64_t now,
		struct source_polled *polled, struct batch_set *out);
