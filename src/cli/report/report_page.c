/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.c: lines, names and sums of the page. */
#include "cli/report/report_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal/text.h"

void page_section(const char *title)
{
	printf("\n%s%s%s\n", text_style(TEXT_BOLD), title, text_style(TEXT_PLAIN));
}

static size_t word_begin(const char *s, size_t end)
{
	while (end && s[end - 1] != ' ')
		end--;
	return end;
}

static bool report_page_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * How much of s[0 .. len) to keep of a line that goes on behind it: half a number, or one without its unit, would be another
 * number.
 */
static size_t without_half_number(const char *s, size_t len)
{
	size_t word = word_begin(s, len), before = word;

	if (report_page_is_digit(s[word]))
		return word;
	while (before && s[before - 1] == ' ')
		before--;
	before = word_begin(s, before);
	return s[len] != ' ' && report_page_is_digit(s[before]) ? before : len;
}

int page_line(struct buf *b)
{
	_cleanup_buf_ struct buf cut = {0};
	const char *s = buf_str(b);
	bool fits = format_width(s) <= PAGE_WIDTH;
	int e = format_pad(&cut, s, fits ? format_width(s) : PAGE_WIDTH, false);

	if (e < 0)
		return e;
	if (!fits && cut.len < strlen(s))
		cut.len = without_half_number(s, cut.len);
	while (cut.len && cut.data[cut.len - 1] == ' ')
		cut.len--;
	printf("%s\n", buf_str(&cut));
	return 0;
}

int page_name(struct buf *out, struct bytes name, size_t width)
{
	_cleanup_buf_ struct buf cut = {0};
	int e = format_path(&cut, name.data, name.len, width);

	return e < 0 ? e : format_pad(out, buf_str(&cut), width, false);
}

int page_row_order(const void *a, const void *b)
{
	const struct rollup_row *x = *(const struct rollup_row *const *)a,
				*y = *(const struct rollup_row *const *)b;

	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	return x->op != y->op ? (x->op > y->op) - (x->op < y->op)
			      : (x->thread_id > y->thread_id) - (x->thread_id < y->thread_id);
}

int page_rows(const struct rollup *r, bool (*take)(const struct rollup_row *row),
	      int (*order)(const void *a, const void *b), const struct rollup_row ***ret,
	      size_t *ret_count)
{
	const struct rollup_row **rows = calloc(rollup_count(r) + 1, sizeof(*rows));
	size_t count = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < rollup_count(r); i++) {
		if (!take || take(rollup_row(r, i)))
			rows[count++] = rollup_row(r, i);
	}
	qsort(rows, count, sizeof(*rows), order);
	*ret = rows;
	*ret_count = count;
	return 0;
}

int page_sum(const struct rollup_row *const *rows, size_t from, size_t count,
	     struct rollup_row *ret)
{
	*ret = (struct rollup_row){.op = -1};
	for (size_t i = from; i < count; i++) {
		int e = hist_merge(&ret->hist, &rows[i]->hist);

		if (e < 0)
			return e;
		ret->calls += rows[i]->calls;
		ret->errors += rows[i]->errors;
		ret->bytes = add_sat(ret->bytes, rows[i]->bytes);
		ret->time_ns = add_sat(ret->time_ns, rows[i]->time_ns);
		ret->max_ns = MAX(ret->max_ns, rows[i]->max_ns);
	}
	return 0;
}
