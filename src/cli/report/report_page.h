/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.h: what the sections of the page share. */
#pragma once

#include "cli/report/report.h"

#define PAGE_WIDTH FORMAT_COLUMNS

struct page_totals {
	uint64_t calls, bytes, io_ns;
	size_t processes, threads;
};

/* An empty line and a title. */
void page_section(const char *title);
/* Prints a line cut to the width of the page, but not within a number. 0 or -ENOMEM. */
int page_line(struct buf *b);
/* Appends a name in exactly `width` columns. */
int page_name(struct buf *out, struct bytes name, size_t width);

/* Orders pointers to rows: most time first. */
int page_row_order(const void *a, const void *b);
/* Pointers to the rows that `take` accepts (NULL: all), sorted; free() the array. */
int page_rows(const struct rollup *r, bool (*take)(const struct rollup_row *row),
	      int (*order)(const void *a, const void *b), const struct rollup_row ***ret,
	      size_t *ret_count);
/* The sum of the rows from `from` on, as one. hist_free() its histogram. */
int page_sum(const struct rollup_row *const *rows, size_t from, size_t count,
	     struct rollup_row *ret);

/* The section FILES AND PEERS. */
int page_files(struct report *r, const struct page_totals *t);
