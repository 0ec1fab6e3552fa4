// SPDX-License-Identifier: Apache-2.0
/* diagnose_screen.c: `weir diagnose`: a line with the total cost, then a few lines per finding. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/diagnose/diagnose.h"
#include "base/shell.h"
#include "cli/analysis/analysis_command.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/format.h"
#include "cli/terminal/text.h"

#define INDENT	   3
#define WORD	   9  /* columns for "change   " */
#define FIGURES	   20 /* columns for a cost and its share */
#define BAR_WIDTH  20
#define SHARE_SEEN 0.005

static size_t diagnose_width(void)
{
	return MAX(text_width(), (size_t)TEXT_WIDTH_MIN);
}

/* Makes a text that may contain file names safe to print; a word without spaces takes at most `width` columns. */
static int diagnose_safe(struct buf *out, const struct buf *text, size_t width)
{
	const uint8_t *at = text->data, *end = text->data + text->len;
	int r = 0;

	while (at < end && r >= 0) {
		const uint8_t *space = memchr(at, ' ', (size_t)(end - at)),
			      *stop = space ? space : end;

		r = (size_t)(stop - at) > width ? format_path(out, at, (size_t)(stop - at), width)
						: format_safe(out, at, (size_t)(stop - at));
		if (r >= 0 && space)
			r = buf_append(out, " ", 1);
		at = space ? space + 1 : end;
	}
	return r;
}

/* "   change   words, wrapped below one another" */
static int diagnose_put_part(const char *word, const struct buf *text)
{
	_cleanup_buf_ struct buf safe = {0}, lines = {0};
	int r = text->len ? diagnose_safe(&safe, text, diagnose_width() - INDENT - WORD) : 0;

	if (r < 0 || !text->len)
		return r;
	r = format_wrapped(&lines, buf_str(&safe), INDENT + WORD, diagnose_width());
	if (r < 0)
		return r;
	printf("%*s%s%-*s%s%s", INDENT, "", text_style(TEXT_DIM), WORD, word,
	       text_style(TEXT_PLAIN), buf_str(&lines));
	return r;
}

/* "20.1 s  84 %", or bytes if the finding is not about time */
static struct text diagnose_cost_text(const struct finding *f)
{
	int64_t time = f->row.number[DIAGNOSE_TIME], bytes = f->row.number[DIAGNOSE_BYTES];
	struct text t = {{0}};

	if (time != DIAGNOSE_NULL && isfinite(f->share) && f->share >= SHARE_SEEN)
		snprintf(t.s, sizeof(t.s), "%.24s %3.0f %%", format_dur(time).s, 100 * f->share);
	else if (time != DIAGNOSE_NULL)
		return format_dur(time);
	else if (bytes > 0)
		return format_size((uint64_t)bytes);
	else if (f->row.number[DIAGNOSE_CALLS] != DIAGNOSE_NULL)
		snprintf(t.s, sizeof(t.s), "%.40s calls",
			 format_count((uint64_t)f->row.number[DIAGNOSE_CALLS]).s);
	return t;
}

static enum text_style diagnose_style(const struct finding *f)
{
	return f->since == DIAGNOSE_MENDED	? TEXT_GREEN
	       : f->rule->level == RULE_PROBLEM ? TEXT_RED
	       : f->rule->level == RULE_WARNING ? TEXT_YELLOW
						: TEXT_BOLD;
}

/* Prints the sentence, with the cost at the right of its first line. */
static int diagnose_put_sentence(const struct finding *f, size_t number)
{
	size_t width = diagnose_width() - FIGURES;
	struct text cost = diagnose_cost_text(f);
	_cleanup_buf_ struct buf safe = {0}, lines = {0}, first = {0};
	const char *rest;
	int r = diagnose_safe(&safe, &f->sentence, width - INDENT);

	if (r >= 0)
		r = format_wrapped(&lines, buf_str(&safe), INDENT, width);
	if (r < 0)
		return r;
	rest = strchr(buf_str(&lines), '\n');
	r = buf_append(&first, lines.data,
		       rest ? (size_t)(rest - (const char *)lines.data) : lines.len);
	if (r < 0)
		return r;
	printf("%-*zu%s%s%s", INDENT, number, text_style(diagnose_style(f)), buf_str(&first),
	       text_style(TEXT_PLAIN));
	if (*cost.s)
		printf("%*s", (int)(diagnose_width() - INDENT - format_width(buf_str(&first))),
		       cost.s);
	putchar('\n');
	if (rest && rest[1])
		printf("%s%s%s", text_style(diagnose_style(f)), rest + 1, text_style(TEXT_PLAIN));
	return 0;
}

