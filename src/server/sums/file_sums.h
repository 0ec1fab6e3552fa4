/* SPDX-License-Identifier: Apache-2.0 */
/* file_sums.h: what was done to each file, over all its versions. */
#pragma once

#include "server/sums/sums.h"

/* Sums by file, in no order; free() it. What passes flushed (file_pile.h) is taken from s. names_prepare() first. 0 or -ENOMEM. */
int file_sums_merge(const struct server *srv, struct sums *s, struct sums_file **ret,
		    size_t *ret_count);
/*
 * Adds up the files of each line, in place; their ids are then those of lines, and members[line] is the number of files of a
 * line that may have several. 0 or -ENOMEM.
 */
int file_sums_lines(const struct server *srv, struct sums_file *files, size_t *count,
		    struct map *members);
/* Puts the `max` with most time in I/O to the front, in that order (equals by calls, then by id), and
 * tells how many those are; a file without I/O is none of them. */
size_t file_sums_top(struct sums_file *files, size_t count, size_t max);
/*
 * Histograms of the calls of I/O of `count` lines, in ret[0 .. count), which are empty before. Another pass over
 * what was summed, unless that kept them: one for each of a million files would take gigabytes. 0 or negative.
 */
int file_sums_hists(struct question *q, const struct sums_filter *filter, const struct sums *s,
		    const struct sums_file *top, size_t count, struct hist *ret);
/* Members of a file's row: calls, errors, bytes, time, p50, p99, max. */
void file_sums_put(struct js *j, const struct sums_file *f, const struct hist *h);
