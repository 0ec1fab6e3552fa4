// SPDX-License-Identifier: Apache-2.0
/* requests_tree_screen.c: one request on the screen: a line per span and call, with a bar over its time. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/analysis/requests_screen.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/format.h"
#include "cli/terminal/text.h"
#include "names/names.h"
#include "schema/vocab.h"

#define RUNQ_SHOWN   10000 /* ns */
#define PATH_THREADS 4
#define PATH_NAME    24 /* columns */
#define DISK_ROOM    36 /* columns that both parts of a disk's time need */

struct tree_screen {
	const struct requests *q;
	bool path; /* mark the critical path: it crosses threads */
	size_t name, bar;
	int64_t start, dur;
};

/* Appends the bar: the columns in which the line was busy. */
static int tree_bar(const struct tree_screen *t, const struct requests_line *l, struct buf *to)
{
	double *busy = calloc(t->bar, sizeof(*busy));
	double column = (double)MAX(t->dur, (int64_t)1) / (double)t->bar;
	uint32_t from = l->from, until = MAX(l->to, l->from + 1);
	int r = busy ? 0 : -ENOMEM;

	for (uint32_t i = from; i < until && busy; i++) {
		bool call = l->to > l->from;
		double start = (double)((call ? t->q->tree.calls[i].start : l->start) - t->start),
		       stop = (double)((call ? t->q->tree.calls[i].stop : l->stop) - t->start);

		start = MAX(start, 0.0);
		stop = MAX(stop, start);
		stop = MIN(stop, (double)t->dur);
		for (size_t c = (size_t)(start / column); c < t->bar && (double)c * column <= stop;
		     c++) {
			double low = MAX(start, (double)c * column),
			       high = MIN(stop, (double)(c + 1) * column);

			busy[c] += MAX((high - low) / column, 1e-9);
		}
	}
	for (size_t c = 0; c < t->bar && r >= 0; c++)
		r = buf_printf(to, "%s",
			       busy[c] <= 0	? " "
			       : busy[c] >= 0.5 ? (bars_utf8() ? "█" : "#")
						: (bars_utf8() ? "▏" : "|"));
	free(busy);
	return r;
}

/* Appends the text next to the bar. */
static int tree_note(const struct tree_screen *t, const struct requests_line *l, size_t room,
		     struct buf *to)
{
	const struct requests_call *c = &t->q->tree.calls[l->from];
	const char *status = vocab_word("span_status", t->q->spans.all[l->span].status);
	_cleanup_buf_ struct buf who = {0};

	if (l->from == l->to)
		return status && strcmp(status, "ok") != 0 && strcmp(status, "unset") != 0
			       ? buf_printf(to, "%s", status)
			       : 0;
	if ((l->queued || l->device) && room < DISK_ROOM)
		buf_printf(to, "disk %s  ", format_dur(l->queued + l->device).s);
	else if (l->queued || l->device)
		buf_printf(to, "disk: queued %s, device %s  ", format_dur(l->queued).s,
			   format_dur(l->device).s);
	if (l->runq >= MAX(l->time / 10, (int64_t)RUNQ_SHOWN))
		buf_printf(to, "no CPU %s  ", format_dur(l->runq).s);
	if (l->errors == 1 && l->to - l->from == 1)
		buf_printf(to, "%s  ", vocab_word("err", c->err) ?: "failed");
	else if (l->errors)
		buf_printf(to, "%s failed  ", format_count(l->errors).s);
	if (!c->disk && c->via != VIA_THREAD && c->via != VIA_CONTEXT) {
		buf_fail(to, names_thread(t->q->dims, c->thread_id, &who));
		buf_printf(to, "%s: ",
			   c->via == VIA_TIME	? "overlaps"
			   : c->via == VIA_WAIT ? "waited for"
						: "work");
		format_safe(to, who.data, who.len);
		buf_printf(to, "  ");
	}
	if (c->waker_id >= 0 && l->to - l->from == 1) {
		buf_clear(&who);
		buf_fail(to, names_thread(t->q->dims, c->waker_id, &who));
		buf_printf(to, "until ");
		format_safe(to, who.data, who.len);
		buf_printf(to, "  ");
	}
	return l->bytes ? buf_printf(to, "%s", format_size((uint64_t)l->bytes).s) : buf_status(to);
}

/* Drops whole pieces that do not fit in the line: a figure is never cut. */
static void tree_fit(struct buf *note, size_t room)
{
	while (note->len && note->data[note->len - 1] == ' ')
		note->len--;
	while (note->len && format_width(buf_str(note)) > room) {
		size_t at = note->len;

		while (at > 1 && !(note->data[at - 1] == ' ' && note->data[at - 2] == ' '))
			at--;
		note->len = at > 1 ? at - 2 : 0;
	}
}

static int tree_put_line(const struct tree_screen *t, const struct requests_line *l)
{
	_cleanup_buf_ struct buf line = {0}, name = {0}, safe = {0}, note = {0};
	size_t indent = MIN(2 * (size_t)l->depth, t->name / 2), room = t->name - indent;
	size_t width = requests_width(), left;
	char times[FORMAT_TEXT_MAX + 4] = "";
	int r;

	buf_fail(&line, requests_line_name(t->q, l, &name));
	if (l->to - l->from > 1)
		snprintf(times, sizeof(times), " x%s", format_count(l->to - l->from).s);
	room -= MIN(strlen(times), room - 4);
	format_path(&safe, name.data, name.len, room);
	buf_fail(&line, buf_printf(&safe, "%s", times));
	buf_printf(&line, "%*s", (int)indent, "");
	format_pad(&line, buf_str(&safe), t->name - indent, false);
	buf_printf(&line, "%s%9s ", t->path && l->critical > 0 ? "*" : " ", format_dur(l->time).s);
	buf_fail(&line, tree_bar(t, l, &line));
	left = width - t->name - 11 - t->bar - 1;
	buf_fail(&line, tree_note(t, l, left, &note));
	tree_fit(&note, left);
	if (note.len)
		buf_printf(&line, " %s", buf_str(&note));
	r = buf_status(&line);
	fputs(l->from == l->to ? text_style(TEXT_BOLD) : "", stdout);
	requests_line(&line);
	fputs(text_style(TEXT_PLAIN), stdout);
	return r;
}

