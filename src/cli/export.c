// SPDX-License-Identifier: Apache-2.0
/*
 * export.c: `weir export`: converts a trace for other tools: its spans and periods, or all of it as a timeline
 * (export_timeline.c).
 */
#include <errno.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/export_timeline.h"
#include "cli/options/choose.h"
#include "cli/terminal/loss_text.h"
#include "cli/terminal/output.h"
#include "exchange/spans_out.h"

#define WRITE_BYTES (256u << 10)

struct export_opts {
	struct option_list inputs, hosts;
	struct select_flags sel;
	const char *output, *from, *to, *service, *name, *sample;
	bool otlp, protobuf, zipkin, jaeger, perfetto, chrome, profiles, no_io;
	int64_t calls_ns;
};

/* The destination of the spans. */
struct export_out {
	struct spans_sink *sink;
	FILE *file;
	uint64_t spans;
};

static void export_out_free(struct export_out *e)
{
	spans_sink_free(e->sink);
	if (e->file && e->file != stdout)
		fclose(e->file);
}

static int export_write(struct export_out *e, size_t least)
{
	struct buf *b = spans_sink_out(e->sink);

	if (b->len <= least)
		return 0;
	if (fwrite(b->data, 1, b->len, e->file) != b->len)
		return -errno;
	buf_clear(b);
	return 0;
}

static int export_put(void *arg, const struct span_out *span)
{
	struct export_out *e = arg;
	int r = spans_sink_put(e->sink, span);

	e->spans++;
	return r < 0 ? r : export_write(e, WRITE_BYTES);
}

static enum spans_out_format export_format(const struct export_opts *o)
{
	return o->jaeger     ? SPANS_OUT_JAEGER
	       : o->zipkin   ? SPANS_OUT_ZIPKIN
	       : o->protobuf ? SPANS_OUT_PROTOBUF
			     : SPANS_OUT_OTLP;
}

static bool export_has_calls(const struct store *s)
{
	for (size_t i = 0; i < store_block_count(s); i++) {
		if (store_block(s, i)->table == TABLE_OP)
			return true;
	}
	return false;
}

/* Reports how many requests each rule kept. */
static void export_tell_sample(const struct spans_sample *s)
{
	for (size_t i = 0; s && i < s->rules.count; i++) {
		const struct sample_sums *n = &s->sums[i];

		fprintf(stderr, "weir: %s: %s of %s kept\n", sample_word(s->rules.all[i].kind),
			format_count(n->kept).s, format_counted(n->requests, "request").s);
	}
}

/* Reports what the document lacks. */
static int export_tell(const struct export_out *e, struct spans_out *out, struct store *s,
		       struct error *err)
{
	struct loss loss;
	int r = loss_read(&loss, s, err);

	if (r < 0)
		return r;
	loss_warn(&loss);
	export_tell_sample(spans_out_sample(out));
	if (spans_out_calls_lost(out))
		fprintf(stderr,
			"weir: %llu calls were left out, as at most %u can become spans; raise "
			"--calls\n",
			(unsigned long long)spans_out_calls_lost(out), SPANS_CALLS_MAX);
	if (!e->spans)
		fputs("weir: the trace has no spans\n", stderr);
	return 0;
}

static int export_all(const struct export_opts *o, struct spans_out *out, struct store *s,
		      struct error *err)
{
	_cleanup_(export_out_free) struct export_out e = {
		.file = o->output ? output_text(o->output, err) : stdout};
	int r = e.file ? spans_sink_new(&e.sink, export_format(o), err) : err->code;

	if (r >= 0)
		r = spans_out_each(out, export_put, &e, err);
	if (r < 0)
		return r;
	r = spans_sink_end(e.sink);
	if (r >= 0)
		r = export_write(&e, 0);
	if (r >= 0 && fflush(e.file) != 0)
		r = -errno;
	if (r < 0)
		return error_errno(err, r, "cannot write %.800s",
				   o->output ? o->output : "the spans");
	return export_tell(&e, out, s, err);
}

static int export_open(const struct export_opts *o, const struct sample_rules *sample, int argc,
		       char **argv, struct error *err)
{
	const struct read_flags flags = {
		.inputs = o->inputs, .hosts = o->hosts, .from = o->from, .to = o->to};
	_cleanup_(store_freep) struct store *s = NULL;
	_cleanup_(spans_out_freep) struct spans_out *out = NULL;
	struct spans_out_options options = {.apart = !o->zipkin,
					    .service = o->service,
					    .name = o->name,
					    .sample = sample,
					    .calls_ns = o->calls_ns ? o->calls_ns : -1};
	int64_t first, last;
	int r = read_flags_open(&flags, argc, argv, &s, err);

	if (r < 0)
		return r;
	store_range(s, &first, &last);
	if (first == INT64_MIN || last == INT64_MIN)
		first = last = 0;
	r = read_flags_range(&flags, first, last, &options.from, &options.to, err);
	options.calls = !o->no_io && export_has_calls(s);
	if (r < 0)
		return r;
	r = spans_out_new(&out, s, &options, err);
	return r < 0 ? r : export_all(o, out, s, err);
}

