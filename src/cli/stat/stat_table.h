/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stat_table.h: the table of `stat` and `top`: a rollup grouped by operation, process, thread, file or error, with
 * names, sorted. Waiting is separate, as everywhere.
 */
#pragma once

#include <stdio.h>

#include "sums/rollup.h"
#include "base/buf.h"
#include "engine/answer.h"
#include "names/file_lines.h"
#include "cli/terminal/loss_text.h"

enum stat_table_by {
	FIGURES_OP,
	FIGURES_PROCESS,
	FIGURES_THREAD,
	FIGURES_FILE,
	FIGURES_ERROR,
	FIGURES_BY_COUNT
};
enum stat_table_sort {
	FIGURES_TIME,
	FIGURES_CALLS,
	FIGURES_BYTES,
	FIGURES_ERRORS,
	FIGURES_MAX,
	FIGURES_READ,
	FIGURES_WRITTEN,
	FIGURES_P99,
	FIGURES_SORT_COUNT
};

/* The keys that a rollup needs for figures by any grouping. */
#define FIGURES_KEYS (ROLLUP_OP | ROLLUP_CLASS | ROLLUP_THREAD | ROLLUP_FILE | ROLLUP_ERR)

struct figure {
	int64_t key;		      /* op, process_id, task, line of files or errno; -1: none */
	char *label;		      /* safe for a terminal */
	struct bytes argument;	      /* distinguishes a process from others of its name */
	const struct rollup_row *row; /* the sums; its key fields are meaningless */
	/*
	 * Parts of row->bytes, and for a process or thread also those of calls that waited; a copy between files counts in
	 * both, but for a file in one of them.
	 */
	uint64_t read, written;
};

struct stat_table_options {
	enum stat_table_by by;
	enum stat_table_sort sort;
	const char *text; /* only labels that contain it; NULL: all */
	/* Only calls with these keys of each kind, -1: any. Index: enum figures_by. */
	int64_t only[FIGURES_BY_COUNT];
};

/* Calls excluded from rows and percentages. */
struct stat_table_rest {
	uint64_t calls, bytes, time_ns;
	char *kinds; /* "epoll_wait 178,585, futex 25", most frequent first */
};

struct stat_table {
	struct rollup *grouped;
	struct figure *items;
	size_t count;
	uint64_t calls, errors, bytes, time_ns; /* of I/O calls, before `text` is applied */
	struct stat_table_rest waiting;		/* waiting for work: not I/O */
	struct stat_table_rest other;		/* memory, processes, ...: neither */
};

/* Words for enum figures_by and figures_sort: "op", "process", ...; "time", "calls", ...; NULL past the last. */
const char *stat_table_by_word(size_t by);
const char *stat_table_sort_word(size_t sort);
/*
 * Parses --by and --sort (NULL: by `otherwise`, sorted by time); nothing is selected. 0, or -EINVAL with a message
 * that lists the known words.
 */
int stat_table_options_parse(struct stat_table_options *ret, const char *by,
			     enum stat_table_by otherwise, const char *sort, struct error *err);

/* 0 or -ENOMEM; call stat_table_free() in either case. `r` and `d` must live as long; `lines` is updated. */
int stat_table_make(struct stat_table *ret, const struct rollup *r, const struct dims *d,
		    struct file_lines *lines, const struct stat_table_options *opt);
void stat_table_free(struct stat_table *f);
/* A percentile: the middle of its bucket, but at most the largest value. */
uint64_t stat_table_quantile(const struct rollup_row *row, double q);
#define _cleanup_figures_ _cleanup_(stat_table_free)

/* Returns the first rows, for people and for programs; ret->error if out of memory. */
void stat_table_rows(struct answer_list *ret, const struct stat_table *f, enum stat_table_by by,
		     size_t rows);
/* Prints the titles and the first rows, a line each, in at most `width` columns (0: unlimited). 0 or negative. */
int stat_table_print(FILE *out, const struct stat_table *f, enum stat_table_by by, size_t rows,
		     size_t width, bool colour, struct error *err);
/* The same for `weir top`, like iotop's but by any grouping: rates over `span_ns`, and the share of time spent in I/O. */
int top_table_print(FILE *out, const struct stat_table *f, enum stat_table_by by, size_t rows,
		    size_t width, int64_t span_ns);

struct stat_table_json {
	int64_t origin;	 /* ns since the epoch */
	int64_t span_ns; /* duration that the sums cover */
	const struct loss *loss;
	const uint64_t
		*running; /* calls that had not ended when recording stopped; NULL: unknown */
};

/* Prints a JSON document on one line: the figures, the waiting calls, the span. 0 or negative. */
int stat_table_put_json(FILE *out, const struct stat_table *f, enum stat_table_by by, size_t rows,
			const struct stat_table_json *j, struct error *err);