static int diagnose_put_bar(const struct finding *f)
{
	_cleanup_buf_ struct buf bar = {0};
	int r;

	if (!isfinite(f->share) || f->share < SHARE_SEEN)
		return 0;
	r = bars_lying(&bar, MIN(f->share, 1.0), BAR_WIDTH);
	if (r < 0)
		return r;
	printf("%*s%s%-*s%s%s\n", INDENT, "", text_style(TEXT_DIM), WORD, "cost",
	       text_style(TEXT_PLAIN), buf_str(&bar));
	return r;
}

/* Prints the command that shows the calls. */
static int diagnose_put_show(const struct analysis_view *v, const struct finding *f)
{
	_cleanup_buf_ struct buf line = {0}, safe = {0};
	int r;

	buf_printf(&line, "weir query%s ", buf_str(&v->traces[0].inputs));
	if (f->host.len) {
		buf_printf(&line, "--host ");
		buf_fail(&line, shell_word(&line, f->host.data, f->host.len));
		buf_printf(&line, " ");
	}
	r = shell_word(&line, f->show.data, f->show.len);
	if (r < 0)
		return r;
	r = format_safe(&safe, line.data, line.len);
	if (r < 0)
		return r;
	printf("%*s%s%-*s%s%s\n", INDENT, "", text_style(TEXT_DIM), WORD, "show",
	       text_style(TEXT_PLAIN), buf_str(&safe));
	return r;
}

static int diagnose_put_finding(const struct analysis_view *v, const struct finding *f,
				size_t number)
{
	static const char *const since[] = {"", "new: ", "mended: ", "not known before: "};
	const struct diagnose_flags *flags = analysis_own_options(v->opts);
	int r;

	putchar('\n');
	if (flags->against && f->since != DIAGNOSE_SAME)
		printf("%s%s%s\n", text_style(diagnose_style(f)), since[f->since],
		       text_style(TEXT_PLAIN));
	r = diagnose_put_sentence(f, number);
	if (r >= 0)
		r = diagnose_put_part("", &f->evidence);
	if (r < 0 || f->since == DIAGNOSE_MENDED)
		return r;
	r = diagnose_put_bar(f);
	if (r >= 0)
		r = diagnose_put_part("change", &f->change);
	if (r >= 0 && strcmp(f->sure, "yes"))
		printf("%*s%s%-*s%s%s\n", INDENT, "", text_style(TEXT_DIM), WORD, "sure",
		       text_style(TEXT_PLAIN), f->sure);
	return r < 0 ? r : diagnose_put_show(v, f);
}

/* "2 findings cost 21.3 s of 24.0 s in I/O and non-idle waits   (35 of 37 rules found nothing)" */
static void diagnose_put_headline(const struct diagnosis *d)
{
	size_t now = d->count - d->mended;
	char rules[96], line[200];

	snprintf(rules, sizeof(rules), "(%zu of %zu rules found nothing)", d->ran - d->found,
		 d->ran);
	if (!now)
		snprintf(line, sizeof(line), "no findings");
	else if (d->cost > 0)
		snprintf(line, sizeof(line),
			 "%zu finding%s cost%s %.40s of %.40s in I/O and non-idle waits%s", now,
			 now == 1 ? "" : "s", now == 1 ? "s" : "", format_dur(d->cost).s,
			 format_dur(d->work_time).s,
			 diagnosis_is_summed(d) ? ", summed over concurrent calls" : "");
	else
		snprintf(line, sizeof(line), "%zu finding%s", now, now == 1 ? "" : "s");
	printf("%s%s%s", text_style(TEXT_BOLD), line, text_style(TEXT_PLAIN));
	if (strlen(line) + 3 + strlen(rules) <= diagnose_width())
		printf("%*s\n", (int)(diagnose_width() - strlen(line)), rules);
	else
		printf("\n%s\n", rules);
}

