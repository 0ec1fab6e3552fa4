/* SPDX-License-Identifier: Apache-2.0 */
/* file_sums.h: what was done to each file, over all its versions. */
#pragma once

#include "server/sums.h"

/* Sums by file, those with most time first; free() it. names_prepare() first. 0 or -ENOMEM. */
int file_sums_merge(const struct server *srv, const struct sums *s, struct sums_file **ret,
		    size_t *ret_count);
/*
 * Histograms of the calls of I/O of `count` of them, in ret[0 .. count), which are empty before. Another pass over
 * what was summed: to keep one for each of a million files would take gigabytes. 0 or negative.
 */
int file_sums_hists(struct question *q, const struct sieve *sieve, const struct sums *s,
		    const struct sums_file *top, size_t count, struct hist *ret);
