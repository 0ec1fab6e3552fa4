/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_files.c: the section of files and peers: the files with most time, each with what was done
 * with it; or trees of folders where a program goes through thousands of files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_page.h"

#define FILE_LINES 10 /* of the section, without its title */
/* With more files than these, and none of them above 1/SCATTERED_SHARE of the time, trees are told.
 */
#define SCATTERED_FILES_MIN 20
#define SCATTERED_SHARE	    20
#define RATE_CALLS_MIN	    5 /* a rate of fewer says nothing */

struct regroup {
	struct grouping files, comms;
};

static bool map_file(void *arg, struct rollup_row *key)
{
	struct regroup *g = arg;

	if (!report_is_io(key))
		return false;
	key->file_id = grouping_of(&g->files, key->file_id);
	key->thread_id = grouping_of(&g->comms, key->thread_id);
	return key->file_id >= 0;
}

/* What a line of one operation on one file says at its end: how it was done. A rate of a few calls
 * says nothing. */
static void manner(const struct report *r, const struct rollup_row *row, char *out, size_t size)
{
	uint64_t good = row->calls - row->errors;
	bool often = row->calls >= RATE_CALLS_MIN;

	if (row->bytes && good && often && row->bytes / good >= 1000 * 1024)
		snprintf(out, size, "%.16s each", format_size(row->bytes / good).s);
	else if (row->bytes && good)
		snprintf(out, size, "%.16s each%s%.16s", format_size(row->bytes / good).s,
			 often ? ", " : "",
			 often ? format_rate(row->bytes, r->to - r->from, true).s : "");
	else
		snprintf(out, size, "%.24s",
			 often ? format_rate(row->calls, r->to - r->from, false).s : "");
}

static int file_op_line(const struct report *r, const struct regroup *g,
			const struct rollup_row *row)
{
	_cleanup_buf_ struct buf b = {0};
	struct bytes comm = row->thread_id >= 0 ? g->comms.groups[row->thread_id].name
						: (struct bytes){NULL, 0};
	char op[32], how[64];
	int e = buf_printf(&b, "    %-12.15s ", report_op_name(row->op, op));

	manner(r, row, how, sizeof(how));
	if (e >= 0)
		e = page_name(&b, comm, 16);
	if (e >= 0)
		e = buf_printf(&b, " %11s %10s %9s %7s  %s", format_count(row->calls).s,
			       row->bytes ? format_size(row->bytes).s : "-",
			       report_time(row->time_ns).s,
			       format_dur(report_quantile(row, 0.99), 2).s, how);
	return e < 0 ? e : page_line(&b);
}

static bool begins(struct bytes name, const char *with)
{
	return name.len > strlen(with) && !memcmp(name.data, with, strlen(with));
}

/* The name, how many are told as one, and how many operations have no line. */
static int file_name_line(const struct group *g, size_t more_ops)
{
	_cleanup_buf_ struct buf b = {0};
	bool sockets = begins(g->name, "clients, ") || begins(g->name, "to ");
	bool tree = g->name.len > 3 && !memcmp(g->name.data + g->name.len - 3, "/**", 3);
	int e = buf_printf(&b, "  ");

	if (e >= 0)
		e = format_path(&b, g->name.data, g->name.len, PAGE_WIDTH - 50);
	if (e >= 0 && g->members > 1 && (sockets || tree))
		e = buf_printf(&b, " (%s %s)", format_count(g->members).s,
			       sockets ? "connections" : "files");
	if (e >= 0 && more_ops)
		e = buf_printf(&b, "   and %zu operation%s more", more_ops,
			       more_ops == 1 ? "" : "s");
	return e < 0 ? e : page_line(&b);
}

/* The operations of one file, most time first, at most `lines` of them. */
static int file_ops(const struct report *r, const struct regroup *g, const struct rollup *all,
		    int64_t file, size_t lines)
{
	_cleanup_free_ const struct rollup_row **rows =
		calloc(rollup_count(all) + 1, sizeof(*rows));
	size_t count = 0;
	int e = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < rollup_count(all); i++) {
		if (rollup_row(all, i)->file_id == file)
			rows[count++] = rollup_row(all, i);
	}
	qsort(rows, count, sizeof(*rows), page_row_order);
	for (size_t i = 0; i < MIN(count, lines) && e >= 0; i++)
		e = file_op_line(r, g, rows[i]);
	return e;
}

