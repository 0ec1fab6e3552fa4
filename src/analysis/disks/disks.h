/* SPDX-License-Identifier: Apache-2.0 */
/* disks: how disks were used, over time, for whom and for which files: the tables block and block_part. */
#pragma once

#include "analysis/analysis.h"

struct disks_options {
	int64_t width, top; /* windows of time; owners */
};

/* What analysis_result.own is. */
struct disks_more {
	int64_t left_out; /* requests of further disks, parts of further owners */
	size_t owners;	  /* that there are, in the table or not */
};

/* Its tables: disks (disk_use.h), depth, latency, owners, kinds. */
extern const struct analysis analysis_disks;

enum disks_table { DISKS_USE, DISKS_DEPTH, DISKS_LATENCY, DISKS_OWNERS, DISKS_KINDS };
/* Columns of those that a screen reads. */
enum disks_depth_column { DISKS_DEPTH_DISK, DISKS_DEPTH_AT, DISKS_DEPTH_DEPTH };
