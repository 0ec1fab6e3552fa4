// SPDX-License-Identifier: Apache-2.0
/* import.c: `weir import`: converts spans of other tools to a trace. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "cli/commands.h"
#include "cli/options/shared.h"
#include "cli/terminal/format.h"
#include "cli/terminal/output.h"
#include "exchange/spans_write.h"

struct import_opts {
	const char *output, *format;
	bool quiet;
};

/* Reads a file, or standard input, up to one byte beyond the limit. */
static int import_file(const char *path, struct buf *to, struct error *err)
{
	bool in = strcmp(path, "-") == 0;
	_cleanup_close_ int fd = in ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : fd_read_all(fd, SPANS_BODY_MAX, to);

	return r < 0 ? error_errno(err, r, "%.800s", path) : 0;
}

/* Reads one file; adds its name and format to the text of the mark. */
static int import_one(struct spans_in *s, const char *path, enum spans_format format,
		      struct buf *text, struct error *err)
{
	_cleanup_buf_ struct buf body = {0};
	int r = import_file(path, &body, err);

	if (r < 0)
		return r;
	r = spans_in_read(s, &format, buf_bytes(&body), err);
	if (r < 0)
		return error_prefix(err, "%.800s", path);
	r = buf_printf(text, "%s%s (%s)", text->len ? ", " : "", path,
		       format == SPANS_ANY ? "empty" : spans_format_name((size_t)format - 1));
	return r < 0 ? error_errno(err, r, "%.800s", path) : 0;
}

static int import_write(struct output *out, struct spans_in *s, struct buf *text,
			struct store_stats *stats, struct error *err)
{
	int r = spans_write_begin(out->writer, err);

	if (r >= 0)
		r = spans_write(out->writer, s, buf_str(text), err);
	if (r >= 0)
		r = store_flush(out->writer, true, err);
	if (r < 0) {
		output_undo(out);
		return r;
	}
	store_writer_stats(out->writer, stats);
	return store_close(TAKE_PTR(out->writer), err);
}

static void import_tell(const struct import_opts *o, const struct spans_in *s,
			const struct store_stats *stats)
{
	_cleanup_buf_ struct buf shown = {0}, counts = {0};

	if (spans_counts_put(spans_in_counts(s), &counts) < 0 ||
	    format_safe(&shown, o->output, strlen(o->output)) < 0)
		return;
	if (!o->quiet)
		fprintf(stderr, "weir: %s   %s spans, %s notes   %s\n", buf_str(&shown),
			format_count(stats->rows[TABLE_SPAN]).s,
			format_count(stats->rows[TABLE_NOTE]).s, format_size(stats->bytes).s);
	if (counts.len)
		fprintf(stderr, "weir: %s\n", buf_str(&counts));
}

static int import_all(const struct import_opts *o, enum spans_format format, int argc, char **argv,
		      struct error *err)
{
	static const struct store_options options = {.owner = (uid_t)-1};
	_cleanup_(spans_in_freep) struct spans_in *s = NULL;
	_cleanup_(output_free) struct output out = {0};
	_cleanup_buf_ struct buf text = {0}, counts = {0};
	struct store_stats stats;
	int r = spans_in_new(&s, err);

	for (int i = 0; r >= 0 && i < argc; i++)
		r = import_one(s, argv[i], format, &text, err);
	if (r >= 0)
		r = spans_in_finish(s, err);
	if (r < 0)
		return r;
	r = spans_counts_put(spans_in_counts(s), &counts);
	if (r >= 0 && counts.len)
		r = buf_printf(&text, "; %s", buf_str(&counts));
	if (r < 0)
		return error_errno(err, r, "import");
	r = output_open(&out, o->output, &options, err);
	if (r < 0)
		return r;
	r = import_write(&out, s, &text, &stats, err);
	if (r < 0)
		return r;
	import_tell(o, s, &stats);
	return r;
}

static int import_run(const void *opts, int argc, char **argv)
{
	struct import_opts o = *(const struct import_opts *)opts;
	struct error err = {0};
	int format = o.format ? spans_format_find(o.format) : SPANS_ANY;

	if (format < 0)
		return fail_usage("import: --format %.80s: use otlp-json, otlp-protobuf or zipkin",
				  o.format);
	if (!argc)
		return fail_usage(
			"import: the file is missing: weir import spans.json -o spans.weir");
	if (!o.output)
		return fail_usage("import: -o is missing: the trace to write, as in weir import "
				  "%.200s -o spans.weir",
				  argv[0]);
	return import_all(&o, (enum spans_format)format, argc, argv, &err) < 0 ? fail(&err) : 0;
}

static const struct option import_options[] = {
	{'o', "output", OPTION_STRING, "TRACE",
	 "write this trace; an existing one is moved to TRACE.old, any other file is left alone",
	 offsetof(struct import_opts, output)},
	{0, "format", OPTION_STRING, "NAME",
	 "otlp-json, otlp-protobuf or zipkin (default: detected from the content of each file)",
	 offsetof(struct import_opts, format), .words = spans_format_name},
	{'q', "quiet", OPTION_FLAG, NULL, "print only what was left out",
	 offsetof(struct import_opts, quiet)},
	{0},
};

static const struct command_example import_examples[] = {
	{"weir import traces.json -o spans.weir",
	 "what the file exporter of OpenTelemetry's collector wrote"},
	{"weir query -i app.weir -i spans.weir 'from span | by name | count(), p99(dur)'",
	 "query them together with a recording"},
	{"curl -s http://zipkin:9411/api/v2/trace/463ac35c9f6413ad | weir import - -o one.weir",
	 "import one trace from Zipkin"},
	{0},
};

const struct command command_import = {
	.name = "import",
	.summary = "read spans of OpenTelemetry and Zipkin into a trace",
	.usage = "[--format NAME] -o TRACE FILE...",
	.description =
		"Writes a trace with the spans of these files (- is standard input): bodies of "
		"OTLP/HTTP in protobuf or JSON, files of the collector's file exporter (a document "
		"per line, or length-prefixed messages), or Zipkin's JSON, version 2. Events "
		"and annotations become rows of table note. Fields without a column in the table "
		"of spans are kept as attributes, and weir export restores them.\n\n"
		"Spans without a usable time, and invalid ids, are left out; both are counted, "
		"here and in the trace's mark. A malformed file is an error that names the byte, "
		"and "
		"nothing is written.\n\n"
		"Exit status: 0 done, 1 a file cannot be read or is malformed, or the trace cannot "
		"be written, 2 wrong options.",
	.options = import_options,
	.options_size = sizeof(struct import_opts),
	.examples = import_examples,
	.or_files = true,
	.run = import_run,
};
