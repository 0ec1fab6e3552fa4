/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_map.h: when and where in one file calls read and wrote, in the question's range and filter. Found
 * by reading every call of the blocks that name the file, hence kept for the next question about it: who
 * cannot wait takes what was read by then, the next goes on. Where a trace grows, only what came is read.
 */
#pragma once

#include "server/sums/pass.h"
#include "server/sums/access_list.h"

#define TOUCHED_FILE_MAX  (48u << 20) /* bytes that are kept of one file: some six million calls */
#define TOUCHED_BYTES_MAX (96u << 20) /* and of all */
#define TOUCHED_FILES_MAX 64u

struct access_map {
	unsigned int refs;
	uint64_t version; /* of the question for which it was read last */
	uint64_t damaged; /* blocks, when it was begun: none of their calls is in it */
	size_t blocks;	  /* of the store, that are listed in `order` */
	size_t *order;	  /* blocks of op that may name the file, as they are to be read */
	size_t order_count, order_cap, read; /* read: how many of them were */
	int64_t file, from, to;
	char *filter;

	int64_t first, last, pos_first, pos_last; /* INT64_MAX, INT64_MIN: nothing */
	int64_t last_end;			  /* of calls that ended */
	struct access_list calls, open;		  /* open: those that are not known to have ended */
	bool too_many;				  /* not all are there: read them again */
	bool busy;				  /* somebody reads on: he alone looks at it */
	size_t bytes;				  /* of calls, when nobody did */
};

/* What is kept between questions, by file, range and filter: those that were asked for last. */
struct access_map_store;
int access_map_store_new(struct access_map_store **ret) _must_check_;
void access_map_store_free(struct access_map_store *s);

/* The question's filter for this file alone. 0 or negative with q->err. */
int access_map_filter(struct question *q, int64_t file, struct sums_filter *ret);
/*
 * For the generation `file`; give it back by access_map_put(). Reads no further block after `until` (of the
 * monotonic clock; 0: all of them), then `read` is less than `order_count`. It may know of calls that ended outside the
 * question's range.
 */
int access_map_get(struct question *q, int64_t file, const struct sums_filter *filter,
		   int64_t until, struct access_map **ret);
void access_map_put(struct question *q, struct access_map *t);
/* The columns of op that the next two read. */
uint64_t access_map_columns(void);
/* Gives each call of the rows that has a position to `take`. */
int access_map_rows(const struct walk_rows *rows, int (*take)(void *arg, const struct touch *t),
		    void *arg);
