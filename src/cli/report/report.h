/* SPDX-License-Identifier: Apache-2.0 */
/* report.h: shared by the files of `weir report`. Not for other commands. */
#pragma once

#include <stdio.h>

#include "sums/level.h"
#include "sums/scan.h"
#include "base/saturate.h"
#include "cli/options/choose.h"
#include "cli/terminal/format.h"
#include "cli/terminal/loss_text.h"
#include "cli/options/shared.h"
#include "names/file_lines.h"

#define REPORT_RUNQ_PART \
	10 /* a lack of CPUs is shown if it is at least 1 / this of the time in calls */
#define REPORT_SLOWEST_SCREEN 4	   /* calls under SLOWEST */
#define REPORT_HOST_MAX	      16   /* columns of a machine's name */
#define REPORT_TREE_KEY	      "t:" /* prefix of the keys of trees in group_tree() */
#define REPORT_SLOWEST_PIPE   1000 /* rows of `report slow` in a pipe, without --head */

struct report_opts {
	struct read_flags read;
	const char *sort;
	int64_t head; /* 0: TEXT_ROWS_MAX on a terminal, else unlimited */
};

/* ---- groups: several ids in one line ---- */

struct report;

/*
 * Names are made once per id; two ids with the same key form one group. `key` identifies the group, `name` is
 * displayed (as the program chose it, made safe when printed). Returns 0, 1 to leave the id out, or -ENOMEM.
 */
typedef int group_fn(const struct report *r, int64_t id, struct buf *key, struct buf *name);

struct group {
	struct bytes name;
	uint64_t members; /* connections, threads, or files that successively had one path */
	int64_t id;	  /* the first */
};

struct grouping {
	const struct report *report;
	group_fn *fn;
	bool members;	/* ids are files, each of which counts once */
	struct map ids; /* id + 1 -> group + 1, 0: left out */
	struct intern keys;
	struct group *groups;
	size_t cap;
	int error;
};

void grouping_free(struct grouping *g);
#define _cleanup_grouping_ _cleanup_(grouping_free)
/* The group of an id; -1 if it is left out (or out of memory: g->error). */
int64_t grouping_of(struct grouping *g, int64_t id);
static inline size_t grouping_count(const struct grouping *g)
{
	return g->keys.count;
}

group_fn group_task, group_comm, group_process, group_file, group_peer, group_dir, group_path,
	group_tree;

/* ---- the report ---- */

enum tree {
	TREE_WHOLE = 1, /* everything below it is one line */
	TREE_OPEN,	/* each folder in it has a line */
};

/* The contents of the traces' marks of one name. */
struct mark_text {
	char *text; /* the first one's; NULL: no trace has one */
	size_t count;
	bool differ;
};

struct report {
	const struct report_opts *opts;
	char **names; /* traces as named on the command line, after the options */
	int name_count;
	struct store *store;
	const struct dims *dims;
	int64_t first, last; /* of the trace: relative times refer to it */
	int64_t from, to;    /* the displayed range within the trace */
	bool ranged;	     /* --from or --to were given */
	bool filtered;	     /* a selection was given */
	bool waits;	     /* the selection names waiting calls: they are ranked too */
	struct select select;
	struct choice choice;
	struct scan_filter filter; /* the selection's filter, with the range */
	struct scan_result scan;
	struct loss loss;
	struct file_lines *lines;
	int64_t *alias; /* by file_id: its line of files */
	size_t alias_count;
	uint32_t *members; /* by line: number of ids that calls named */
	struct map trees;  /* hash of a folder's path -> enum tree: how group_tree() displays it */
	struct map
		alone; /* hash of a key of group_file(): group_tree() displays this file by itself */
	size_t gap_free_marks;
	size_t sources; /* traces; in one that was fetched from a store, the files that it came from */
	bool gap_free;		    /* every trace states that it has no gaps */
	uint64_t held_ns;	    /* how long weir held the program (--lossless) */
	struct mark_text command;   /* weir.command, weir.synth */
	struct mark_text selection; /* the options that selected what to record; none: all */
	uint64_t masked;	    /* arguments that looked like secrets */
	uint64_t left_out;	    /* calls that these options dropped after they had ended */
	size_t synthetic;	    /* number of synthetic traces */
	size_t hosts;		    /* number of machines with different names */
};

/*
 * Opens and reads the traces that the options name, for a table or for the page (NULL). `slowest`: how many to look
 * for; on the page only I/O counts. 0 or negative.
 */
int report_open(struct report *r, const struct report_opts *opts, int argc, char **argv,
		const char *which, size_t slowest, struct error *err);
void report_close(struct report *r);

static inline bool report_is_wait(const struct rollup_row *row)
{
	return row->class == CLASS_WAIT;
}
static inline bool report_is_io(const struct rollup_row *row)
{
	return class_is_io(row->class);
}

/* For passes over rows that select what the sums of report_open() include. */
struct sums_ask report_ask(const struct report *r);

static inline struct text report_time(uint64_t ns)
{
	return format_dur(ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
}
/* A percentile of a row's durations, ns. */
int64_t report_quantile(const struct rollup_row *row, double q);
/* A point in time in the form that the options request. */
struct text report_when(const struct report *r, int64_t ns);
/*
 * Appends "db1:" if the traces are of several machines, since their threads and files may have equal names; `table`: thread,
 * process or file. Nothing in JSON, where it is a column.
 */
int report_put_host(const struct report *r, enum table_id table, int64_t id, struct buf *out);
/* The name of a thread (its comm), safe for the terminal; "" if unknown. Of several machines: "db1:fio". */
int report_comm(const struct report *r, int64_t thread_id, struct buf *out);
/* Formats the call of a row as one line of at most `width` columns. */
int report_call(const struct report *r, const struct batch *b, size_t row, size_t width,
		struct buf *out);
const char *report_op_name(int64_t op, char buf[static 32]);
const char *report_err_name(int64_t err, char buf[static 32]);

/* The part of a thread's life within the report's range, and how it was spent, ns. */
struct thread_time {
	int64_t task, tid;
	struct bytes comm;
	uint64_t span, io, wait, other; /* requests of io_uring and libaio are not included */
	uint64_t async; /* time during which at least one of its requests was under way */
};
/* Calls and time, by operation, of calls that had not ended; the time is that of report_threads(). */
int report_running(const struct report *r, struct rollup **ret) _must_check_;
/* Threads (over their versions), most I/O first; free() the array. */
int report_threads(const struct report *r, struct thread_time **ret, size_t *ret_count);

/* Prints to standard output. 0 or negative; the screen returns 1 if damage left no call to show. */
int report_screen(struct report *r);
int report_table(struct report *r, const char *which, struct error *err);
int report_json(struct report *r, const char *which, struct error *err);
/* 0 if the table can be sorted by that column, else -EINVAL with the list of columns. */
int report_sort_check(const char *which, const char *sort, struct error *err);
/* The names of the tables; NULL past the last. */
const char *report_table_name(size_t i);
/* The columns of all tables, likewise. */
const char *report_column_name(size_t i);
/* The keys of the sums behind the table: enum rollup_key. */
unsigned int report_table_keys(const char *which);
/* The trace's table behind the report's table, if it is one recorded by --with; else TABLE_OP. */
enum table_id report_table_beside(const char *which);
/* True if there is a table of that name. */
bool report_table_known(const char *which);
