/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disks_screen.c: `weir disks` on a terminal: a section per disk with its use, its requests by kind, its queue depth
 * over time, and the owners of its requests. A terminal shows at most four disks, a pipe all.
 */
#include "cli/analysis/analysis_command.h"

#include <stdio.h>
#include <string.h>

#include "analysis/disks/disks.h"
#include "cli/record/recorded.h"
#include "cli/terminal/answer_print.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/text.h"

#define SCREEN_DISKS  4
#define SCREEN_OWNERS 8	 /* per disk */
#define DEPTH_MAX     80 /* columns of the line of depths */
#define DEPTH_REST    10 /* columns next to it */

struct disks_view {
	const struct analysis_view *v;
	struct analysis_result *r;
	size_t width;
	int64_t span;
};

static const struct value *disk_cell(const struct answer_list *t, size_t row, size_t column)
{
	return &t->cells[row * t->column_count + column];
}

static size_t disk_column_of(const struct answer_list *t, const char *name)
{
	for (size_t c = 0; c < t->column_count; c++) {
		if (!strcmp(t->columns[c].name, name))
			return c;
	}
	assert(false);
	return 0;
}

static const struct value *named(const struct answer_list *t, size_t row, const char *name)
{
	return disk_cell(t, row, disk_column_of(t, name));
}

static bool is_of_disk(const struct answer_list *t, size_t row, struct bytes disk)
{
	const struct value *name = named(t, row, "disk");

	return name->t.len == disk.len && !memcmp(name->t.data, disk.data, disk.len);
}

/* "   merges 160", if there are any. */
static void put_counted(struct buf *b, size_t width, const char *what, int64_t n)
{
	if (n)
		format_next(b, width, "%s %s", what, format_count((uint64_t)n).s);
}

static int print_disk_head(const struct disks_view *d, size_t row)
{
	const struct answer_list *t = &d->r->tables[DISKS_USE].rows;
	const struct value *sequential = named(t, row, "sequential"),
			   *queued = named(t, row, "queued"), *device = named(t, row, "device");
	_cleanup_buf_ struct buf b = {0}, name = {0};
	struct bytes disk = named(t, row, "disk")->t;
	size_t len;
	int e;

	buf_fail(&b, format_safe(&name, disk.data, disk.len));
	len = strlen(buf_str(&name));
	format_next(&b, d->width, "%s   busy %s", buf_str(&name),
		    format_percent((uint64_t)(named(t, row, "busy")->f * 1e9), 1000000000).s);
	format_next(&b, d->width, "load %.2f (requests in flight, on average)",
		    named(t, row, "load")->f);
	if (!sequential->null)
		format_next(&b, d->width, "%s in sequence",
			    format_percent((uint64_t)(sequential->f * 1e9), 1000000000).s);
	if (!queued->null && !device->null)
		format_next(&b, d->width, "queued %s, in the device %s on average",
			    format_dur(queued->i).s, format_dur(device->i).s);
	put_counted(&b, d->width, "merged", named(t, row, "merges")->i);
	put_counted(&b, d->width, "ERRORS", named(t, row, "errors")->i);
	e = buf_status(&b);
	if (e >= 0)
		printf("%s%.*s%s%s\n", text_style(TEXT_BOLD), (int)len, buf_str(&b),
		       text_style(TEXT_PLAIN), buf_str(&b) + len);
	return e;
}

static int print_list(const struct disks_view *d, struct answer_list *list)
{
	const struct answer_print print = {.out = stdout,
					   .width = text_terminal() ? d->width : 0,
					   .colour = *text_style(TEXT_BOLD) != '\0'};

	return list->error < 0 || !list->count ? list->error : answer_text_list(&print, list, NULL);
}

static void copy(struct answer_list *to, const struct value *v)
{
	answer_list_if(to, !v->null, v->i);
}

