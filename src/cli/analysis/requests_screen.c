// SPDX-License-Identifier: Apache-2.0
/* requests_screen.c: `weir requests`: by name, as a list, as figures and by duration. */
#include "cli/analysis/requests_screen.h"

#include <stdio.h>
#include <string.h>

#include "cli/terminal/bars.h"
#include "cli/terminal/format.h"
#include "cli/terminal/text.h"
#include "schema/vocab.h"

#define WIDE	    130 /* columns from which a line has room for its bar */
#define TITLE_MIN   16
#define TITLE_MAX   40
#define GROUP_REST  61 /* columns for a group's figures */
#define WHERE_BAR   34 /* columns from which there is a bar next to the words */
#define FREQ_ROWS   64
#define NAMES_SHORT 20 /* groups on a terminal */

size_t requests_width(void)
{
	return MAX(text_width(), (size_t)TEXT_WIDTH_MIN);
}

size_t requests_between(size_t v, size_t low, size_t high)
{
	v = MAX(v, low);
	return MIN(v, high);
}

/* ---- bars ---- */

/* The sign of a part of the time in bars. */
static const char *requests_sign(enum span_time t)
{
	static const char *const signs[SPAN_TIMES] = {"─", "╌", "█", "▓", "▒",
						      "░", "╳", "·", "▪", "?"};
	static const char *const plain[SPAN_TIMES] = {"-", "=", "#", "%", "+",
						      "~", "x", ".", "o", "?"};

	return (bars_utf8() ? signs : plain)[t];
}

/* Appends a bar of `width` columns, each part of the time with its sign. 0 or -ENOMEM. */
static int requests_bar(struct buf *to, const double time[static SPAN_TIMES], size_t width)
{
	double all = 0, sum = 0;
	size_t at = 0;

	for (unsigned int i = 0; i < SPAN_TIMES; i++)
		all += time[i];
	for (unsigned int i = 0; i < SPAN_TIMES; i++) {
		size_t until;

		sum += time[i];
		until = all > 0 ? (size_t)(sum / all * (double)width + 0.5) : 0;
		for (; at < until; at++)
			buf_printf(to, "%s", requests_sign((enum span_time)i));
	}
	for (; at < width; at++)
		buf_printf(to, " ");
	return buf_status(to);
}

int requests_parts(struct buf *to, const double time[static SPAN_TIMES], int64_t of, size_t width)
{
	bool put[SPAN_TIMES] = {0};
	double all = 0;
	size_t used = 0;

	for (unsigned int i = 0; i < SPAN_TIMES; i++)
		all += time[i];
	for (unsigned int n = 0; n < SPAN_TIMES; n++) {
		_cleanup_buf_ struct buf text = {0};
		size_t columns;
		unsigned int most = SPAN_TIMES;

		for (unsigned int i = 0; i < SPAN_TIMES; i++) {
			if (!put[i] && time[i] > 0 && (most == SPAN_TIMES || time[i] > time[most]))
				most = i;
		}
		if (most == SPAN_TIMES)
			break;
		put[most] = true;
		buf_printf(&text, "%s%s %s %s%s%s", n ? "  " : "",
			   requests_sign((enum span_time)most), span_time_word(most),
			   of > 0 ? format_dur((int64_t)(time[most] / all * (double)of)).s : "",
			   of > 0 ? " " : "",
			   format_percent((uint64_t)time[most], (uint64_t)all).s);
		columns = format_width(buf_str(&text));
		if (used + columns > width)
			break;
		used += columns;
		buf_add(to, &text);
	}
	return buf_status(to);
}

int requests_where(struct buf *to, const int64_t time[static SPAN_TIMES], size_t width)
{
	size_t bar = requests_between(width / 2, 8, 40);
	double t[SPAN_TIMES];

	for (unsigned int i = 0; i < SPAN_TIMES; i++)
		t[i] = (double)time[i];
	if (width < WHERE_BAR)
		return requests_parts(to, t, 0, width);
	requests_bar(to, t, bar);
	buf_printf(to, "  ");
	return requests_parts(to, t, 0, width - bar - 2);
}

int requests_put_name(struct buf *to, struct bytes name, size_t width)
{
	_cleanup_buf_ struct buf safe = {0};

	buf_fail(to, format_path(&safe, name.data, name.len, width));
	return format_pad(to, buf_str(&safe), width, false);
}

int requests_put_at(struct buf *to, const struct analysis_view *v, int64_t at)
{
	const struct read_flags *f = &v->opts->read;

	if (f->rel || text_narrow() || !f->utc)
		return buf_printf(to, "%s", format_rel(at - v->origin, 3).s);
	return buf_printf(to, "%s", format_when(at, FORMAT_UTC).s);
}

