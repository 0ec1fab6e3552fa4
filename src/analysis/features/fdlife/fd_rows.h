/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_rows.h: the descriptors of a process by the pattern of their files: the rows of `fdlife`.
 *
 * `net` is how many were opened since the process was first seen, less those closed. A descriptor that was found open is in
 * `before` from the first call on it; since it had been open all the time, before + net is how many are open at any moment,
 * and net alone rises and falls.
 */
#pragma once

#include "analysis/features/feature.h"
#include "analysis/features/file_patterns.h"
#include "hist/distinct.h"

#define FD_ROWS_MAX \
	32768 /* rows; then those of ended processes that opened least go, then patterns are no longer told apart */
#define FD_SAMPLES     32 /* points of the curve: at least half of them cover the time of a row */
#define FD_STEP_FIRST  1000000	   /* ns between two, at first */
#define FD_FILES_BYTES (16u << 20) /* of memory for counting different files */
#define FD_PARTS       8

struct fd_row {
	uint32_t process, pattern, file;
	bool inexact, ended;
	bool linked;   /* in the list of its process */
	uint32_t next; /* in that list */
	int64_t base;  /* its first descriptor was opened or found */
	int64_t end;   /* it ended */
	int64_t first, last;
	int64_t thread_id,
		votes; /* Boyer and Moore's majority vote ("MJRTY", 1991): who opened most */
	int64_t net, net_most, open_end;
	uint64_t opened, closed, before, requests, deleted, deleted_bytes;
	uint64_t late;	  /* descriptors that were opened anew, and the close has not come yet */
	uint64_t skipped; /* files that were not counted as different or not */
	int64_t step;	  /* ns between two points of the curve */
	uint32_t points;  /* the last is that of `net` */
	int32_t curve[FD_SAMPLES];
	struct distinct files;
};

struct fd_rows {
	struct file_patterns *patterns;
	struct fd_row **rows; /* [FD_ROWS_MAX], NULL: free */
	uint32_t *free;
	size_t free_count, count;
	size_t ended;  /* rows of ended processes */
	struct map of; /* process, pattern -> place */
	size_t files_bytes;
};

/* 0 or -ENOMEM. */
int fd_rows_init(struct fd_rows *t, struct file_patterns *patterns) _must_check_;
void fd_rows_free(struct fd_rows *t);
/* The row of a process for a file; FEATURE_NONE: there is no room. `base`: when the descriptor was opened or found. 0 or -ENOMEM. */
int fd_rows_of(struct fd_rows *t, uint32_t process, uint32_t file, int64_t base,
	       uint32_t *ret) _must_check_;
/* The row that a file of the process has; NULL: there is none. */
struct fd_row *fd_rows_find(const struct fd_rows *t, uint32_t process, uint32_t file);
/* A descriptor was opened, found open, or closed at a time. 0 or -ENOMEM. */
int fd_row_opened(struct fd_rows *t, struct fd_row *row, uint32_t file, int64_t thread_id,
		  int64_t start) _must_check_;
int fd_row_found(struct fd_rows *t, struct fd_row *row, uint32_t file, int64_t thread_id,
		 int64_t start) _must_check_;
void fd_row_closed(struct fd_row *row, int64_t at);
/* Its process ended. */
void fd_row_end(struct fd_rows *t, struct fd_row *row, int64_t end);
/* How many of the parts of its time until `end`, but for the first, had more open at the least than the one before. */
unsigned int fd_row_rising(const struct fd_row *row, int64_t end);
