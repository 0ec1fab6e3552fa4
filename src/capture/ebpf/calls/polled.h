/* SPDX-License-Identifier: Apache-2.0 */
/* polled.h: processes with an io_uring that the kernel polls: what the programs found of them, as marks. */
#pragma once

#include "capture/ebpf/load/load.h"

/* Looks which rings there are now; those that are made later the programs see. 0 or negative. */
int polled_look(const struct loaded *l);
/* Gives a mark "weir.polled" ("4711 fio") for each process that is new, and counts it. 0 or -ENOMEM. */
int polled_give(const struct loaded *l, const struct select *s, int64_t now,
		struct source_polled *polled, struct batch_set *out);
