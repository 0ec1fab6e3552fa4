/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.h: shared by the sections of the page. */
#pragma once

#include "cli/report/report.h"
#include "engine/answer.h"

/* Columns of the page. */
size_t page_width(void);

struct page_totals {
	uint64_t calls, bytes, io_ns;
	size_t processes, threads;
};

/* Prints a line, wrapped between words at the page's width. 0 or -ENOMEM, also if writing the line has failed. */
int page_line(struct buf *b);
/* Prints an empty line and a table with titles; a row with a single cell becomes a line by itself. 0 or negative. */
int page_table(struct answer_list *list);
/* Fills the rest of a row with empty cells. */
void page_rest(struct answer_list *list);
/* Appends a share as a cell: "47 %". */
void page_share(struct answer_list *list, uint64_t part, uint64_t whole);

/*
 * Order pointers to rows by time, and by calls, descending. The orders are total, as the order of rows in a sum depends
 * on the threads that made it.
 */
int page_row_order(const void *a, const void *b);
int page_calls_order(const void *a, const void *b);
/* The sum of the rows from `from` on, as one row. Call hist_free() on its histogram. */
int page_sum(const struct rollup_row *const *rows, size_t from, size_t count,
	     struct rollup_row *ret);

/* Prints the files, commands and hosts, when recording began and how long it lasted. 0 or negative. */
int page_origin(const struct report *r);
/* Prints the first line: what takes most of the time in I/O; nothing if there is no I/O. 0 or negative. */
int page_verdict(const struct report *r, const struct page_totals *t);
/* Prints the section FILES AND PEERS. */
int page_files(struct report *r, const struct page_totals *t);

/* True if options selected what to record. */
static inline bool page_selected(const struct report *r)
{
	return r->selection.text && (r->selection.differ || *r->selection.text);
}
/* Prints the first finding of weir diagnose, if it was run. 0 or negative. */
int page_findings(const struct report *r);
/* Prints the next commands for this trace. 1 if damage left nothing to look at. */
int page_next(const struct report *r, const struct page_totals *t);
