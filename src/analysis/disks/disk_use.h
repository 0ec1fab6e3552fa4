/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_use.h: how a disk was used: sums over its requests, rows of the table block in order of their ends. `weir disks`, its page
 * and `weir report disks` give the same table of it.
 */
#pragma once

#include "base/cover.h"
#include "engine/answer.h"
#include "hist/sparse.h"
#include "schema/vocab.h"

/* Of enum call_kind those of requests; others count with the disk alone. */
#define DISK_KINDS (KIND_DISCARD - KIND_READ + 1)

/* Starts as {0}; disk_use_free(). */
struct disk_use {
	int64_t read, written, requests, flushes, merges, errors;
	int64_t data, sequential, next; /* requests for data; that began where one ended before */
	uint64_t time, queued, device, issued;
	struct disk_kind {
		int64_t requests, bytes;
		uint64_t max;	  /* of hist */
		struct hist hist; /* of those that completed and are not a write without data */
	} kind[DISK_KINDS];
	struct cover busy;   /* when something was in the device */
	int64_t busy_before; /* of sums that were added */
};

void disk_use_free(struct disk_use *d);
/* Adds a row of block; what of it lies in [from, to) counts as busy. 0 or -ENOMEM. */
int disk_use_take(struct disk_use *d, const struct batch *b, size_t row, int64_t from, int64_t to);
/* Adds the sums of another time. 0 or -ENOMEM. */
int disk_use_merge(struct disk_use *to, const struct disk_use *from);
/* For how long something was in the device, ns. */
static inline int64_t disk_use_busy(const struct disk_use *d)
{
	return d->busy_before + cover_sum(&d->busy);
}

/* The table: a row for each disk, over `span` ns. */
#define DISK_USE_COLUMNS 18
extern const struct answer_column disk_use_columns[DISK_USE_COLUMNS];
void disk_use_put(struct answer_list *t, const struct disk_use *d, struct bytes name, int64_t span);
/* A row for each kind of request that there was. */
#define DISK_KIND_COLUMNS 8
extern const struct answer_column disk_kind_columns[DISK_KIND_COLUMNS];
void disk_use_put_kinds(struct answer_list *t, const struct disk_use *d, struct bytes name,
			int64_t span);
