/* SPDX-License-Identifier: Apache-2.0 */
/* beside.h: tables of `weir report` made from the rows of tables other than op (record --with). */
#pragma once

#include "base/map.h"
#include "cli/report/report_rows.h"

/* Takes a row. 0, or negative to stop. */
typedef int beside_fn(void *arg, const struct batch *b, size_t row);

/* The column through which rows are matched with selected calls, if calls are selected. */
enum beside_by { BESIDE_ALL, BESIDE_THREADS, BESIDE_TASKS, BESIDE_FILES };

/*
 * Scans the rows of a table that ended in the report's range, in that order, and whose thread (that version of it, or
 * any), or file, in `column` is that of a selected call. `columns`: the set of requested columns.
 */
int beside_scan(const struct report *r, enum table_id table, uint64_t columns, enum beside_by by,
		unsigned int column, beside_fn *fn, void *arg);
/*
 * Groups of `size` bytes by key; a new group is zeroed. NULL: out of memory. Pointers are valid until the next call.
 * Starts as {0} but for the size.
 */
struct beside_groups {
	size_t size;
	struct map at; /* hash of a key -> index */
	void *all;
	size_t count, cap;
};
void *beside_group(struct beside_groups *g, uint64_t hash);
void beside_groups_free(struct beside_groups *g);
#define _cleanup_beside_ _cleanup_(beside_groups_free)

/* Adds "redis-server 30617", the process of a thread; null if unknown. 0 or -ENOMEM. */
int beside_put_process(const struct report *r, struct answer_list *t, int64_t thread_id);
/* Adds "rocksdb:low 4712", likewise. */
int beside_put_thread(const struct report *r, struct answer_list *t, int64_t thread_id);

/* Columns of these tables. */
#define BESIDE_DUR(NAME, ...)                                               \
	{                                                                   \
		NAME, {QUERY_DUR}, .word = "dur", .dash = true, __VA_ARGS__ \
	}
#define BESIDE_COUNT(NAME, ...)                                            \
	{                                                                  \
		NAME, {QUERY_INT}, ANSWER_COUNT, .dash = true, __VA_ARGS__ \
	}
#define BESIDE_SIZE(NAME, ...)                                                \
	{                                                                     \
		NAME, {QUERY_SIZE}, .word = "size", .dash = true, __VA_ARGS__ \
	}

/* ---- the tables: each function fills a list with the columns declared here ---- */

#define BESIDE_NET_COLUMNS 16
extern const struct answer_column beside_net_columns[BESIDE_NET_COLUMNS];
int beside_net(struct report *r, struct answer_list *t, struct error *err);

#define BESIDE_SCHED_COLUMNS 13
extern const struct answer_column beside_sched_columns[BESIDE_SCHED_COLUMNS];
int beside_sched(struct report *r, struct answer_list *t, struct error *err);

#define BESIDE_IRQ_COLUMNS 10
extern const struct answer_column beside_irq_columns[BESIDE_IRQ_COLUMNS];
int beside_irq(struct report *r, struct answer_list *t, struct error *err);

#define BESIDE_MEM_COLUMNS 7
extern const struct answer_column beside_mem_columns[BESIDE_MEM_COLUMNS];
int beside_mem(struct report *r, struct answer_list *t, struct error *err);

#define BESIDE_BLOCK_COLUMNS 10
extern const struct answer_column beside_block_columns[BESIDE_BLOCK_COLUMNS];
int beside_block(struct report *r, struct answer_list *t, struct error *err);

#define BESIDE_CONTENT_COLUMNS 10
extern const struct answer_column beside_content_columns[BESIDE_CONTENT_COLUMNS];
int beside_content(struct report *r, struct answer_list *t, struct error *err);
/* "CONTENT  1.76 MiB of 1.76 MiB handled (100 %)", and the rest by outcome; nothing if no content was recorded. */
int beside_content_line(const struct report *r, struct buf *b);

/* Its columns: disk_use_columns. */
int beside_disks(struct report *r, struct answer_list *t, struct error *err);
