/* SPDX-License-Identifier: Apache-2.0 */
/* failures.h: failures by operation, error and file. Starts as {0}. */
#pragma once

#include "base/map.h"
#include "server/http/js.h"

#define FAILURES_MAX 1000000u /* combinations of operation, error and file; 32 MB */

struct failures {
	struct map calls; /* failures_make_key() -> number of calls */
	bool too_many;	  /* files beyond FAILURES_MAX are not distinguished */
};

void failures_free(struct failures *f);
/* file_id: -1 for none. 0 or -ENOMEM. */
int failures_add(struct failures *f, int64_t op, int64_t err, int64_t file_id, uint64_t calls);
int failures_merge(struct failures *f, const struct failures *other);

/* For one operation and error: the line of files with the most failures, and the number of lines. */
struct failure_top {
	int64_t op, err;
	int64_t file; /* -1: none of the failures has a file */
	uint64_t calls, files;
};
struct server;
/*
 * Fills in file, calls, files of each of `tops`, whose op and err are given. 0; 1 if there were too many to know;
 * -ENOMEM.
 */
int failures_find(const struct failures *f, const struct server *srv, struct failure_top *tops,
		  size_t count);
