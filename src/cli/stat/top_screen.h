/* SPDX-License-Identifier: Apache-2.0 */
/* top_screen.h: the full screen of `weir top`: drawing and keys. */
#pragma once

#include "base/error.h"
#include "cli/stat/stat_table.h"
#include "cli/stat/top_disks.h"

#define TOP_FILTER_MAX 64 /* bytes of a filter text */
#define TOP_DEPTH_MAX  FIGURES_BY_COUNT

struct top_view {
	struct stat_table_options figures;
	const struct dims *dims;
	struct file_lines *file_lines;
	const char *what;	       /* the selection or the trace */
	struct loss loss;	       /* since the start */
	const struct top_disks *disks; /* of the displayed sums; NULL: no disk had a request yet */
	int64_t interval_ns, total_ns;
	const struct rollup *total; /* since the start; NULL: not yet */
	bool show_total, paused, help, typing;
	bool fell_back; /* shows all since the start, as the selection had no calls in the interval */
	char filter[TOP_FILTER_MAX];
	size_t selected; /* number of the selected line */
	int64_t selected_key;
	size_t lines; /* of the last screen */
	/* the groupings descended into, which Backspace undoes */
	enum stat_table_by path[TOP_DEPTH_MAX];
	char path_label[TOP_DEPTH_MAX][TOP_FILTER_MAX];
	size_t depth;
	char selected_label[TOP_FILTER_MAX];
};

enum top_wish { TOP_NOTHING, TOP_REDRAW, TOP_FORGET, TOP_LEAVE };

/* Takes over the terminal; top_screen_close() restores it, even after a failure. */
int top_screen_open(struct error *err);
void top_screen_close(void);
/* Handles all pending keys. */
enum top_wish top_screen_keys(struct top_view *v);
/* Draws the sums; 0 or negative. */
int top_screen_draw(struct top_view *v, const struct rollup *r);
