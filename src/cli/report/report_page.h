/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.h: what the sections of the page share. */
#pragma once

#include "cli/report/report.h"
#include "engine/answer.h"

/* Columns of the page. */
size_t page_width(void);

struct page_totals {
	uint64_t calls, bytes, io_ns;
	size_t processes, threads;
};

/* Prints a line, broken between words where it is longer than the page is wide. 0 or -ENOMEM. */
int page_line(struct buf *b);
/* An empty line and a table under its titles; a row of one cell is a line of its own. 0 or negative. */
int page_table(struct answer_list *list);
/* Fills the rest of a row with nothing. */
void page_rest(struct answer_list *list);
/* A cell of a share: "47 %". */
void page_share(struct answer_list *list, uint64_t part, uint64_t whole);

/* Orders pointers to rows: most time first. */
int page_row_order(const void *a, const void *b);
/* Pointers to the rows that `take` accepts (NULL: all), sorted; free() the array. */
int page_rows(const struct rollup *r, bool (*take)(const struct rollup_row *row),
	      int (*order)(const void *a, const void *b), const struct rollup_row ***ret,
	      size_t *ret_count);
/* The sum of the rows from `from` on, as one. hist_free() its histogram. */
int page_sum(const struct rollup_row *const *rows, size_t from, size_t count,
	     struct rollup_row *ret);

/* The first line: what takes most of the time in I/O; nothing where there is none. 0 or negative. */
int page_verdict(const struct report *r, const struct page_totals *t);
/* The section FILES AND PEERS. */
int page_files(struct report *r, const struct page_totals *t);

/* True where options chose what was recorded. */
static inline bool page_selected(const struct report *r)
{
	return r->selection.text && (r->selection.differ || *r->selection.text);
}
/* The first thing that weir diagnose found, where it was asked. 0 or negative. */
int page_findings(const struct report *r);
/* What to run next, about this very trace. 1 where damage left nothing to look at. */
int page_next(const struct report *r, const struct page_totals *t);