void requests_line(struct buf *line)
{
	while (line->len && line->data[line->len - 1] == ' ')
		line->len--;
	printf("%.*s\n", (int)line->len, line->data ? (const char *)line->data : "");
	buf_clear(line);
}

/* ---- head ---- */

static int head_count(struct buf *b, const char *what, uint64_t n)
{
	return n ? format_next(b, requests_width(), "%s %s", what, format_count(n).s)
		 : buf_status(b);
}

static int requests_head(const struct requests *q)
{
	const struct spans *s = &q->spans;
	_cleanup_buf_ struct buf b = {0};
	uint64_t roots = 0, blurred = 0, placeless = 0;
	int r;

	for (uint32_t i = 0; i < s->count; i++) {
		roots += s->all[i].parent == SPAN_NONE;
		placeless += s->all[i].thread_id < 0 && !s->all[i].sums.calls;
		blurred += s->all[i].sums.blurred;
	}
	buf_printf(&b, "%s   %s within", format_counted(roots, "request").s,
		   format_counted(s->count - roots, "span").s);
	for (unsigned int i = 0; i < SPAN_VIAS - 1; i++) {
		if (s->calls_via[i])
			format_next(&b, requests_width(), "%s calls via %s",
				    format_count(s->calls_via[i]).s,
				    vocab_word("via", VIA_CONTEXT + i));
	}
	r = buf_status(&b);
	if (r < 0)
		return r;
	puts(buf_str(&b));
	buf_clear(&b);
	head_count(&b, "running", s->running);
	head_count(&b, "cut", s->cut);
	head_count(&b, "parent not in this trace", s->orphans);
	head_count(&b, "loops of parents", s->loops);
	head_count(&b, "crossing others on their thread", s->crossed);
	head_count(&b, "waits and hand-overs left out", s->unjoined);
	head_count(&b, "contexts of event loops, possibly wrong", s->unsure);
	head_count(&b, "estimated", blurred);
	/* imported ones: all of their time looks like the program's */
	r = head_count(&b, "of unknown threads, so their calls are not known", placeless);
	for (size_t at = 0; b.len > at && b.data[at] == ' ';)
		memmove(b.data, b.data + 1, --b.len);
	if (r >= 0 && b.len)
		printf("%s%.*s%s\n", text_style(TEXT_YELLOW), (int)b.len, (const char *)b.data,
		       text_style(TEXT_PLAIN));
	return r;
}

/* ---- by name ---- */

static size_t names_width(const struct requests *q, size_t rest)
{
	size_t most = TITLE_MIN;

	for (size_t i = 0; i < q->group_count; i++)
		most = MAX(most, q->groups[i].name.len);
	return requests_between(requests_width() - rest, TITLE_MIN, MIN(most, (size_t)TITLE_MAX));
}

static int print_group(const struct requests *q, const struct requests_group *g, size_t name)
{
	_cleanup_buf_ struct buf line = {0};
	size_t width = requests_width(), left = width - name - GROUP_REST;
	int r;

	requests_put_name(&line, g->name, name);
	buf_printf(&line, " %8s %6s %8s %8s %8s %8s %8s", format_count(g->count).s,
		   g->errors ? format_count(g->errors).s : "-", format_dur(g->total).s,
		   format_dur(g->self).s, format_dur(requests_percentile(q, g, 0.5)).s,
		   format_dur(requests_percentile(q, g, 0.99)).s,
		   format_dur(requests_percentile(q, g, 1)).s);
	if (width >= WIDE)
		buf_printf(&line, "  ");
	if (width < WIDE) {
		requests_line(&line);
		fputs(text_style(TEXT_DIM), stdout);
		buf_printf(&line, "  ");
		left = width - 2;
	}
	r = requests_where(&line, g->time, left - 2);
	requests_line(&line);
	fputs(text_style(TEXT_PLAIN), stdout);
	return r;
}

int requests_next(const struct analysis_view *v, const char *one, const char *other)
{
	_cleanup_buf_ struct buf safe = {0}, line = {0}, second = {0};
	struct buf *inputs = &v->traces[0].inputs;
	int r = 0;

	if (strcmp(v->traces[0].name, TRACE_DEFAULT))
		r = format_safe(&safe, buf_str(inputs), inputs->len);
	if (r < 0)
		return r;
	buf_printf(&line, "NEXT   weir requests%s %s", buf_str(&safe), one);
	buf_printf(&second, "   weir requests%s %s", buf_str(&safe), other);
	if (format_width(buf_str(&line)) + format_width(buf_str(&second)) <= requests_width())
		buf_add(&line, &second);
	r = buf_status(&line);
	if (r < 0)
		return r;
	printf("\n%s\n", buf_str(&line));
	return 0;
}

