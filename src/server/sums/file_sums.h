/* SPDX-License-Identifier: Apache-2.0 */
/* file_sums.h: the I/O on each file, over all its versions. */
#pragma once

#include "server/sums/sums.h"

/*
 * Sums by file, unordered; the caller frees them. Takes what passes flushed (file_pile.h) from s. Call
 * names_prepare() first. 0 or -ENOMEM.
 */
int file_sums_merge(const struct server *srv, struct sums *s, struct sums_file **ret,
		    size_t *ret_count);
/*
 * Merges the files of each line, in place; their ids are then those of lines, and members[line] is the number of
 * files of a line that may have several. 0 or -ENOMEM.
 */
int file_sums_lines(const struct server *srv, struct sums_file *files, size_t *count,
		    struct map *members);
/*
 * Moves the `max` with the most time in I/O to the front, sorted (ties by calls, then by id). Returns their number;
 * files without I/O are excluded.
 */
size_t file_sums_top(struct sums_file *files, size_t count, size_t max);
/*
 * Histograms of the I/O calls of `count` lines, in ret[0 .. count), which must be empty. Takes another pass, unless
 * the first kept them: histograms for a million files would take gigabytes. 0 or negative.
 */
int file_sums_hists(struct question *q, const struct sums_filter *filter, const struct sums *s,
		    const struct sums_file *top, size_t count, struct hist *ret);
/* Writes the members of a file's row: calls, errors, bytes, time, p50, p99, max. */
void file_sums_put(struct js *j, const struct sums_file *f, const struct hist *h);
