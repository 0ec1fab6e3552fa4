/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h: feeds handmade calls to a feature, and collects the rows that it makes.
 *
 *   struct feed f; feed_init(&f, &feature_habit);
 *   feed_file(&f, 3, FILE_TYPE_REGULAR, "/tmp/a", NULL);
 *   feed_call(&f, "write", .task = 1, .file = 3, .fd = 5, .bytes = 100);
 *   feed_end(&f);                    // f.rows has the rows
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/features/feature.h"

#define must(e)	     assert_true((e) >= 0)
#define FEED_START   1000000000ll
#define FEED_THINGS  100000
#define FEED_NO_FILE (-1)

/* A call. Times are given by the feed: each takes `dur` (1 us if 0) and ends 1 us before the next begins. */
struct feed_call {
	uint32_t task, process;
	int64_t file, file2; /* numbers, 0 is none: number 1 is file 0 */
	int64_t peer;
	int64_t fd, fd2, ret, bytes, flags, a0, a1, status, dur;
	int64_t size;  /* asked for; 0: null */
	int64_t place; /* position + 1; 0: null */
	int64_t back;  /* it began this long before the previous one ended */
	uint16_t err;
	bool waits, no_start, no_stop;
	int64_t at;		 /* when it began, 0: after the previous one; calls end in order */
	int64_t a2, runq, waker; /* waker: a thread's id; 0: null */
};

struct feed {
	const struct feature *feature;
	void *self;
	struct dims *dims;
	struct feature_world world;
	struct batch *rows;
	/* takes f->rows when there are BATCH_ROWS_MAX, and the rest; NULL: there are never that many */
	void (*take)(const struct feed *f);
	int64_t now;
	int64_t ids[FEED_THINGS]; /* each number is its own id */
	int64_t *id_parts[FEED_THINGS / FEATURE_IDS + 1];
	size_t count;
	struct feature_call calls[FEATURE_CALLS_MAX];
	struct feature_rest rests[FEATURE_CALLS_MAX];
};

void feed_init(struct feed *f, const struct feature *feature);
/* Declares file `number` - 1. `peer`: for a socket, else NULL; path is then its local address. */
void feed_file(struct feed *f, int64_t number, enum file_type type, const char *path,
	       const char *peer, int64_t deleted);
/* Declares a datagram socket; a file on a device and file system; a thread's name. */
void feed_datagrams(struct feed *f, int64_t number, const char *local, const char *peer);
void feed_device(struct feed *f, int64_t number, const char *path, int64_t dev, const char *fs);
void feed_thread(struct feed *f, uint32_t task, const char *comm);
/* The same for a file that got its name at a certain time; the others had theirs before the first call. */
void feed_since(struct feed *f, int64_t number, enum file_type type, const char *path,
		int64_t since);
/* The next call waited on this descriptor; found: it was ready. */
void feed_ready(struct feed *f, uint32_t task, int64_t number, bool found);
void feed_one(struct feed *f, const char *op, const struct feed_call *c);
#define feed_call(f, op, ...) feed_one(f, op, &(struct feed_call){__VA_ARGS__})
/* Passes the remaining calls to the feature, and its rows to f->rows. */
void feed_end(struct feed *f, enum table_id table);
void feed_free(struct feed *f);
/* The row with this text in a column; fails unless there is exactly one. */
size_t feed_row(const struct feed *f, unsigned int column, const char *text);
/* The same for two columns. */
size_t feed_row2(const struct feed *f, unsigned int column, const char *text, unsigned int column2,
		 const char *text2);
/* Number of rows with the text. */
size_t feed_rows(const struct feed *f, unsigned int column, const char *text);
void feed_print(const struct feed *f);