static int print_disk_kinds(const struct disks_view *d, struct bytes disk)
{
	static const struct answer_column columns[] = {
		{"  REQUESTS", {QUERY_TEXT}, .fixed = true},
		{"count", {QUERY_INT}, ANSWER_COUNT},
		{"a second", {QUERY_FLOAT}, ANSWER_RATE},
		{"bytes", {QUERY_SIZE}, .dash = true},
		{"throughput", {QUERY_TEXT}, .fixed = true}, /* a rate */
		{"p50", {QUERY_DUR}},
		{"p99", {QUERY_DUR}},
		{"max", {QUERY_DUR}},
	};
	const struct answer_list *t = &d->r->tables[DISKS_KINDS].rows;
	_cleanup_answer_list_ struct answer_list list = {columns, ARRAY_SIZE(columns)};

	for (size_t i = 0; i < answer_list_rows(t); i++) {
		uint64_t count = (uint64_t)named(t, i, "requests")->i,
			 bytes = (uint64_t)named(t, i, "bytes")->i;
		char kind[32], rate[32];

		if (!is_of_disk(t, i, disk))
			continue;
		snprintf(kind, sizeof(kind), "  %s", vocab_word("kind", named(t, i, "kind")->i));
		answer_list_str(&list, kind);
		answer_list_uint(&list, count);
		answer_list_float(&list, named(t, i, "iops")->f);
		answer_list_uint(&list, bytes);
		snprintf(rate, sizeof(rate), "%10.24s",
			 bytes ? format_rate(bytes, d->span, true).s : "-");
		answer_list_str(&list, rate);
		copy(&list, named(t, i, "p50"));
		copy(&list, named(t, i, "p99"));
		copy(&list, named(t, i, "max"));
	}
	return print_list(d, &list);
}

/* Prints as many columns as fit, each with the highest depth of its windows. */
static int print_disk_depth(const struct disks_view *d, struct bytes disk)
{
	const struct answer_list *t = &d->r->tables[DISKS_DEPTH].rows;
	size_t room = MIN(d->width - DEPTH_REST, (size_t)DEPTH_MAX), count = 0, at = 0;
	uint64_t heights[DEPTH_MAX] = {0};
	_cleanup_buf_ struct buf line = {0};
	double highest = 0;
	int64_t when = 0;
	int e;

	for (size_t i = 0; i < answer_list_rows(t); i++)
		count += is_of_disk(t, i, disk);
	room = MIN(room, count);
	for (size_t i = 0; i < answer_list_rows(t) && room; i++) {
		double depth;
		size_t to;

		if (!is_of_disk(t, i, disk))
			continue;
		depth = disk_cell(t, i, DISKS_DEPTH_DEPTH)->f;
		to = at++ * room / count;
		heights[to] = MAX(heights[to], (uint64_t)(depth * 1000 + 0.5));
		if (depth > highest) {
			highest = depth;
			when = disk_cell(t, i, DISKS_DEPTH_AT)->i;
		}
	}
	if (highest <= 0)
		return 0;
	e = bars_spark(&line, heights, room);
	if (e >= 0)
		printf("  %sIN FLIGHT%s  average of each %s, highest %.1f at %s, over %s\n  %s\n",
		       text_style(TEXT_BOLD), text_style(TEXT_PLAIN),
		       format_dur(d->span / (int64_t)count).s, highest,
		       format_rel(when - d->v->origin, 3).s, format_dur(d->span).s, buf_str(&line));
	return e;
}