static int names_screen(const struct analysis_view *v, const struct requests *q)
{
	size_t name = names_width(q, GROUP_REST + (requests_width() >= WIDE ? 40 : 0)), most;
	int r = 0;

	most = text_terminal() ? MIN(q->group_count, (size_t)NAMES_SHORT) : q->group_count;
	for (size_t i = 0; i < most && r >= 0; i++) {
		const struct requests_group *g = &q->groups[i];

		if (!i || g->part != q->groups[i - 1].part)
			printf("\n%s%-*s %8s %6s %8s %8s %8s %8s %8s%s%s\n", text_style(TEXT_BOLD),
			       (int)name, g->part ? "WITHIN" : "REQUESTS", "count", "errors",
			       "total", "self", "p50", "p99", "max",
			       requests_width() >= WIDE ? "  where the time went" : "",
			       text_style(TEXT_PLAIN));
		r = print_group(q, g, name);
	}
	if (q->group_count > most)
		printf("%s%zu more names: pipe the output, or use --csv, to get them all%s\n",
		       text_style(TEXT_DIM), q->group_count - most, text_style(TEXT_PLAIN));
	if (r >= 0 && q->group_count)
		r = requests_next(v, "--tree slowest", "--compare");
	return r;
}

/* ---- one by one ---- */

int requests_put_span(const struct analysis_view *v, const struct requests *q, uint32_t span)
{
	const struct span *k = &q->spans.all[span];
	int64_t time[SPAN_TIMES];
	_cleanup_buf_ struct buf line = {0}, at = {0};
	size_t width = requests_width(), name = width >= WIDE ? 30 : TITLE_MIN;
	const char *status = k->status == SPAN_STATUS_UNSET || k->status == SPAN_STATUS_OK
				     ? ""
				     : vocab_word("span_status", k->status) ?: "";
	int r;

	buf_printf(&line, "%9s  ", format_dur(span_dur(k)).s);
	buf_fail(&line, requests_put_at(&at, v, k->start));
	format_pad(&line, buf_str(&at), 12, false);
	requests_put_name(&line, requests_name(q, span), name);
	buf_printf(&line, " %10lld %-7s ", (long long)k->number, status);
	spanset_times(k, time);
	r = requests_where(&line, time, width - MIN(format_width(buf_str(&line)) + 2, width - 20));
	requests_line(&line);
	return r;
}

static int log_screen(const struct analysis_view *v, const struct requests *q)
{
	const struct requests_options *o = analysis_own_options(v->opts);
	size_t most = MIN(q->chosen_count, (size_t)o->top);
	int r = 0;

	most = MIN(most, text_rows_max());
	printf("\n%s%9s  %-12s%-*s %10s %-7s where the time went%s\n", text_style(TEXT_BOLD),
	       "took", "at", requests_width() >= WIDE ? 30 : TITLE_MIN, "name", "number", "status",
	       text_style(TEXT_PLAIN));
	for (size_t i = 0; i < most && r >= 0; i++)
		r = requests_put_span(v, q, q->chosen[i]);
	if (q->chosen_count > most)
		printf("%s%zu more: --top N, or pipe the output%s\n", text_style(TEXT_DIM),
		       q->chosen_count - most, text_style(TEXT_PLAIN));
	return r;
}

/* ---- figures ---- */

static int stats_phases(const struct requests_group *g)
{
	_cleanup_buf_ struct buf b = {0};

	if (!g->calls || g->unphased == g->calls)
		return 0;
	buf_printf(&b, "  in calls:");
	for (unsigned int i = 0; i < SPAN_PHASES; i++) {
		if (g->phase[i])
			format_next(&b, requests_width(), "%s %s", span_phase_word(i),
				    format_dur(g->phase[i]).s);
	}
	if (g->unphased)
		format_next(&b, requests_width(), "not known of %s", format_count(g->unphased).s);
	puts(buf_str(&b));
	return buf_status(&b);
}

