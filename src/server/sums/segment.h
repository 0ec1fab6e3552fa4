/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment.h: the summaries of some blocks of op together, in memory: once without files, by window,
 * operation, thread, error and class (a thousandth of the rows), and once by file and class, packed
 * (some 30 bytes a file). Of files that many of the blocks name also by operation, thread and error, so that who asks for
 * one file need not read all blocks. Made once, never changed; shared by who counts references.
 */
#pragma once

#include <stdatomic.h>

#include "store/store.h"

#define SEGMENT_BLOCKS	    16u
#define SEGMENT_PART_FILES  8000u /* of a batch of files by class: there are 7 classes */
#define SEGMENT_OFTEN	    4u	  /* blocks that name a file which is often used */
#define SEGMENT_OFTEN_FILES 128u  /* such files of a segment: those with most time */

struct segment {
	atomic_uint refs;
	unsigned int count;
	size_t block[SEGMENT_BLOCKS];	/* of op, ascending */
	int64_t io_max[SEGMENT_BLOCKS]; /* the longest call of I/O of each, ns; -1: none */
	int64_t start, end;		/* no call began earlier or ended later */
	struct batch *sums;		/* of summary; file_id and block are absent */
	struct batch *none;		/* the same of calls without a file, by class alone */
	struct batch *hot;		/* the same as sums, by file instead of window, of these: */
	int64_t *hot_ids;		/* ascending */
	size_t hot_count;
	uint8_t *files; /* see segment_file_next() */
	size_t files_len, file_count;
	struct segment_part {
		size_t at, rows; /* where the walk of these files begins; by class */
		int64_t id;	 /* the one before them */
	} *parts;		 /* of SEGMENT_PART_FILES files each; one at least */
	size_t part_count;
	int64_t file_max; /* the largest id in it; -1: none */
	struct segment_failure {
		uint64_t key, calls; /* failures_add_key() */
	} *failures;
	size_t failure_count;
	bool seconds; /* calls that move bytes between two files are by file there for both */
	size_t bytes; /* that all this takes */
};

/* A block of op and its summary. */
struct segment_source {
	size_t block, summary;
};

/* What one who makes segments needs again and again. */
struct segment_maker;
int segment_maker_new(struct segment_maker **ret, const struct store *s) _must_check_;
void segment_maker_free(struct segment_maker *m);
DEFINE_CLEANUP(struct segment_maker *, segment_maker_free)

/* True where the summary of the block can stand for it: it ended, its times and keys are known. */
bool segment_takes(const struct store *s, size_t block);
/*
 * Sums up `count` blocks of one trace, 1 to SEGMENT_BLOCKS. -ENODATA where a summary does not tell what its
 * block holds, -E2BIG where they hold too much to be worth it: these blocks are to be read each by itself.
 */
int segment_make(struct segment_maker *m, const struct segment_source *sources, size_t count,
		 struct segment **ret, struct error *err) _must_check_;
struct segment *segment_ref(struct segment *s);
void segment_unref(struct segment *s);

/* True where `often` tells all that the segment's calls did to a file: it is among those, or no block names it. */
bool segment_tells_file(const struct segment *s, const struct store *store, int64_t id);

/* What was done to one file; but for `all`, calls of I/O alone. */
struct segment_file {
	uint64_t all, calls, errors, bytes, time, max;
};

/* Walks the files by ascending id. Starts as {0}. */
struct segment_walk {
	size_t at;
	int64_t id;
	struct bytes packed; /* what is known of it */
};
bool segment_file_next(const struct segment *s, struct segment_walk *w);
void segment_file_read(const struct segment_walk *w, struct segment_file *ret);
struct hist;
/* Adds the durations of the file's calls of I/O. 0 or -ENOMEM. */
int segment_file_hist(const struct segment_walk *w, struct hist *to) _must_check_;

/*
 * Puts some of HELD_FILE_COLUMNS (engine/held.h) into an empty batch of summary: a row for each file and class of a part,
 * of the first also those of calls without a file. 0 or -ENOMEM.
 */
int segment_put_files(const struct segment *s, size_t part, uint64_t columns,
		      struct batch *to) _must_check_;
