// SPDX-License-Identifier: Apache-2.0
/* query_draw.c: a histogram drawn large, as DTrace's quantize() draws it. */
#include <string.h>

#include "cli/terminal/bars.h"
#include "cli/query/query_print.h"
#include "cli/terminal/text.h"
#include "engine/window_bars.h"

#define BARS_WANTED 24 /* a histogram with a finer step is merged to at most this many bars */
#define BAR_MAX	    60 /* columns of the longest bar */
#define BAR_MIN	    10
#define LINE_REST   5 /* columns between label, bar and count */

/* "4.1us", "< 0", ">= 100": the label of a bar. */
static int put_label(struct buf *out, const char *unit, const struct bar *bar)
{
	if (bar->from == INT64_MIN)
		return buf_printf(out, "< %s", cell_number(unit, bar->to).s);
	return buf_printf(out, "%s%s", bar->to == INT64_MAX ? ">= " : "",
			  cell_number(unit, bar->from).s);
}

static int put_quantiles(struct buf *out, const struct plan_field *f, struct bytes packed)
{
	static const struct {
		const char *name;
		double q;
	} list[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}};
	struct hist h = {0};
	int r = hist_unpack(&h, packed.data, packed.len);

	for (size_t i = 0; i < ARRAY_SIZE(list) && r >= 0; i++) {
		const char *unit = query_kind_unit(f->type);
		int64_t v = (int64_t)hist_quantile(&h, list[i].q);

		r = buf_printf(out, "%s%s %s", i ? "  " : ": ", list[i].name,
			       cell_number(unit, v).s);
	}
	hist_free(&h);
	return r;
}

static int put_lines(const struct answer_print *p, const struct plan_field *f, const struct bars *b)
{
	const char *unit = query_kind_unit(f->type);
	uint64_t max = 1;
	size_t label = strlen("value"), count = strlen("count"), bar;
	int r = 0;

	for (size_t i = 0; i < b->count; i++) {
		_cleanup_buf_ struct buf text = {0};

		r = put_label(&text, unit, &b->items[i]);
		if (r < 0)
			return r;
		label = MAX(label, format_width(buf_str(&text)));
		count = MAX(count, strlen(format_count(b->items[i].count).s));
		max = MAX(max, b->items[i].count);
	}
	bar = p->width ? p->width : TEXT_WIDTH_PIPE;
	bar -= MIN(label + count + LINE_REST, bar);
	bar = bar > BAR_MAX ? BAR_MAX : MAX(bar, (size_t)BAR_MIN);
	fprintf(p->out, "%*s  %-*s  %*s\n", (int)label, "value", (int)bar + 1, "", (int)count,
		"count");
	for (size_t i = 0; i < b->count && r >= 0; i++) {
		_cleanup_buf_ struct buf line = {0}, text = {0};

		r = put_label(&text, unit, &b->items[i]);
		format_pad(&line, buf_str(&text), label, true);
		buf_printf(&line, "  |");
		if (r >= 0)
			r = bars_lying(&line, (double)b->items[i].count / (double)max, bar);
		if (r >= 0)
			fprintf(p->out, "%s  %*s\n", buf_str(&line), (int)count,
				format_count(b->items[i].count).s);
	}
	return r;
}

int query_draw_bars(const struct answer_print *p, const struct plan_field *f, struct bytes packed)
{
	_cleanup_bars_ struct bars b = {0};
	_cleanup_buf_ struct buf title = {0};
	uint64_t total = 0;
	int r = bars_make(&b, f, packed, BARS_WANTED);

	for (size_t i = 0; i < b.count; i++)
		total += b.items[i].count;
	if (r >= 0)
		r = buf_printf(&title, "%s of %s", f->name, format_counted(total, "value").s);
	if (r >= 0 && f->type.type == QUERY_HIST && total)
		r = put_quantiles(&title, f, packed);
	if (r < 0)
		return r;
	fprintf(p->out, "%s\n", buf_str(&title));
	return b.count ? put_lines(p, f, &b) : 0;
}
