/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: shared between the files of record/. */
#pragma once

#include "record/record.h"

/* child.c: lets the child exec and says whether that worked. */
int record_child_go(struct record_child *c, struct error *err);

/* rotate.c: goes on in the next file when that is due, and removes what is beyond those kept. 1 where it did, 0, or negative:
 * the recording goes on in the same file where *ret_full, else it cannot go on. */
struct rotating {
	int64_t since; /* monotonic: when the file began */
	int64_t retry; /* monotonic: not before, after a failure */
};
int rotate_when_due(struct rotating *r, const struct record_rotation *o, struct store_writer *w,
		    int64_t now, bool *ret_full, struct error *err);
