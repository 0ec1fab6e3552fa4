// SPDX-License-Identifier: Apache-2.0
#include "gaps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct gaps_options {
	const char *of;
	int64_t least_ns, top;
};

struct gap {
	int64_t at, dur;
	enum table_id before;
};

static const struct analysis_reads gaps_reads[] = {
	{TABLE_OP, 0},
	{TABLE_MARK, 0},
	{TABLE_COUNT},
};

static const struct answer_column gaps_columns[] = {
	{"at", {QUERY_TIME}},
	{"dur", {QUERY_DUR}},
	{"before", {QUERY_TEXT}},
};

static const char *gaps_word(size_t i)
{
	static const char *const words[] = {"all", "op"};

	return i < ARRAY_SIZE(words) ? words[i] : NULL;
}

static int gaps_check(const void *options, struct error *err)
{
	const struct gaps_options *o = options;

	for (size_t i = 0; gaps_word(i); i++) {
		if (strcmp(gaps_word(i), o->of) == 0)
			return 0;
	}
	return error_set(err, -EINVAL, "--of '%.40s': there are all and op", o->of);
}

/* Keeps the longest, longest first. */
static void gaps_keep(struct gap *best, size_t *count, size_t max, struct gap g)
{
	size_t at = *count;

	while (at && best[at - 1].dur < g.dur) {
		if (at < max)
			best[at] = best[at - 1];
		at--;
	}
	if (at < max)
		best[at] = g;
	*count = MIN(*count + 1, max);
}

static int gaps_find(const struct analysis_input *in, struct gap *best, size_t *count,
		     struct error *err)
{
	const struct gaps_options *o = in->options;
	_cleanup_(engine_merge_freep) struct engine_merge *m = NULL;
	const struct batch *b;
	const uint32_t *rows;
	int64_t last = INT64_MIN;
	size_t which;
	ssize_t n;
	int r = analysis_stream(&m, in, &in->runs[0], err);

	if (r < 0)
		return r;
	while ((n = engine_merge_next(m, &which, &b, &rows, err)) > 0) {
		if (analysis_stopped(in))
			return error_set(err, -EINTR, "interrupted");
		if (gaps_reads[which].table != TABLE_OP && strcmp(o->of, "op") == 0)
			continue;
		for (ssize_t i = 0; i < n; i++) {
			int64_t end = engine_merge_end(m, rows[i]);

			if (last != INT64_MIN && end - last >= o->least_ns)
				gaps_keep(best, count, (size_t)o->top,
					  (struct gap){last, end - last, gaps_reads[which].table});
			last = end;
		}
	}
	return (int)n;
}

static int gaps_run(const struct analysis_input *in, struct analysis_result *out, struct error *err)
{
	const struct gaps_options *o = in->options;
	_cleanup_free_ struct gap *best = calloc((size_t)o->top + 1, sizeof(*best));
	struct answer_list *rows =
		analysis_table(out, "gaps", gaps_columns, ARRAY_SIZE(gaps_columns));
	int64_t span = in->runs[0].last - in->runs[0].first;
	size_t count = 0;
	char text[128];
	int r;

	if (!best)
		return -ENOMEM;
	r = gaps_find(in, best, &count, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		answer_list_int(rows, best[i].at);
		answer_list_int(rows, best[i].dur);
		answer_list_str(rows, schema_table(best[i].before)->name);
	}
	if (!count)
		return 0;
	snprintf(text, sizeof(text), "nothing ended for %lld ns", (long long)best[0].dur);
	analysis_find(out, &(struct analysis_finding){ANALYSIS_WARNING, "idle", text,
						      "look at what the threads waited for",
						      (double)best[0].dur / (double)span});
	return 0;
}

static const struct option gaps_table[] = {
	{0, "least", OPTION_DURATION, "TIME", "gaps of at least this length",
	 offsetof(struct gaps_options, least_ns), .otherwise = "1us"},
	{0, "top", OPTION_COUNT, "N", "the longest N of them", offsetof(struct gaps_options, top),
	 .otherwise = "5"},
	{0, "of", OPTION_STRING, "WHAT", "between which events", offsetof(struct gaps_options, of),
	 .words = gaps_word, .otherwise = "all"},
	{0},
};

static const struct command_example gaps_examples[] = {
	{"weir gaps --least 1ms", "the longest times in which nothing ended"},
	{0},
};

const struct analysis analysis_gaps = {
	.name = "gaps",
	.summary = "find the longest times in which nothing ended",
	.description = "Looks at the ends of calls and marks.",
	.examples = gaps_examples,
	.order = ANALYSIS_STREAM,
	.reads = gaps_reads,
	.options = gaps_table,
	.options_size = sizeof(struct gaps_options),
	.finds = true,
	.check = gaps_check,
	.run = gaps_run,
};
