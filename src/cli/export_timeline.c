// SPDX-License-Identifier: Apache-2.0
#include "cli/export_timeline.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/options/choose.h"
#include "cli/terminal/loss_text.h"
#include "cli/terminal/output.h"
#include "exchange/otlp/profiles_out.h"
#include "exchange/timeline/timeline.h"

static int export_timeline_flush(void *arg, struct buf *out)
{
	FILE *f = arg;

	if (fwrite(out->data, 1, out->len, f) != out->len)
		return errno ? -errno : -EIO;
	buf_clear(out);
	return 0;
}

static void export_timeline_close(FILE **f)
{
	if (*f && *f != stdout)
		fclose(*f);
}

/* Reports what is in the file, and what differs from the trace. */
static int export_timeline_tell(const struct export_timeline *o, const struct timeline_stats *stats,
				struct store *s, struct error *err)
{
	struct loss loss;
	int r = loss_read(&loss, s, err);

	if (r < 0)
		return r;
	loss_warn(&loss);
	fprintf(stderr, "weir: %s on %s", format_counted(stats->slices, "slice").s,
		format_counted(stats->tracks, "track").s);
	if (stats->arrows)
		fprintf(stderr, ", %s arrows", format_count(stats->arrows).s);
	if (stats->early)
		fprintf(stderr,
			"; %s have an unknown start and are drawn from the first known time",
			format_count(stats->early).s);
	if (stats->running)
		fprintf(stderr, "; %s were still running and are drawn up to the end",
			format_count(stats->running).s);
	fprintf(stderr, "\n");
	if (o->output && !o->chrome)
		fprintf(stderr, "next: open %s in Perfetto's UI\n", o->output);
	return 0;
}

static int export_profiles_to(const struct export_timeline *o, struct store *s,
			      const struct choice *choice, struct error *err)
{
	_cleanup_(export_timeline_close) FILE *f = o->output ? output_text(o->output, err) : stdout;
	const struct profiles_options opt = {.from = choice->filter.from,
					     .to = choice->filter.to,
					     .where = choice->expr,
					     .protobuf = o->protobuf,
					     .flush = export_timeline_flush,
					     .arg = f};
	struct profiles_stats stats;
	struct loss loss;
	int r = f ? profiles_write(s, &opt, &stats, err) : err->code;

	if (r < 0)
		return r;
	if (fflush(f) != 0)
		r = -errno;
	if (r < 0)
		return error_errno(err, r, "cannot write %.800s", o->output ?: "the profiles");
	r = loss_read(&loss, s, err);
	if (r < 0)
		return r;
	loss_warn(&loss);
	fprintf(stderr, "weir: %s calls in %s samples; %s have a stack, %s belong to a span\n",
		format_count(stats.calls).s, format_count(stats.samples).s,
		format_count(stats.stacked).s, format_count(stats.linked).s);
	return 0;
}

static int export_timeline_to(const struct export_timeline *o, struct store *s,
			      const struct choice *choice, struct error *err)
{
	_cleanup_(export_timeline_close) FILE *f = o->output ? output_text(o->output, err) : stdout;
	const struct timeline_options opt = {.format = o->chrome ? TIMELINE_CHROME
								 : TIMELINE_PERFETTO,
					     .from = choice->filter.from,
					     .to = choice->filter.to,
					     .where = choice->expr,
					     .flush = export_timeline_flush,
					     .arg = f};
	struct timeline_stats stats;
	int r;

	if (!f)
		return err->code;
	if (f == stdout && !o->chrome && isatty(STDOUT_FILENO))
		return error_set(err, -EINVAL,
				 "export: Perfetto's format is binary: name a file with -o, or "
				 "pipe the output");
	r = timeline_write(s, &opt, &stats, err);
	if (r >= 0 && fflush(f) != 0)
		r = -errno;
	if (r < 0)
		return error_errno(err, r, "cannot write %.800s", o->output ?: "the timeline");
	return export_timeline_tell(o, &stats, s, err);
}

int export_timeline(const struct export_timeline *o, int argc, char **argv, struct error *err)
{
	_cleanup_(store_freep) struct store *s = NULL;
	_cleanup_(choice_free) struct choice choice = {0};
	_cleanup_(select_free) struct select select = {0};
	int64_t first, last;
	int r = read_flags_select(&o->flags, &select, err);

	if (r >= 0)
		r = read_flags_open(&o->flags, argc, argv, &s, err);
	if (r < 0)
		return r;
	store_range(s, &first, &last);
	if (first == INT64_MIN || last == INT64_MIN)
		first = last = 0;
	r = choice_make(&choice, &o->flags.sel, &select, &o->flags.sel.where, s, err);
	if (r >= 0)
		r = read_flags_range(&o->flags, first, last, &choice.filter.from, &choice.filter.to,
				     err);
	if (r < 0)
		return r;
	return o->profiles ? export_profiles_to(o, s, &choice, err)
			   : export_timeline_to(o, s, &choice, err);
}
