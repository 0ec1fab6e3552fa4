/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.h: which rows of several recordings are the same machine, control group, process, thread or file. Each is
 * identified by numbers that its kernel assigned (docs/FORMAT.md, "Reading several files as one"); the first id seen
 * for it represents all of them. Inside batch/ only. Starts as {0}.
 *
 * Rows of events keep the ids of their recording, so that a block's ranges and sorted sets of ids still hold. Identity
 * is determined while dimension rows are applied, which are few. Reading a single recording costs nothing extra.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "batch/batch.h"

struct identity {
	struct map known;		/* hash of identifying values -> representing id */
	struct map others[TABLE_COUNT]; /* other ids -> representing id */
	struct map hosts;		/* recording -> its host; UINT64_MAX: several */
	struct buf key;			/* scratch */
};

void identity_free(struct identity *k);
/*
 * Learns the identity of what a row of a dimension table describes; rows that it refers to must come first. `first`:
 * for threads and files the id of the first version, else the row's own id. 0 or -ENOMEM.
 */
int identity_learn(struct identity *k, const struct batch *b, size_t row,
		   int64_t first) _must_check_;
/* The id that represents an id; for threads and files pass that of the first version. Negative ids are returned
 * unchanged. */
int64_t identity_of(const struct identity *k, enum table_id table, int64_t id);
/* The machine on which the recording of an id was made; negative if unknown or ambiguous. */
int64_t identity_host(const struct identity *k, int64_t id);
