// SPDX-License-Identifier: Apache-2.0
/* requests_compare_screen.c: slow requests compared with ordinary ones, and groups of slow ones, on the screen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/requests_screen.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/format.h"
#include "cli/terminal/text.h"

#define FILES_SHOWN  8
#define TRAITS_SHOWN 8
#define ODD_SHOWN    10
#define NEGLIGIBLE   1000 /* a difference so many times smaller than the largest is omitted */
#define FIGURES	     42	  /* columns for the figures of a difference */

/* ---- comparison ---- */

static int print_difference(const struct requests_difference *d, int64_t most, size_t name)
{
	int64_t differs = d->slow - d->usual;
	size_t bar = requests_width() - name - FIGURES;
	_cleanup_buf_ struct buf line = {0};
	int r;

	requests_put_name(&line, d->what, name);
	buf_printf(&line, " %11s %11s %*s%s   ", format_dur(d->usual).s, format_dur(d->slow).s,
		   (int)(12 - format_width(format_dur(llabs(differs)).s)), differs < 0 ? "-" : "+",
		   format_dur(llabs(differs)).s);
	if (most > 0 && differs > 0)
		bars_lying(&line, (double)differs / (double)most, MIN(bar, (size_t)60));
	r = buf_status(&line);
	requests_line(&line);
	return r;
}

static int print_differences(const char *title, const struct requests_difference *d, size_t count,
			     size_t shown, bool all)
{
	size_t name = MIN(requests_width() - FIGURES - 12, (size_t)60);
	int64_t most = 0, largest = 0;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		most = MAX(most, d[i].slow - d[i].usual);
		largest = MAX(largest, llabs(d[i].slow - d[i].usual));
	}
	printf("\n%s%-*s %11s %11s %12s%s\n", text_style(TEXT_BOLD), (int)name, title, "median",
	       "slowest", "difference", text_style(TEXT_PLAIN));
	for (size_t i = 0; i < MIN(count, shown) && r >= 0; i++) {
		bool left_out = !all && llabs(d[i].slow - d[i].usual) < largest / NEGLIGIBLE;

		if ((d[i].usual || d[i].slow) && !left_out)
			r = print_difference(&d[i], most, name);
	}
	return r;
}

static int print_traits(const struct requests_compare *c)
{
	size_t name = MIN(requests_width() - FIGURES - 12, (size_t)60);
	int r = 0;

	if (!c->trait_count)
		return 0;
	printf("\n%s%-*s %11s %11s%s\n", text_style(TEXT_BOLD), (int)name, "ATTRIBUTES", "median",
	       "slowest", text_style(TEXT_PLAIN));
	for (size_t i = 0; i < MIN(c->trait_count, (size_t)TRAITS_SHOWN) && r >= 0; i++) {
		const struct requests_trait *t = &c->traits[i];
		_cleanup_buf_ struct buf text = {0}, line = {0};

		buf_append(&text, t->key.data, t->key.len);
		buf_printf(&text, " = ");
		buf_fail(&line, buf_append(&text, t->value.data, t->value.len));
		requests_put_name(&line, buf_bytes(&text), name);
		r = buf_printf(&line, " %11s %11s", format_percent(t->usual, c->usual_count).s,
			       format_percent(t->slow, c->slow_count).s);
		requests_line(&line);
	}
	return r;
}

/* The option that shows this span: its number, or its id if the number is also that of a span in another trace. */
static void put_tree_of(struct buf *b, const struct requests *q, uint32_t span)
{
	const struct span *k = &q->spans.all[span];
	struct bytes id = spanset_text(&q->spans, k->span_id);
	uint32_t first = spanset_find(&q->spans, k->number, 0);

	if (id.len && spanset_find(&q->spans, k->number, first + 1) != SPAN_NONE)
		buf_printf(b, "--tree %.*s", (int)id.len, (const char *)id.data);
	else
		buf_printf(b, "--tree %lld", (long long)k->number);
}

