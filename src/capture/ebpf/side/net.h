/* SPDX-License-Identifier: Apache-2.0 */
/* net.h: polls data of --with net for which there are no events. Does nothing if the net object is not loaded. */
#pragma once

#include "capture/ebpf/calls/decode.h"
#include "capture/ebpf/load/objects.h"

/* Polled records, which wait until the records of their files have been decoded. Starts as {0}. */
struct net_looks {
	struct buf records; /* in the form of the side ring */
	int64_t at;	    /* monotonic: time of the last look */
};

/* Polls what listening sockets have dropped, twice a second; `until`: monotonic time up to which all records were
 * delivered. The number of malformed records is added to `malformed`. */
int net_look(struct net_looks *l, const struct objects *o, struct decode *d, int64_t until,
	     struct batch_set *out, uint64_t *malformed);
/* The same once no program runs any more, plus the last samples of open connections. 0 or negative: some are missing. */
int net_last(struct net_looks *l, const struct objects *o);
/* Adds their rows. */
int net_give(struct net_looks *l, struct decode *d, struct batch_set *out, uint64_t *malformed);
