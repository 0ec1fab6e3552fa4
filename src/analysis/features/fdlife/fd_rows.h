/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_rows.h: the descriptors of a process by the pattern of their files: the rows of `fdlife`.
 *
 * `net` is the number opened since the process was first seen, minus those closed. A descriptor found open is counted
 * in `before` at its first call. Since it was open all the time, before + net is the number open at any time, and only
 * net varies.
 */
#pragma once

#include "analysis/features/feature.h"
#include "analysis/features/file_patterns.h"
#include "hist/distinct.h"

/* at this number, rows of ended processes that opened least are dropped, then patterns are no longer distinguished */
#define FD_ROWS_MAX    32768
#define FD_SAMPLES     32	   /* points of the curve; at least half of them are in use */
#define FD_STEP_FIRST  1000000	   /* initial distance between points in ns */
#define FD_FILES_BYTES (16u << 20) /* memory for counting distinct files */
#define FD_PARTS       8

struct fd_row {
	uint32_t process, pattern, file;
	bool inexact, ended;
	bool linked;   /* in the list of its process */
	uint32_t next; /* next in that list */
	int64_t base;  /* time at which its first descriptor was opened or found */
	int64_t end;   /* time at which the process ended */
	int64_t first, last;
	int64_t thread_id,
		/* majority vote of Boyer and Moore ("MJRTY", 1991): the thread that opened most */
		votes;
	int64_t net, net_most, open_end;
	uint64_t opened, closed, before, requests, deleted, deleted_bytes;
	uint64_t late;	  /* descriptors that were reopened before the row of the close came */
	uint64_t skipped; /* files not counted as distinct or not */
	int64_t step;	  /* ns between points of the curve */
	uint32_t points;  /* the last point is that of `net` */
	int32_t curve[FD_SAMPLES];
	struct distinct files;
};

struct fd_rows {
	struct file_patterns *patterns;
	struct fd_row **rows; /* [FD_ROWS_MAX], NULL: free */
	uint32_t *free;
	size_t free_count, count;
	size_t ended;  /* number of rows of ended processes */
	struct map of; /* process, pattern -> index */
	size_t files_bytes;
};

/* 0 or -ENOMEM. */
int fd_rows_init(struct fd_rows *t, struct file_patterns *patterns) _must_check_;
void fd_rows_free(struct fd_rows *t);
/* The row of a process for a file; FEATURE_NONE: no room. `base`: when the descriptor was opened or found. 0 or -ENOMEM. */
int fd_rows_of(struct fd_rows *t, uint32_t process, uint32_t file, int64_t base,
	       uint32_t *ret) _must_check_;
/* The existing row for a file of the process; NULL: none. */
struct fd_row *fd_rows_find(const struct fd_rows *t, uint32_t process, uint32_t file);
/* A descriptor was opened, found open, or closed at a time. 0 or -ENOMEM. */
int fd_row_opened(struct fd_rows *t, struct fd_row *row, uint32_t file, int64_t thread_id,
		  int64_t start) _must_check_;
int fd_row_found(struct fd_rows *t, struct fd_row *row, uint32_t file, int64_t thread_id,
		 int64_t start) _must_check_;
void fd_row_closed(struct fd_row *row, int64_t at);
/* Marks the row's process as ended. */
void fd_row_end(struct fd_rows *t, struct fd_row *row, int64_t end);
/* The number of parts of its time until `end`, except the first, whose minimum is above that of the part before. */
unsigned int fd_row_rising(const struct fd_row *row, int64_t end);
