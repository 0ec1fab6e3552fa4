// SPDX-License-Identifier: Apache-2.0
/*
 * report_verdict.c: the first line of the page: the most important fact about the time in I/O. It names one operation
 * on one file if that takes a large part, else one operation, else states that nothing stands out. Time in which threads
 * in calls were ready to run but had no CPU is shown apart, as no file or device is to blame for it.
 */
#include <stdio.h>

#include "cli/report/report_page.h"
#include "cli/terminal/text.h"
#include "names/names.h"
#include "sums/walk.h"

#define STANDS_OUT 3  /* 1 / this of the time in I/O is a large part */
#define PATH_LEAST 20 /* minimum columns of a path on a narrow page */
#define NAME_MOST  18 /* columns of a process name */
#define NAME_LEAST 8  /* the same where the line would be too long for the page */
#define ALL_BUT	   20 /* if others have less than 1 / this, they are not mentioned */
#define NOTHING	   "nothing stands out; most time is in "

/* The line of a file on the page. In sums only the file keys of the first trace are already lines. */
static int64_t verdict_line(const struct report *r, int64_t file)
{
	if (file >= 0 && (size_t)file < r->alias_count)
		return r->alias[file];
	return dims_has(r->dims, TABLE_FILE, file) ? file_lines_line(r->lines, r->dims, file)
						   : file;
}

static bool verdict_map(void *arg, struct rollup_row *key)
{
	const struct report *r = arg;

	key->file_id = verdict_line(r, key->file_id);
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
	uint64_t runq, runq_io; /* part of the time of `most`, and of all I/O, ns */
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

/* ---- lack of CPUs ---- */

struct verdict_runq {
	const struct report *report;
	const struct verdict *verdict;
	uint64_t most, io;
};

static bool verdict_wants(void *arg, const struct store_block *b, size_t block)
{
	return b->max[OP_RUNQ] > 0;
}

static int verdict_take_runq(void *state, const struct walk_rows *rows)
{
	struct verdict_runq *q = state;
	const struct report *r = q->report;
	const struct rollup_row *most = q->verdict->most;
	const struct batch *b = rows->batch;

	for (size_t k = 0; k < rows->count; k++) {
		size_t row = rows->rows[k];
		uint64_t runq = (uint64_t)MAX(batch_get(b, OP_RUNQ, row, 0), 0);
		int64_t file = verdict_line(r, batch_get(b, OP_FILE_ID, row, -1));
		struct rollup_row key = {.class = batch_get(b, OP_CLASS, row, -1)};

		if (!runq || !report_is_io(&key) || rollup_is_running(b, row))
			continue;
		if (!rows->second)
			q->io = add_sat(q->io, runq);
		if (batch_get(b, OP_OP, row, -1) == most->op &&
		    (q->verdict->of_file ? file == most->file_id : !rows->second))
			q->most = add_sat(q->most, runq);
	}
	return 0;
}

/* Sums do not have it, so rows are read, of blocks in which some thread had no CPU. */
static int verdict_sum_runq(const struct report *r, struct verdict *v)
{
	struct verdict_runq all[WALK_THREADS_MAX];
	struct error unread = {0};
	struct walk w = {
		.ask = report_ask(r),
		.columns = 1ull << OP_OP | 1ull << OP_CLASS | 1ull << OP_FILE_ID |
			   1ull << OP_STATUS | 1ull << OP_RUNQ,
		.wants = verdict_wants,
		.take = verdict_take_runq,
		.workers = walk_workers(0),
	};
	int e;

	w.ask.seconds = true;
	for (unsigned int i = 0; i < w.workers; i++) {
		all[i] = (struct verdict_runq){.report = r, .verdict = v};
		w.states[i] = &all[i];
	}
	e = walk_run(&w, &unread);
	for (unsigned int i = 0; i < w.workers && e >= 0; i++) {
		v->runq = add_sat(v->runq, all[i].most);
		v->runq_io = add_sat(v->runq_io, all[i].io);
	}
	return e;
}

/* " (no CPU 1.2 s)" if that is a large part of the time, as with single calls */
static int verdict_put_runq(struct buf *to, uint64_t runq, uint64_t time_ns)
{
	if (!runq || runq < time_ns / REPORT_RUNQ_PART)
		return 0;
	return buf_printf(to, " (no CPU %s)", report_time(runq).s);
}

/* ---- the line ---- */

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
		buf_fail(&name, report_put_host(r, TABLE_FILE, v->most->file_id, &name));
		buf_fail(to, file_lines_name(r->lines, r->dims, v->most->file_id, &name));
		return format_path(to, name.data, name.len, left);
	}
	for (size_t i = 0; i < rollup_count(v->by_file); i++)
		files += rollup_row(v->by_file, i)->op == v->most->op;
	return buf_printf(to, "%s", format_counted(files, "file").s);
}