/* Spans are chosen by name, service and time: -EINVAL if an option selects calls. */
static int export_selects_none(const struct export_opts *o, struct error *err)
{
	const struct read_flags flags = {.sel = o->sel};
	_cleanup_(select_free) struct select select = {0};
	_cleanup_(choice_free) struct choice choice = {0};
	int r = read_flags_select(&flags, &select, err);

	if (r >= 0)
		r = choice_make(&choice, &flags.sel, &select, &flags.sel.where, NULL, err);
	if (r >= 0 && choice.text.len)
		r = error_set(
			err, -EINVAL,
			"export: a selection of calls works with --perfetto, --chrome and "
			"--otlp-profiles; select spans by --name, --service, --from and --to");
	return r;
}

static int export_run_timeline(const struct export_opts *o, int argc, char **argv,
			       struct error *err)
{
	const struct export_timeline t = {.flags = {.inputs = o->inputs,
						    .hosts = o->hosts,
						    .sel = o->sel,
						    .from = o->from,
						    .to = o->to},
					  .output = o->output,
					  .chrome = o->chrome,
					  .profiles = o->profiles,
					  .protobuf = o->protobuf};

	if (o->calls_ns || o->no_io || o->service || o->name || o->sample)
		return fail_usage(
			"export: --calls, --no-io, --service, --name and --sample select spans and "
			"cannot be combined with --perfetto, --chrome or --otlp-profiles");
	if (o->protobuf && !o->profiles)
		return fail_usage("export: --protobuf needs --otlp or --otlp-profiles");
	return export_timeline(&t, argc, argv, err) < 0 ? fail(err) : 0;
}

static int export_run(const void *opts, int argc, char **argv)
{
	const struct export_opts *o = opts;
	struct sample_rules rules;
	struct error err = {0};

	if (o->otlp + o->zipkin + o->jaeger + o->perfetto + o->chrome + o->profiles > 1)
		return fail_usage("export: --otlp, --zipkin, --jaeger, --perfetto, --chrome and "
				  "--otlp-profiles exclude each other");
	if (o->perfetto || o->chrome || o->profiles)
		return export_run_timeline(o, argc, argv, &err);
	if (export_selects_none(o, &err) < 0)
		return fail(&err);
	if (o->protobuf && (o->zipkin || o->jaeger))
		return fail_usage("export: --protobuf needs --otlp or --otlp-profiles");
	if (o->no_io && o->calls_ns)
		return fail_usage("export: --no-io and --calls exclude each other");
	if (o->sample && (o->service || o->name))
		return fail_usage("export: --sample keeps whole requests and cannot be combined "
				  "with --service or --name");
	if (o->sample && sample_rules_read(&rules, o->sample, &err) < 0)
		return fail_usage("export: %s", err.message);
	return export_open(o, o->sample ? &rules : NULL, argc, argv, &err) < 0 ? fail(&err) : 0;
}

