/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filesystems.h: which file systems the recorded calls wrote to, and how full they are in the end. Rows are looked at on their
 * way into the trace, after enrich: ids are dense.
 */
#pragma once

#include "batch/batch.h"

#define FILESYSTEMS_MAX 64 /* that are told apart; the rest is one */

struct filesystem {
	int64_t dev;	  /* the kernel's dev_t */
	uint64_t written; /* bytes */
	char type[16];	  /* "ext4" */
	char *hostpath;	  /* of a file in it; NULL: the recorder sees none */
};

struct filesystems {
	struct filesystem list[FILESYSTEMS_MAX];
	size_t count;
	uint64_t others; /* bytes written to those beyond */
	uint8_t *of;	 /* by id of a file: 1 + index; 0: none, FILESYSTEMS_MAX + 1: beyond */
	size_t of_cap;
	uint32_t writes[5]; /* operations that write to their file */
};

void filesystems_init(struct filesystems *f);

/* Takes in the rows of files and of calls. 0 or -ENOMEM. */
int filesystems_take(struct filesystems *f, const struct batch_set *rows) _must_check_;
/*
 * Adds a mark "weir.filesystem" for each that was written to: "written=4096 size=1000000 free=20000 available=10000 type=ext4
 * path=/var". Where the recorder does not see it, or where its server may not answer, size and the two behind it are "?". 0 or
 * -ENOMEM.
 */
int filesystems_mark(const struct filesystems *f, int64_t now, struct batch_set *out) _must_check_;
void filesystems_free(struct filesystems *f);
