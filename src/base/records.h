/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records.h: records by number, in bounded memory. A recording may have millions of files, and the path of a new one may
 * begin with a folder that was opened hours ago. The newest records are in memory, in runs of consecutive numbers; the
 * rest are in a nameless file under $TMPDIR or /var/tmp. If that file cannot be created, all stay in memory.
 */
#pragma once

#include "base/buf.h"

#define RECORDS_RUN 8192 /* numbers of a run: about a MiB */

struct record_run;

struct records {
	struct record_run **runs; /* by number / RECORDS_RUN; NULL: none in memory */
	uint64_t *places;	  /* of a run's table in the file, 0: not there */
	size_t count, runs_cap, places_cap;
	size_t in_memory, first; /* runs in memory; none is below `first` */
	size_t max;		 /* of them, at least 1; set before use */
	int fd;			 /* opened when first needed; -1: not yet */
	bool refused;		 /* it cannot be used: everything stays in memory */
	uint64_t end;		 /* of the file */
	struct buf loan;	 /* a record that was read back */
};

/* Starts empty; `max` runs are kept in memory. */
void records_init(struct records *r, size_t max);
void records_free(struct records *r);
/* Keeps a copy, in place of an earlier one. 0 or -ENOMEM. */
int records_put(struct records *r, uint64_t number, const void *record, size_t size) _must_check_;
/* The record of a number, aligned to 8, NULL where there is none; valid until the next call of records_*(). ret_size may be
 * NULL. */
const void *records_get(struct records *r, uint64_t number, size_t *ret_size);
