// SPDX-License-Identifier: Apache-2.0
/*
 * report_verdict.c: the first line of the page: the most important fact about the time in I/O. It names one operation
 * on one file if that takes a large part, else one operation, else states that nothing stands out.
 */
#include <stdio.h>

#include "cli/report/report_page.h"
#include "cli/terminal/text.h"
#include "names/names.h"

#define STANDS_OUT 3  /* 1 / this of the time in I/O is a large part */
#define PATH_LEAST 20 /* minimum columns of a path on a narrow page */
#define NAME_MOST  24 /* columns of a process name */
#define ALL_BUT	   20 /* if others have less than 1 / this, they are not mentioned */
#define NOTHING	   "nothing stands out; most time is in "

/* File keys are already lines of the page, as the sums were made that way. */
static bool verdict_map(void *arg, struct rollup_row *key)
{
	const struct report *r = arg;

	key->thread_id = names_process_of(r->dims, key->thread_id);
	return report_is_io(key);
}

static bool verdict_map_op(void *arg, struct rollup_row *key)
{
	return report_is_io(key);
}

/* The compared sums: by process, file and operation, and by fewer of these. */
struct verdict {
	struct rollup *all, *by_file, *by_op;
	struct rollup *by_process; /* and operation; and file, if it is about a file */
	const struct rollup_row *most;
	bool of_file;
};

static void verdict_free(struct verdict *v)
{
	rollup_free(v->all);
	rollup_free(v->by_file);
	rollup_free(v->by_op);
	rollup_free(v->by_process);
}

/* The row with the most time of an operation and file; negative: any. NULL if there is none. */
static const struct rollup_row *verdict_most(const struct rollup *rows, int64_t op, int64_t file)
{
	const struct rollup_row *best = NULL;

	for (size_t i = 0; i < rollup_count(rows); i++) {
		const struct rollup_row *row = rollup_row(rows, i);

		if ((op < 0 || row->op == op) && (file < 0 || row->file_id == file) &&
		    (!best || page_row_order(&row, &best) < 0))
			best = row;
	}
	return best;
}

static int verdict_sum(const struct report *r, struct verdict *v, uint64_t io_ns)
{
	const struct rollup_row *on_file, *op;
	int e = rollup_regroup(r->scan.rollup, ROLLUP_FILE | ROLLUP_OP | ROLLUP_THREAD, verdict_map,
			       (void *)r, &v->all);

	if (e >= 0)
		e = rollup_project(v->all, ROLLUP_FILE | ROLLUP_OP, &v->by_file);
	if (e >= 0)
		e = rollup_regroup(r->scan.rollup, ROLLUP_OP, verdict_map_op, NULL, &v->by_op);
	if (e < 0)
		return e;
	on_file = verdict_most(v->by_file, -1, -1);
	op = verdict_most(v->by_op, -1, -1);
	v->of_file =
		on_file && on_file->file_id >= 0 &&
		(on_file->time_ns >= io_ns / STANDS_OUT || !op || op->time_ns < io_ns / STANDS_OUT);
	v->most = v->of_file ? on_file : op;
	return rollup_project(v->all, ROLLUP_OP | ROLLUP_THREAD | (v->of_file ? ROLLUP_FILE : 0),
			      &v->by_process);
}

/* "fdatasync on ./aof", "openat on 1,996 files", in at most `width` columns if possible */
static int verdict_subject(const struct report *r, const struct verdict *v, size_t width,
			   struct buf *to)
{
	_cleanup_buf_ struct buf name = {0};
	uint64_t files = 0;
	char op[32];

	buf_printf(to, "%s on ", report_op_name(v->most->op, op));
	if (v->of_file) {
		size_t left = width - MIN(width, to->len);

		/* a line that is wrapped in any case has room */
		if (left < PATH_LEAST)
			left = MAX(page_width() / 2, (size_t)PATH_LEAST);
		buf_fail(to, file_lines_name(r->lines, r->dims, v->most->file_id, &name));
		return format_path(to, name.data, name.len, left);
	}
	for (size_t i = 0; i < rollup_count(v->by_file); i++)
		files += rollup_row(v->by_file, i)->op == v->most->op;
	return buf_printf(to, "%s file%s", format_count(files).s, files == 1 ? "" : "s");
}

/*
 * The process, if there are several: " by redis-server 30617", ", mostly by redis-server 30617"; or how many there are if
 * none has half of the time: " by 4 processes".
 */
static int verdict_who(const struct report *r, const struct verdict *v, struct buf *to)
{
	int64_t file = v->of_file ? v->most->file_id : -1;
	const struct rollup_row *whose = verdict_most(v->by_process, v->most->op, file);
	_cleanup_buf_ struct buf name = {0};
	uint64_t count = 0;

	if (!whose || whose->thread_id < 0 || dims_rows(r->dims, TABLE_PROCESS) < 2)
		return 0;
	for (size_t i = 0; i < rollup_count(v->by_process); i++) {
		const struct rollup_row *row = rollup_row(v->by_process, i);

		count += row->op == v->most->op && (file < 0 || row->file_id == file);
	}
	if (whose->time_ns < v->most->time_ns / 2)
		return buf_printf(to, " by %s processes", format_count(count).s);
	buf_fail(to, names_process(r->dims, whose->thread_id, &name));
	buf_printf(to, whose->time_ns < v->most->time_ns - v->most->time_ns / ALL_BUT
			       ? ", mostly by "
			       : " by ");
	return format_path(to, name.data, name.len, NAME_MOST);
}

static int verdict_write(const struct report *r, const struct verdict *v, uint64_t io_ns,
			 struct buf *to)
{
	_cleanup_buf_ struct buf rest = {0};
	bool stands_out = v->most->time_ns >= io_ns / STANDS_OUT;

	verdict_who(r, v, &rest);
	buf_printf(&rest, ": %s, %.0f %% of %s in I/O", report_time(v->most->time_ns).s,
		   100.0 * (double)v->most->time_ns / (double)io_ns, report_time(io_ns).s);
	if (!stands_out)
		buf_printf(to, NOTHING);
	verdict_subject(r, v, page_width() - MIN(page_width(), rest.len), to);
	return buf_add(to, &rest);
}

int page_verdict(const struct report *r, const struct page_totals *t)
{
	_cleanup_(verdict_free) struct verdict v = {0};
	_cleanup_buf_ struct buf line = {0};
	int e;

	/* If much is missing, that is the most important fact: it is reported instead. */
	if (!t->io_ns || loss_of_calls(&r->loss) || r->loss.damage.blocks || r->loss.failed.count)
		return 0;
	e = verdict_sum(r, &v, t->io_ns);
	if (e < 0 || !v.most)
		return e;
	e = verdict_write(r, &v, t->io_ns, &line);
	printf("%s", text_style(TEXT_BOLD));
	e = e < 0 ? e : page_line(&line);
	printf("%s", text_style(TEXT_PLAIN));
	return e;
}