int requests_compare_screen(const struct analysis_view *v, const struct requests *q)
{
	const struct requests_compare *c = &q->compare;
	_cleanup_buf_ struct buf name = {0};
	_cleanup_buf_ struct buf slow = {0}, usual = {0};
	int r;

	if (!c->slow_count) {
		puts("\nfewer than two requests of a name: nothing to compare");
		return 0;
	}
	r = requests_put_name(&name, c->name, 40);
	while (name.len && name.data[name.len - 1] == ' ')
		name.len--;
	printf("\n%s%.*s%s   the slowest %s, from %s on, against %s around the median, %s\n",
	       text_style(TEXT_BOLD), (int)name.len, (const char *)name.data,
	       text_style(TEXT_PLAIN), format_count(c->slow_count).s,
	       format_dur(span_dur(&q->spans.all[c->slow[0]])).s, format_count(c->usual_count).s,
	       format_dur(span_dur(&q->spans.all[c->usual[c->usual_count / 2]])).s);
	r = r < 0 ? r
		  : print_differences("WHERE THE TIME WENT", c->times, SPAN_TIMES, SPAN_TIMES,
				      true);
	if (r >= 0 && c->file_count)
		r = print_differences("FILES, PEERS, OTHER CALLS", c->files, c->file_count,
				      FILES_SHOWN, false);
	r = r < 0 ? r : print_traits(c);
	if (r < 0)
		return r;
	put_tree_of(&slow, q, c->slow[c->slow_count - 1]);
	put_tree_of(&usual, q, c->usual[c->usual_count / 2]);
	r = buf_status(&slow) < 0 ? buf_status(&slow) : buf_status(&usual);
	return r < 0 ? r : requests_next(v, buf_str(&slow), buf_str(&usual));
}

/* ---- groups ---- */

static int print_cluster(const struct requests *q, const struct requests_cluster *k, uint64_t all,
			 size_t number)
{
	_cleanup_buf_ struct buf line = {0};
	size_t width = requests_width(), left;
	int64_t parts[SPAN_TIMES];
	int r;

	for (unsigned int i = 0; i < SPAN_TIMES; i++)
		parts[i] = (int64_t)(k->centre[i] * 1e6);
	r = buf_printf(&line, "%2zu %9s %5s %9s %9s %9s %10lld", number, format_count(k->size).s,
		       format_percent(k->size, all).s, format_dur(k->p50).s, format_dur(k->p99).s,
		       format_dur(k->max).s, (long long)q->spans.all[k->typical].number);
	if (r >= 0 && width < 130)
		requests_line(&line);
	r = r < 0 ? r : buf_printf(&line, "   ");
	/* a number has up to 19 digits */
	left = width - (width < 130 ? 3 : format_width(buf_str(&line)) + 3);
	r = r < 0 ? r : requests_where(&line, parts, left);
	requests_line(&line);
	return r;
}

int requests_clusters_screen(const struct analysis_view *v, const struct requests *q)
{
	const struct requests_clusters *c = &q->clusters;
	_cleanup_buf_ struct buf name = {0};
	uint64_t all = c->outlier_count;
	int r = requests_put_name(&name, c->name, 40);

	while (name.len && name.data[name.len - 1] == ' ')
		name.len--;
	for (size_t i = 0; i < c->count; i++)
		all += c->all[i].size;
	printf("\n%s%.*s%s   %zu group%s by where the time went   %s\n", text_style(TEXT_BOLD),
	       (int)name.len, buf_str(&name), text_style(TEXT_PLAIN), c->count,
	       c->count == 1 ? "" : "s", format_counted(c->outlier_count, "outlier").s);
	printf("\n%s   %9s %5s %9s %9s %9s %10s%s\n", text_style(TEXT_BOLD), "count", "", "p50",
	       "p99", "max", "typical", text_style(TEXT_PLAIN));
	for (size_t i = 0; i < c->count && r >= 0; i++)
		r = print_cluster(q, &c->all[i], all, i + 1);
	if (c->outlier_count)
		printf("\n%sOUTLIERS%s\n", text_style(TEXT_BOLD), text_style(TEXT_PLAIN));
	for (size_t i = 0; i < MIN(c->outlier_count, (size_t)ODD_SHOWN) && r >= 0; i++)
		r = requests_put_span(v, q, c->outliers[i]);
	return r;
}
