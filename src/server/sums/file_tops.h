/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_tops.h: the files with most time in a trace that does not grow, told by whoever summed all of it. A filter
 * leaves no file more time than it has in all, so those that it ranks first are nearly always among them: a pass
 * that keeps their histograms spares a second one. Where one is missing, the second pass is made.
 */
#pragma once

#include "server/sums/sums.h"

#define FILE_TOPS_MAX 1000u /* 8 MB of histograms at worst, for each worker */

struct file_tops {
	atomic_uint refs;
	uint64_t generation;
	size_t count;
	struct map index; /* file_id, of any version -> number of the file, below count */
};

/* Of this state of the trace; NULL where nobody told. Give it back by file_tops_unref(). */
struct file_tops *file_tops_get(struct server *s);
void file_tops_unref(struct file_tops *t);
/* Puts the files with most time to the front of `files`, and takes note of them. 0 or -ENOMEM. */
int file_tops_note(struct server *s, struct sums_file *files, size_t count);
