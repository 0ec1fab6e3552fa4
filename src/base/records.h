/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.h: records by number, in bounded memory. A recording may have millions of files, and the path of a new one
 * may start at a folder that was opened hours ago. The newest records are in memory, in runs of consecutive numbers;
 * the others are in an unnamed temporary file in $TMPDIR or /var/tmp. If that file cannot be created, all records stay
 * in memory.
 */
#pragma once

#include "base/buf.h"

#define RECORDS_RUN 8192 /* numbers per run: about 1 MiB of records */

struct record_run;

struct records {
	struct record_run **runs; /* by number / RECORDS_RUN; NULL: none in memory */
	uint64_t *places;	  /* file position of each run's table; 0: not in the file */
	size_t count, runs_cap, places_cap;
	size_t in_memory, first; /* runs in memory; none is below `first` */
	size_t max;		 /* limit of in_memory, at least 1; set before use */
	int fd;			 /* opened on first use; -1: not opened */
	bool refused;		 /* the file is unusable: everything stays in memory */
	uint64_t end;		 /* size of the file */
	struct buf loan;	 /* a record read back from the file */
};

/* Starts empty; keeps up to `max` runs in memory. */
void records_init(struct records *r, size_t max);
void records_free(struct records *r);
/* Stores a copy, replacing an earlier one. 0 or -ENOMEM. */
int records_put(struct records *r, uint64_t number, const void *record, size_t size) _must_check_;
/* The record of a number, 8-byte aligned; NULL if there is none; valid until the next records_*() call. ret_size may be
 * NULL. */
const void *records_get(struct records *r, uint64_t number, size_t *ret_size);