static int tree_put_parts(const struct span *k)
{
	_cleanup_buf_ struct buf b = {0};
	double t[SPAN_TIMES];
	int64_t time[SPAN_TIMES];
	int r;

	spanset_times(k, time);
	for (unsigned int i = 0; i < SPAN_TIMES; i++)
		t[i] = (double)time[i];
	r = requests_parts(&b, t, span_dur(k), requests_width());
	requests_line(&b);
	return r;
}

static int tree_head(const struct analysis_view *v, const struct requests *q)
{
	const struct span *k = &q->spans.all[q->tree.of];
	_cleanup_buf_ struct buf b = {0}, at = {0}, who = {0}, safe = {0};
	struct bytes name = requests_name(q, q->tree.of),
		     trace = spanset_text(&q->spans, k->trace_id),
		     attributes = spanset_text(&q->spans, k->attributes);
	bool plain = k->status == SPAN_STATUS_UNSET || k->status == SPAN_STATUS_OK;
	const char *status = plain ? NULL : vocab_word("span_status", k->status);
	size_t width = requests_width();
	int r;

	format_path(&b, name.data, name.len, width / 2);
	buf_fail(&b, requests_put_at(&at, v, k->start));
	format_next(&b, width, "%s", format_dur(span_dur(k)).s);
	format_next(&b, width, "%s   number %lld%s%s", buf_str(&at), (long long)k->number,
		    status ? "   " : "", status ?: "");
	if (k->thread_id >= 0) {
		buf_fail(&b, names_thread(q->dims, k->thread_id, &who));
		buf_fail(&b, format_safe(&safe, who.data, who.len));
		format_next(&b, width, "%s", buf_str(&safe));
	}
	if (trace.len) {
		buf_clear(&safe);
		buf_fail(&b, format_path(&safe, trace.data, trace.len, 32));
		format_next(&b, width, "trace %s", buf_str(&safe));
	}
	r = buf_status(&b);
	if (r < 0)
		return r;
	printf("%s%s%s\n", text_style(TEXT_BOLD), buf_str(&b), text_style(TEXT_PLAIN));
	r = tree_put_parts(k);
	if (r < 0 || !attributes.len)
		return r;
	buf_clear(&b);
	r = format_path(&b, attributes.data, attributes.len, width);
	requests_line(&b);
	return r;
}

/* "critical path (*): web 12  15 ms (data 3 ms)   db 9  65 ms (...)": where each thread on it spent its time. */
static int tree_put_path(const struct requests *q)
{
	size_t width = requests_width();
	int r = 0;

	printf("critical path (*)\n");
	for (size_t i = 0; i < q->tree.path.thread_count && i < PATH_THREADS && r >= 0; i++) {
		const struct requests_segment *s = &q->tree.path.threads[i];
		_cleanup_buf_ struct buf b = {0}, who = {0};
		double t[SPAN_TIMES];

		for (unsigned int k = 0; k < SPAN_TIMES; k++)
			t[k] = (double)s->time[k];
		buf_fail(&b, names_thread(q->dims, s->thread_id, &who));
		buf_printf(&b, "  ");
		requests_put_name(&b, buf_bytes(&who), PATH_NAME);
		buf_printf(&b, " %9s  ", format_dur(s->stop).s);
		r = requests_parts(&b, t, s->stop, width - PATH_NAME - 14);
		requests_line(&b);
	}
	if (q->tree.path.thread_count > PATH_THREADS)
		printf("  %zu more thread%s\n", q->tree.path.thread_count - PATH_THREADS,
		       q->tree.path.thread_count - PATH_THREADS == 1 ? "" : "s");
	return r;
}

int requests_tree_screen(const struct analysis_view *v, const struct requests *q)
{
	size_t width = requests_width();
	struct tree_screen t = {.q = q,
				.name = MIN(width * 3 / 10, (size_t)52),
				.start = q->spans.all[q->tree.of].start,
				.dur = span_dur(&q->spans.all[q->tree.of])};
	size_t most = MIN(q->tree.count, text_rows_max());
	int r = tree_head(v, q);

	t.bar = (width - t.name - 12) * 11 / 20;
	t.path = q->tree.path.thread_count > 1;
	if (r >= 0 && t.path)
		r = tree_put_path(q);
	putchar('\n');
	for (size_t i = 0; i < most && r >= 0; i++)
		r = tree_put_line(&t, &q->tree.lines[i]);
	if (q->tree.count > most)
		printf("%s%zu more lines: pipe the output, or use --csv, to get them all%s\n",
		       text_style(TEXT_DIM), q->tree.count - most, text_style(TEXT_PLAIN));
	if (q->tree.left_out)
		printf("%s calls are left out: the request has more than %s\n",
		       format_count(q->tree.left_out).s, format_count(REQUESTS_TREE_CALLS).s);
	return r;
}