static int put_owner(struct answer_list *list, const struct answer_list *t, size_t row)
{
	const struct value *process = named(t, row, "process"), *file = named(t, row, "file"),
			   *pid = named(t, row, "pid"), *origin = named(t, row, "origin");
	_cleanup_buf_ struct buf who = {0}, what = {0};
	struct bytes name = process->t;

	buf_printf(&who, "  %.*s", name.len ? (int)name.len : -1,
		   name.len    ? (const char *)name.data
		   : pid->null ? "(not known)"
			       : "process");
	if (!pid->null)
		buf_printf(&who, " %lld", (long long)pid->i);
	if (file->t.len)
		buf_append(&what, file->t.data, file->t.len);
	else
		buf_printf(&what, "(%.*s)", (int)origin->t.len, (const char *)origin->t.data);
	answer_list_text(list, buf_bytes(&who));
	answer_list_int(list, named(t, row, "read")->i);
	answer_list_int(list, named(t, row, "written")->i);
	answer_list_int(list, named(t, row, "requests")->i);
	answer_list_text(list, buf_bytes(&what));
	return buf_fail(&who, buf_status(&what));
}

static int print_disk_owners(const struct disks_view *d, struct bytes disk)
{
	static const struct answer_column columns[] = {
		{"  OWNERS", {QUERY_TEXT}},
		{"read", {QUERY_SIZE}, .dash = true, .weight = true},
		{"written", {QUERY_SIZE}, .dash = true, .weight = true},
		{"requests", {QUERY_INT}, ANSWER_COUNT, .dash = true},
		{"file", {QUERY_TEXT}},
	};
	const struct answer_list *t = &d->r->tables[DISKS_OWNERS].rows;
	_cleanup_answer_list_ struct answer_list list = {columns, ARRAY_SIZE(columns)};
	size_t most = text_terminal() ? SCREEN_OWNERS : SIZE_MAX, count = 0;
	int e = 0;

	for (size_t i = 0; i < answer_list_rows(t) && e >= 0; i++) {
		if (is_of_disk(t, i, disk) && count++ < most)
			e = put_owner(&list, t, i);
	}
	e = e < 0 ? e : print_list(d, &list);
	if (e >= 0 && count > most)
		printf("  %s%zu more: weir report block%s\n", text_style(TEXT_DIM), count - most,
		       text_style(TEXT_PLAIN));
	return e;
}

static int print_disk(const struct disks_view *d, size_t row)
{
	struct bytes disk = named(&d->r->tables[DISKS_USE].rows, row, "disk")->t;
	int e = print_disk_head(d, row);

	e = e < 0 ? e : print_disk_kinds(d, disk);
	e = e < 0 ? e : print_disk_depth(d, disk);
	return e < 0 ? e : print_disk_owners(d, disk);
}

/* Prints that not all is shown, or that there is nothing. */
static int print_none(const struct analysis_view *v)
{
	const struct analysis_run *run = &v->runs[0];

	if (run->where || run->from != INT64_MIN || run->to != INT64_MAX) {
		printf("no disk request %s\n",
		       run->where ? "belongs to a thread with selected calls" : "is in the range");
		return 0;
	}
	return recorded_put_none(stdout, run->store, "block");
}

int disks_screen(const struct analysis_view *v)
{
	const struct analysis_run *run = &v->runs[0];
	const struct disks_more *more = v->result->own;
	const struct disks_view d = {.v = v,
				     .r = v->result,
				     .width = MAX(text_width(), (size_t)TEXT_WIDTH_MIN),
				     .span = run->last - run->first};
	size_t count = answer_list_rows(&v->result->tables[DISKS_USE].rows),
	       most = text_terminal() ? SCREEN_DISKS : SIZE_MAX;
	int e = count ? 0 : print_none(v);

	if (run->where && count)
		printf("requests of threads with selected calls\n\n");
	for (size_t i = 0; i < MIN(count, most) && e >= 0; i++) {
		if (i)
			putchar('\n');
		e = print_disk(&d, i);
	}
	if (e >= 0 && count > most)
		printf("\n%zu more disks: weir report disks\n", count - most);
	if (e >= 0 && more->left_out)
		printf("%sleft out: %s requests or parts of further disks and owners%s\n",
		       text_style(TEXT_RED), format_count((uint64_t)more->left_out).s,
		       text_style(TEXT_PLAIN));
	fflush(stdout);
	loss_warn(&v->loss);
	return e;
}
