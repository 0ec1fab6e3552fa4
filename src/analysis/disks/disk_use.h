/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_use.h: usage of a disk: sums over its requests, rows of table block in order of their ends. `weir disks`, its
 * page and `weir report disks` share its table.
 */
#pragma once

#include "base/cover.h"
#include "engine/answer.h"
#include "hist/sparse.h"
#include "schema/vocab.h"

/* Members of enum call_kind that are disk requests; others only count for the disk as a whole. */
#define DISK_KINDS (KIND_DISCARD - KIND_READ + 1)

/* Initialized with {0}; free with disk_use_free(). */
struct disk_use {
	int64_t read, written, requests, flushes, merges, errors;
	/* number of data requests; sequential: those that began where the previous one ended */
	int64_t data, sequential, next;
	uint64_t time, queued, device, issued;
	struct disk_kind {
		int64_t requests, bytes;
		uint64_t max;	  /* maximum of hist */
		struct hist hist; /* of those that completed, without writes that have no data */
	} kind[DISK_KINDS];
	struct cover busy;   /* times at which the device had a request */
	int64_t busy_before; /* of merged sums */
};

void disk_use_free(struct disk_use *d);
/* Adds a row of block; its part within [from, to) counts as busy. 0 or -ENOMEM. */
int disk_use_take(struct disk_use *d, const struct batch *b, size_t row, int64_t from, int64_t to);
/* Adds the sums of another interval. 0 or -ENOMEM. */
int disk_use_merge(struct disk_use *to, const struct disk_use *from);
/* Time during which the device had a request, ns. */
static inline int64_t disk_use_busy(const struct disk_use *d)
{
	return d->busy_before + cover_sum(&d->busy);
}

/* The table: one row per disk, over `span` ns. */
#define DISK_USE_COLUMNS 18
extern const struct answer_column disk_use_columns[DISK_USE_COLUMNS];
void disk_use_put(struct answer_list *t, const struct disk_use *d, struct bytes name, int64_t span);
/* One row per kind of request that occurred. */
#define DISK_KIND_COLUMNS 8
extern const struct answer_column disk_kind_columns[DISK_KIND_COLUMNS];
void disk_use_put_kinds(struct answer_list *t, const struct disk_use *d, struct bytes name,
			int64_t span);
