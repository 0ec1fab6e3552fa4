// SPDX-License-Identifier: Apache-2.0
/* alike_screen.c: `weir flow` --similar, --groups and --order on a terminal. */
#include "cli/analysis/flow_screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/flow/flow.h"
#include "cli/terminal/format.h"
#include "cli/terminal/text.h"

#define STRIP_EPOCHS 20

/* "1,204 calls with content, 310 kinds of data", and the method that finds similar data. */
static int alike_head(const struct alike *a, const struct alike_options *o, size_t width)
{
	_cleanup_buf_ struct buf line = {0};
	int r;

	format_next(&line, width, "%s with content", format_counted(a->content, "call").s);
	if (!o->order)
		format_next(&line, width,
			    a->unit == ALIKE_FILES ? "%s files, each way" : "%s kinds of data",
			    format_count(a->kind_count).s);
	if (a->unknown)
		format_next(&line, width, "%s without all of it", format_count(a->unknown).s);
	r = buf_status(&line);
	if (r >= 0)
		printf("%s\n", buf_str(&line));
	if (!a->content)
		printf("no content recorded: weir record --content=chunks\n");
	if (r < 0 || o->order)
		return r;
	buf_clear(&line);
	format_next(&line, width, "compared by %s",
		    a->cuts ? "cuts, wherever they lie" : "4-KiB pieces at multiples of 4,096");
	if (!a->cuts)
		format_next(&line, width, "record --content=chunks finds data wherever it lies");
	r = format_next(&line, width, "estimates: %d hashes, standard error at most 3.1 %%",
			ALIKE_HASHES);
	if (r < 0)
		return r;
	printf("%s\n", buf_str(&line));
	return r;
}

static void alike_left_out(uint64_t n, const char *what)
{
	if (n)
		printf("%sleft out: %s %s%s\n", text_style(TEXT_RED), format_count(n).s, what,
		       text_style(TEXT_PLAIN));
}

static void alike_counted(const struct alike *a)
{
	alike_left_out(a->calls_left_out, "calls that do not fit into memory; select a range");
	alike_left_out(a->parts_left_out, "parts that do not fit into memory; select a range");
	alike_left_out(a->sets_left_out, "sets that do not fit into memory; select a range");
	alike_left_out(a->pairs_left_out, "pairs of data with too many similar ones");
	alike_left_out(a->rows_left_out, "rows; select more narrowly");
}

/* ---- order ---- */

static const struct answer_list *reads_of(const struct analysis_view *v)
{
	return &v->result->tables[1].rows;
}

/*
 * A line per epoch, in the order of its reads. A letter is the position that the data has in the first epoch, from a
 * at its beginning to z at its end. Equal orders have equal lines.
 */
static int alike_strip(const struct analysis_view *v, const struct alike *a, size_t width)
{
	const struct answer_list *t = reads_of(v);
	size_t rows = answer_list_rows(t), row = 0, columns = width - 10;
	uint64_t most = 1;

	for (size_t i = 0; i < rows; i++)
		most = MAX(most, (uint64_t)t->cells[i * t->column_count + 2].i);
	for (size_t e = 0; e < MIN(a->epoch_count, (size_t)STRIP_EPOCHS); e++) {
		uint64_t reads = a->epochs[e].reads;
		size_t cells = (size_t)MIN(reads, (uint64_t)columns);
		_cleanup_free_ char *line = malloc(cells + 1);

		if (!line)
			return -ENOMEM;
		memset(line, ' ', cells);
		line[cells] = '\0';
		for (; row < rows && t->cells[row * t->column_count].i == (int64_t)e + 1; row++) {
			const struct value *c = &t->cells[row * t->column_count];
			uint64_t at = (uint64_t)(c[1].i - 1) * cells / reads;

			if (line[at] == ' ')
				line[at] = (char)('a' + (uint64_t)(c[2].i - 1) * 26 / most);
		}
		printf("%7zu   %s\n", e + 1, line);
	}
	return 0;
}

static int order_screen(const struct analysis_view *v, const struct alike *a, size_t width)
{
	int r;

	printf("%s reads of data that is read again, %s of data that is read once\n",
	       format_count(a->read_count).s, format_count(a->once).s);
	if (!a->epoch_count)
		return 0;
	r = analysis_put_table(v, 0, NULL);
	printf("\ntau: 1 the order of the epoch before, -1 reversed, near 0 shuffled; neighbours: "
	       "data that still\nfollows the same data; both cover the data that is read once in "
	       "both epochs\n\n");
	printf("%7s   %s\n", "epoch",
	       "the order of reads, first to last: a to z by position in the first epoch");
	return r < 0 ? r : alike_strip(v, a, width);
}

int alike_screen(const struct analysis_view *v, const struct alike *a,
		 const struct alike_options *o)
{
	size_t width = MAX(text_width(), (size_t)TEXT_WIDTH_MIN);
	int r = alike_head(a, o, width);

	if (r >= 0 && a->content)
		r = o->order ? order_screen(v, a, width) : 0;
	for (size_t i = 0; r >= 0 && a->content && !o->order && i < v->result->count; i++)
		r = analysis_put_table(v, i, NULL);
	alike_counted(a);
	fflush(stdout);
	loss_warn(&v->loss);
	return r;
}