/* Appends the rules that lack spans, or other tables. Returns their number. */
static size_t diagnose_put_lacking(const struct diagnosis *d, bool spans, struct buf *line)
{
	size_t count = 0;

	for (size_t i = 0; i < d->lack_count; i++) {
		if ((strstr(buf_str(&d->lacks[i].words), NEEDS_SPANS) != NULL) == spans)
			(void)!buf_printf(line, "%s%s",
					  count++ ? ", " : "not run: ", d->lacks[i].rule->name);
	}
	return count;
}

static int diagnose_put_lack(struct buf *line)
{
	_cleanup_buf_ struct buf lines = {0};
	int r = format_wrapped(&lines, buf_str(line), INDENT, diagnose_width());

	if (r < 0)
		return r;
	printf("%s%s%s", text_style(TEXT_DIM), buf_str(&lines), text_style(TEXT_PLAIN));
	return r;
}

/* "not run: cache-thrash, slow-disk; weir record --with block records what they need" */
static int diagnose_put_lacks(const struct diagnosis *d)
{
	_cleanup_buf_ struct buf line = {0}, spans = {0};
	size_t count = diagnose_put_lacking(d, false, &line),
	       of_spans = diagnose_put_lacking(d, true, &spans);
	int r = 0;

	if (count + of_spans)
		putchar('\n');
	if (count && d->lacking.len)
		r = buf_printf(&line, "; weir record --with %s records what %s",
			       buf_str((struct buf *)&d->lacking),
			       count == 1 ? "it needs" : "they need");
	else if (count)
		r = buf_printf(&line, "; they read more than the selected calls");
	if (r >= 0 && of_spans)
		r = buf_printf(&spans,
			       "; the trace has no spans (weir periods --keep can find some)");
	if (r >= 0 && count)
		r = diagnose_put_lack(&line);
	return r < 0 || !of_spans ? r : diagnose_put_lack(&spans);
}

static void diagnose_put_certainty(const struct diagnosis *d)
{
	bool calls = d->lost || d->lost_unknown;

	putchar('\n');
	if (calls && !d->lost)
		printf("not certain: an unknown number of calls was lost; findings in them are "
		       "missing\n");
	else if (calls)
		printf("not certain: %s%s calls were lost; findings in them are missing\n",
		       d->lost_unknown ? bars_at_least() : "", format_count(d->lost).s);
	if (d->lost_beside)
		printf("not certain: %s of other tables %s lost; rules that need them may "
		       "have missed findings\n",
		       format_counted(d->lost_beside, "row").s, d->lost_beside == 1 ? "is" : "are");
	if (!calls && !d->lost_beside)
		printf("certain: no call is missing\n");
	if (d->count)
		printf("next: weir diagnose --explain RULE explains a rule\n");
}

int diagnose_screen(const struct analysis_view *v)
{
	const struct diagnosis *d = v->result->own;
	_cleanup_buf_ struct buf name = {0};
	int r = format_path(&name, d->name, strlen(d->name), diagnose_width() / 2);

	if (r < 0)
		return r;
	if (store_trace_count(v->runs[0].store) > 1)
		buf_printf(&name, " and %zu more", store_trace_count(v->runs[0].store) - 1);
	printf("%s%s%s   %s\n\n", text_style(TEXT_BOLD), buf_str(&name), text_style(TEXT_PLAIN),
	       format_dur(d->last - d->first).s);
	diagnose_put_headline(d);
	for (size_t i = 0; i < d->count && r >= 0; i++)
		r = diagnose_put_finding(v, &d->findings[i], i + 1);
	if (r >= 0)
		r = diagnose_put_lacks(d);
	diagnose_put_certainty(d);
	return r;
}
