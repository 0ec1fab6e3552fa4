/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.c: the lines, names and sums of the page. */
#include "cli/report/report_page.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "cli/terminal/answer_print.h"
#include "cli/terminal/text.h"

size_t page_width(void)
{
	return MAX(text_width(), (size_t)TEXT_WIDTH_MIN);
}

int page_table(struct answer_list *list)
{
	const struct answer_print print = {.out = stdout,
					   .style = {.null = ""},
					   .width = page_width(),
					   .colour = *text_style(TEXT_BOLD) != '\0'};
	_cleanup_answer_ struct answer rows = {0};
	int e = answer_of_list(&rows, list, true);

	if (e < 0 || !list->count)
		return e;
	printf("\n");
	return answer_text(&print, &rows, NULL);
}

void page_rest(struct answer_list *list)
{
	do
		answer_list_null(list);
	while (list->error >= 0 && list->count % list->column_count);
}

void page_share(struct answer_list *list, uint64_t part, uint64_t whole)
{
	answer_list_str(list, format_percent(part, whole).s);
}

int page_line(struct buf *b)
{
	_cleanup_buf_ struct buf lines = {0};
	int e = buf_fail(&lines, buf_status(b));

	if (e >= 0)
		e = format_wrapped(&lines, buf_str(b), 0, page_width());
	if (e < 0)
		return e;
	printf("%s", buf_str(&lines));
	return 0;
}

int page_row_order(const void *a, const void *b)
{
	const struct rollup_row *x = *(const struct rollup_row *const *)a,
				*y = *(const struct rollup_row *const *)b;

	return ORDER(y->time_ns, x->time_ns) ?: ORDER(y->calls, x->calls)
					     ?: ORDER(x->op, y->op)
					     ?: ORDER(x->thread_id, y->thread_id);
}

int page_calls_order(const void *a, const void *b)
{
	const struct rollup_row *x = *(const struct rollup_row *const *)a,
				*y = *(const struct rollup_row *const *)b;

	return ORDER(y->calls, x->calls) ?: ORDER(x->op, y->op);
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