static const struct option export_options[] = {
	{'i', "input", OPTION_LIST, "TRACE",
	 "read this trace, or every trace in this folder; repeatable; weir.trace if none is named",
	 offsetof(struct export_opts, inputs)},
	HOST_FLAG(struct export_opts, hosts),
	{'o', "output", OPTION_STRING, "FILE", "write to this file (default: standard output)",
	 offsetof(struct export_opts, output)},
	{0, "otlp", OPTION_FLAG, NULL,
	 "write OpenTelemetry's OTLP as JSON, a request of up to 512 spans per line (the default)",
	 offsetof(struct export_opts, otlp)},
	{0, "otlp-profiles", OPTION_FLAG, NULL,
	 "write calls as OTLP profiles (v1development of 1.10.0): time, bytes and number by stack, "
	 "else by call and file, with links to spans",
	 offsetof(struct export_opts, profiles)},
	{0, "protobuf", OPTION_FLAG, NULL, "write OTLP as one protobuf request instead",
	 offsetof(struct export_opts, protobuf)},
	{0, "zipkin", OPTION_FLAG, NULL, "write Zipkin's JSON, version 2",
	 offsetof(struct export_opts, zipkin)},
	{0, "jaeger", OPTION_FLAG, NULL,
	 "write Jaeger's JSON, which Jaeger's UI opens from a file; it is built in memory",
	 offsetof(struct export_opts, jaeger)},
	{0, "perfetto", OPTION_FLAG, NULL,
	 "write the whole trace as a timeline for Perfetto's UI, in its protobuf format: threads "
	 "with their calls, disks, spans, counters",
	 offsetof(struct export_opts, perfetto)},
	{0, "chrome", OPTION_FLAG, NULL,
	 "write the timeline as Chrome trace events in JSON, which more viewers can open",
	 offsetof(struct export_opts, chrome)},
	{0, "calls", OPTION_DURATION, "TIME",
	 "also write calls that took this long or longer as spans, below the span that made them",
	 offsetof(struct export_opts, calls_ns)},
	{0, "no-io", OPTION_FLAG, NULL, "leave out the attributes about calls (weir.io.*)",
	 offsetof(struct export_opts, no_io)},
	{0, "sample", OPTION_STRING, "RULES",
	 "keep a sample of the requests, each with the number it stands for: 'failed, slow 1%, "
	 "rare 10, 1/100'",
	 offsetof(struct export_opts, sample)},
	{0, "service", OPTION_STRING, "NAME", "only spans of this service",
	 offsetof(struct export_opts, service)},
	{0, "name", OPTION_STRING, "NAME", "only spans of this name",
	 offsetof(struct export_opts, name)},
	{0, "from", OPTION_STRING, "TIME",
	 "from this time: +1.5s after the start, -2s before the end, 09:55:03.5, "
	 "2026-11-21T09:55:03",
	 offsetof(struct export_opts, from)},
	{0, "to", OPTION_STRING, "TIME", "up to this time, in the same forms",
	 offsetof(struct export_opts, to)},
	SELECT_FLAGS(struct export_opts, sel,
		     "with --perfetto, --chrome or --otlp-profiles: only calls of these processes, "
		     "with all their threads; "
		     "repeatable, or PID,PID"),
	{0},
};

static const struct command_example export_examples[] = {
	{"weir export -i app.weir --otlp -o spans.json",
	 "spans with totals of the calls that they made"},
	{"weir export -i app.weir --protobuf -o spans.pb",
	 "a body that curl --data-binary @spans.pb can send to a collector"},
	{"weir export -i app.weir --jaeger --calls 1ms -o spans.json",
	 "for Jaeger's UI, with slow calls as spans of their own"},
	{"weir export -i app.weir --sample 'failed, slow 1%, rare, 1/100' -o some.json",
	 "the interesting requests, and a hundredth of the rest, with weights"},
	{"weir export -i app.weir --otlp-profiles --protobuf -o profiles.pb",
	 "where the time of I/O went, as profiles for a collector"},
	{"weir export -i app.weir --perfetto -o app.perfetto-trace",
	 "a file that Perfetto's UI opens"},
	{"weir export -i app.weir --chrome --slower 1ms -o slow.json",
	 "only calls of a millisecond or longer"},
	{0},
};

const struct command command_export = {
	.name = "export",
	.summary = "write spans for OpenTelemetry, Zipkin and Jaeger, or a timeline for Perfetto",
	.usage = "[--otlp | --zipkin | --perfetto | ...] [options] [TRACE...]",
	.description =
		"Writes the spans of a trace, marked or imported, and the matches of periods "
		"stored in it. If calls were recorded, a span has their number, bytes and time by "
		"class: weir.io.calls, weir.io.data.time_ns, ... Each call counts for one span. "
		"weir.io.by names how they were found, as column via of weir requests does: "
		"context, thread, work.\n\n"
		"A span without ids gets some, the same at each export. A span that was still "
		"running ends with the trace, and weir.status says so, as it does for one that was "
		"cut. Zipkin and Jaeger keep microseconds.\n\n"
		"--sample keeps whole requests by the first rule that they match: failed, one of "
		"its spans failed; slow P%, among the slowest of its name; rare N, at most N of "
		"its name; the last rule, 1/N or P%, samples all others. weir.sample.weight is the "
		"number of requests that a request stands for: the weights of one name add up to "
		"the number of its requests. "
		"OTLP's tracestate has the threshold (ot=th:).\n\n"
		"--perfetto and --chrome write every call as a slice on the track of its thread, "
		"with "
		"arguments and file; requests of io_uring, spans and requests to disks have tracks "
		"of "
		"their own. Calls and spans that never ended are drawn up to the end of the "
		"trace.\n\n"
		"--otlp-profiles sums calls up: io_time, wait_time (calls that wait for work), "
		"io_bytes and io_calls of each process, by the functions that led to the call, "
		"or by its file if no stack was recorded, with the call itself as the leaf, by "
		"weir.io.class and by the span that it belongs to.\n\n"
		"Exit status: 0 done, 1 the trace cannot be read or the file not be written, 2 "
		"wrong options.",
	.options = export_options,
	.options_size = sizeof(struct export_opts),
	.examples = export_examples,
	.or_files = true,
	.run = export_run,
};
