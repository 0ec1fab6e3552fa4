/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: shared between the files of record/. */
#pragma once

#include "record/record.h"

/* child.c: lets the child exec and reports whether that worked. */
int record_child_go(struct record_child *c, struct error *err);

/* rotate.c: switches to the next file if due, and removes the files that exceed the limit. 1 if it switched, 0, or
 * negative: if *ret_full, recording continues in the same file, else it cannot continue. */
struct rotating {
	int64_t since; /* monotonic: when the file began */
	int64_t retry; /* monotonic: earliest time of the next attempt after a failure */
};
int rotate_when_due(struct rotating *r, const struct record_rotation *o, struct store_writer *w,
		    int64_t now, bool *ret_full, struct error *err);