static int stats_group(const struct requests *q, const struct requests_group *g)
{
	static const struct {
		const char *name;
		double at;
	} points[] = {{"min", 0}, {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}};
	_cleanup_buf_ struct buf b = {0};
	double t[SPAN_TIMES];
	int r;

	putchar('\n');
	fputs(text_style(TEXT_BOLD), stdout);
	r = requests_put_name(&b, g->name, requests_width() - 40);
	while (b.len && b.data[b.len - 1] == ' ')
		b.len--;
	printf("%.*s%s   %s%s", (int)b.len, (const char *)b.data, text_style(TEXT_PLAIN),
	       format_count(g->count).s, g->part ? " within others" : "");
	printf("   errors %s   running %s   cut %s\n", format_count(g->errors).s,
	       format_count(g->running).s, format_count(g->cut).s);
	buf_clear(&b);
	for (size_t i = 0; i < ARRAY_SIZE(points); i++)
		buf_printf(&b, "  %s %s", points[i].name,
			   format_dur(requests_percentile(q, g, points[i].at)).s);
	puts(buf_str(&b));
	printf("  total %s  covered %s  self %s  mean %s  %s calls  %s\n", format_dur(g->total).s,
	       format_dur(g->covered).s, format_dur(g->self).s, format_dur(g->total / g->count).s,
	       format_count(g->calls).s, format_size((uint64_t)MAX(g->bytes, (int64_t)0)).s);
	for (unsigned int i = 0; i < SPAN_TIMES; i++)
		t[i] = (double)g->time[i];
	buf_clear(&b);
	buf_printf(&b, "  ");
	r = r < 0 ? r : requests_parts(&b, t, g->total, requests_width() - 2);
	requests_line(&b);
	return r < 0 ? r : stats_phases(g);
}

/* ---- durations ---- */

static int freq_group(const struct requests *q, const struct requests_group *g, const char *by)
{
	uint64_t counts[FREQ_ROWS] = {0}, most = 0;
	int first = FREQ_ROWS, last = -1, r = 0;
	_cleanup_buf_ struct buf b = {0};

	for (uint32_t i = 0; i < g->count; i++) {
		uint64_t dur = (uint64_t)span_dur(&q->spans.all[g->spans[i]]);
		int at = dur ? 63 - __builtin_clzll(dur) : 0;

		first = MIN(first, at);
		last = MAX(last, at);
		most = MAX(most, ++counts[at]);
	}
	r = requests_put_name(&b, g->name, TITLE_MAX);
	printf("\n%s%s%s", text_style(TEXT_BOLD), by ?: "", by ? " = " : "");
	requests_line(&b);
	fputs(text_style(TEXT_PLAIN), stdout);
	for (int i = first; i <= last && r >= 0; i++) {
		buf_printf(&b, "%9s .. %9s %11s %5s  ", format_dur(1ll << i).s,
			   format_dur(i < 62 ? 2ll << i : INT64_MAX).s, format_count(counts[i]).s,
			   format_percent(counts[i], g->count).s);
		r = bars_lying(&b, (double)counts[i] / (double)most,
			       MIN(requests_width() - 44, (size_t)80));
		requests_line(&b);
	}
	return r;
}

static int groups_screen(const struct requests *q, const struct requests_options *o)
{
	const char *by = o->by && strcmp(o->by, "name") != 0 ? o->by + strlen("attr.") : NULL;
	int r = 0;

	for (size_t i = 0; i < q->group_count && i < (size_t)o->top && r >= 0; i++)
		r = q->view == REQUESTS_FREQ ? freq_group(q, &q->groups[i], by)
					     : stats_group(q, &q->groups[i]);
	return r;
}

int requests_screen(const struct analysis_view *v)
{
	const struct requests_options *o = analysis_own_options(v->opts);
	struct requests *q = v->result->own;
	int r;

	if (!q->spans.count) {
		puts("no spans in this trace: mark them in the program "
		     "(docs/howto/requests-of-a-program.md), or find them with weir periods "
		     "--keep");
		loss_warn(&v->loss);
		return 0;
	}
	r = q->view == REQUESTS_TREE ? 0 : requests_head(q);
	if (r >= 0 && o->keep)
		printf("%s rows of span_op stored\n", format_count(q->kept).s);
	if (r < 0)
		return r;
	if (!q->chosen_count && o->least)
		printf("none of them took %s or more\n", format_dur(o->least).s);
	switch (q->view) {
	case REQUESTS_NAMES:
		r = names_screen(v, q);
		break;
	case REQUESTS_LOG:
		r = log_screen(v, q);
		break;
	case REQUESTS_TREE:
		r = requests_tree_screen(v, q);
		break;
	case REQUESTS_COMPARE:
		r = requests_compare_screen(v, q);
		break;
	case REQUESTS_CLUSTERS:
		r = requests_clusters_screen(v, q);
		break;
	case REQUESTS_STATS:
	case REQUESTS_FREQ:
		r = groups_screen(q, o);
		break;
	case REQUESTS_HEAT:
		r = requests_heat_screen(v, q);
		break;
	case REQUESTS_KEEP:
		break;
	}
	fflush(stdout);
	loss_warn(&v->loss);
	return r;
}