static int others_line(const struct rollup_row *const *rows, size_t from, size_t count)
{
	_cleanup_buf_ struct buf b = {0};
	struct rollup_row rest;
	char name[48];
	int e = page_sum(rows, from, count, &rest);

	snprintf(name, sizeof(name), "%.14s other%s", format_count(count - from).s,
		 count - from == 1 ? "" : " files and peers");
	if (e >= 0)
		e = buf_printf(&b, "  %-32s%11s %10s %9s %7s", name, format_count(rest.calls).s,
			       rest.bytes ? format_size(rest.bytes).s : "-",
			       report_time(rest.time_ns).s,
			       format_dur(report_quantile(&rest, 0.99), 2).s);
	hist_free(&rest.hist);
	return e < 0 ? e : page_line(&b);
}

static size_t ops_of(const struct rollup *all, int64_t file)
{
	size_t n = 0;

	for (size_t i = 0; i < rollup_count(all); i++)
		n += rollup_row(all, i)->file_id == file;
	return n;
}

/* Sums by file and by what was done with it; g says what counts as one file. */
struct by_file {
	struct regroup g;
	struct rollup *all, *files;
	const struct rollup_row **rows; /* of files, most time first */
	size_t count;
};

static void by_file_free(struct by_file *f)
{
	grouping_free(&f->g.files);
	grouping_free(&f->g.comms);
	rollup_free(f->all);
	rollup_free(f->files);
	free(f->rows);
	*f = (struct by_file){0};
}

static int by_file_fill(struct by_file *f, const struct report *r, group_fn *fn)
{
	int e;

	*f = (struct by_file){
		.g = {{.report = r, .fn = fn, .members = true}, {.report = r, .fn = group_comm}}};
	e = rollup_regroup(r->scan.rollup, ROLLUP_FILE | ROLLUP_OP | ROLLUP_THREAD, map_file, &f->g,
			   &f->all);
	if (e >= 0)
		e = rollup_project(f->all, ROLLUP_FILE, &f->files);
	if (e >= 0)
		e = page_rows(f->files, NULL, page_row_order, &f->rows, &f->count);
	if (e >= 0)
		e = f->g.files.error ? f->g.files.error : f->g.comms.error;
	return e;
}

/* True where the files that would be named are next to nothing of the whole: then folders say more.
 */
static bool scattered(const struct by_file *f, const struct page_totals *t)
{
	return f->count > SCATTERED_FILES_MIN && f->rows[0]->time_ns < t->io_ns / SCATTERED_SHARE;
}

static int print_file_lines(const struct report *r, const struct by_file *f)
{
	size_t lines = FILE_LINES, i = 0;
	int e = 0;

	for (; e >= 0 && i < f->count; i++) {
		size_t all = ops_of(f->all, f->rows[i]->file_id),
		       ops = MIN(all, i < 2 ? (size_t)3 : (size_t)1);
		bool others = i + 1 < f->count;

		/* A name, a line or more, and the line of the others. */
		if (lines < 2u + others)
			break;
		ops = MIN(ops, lines - 1 - others);
		e = file_name_line(&f->g.files.groups[f->rows[i]->file_id], all - ops);
		if (e >= 0)
			e = file_ops(r, &f->g, f->all, f->rows[i]->file_id, ops);
		lines -= 1 + ops;
	}
	return e >= 0 && i < f->count ? others_line(f->rows, i, f->count) : e;
}

int page_files(const struct report *r, const struct page_totals *t)
{
	_cleanup_(by_file_free) struct by_file f = {0};
	int e = by_file_fill(&f, r, group_file);

	if (e >= 0 && scattered(&f, t)) {
		by_file_free(&f);
		e = by_file_fill(&f, r, group_tree);
	}
	if (e < 0 || !f.count)
		return e;
	page_section("FILES AND PEERS                         calls      bytes      time     p99");
	return print_file_lines(r, &f);
}
