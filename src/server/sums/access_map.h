/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_map.h: when and where calls read and wrote in one file, within the question's range and filter. Computing it
 * means reading every call of the blocks that name the file, so it is kept for the next question about the file: a
 * question with a time limit takes what was read by then, and the next one continues. If a trace grows, only new
 * blocks are read.
 */
#pragma once

#include "server/sums/pass.h"
#include "server/sums/access_list.h"

#define ACCESS_MAP_FILE_MAX  (48u << 20) /* bytes kept for one file: about six million calls */
#define ACCESS_MAP_BYTES_MAX (96u << 20) /* and for all files */
#define ACCESS_MAP_FILES_MAX 64u

struct access_map {
	unsigned int refs;
	uint64_t version; /* of the question that last completed it */
	uint64_t damaged; /* blocks damaged at the start: none of their calls is included */
	size_t blocks;	  /* blocks of the store that were considered for `order` */
	size_t *order;	  /* blocks of op that may name the file, in reading order */
	size_t order_count, order_cap, read; /* read: how many of them were read */
	int64_t file, from, to;
	char *filter;

	int64_t first, last, pos_first, pos_last; /* INT64_MAX, INT64_MIN: none */
	int64_t last_end;			  /* of calls that have ended */
	struct access_list calls, open;		  /* open: those not known to have ended */
	bool too_many;				  /* not all calls are kept: read them again */
	bool busy;    /* a question is reading, and only it may access the map */
	size_t bytes; /* size of calls, when it was last not busy */
};

/* Maps kept between questions, by file, range and filter, the most recently used ones. */
struct access_map_store;
int access_map_store_new(struct access_map_store **ret) _must_check_;
void access_map_store_free(struct access_map_store *s);

/* The question's filter restricted to this file. 0 or negative with q->err. */
int access_map_filter(struct question *q, int64_t file, struct sums_filter *ret);
/*
 * Gets the map of the generation `file`; release it by access_map_put(). Reads no further block after `until`
 * (monotonic clock; 0: reads all); then `read` is less than `order_count`. The map may include calls that ended
 * outside the question's range.
 */
int access_map_get(struct question *q, int64_t file, const struct sums_filter *filter,
		   int64_t until, struct access_map **ret);
void access_map_put(struct question *q, struct access_map *t);
/* The columns of op that the next two read. */
uint64_t access_map_columns(void);
/* Passes each call of the rows that has a position to `take`. */
int access_map_rows(const struct walk_rows *rows, int (*take)(void *arg, const struct touch *t),
		    void *arg);