/* "redis-server 30617": the pid, and the name in at most `most` columns */
static int verdict_process(const struct report *r, int64_t thread, size_t most, struct buf *to)
{
	_cleanup_buf_ struct buf name = {0};
	size_t len;

	buf_fail(&name, report_put_host(r, TABLE_THREAD, thread, &name));
	buf_fail(to, names_process(r->dims, thread, &name));
	for (len = name.len; len && name.data[len - 1] != ' ';)
		len--;
	len = len ? len - 1 : name.len;
	format_path(to, name.data, len, most);
	return format_path(to, name.data + len, name.len - len, NAME_MOST);
}

/*
 * The process, if there are several: " by redis-server 30617", ", mostly by redis-server 30617"; or how many there are if
 * none has half of the time: " by 4 processes".
 */
static int verdict_who(const struct report *r, const struct verdict *v, size_t most, struct buf *to)
{
	int64_t file = v->of_file ? v->most->file_id : -1;
	const struct rollup_row *whose = verdict_most(v->by_process, v->most->op, file);
	uint64_t count = 0;

	if (!whose || whose->thread_id < 0 || dims_rows(r->dims, TABLE_PROCESS) < 2)
		return 0;
	for (size_t i = 0; i < rollup_count(v->by_process); i++) {
		const struct rollup_row *row = rollup_row(v->by_process, i);

		count += row->op == v->most->op && (file < 0 || row->file_id == file);
	}
	if (whose->time_ns < v->most->time_ns / 2)
		return buf_printf(to, " by %s processes", format_count(count).s);
	buf_printf(to, whose->time_ns < v->most->time_ns - v->most->time_ns / ALL_BUT
			       ? ", mostly by "
			       : " by ");
	return verdict_process(r, whose->thread_id, most, to);
}

/* `most`: columns of the process's name */
static int verdict_write(const struct report *r, const struct verdict *v, uint64_t io_ns,
			 size_t most, struct buf *to)
{
	_cleanup_buf_ struct buf rest = {0};
	bool stands_out = v->most->time_ns >= io_ns / STANDS_OUT;

	verdict_who(r, v, most, &rest);
	buf_printf(&rest, ": %s", report_time(v->most->time_ns).s);
	verdict_put_runq(&rest, v->runq, v->most->time_ns);
	buf_printf(&rest, ", %.0f %% of %s in I/O",
		   100.0 * (double)v->most->time_ns / (double)io_ns, report_time(io_ns).s);
	verdict_put_runq(&rest, v->runq_io, io_ns);
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
	e = verdict_sum_runq(r, &v);
	if (e >= 0)
		e = verdict_write(r, &v, t->io_ns, NAME_MOST, &line);
	for (size_t most = NAME_MOST;
	     e >= 0 && most > NAME_LEAST && format_width(buf_str(&line)) > page_width();) {
		buf_clear(&line);
		e = verdict_write(r, &v, t->io_ns, most -= 5, &line);
	}
	printf("%s", text_style(TEXT_BOLD));
	e = e < 0 ? e : page_line(&line);
	printf("%s", text_style(TEXT_PLAIN));
	return e;
}
