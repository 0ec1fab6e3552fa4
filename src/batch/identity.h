/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.h: which rows of several recordings are the same machine, control group, process, thread or file. Each
 * is known by numbers that its kernel gave it (docs/FORMAT.md, "Reading several files as one"); the id under which it
 * came first stands for all. Inside batch/ only. Starts as {0}.
 *
 * Rows of events keep the ids of their recording, so that a block's ranges and sorted sets of ids still hold. Identity is
 * settled while dimension rows are applied, which are few. Reading a single recording pays nothing for it.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "batch/batch.h"

struct identity {
	struct map known; /* hash of what identifies a thing -> the id that stands for it */
	struct map others[TABLE_COUNT]; /* ids for which another stands -> that one */
	struct map hosts; /* recording -> its host; UINT64_MAX where there are several */
	struct buf key;	  /* scratch */
};

void identity_free(struct identity *k);
/*
 * Takes note of what a row of a dimension table describes, behind the rows that it refers to. `first`: of threads and
 * files the id of the first version, of others the row's own. 0 or -ENOMEM.
 */
int identity_learn(struct identity *k, const struct batch *b, size_t row,
		   int64_t first) _must_check_;
/* The id that stands for an id: of threads and files for that of the first version. Negative ids stay. */
int64_t identity_of(const struct identity *k, enum table_id table, int64_t id);
/* The machine on which the recording of an id was made; negative where it is not known or there are several. */
int64_t identity_host(const struct identity *k, int64_t id);
