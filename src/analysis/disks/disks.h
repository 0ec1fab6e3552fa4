/* SPDX-License-Identifier: Apache-2.0 */
/* disks: usage of disks over time, by thread and by file, from tables block and block_part. */
#pragma once

#include "analysis/analysis.h"

struct disks_options {
	int64_t width, top; /* width of time windows in ns; number of owners */
};

/* The analysis's own result (analysis_result.own). */
struct disks_more {
	int64_t left_out; /* requests of further disks, and parts of further owners */
	size_t owners;	  /* total number, including those not in the table */
};

/* Its tables: disks (disk_use.h), depth, latency, owners, kinds. */
extern const struct analysis analysis_disks;

enum disks_table { DISKS_USE, DISKS_DEPTH, DISKS_LATENCY, DISKS_OWNERS, DISKS_KINDS };
/* Columns that a screen reads. */
enum disks_depth_column { DISKS_DEPTH_DISK, DISKS_DEPTH_AT, DISKS_DEPTH_DEPTH };
