/* SPDX-License-Identifier: Apache-2.0 */
/* net.h: what of --with net is looked at, because no event says it. Nothing where the object of net is not loaded. */
#pragma once

#include "capture/ebpf/calls/decode.h"
#include "capture/ebpf/load/objects.h"

/* Records of what was looked at: they wait until the records of their files have been decoded. Starts as {0}. */
struct net_looks {
	struct buf records; /* as those of the side ring */
	int64_t at;	    /* monotonic: when it was last looked */
};

/* What sockets that listen have dropped since the last look, twice a second; `until`: up to when all records were given,
 * monotonic. Records that make no sense are added to `malformed`. */
int net_look(struct net_looks *l, const struct objects *o, struct decode *d, int64_t until,
	     struct batch_set *out, uint64_t *malformed);
/* The same once no program runs any more, and the last samples of connections that live on. 0 or negative: some are missing. */
int net_last(struct net_looks *l, const struct objects *o);
/* The rows of it. */
int net_give(struct net_looks *l, struct decode *d, struct batch_set *out, uint64_t *malformed);
