/* SPDX-License-Identifier: Apache-2.0 */
/* top_disks.h: the load of the disks, for `weir top`, from rows of block if requests are recorded (--with block). */
#pragma once

#include <stdio.h>

#include "analysis/disks/disk_use.h"

struct top_disk {
	int64_t dev;
	char name[32];
	struct disk_use use;
};

/* Starts as {0}. */
struct top_disks {
	struct top_disk *all;
	size_t count, cap;
};

void top_disks_free(struct top_disks *d);
/* Adds rows of block; busy time counts from `from` on, ns since the epoch. 0 or -ENOMEM. */
int top_disks_add(struct top_disks *d, const struct batch *b, int64_t from);
/* Adds the sums of another interval. 0 or -ENOMEM. */
int top_disks_merge(struct top_disks *to, const struct top_disks *from);
/* Prints titles and at most `most` disks, a line each, by load over `span` ns, in `width` columns. 0 or negative. */
int top_disks_print(FILE *out, const struct top_disks *d, int64_t span, size_t most, size_t width);
