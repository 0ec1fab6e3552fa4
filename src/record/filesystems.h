/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filesystems.h: which file systems the recorded calls wrote to, and how full they are at the end. Rows are examined on
 * their way into the trace, after enrich: ids are dense.
 */
#pragma once

#include "batch/batch.h"

#define FILESYSTEMS_MAX 64 /* counted separately; all others are counted together */

struct filesystem {
	int64_t dev;	  /* the kernel's dev_t */
	uint64_t written; /* bytes */
	char type[16];	  /* "ext4" */
	char *hostpath;	  /* of a file in it; NULL: none is visible to the recorder */
};

struct filesystems {
	struct filesystem list[FILESYSTEMS_MAX];
	size_t count;
	uint64_t others; /* bytes written to all other file systems */
	uint8_t *of;	 /* by file id: 1 + index; 0: none, FILESYSTEMS_MAX + 1: another */
	size_t of_cap;
	uint32_t writes[5]; /* operations that write to their file */
};

void filesystems_init(struct filesystems *f);

/* Processes rows of files and of calls. 0 or -ENOMEM. */
int filesystems_take(struct filesystems *f, const struct batch_set *rows) _must_check_;
/*
 * Adds a mark "weir.filesystem" for each file system written to: "written=4096 size=1000000 free=20000 available=10000
 * type=ext4 path=/var". If the recorder cannot see it, or its server may not respond, size, free and available are "?".
 * 0 or -ENOMEM.
 */
int filesystems_mark(const struct filesystems *f, int64_t now, struct batch_set *out) _must_check_;
void filesystems_free(struct filesystems *f);
