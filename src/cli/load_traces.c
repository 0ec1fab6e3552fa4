// SPDX-License-Identifier: Apache-2.0
/* load_traces.c: `weir load`: loads traces into a store for many machines. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/options/shared.h"
#include "cli/terminal/format.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/output.h"
#include "load/load.h"

#define PATIENCE_NS (60 * NSEC_PER_SEC)

struct load_opts {
	struct option_list inputs;
	const char *to;
	int64_t keep_ns, patience_ns;
	bool schema, follow, quiet;
};

static void load_progress(const void *arg, uint64_t *ret_done, uint64_t *ret_total)
{
	const struct load_totals *t = arg;

	*ret_done = atomic_load(&t->seen);
	*ret_total = atomic_load(&t->all);
}

static bool load_stopped(void *arg)
{
	return interrupt_signal(arg) != 0;
}

/* Reported at once: the end may be weeks away. */
static void load_missed(uint64_t files)
{
	fprintf(stderr,
		"weir: the recorder removed %s files before they were loaded: let it keep more "
		"(record "
		"--keep)\n",
		format_count(files).s);
}

static void load_refused(const char *why)
{
	fprintf(stderr, "weir: not loaded: %s\n", why);
}

/* Loads each file separately; for a folder, all of its traces. */
static int load_each(struct load_target *t, const char *path, const struct load_loop *loop,
		     struct load_totals *totals, struct error *err)
{
	_cleanup_(store_freep) struct store *all = NULL;
	int r = store_open(&all, &path, 1, err);

	for (size_t i = 0; r >= 0 && i < store_trace_count(all); i++) {
		r = load_trace(t, store_trace_path(all, i), loop, totals, err);
		if (r < 0 && r != -EINTR)
			error_prefix(err, "%.300s", store_trace_path(all, i));
	}
	return r;
}

static void load_tell(const struct load_opts *o, const struct load_totals *t, int64_t took)
{
	uint64_t calls = t->calls, rows = t->rows;

	if (t->clocks)
		fprintf(stderr,
			"weir: %s traces were loaded before weir flow --keep found their clocks; "
			"times of "
			"these recordings stay as they were: load into another database to correct "
			"them\n",
			format_count(t->clocks).s);
	if (t->damaged)
		fprintf(stderr, "weir: %s damaged blocks cannot be read; they count as lost\n",
			format_count(t->damaged).s);
	if (t->unclosed)
		fprintf(stderr,
			"weir: %s traces were not closed (recorder killed, or file cut): their "
			"last calls may be "
			"missing\n",
			format_count(t->unclosed).s);
	if (o->quiet)
		return;
	fprintf(stderr, "loaded %s calls and %s other rows of %s in %s (%s)", format_count(calls).s,
		format_count(rows - calls).s, format_counted(t->traces, "trace").s,
		format_dur(took).s, format_rate(calls, took, false).s);
	if (t->spans)
		fprintf(stderr, "; %s spans into otel_traces", format_count(t->spans).s);
	if (t->known)
		fprintf(stderr, "; %s blocks had already been loaded", format_count(t->known).s);
	if (t->retries)
		fprintf(stderr, "; retried %s times", format_count(t->retries).s);
	if (t->made)
		fprintf(stderr,
			"; %s tables added after recording were left out: query the file for them",
			format_count(t->made).s);
	fputc('\n', stderr);
}

static int load_are_paths(const struct load_opts *o, int argc, char **argv, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < o->inputs.count && r >= 0; i++)
		r = input_is_path(o->inputs.items[i], err);
	for (int i = 0; i < argc && r >= 0; i++)
		r = input_is_path(argv[i], err);
	return r;
}

static int load_traces_all(const struct load_opts *o, int argc, char **argv, struct interrupt *it,
			   struct error *err)
{
	const struct read_flags flags = {.inputs = o->inputs};
	const struct load_options options = {.keep_ns = o->keep_ns};
	struct load_loop loop = {.follow = o->follow,
				 .stopped = load_stopped,
				 .arg = it,
				 .missed = load_missed,
				 .refused = load_refused,
				 .patience_ns = o->patience_ns ? o->patience_ns : PATIENCE_NS};
	const struct load_target_ops *ops = load_target_find(o->to, err);
	_cleanup_(load_target_freep) struct load_target *t = NULL;
	_cleanup_free_ const char **paths = NULL;
	struct load_totals totals = {0};
	int64_t began = clock_monotonic_ns();
	size_t count;
	int r = load_are_paths(o, argc, argv, err);

	if (r >= 0)
		r = read_flags_paths(&flags, argc, argv, &paths, &count, err);

	if (r >= 0 && o->follow && count > 1)
		return error_set(err, -EINVAL,
				 "--follow loads one trace during its recording, not %zu", count);
	if (r >= 0)
		r = ops->connect(&t, o->to, &options, err);
	interrupt_progress(it, "blocks", load_progress, &totals);
	for (size_t i = 0; r >= 0 && i < count; i++)
		r = o->follow ? load_growing(t, paths[i], &loop, &totals, err)
			      : load_each(t, paths[i], &loop, &totals, err);
	interrupt_quiet(it);
	if (r >= 0 || r == -EINTR)
		load_tell(o, &totals, clock_monotonic_ns() - began);
	return r;
}

/* Adds the tables that users appended to a trace; an unsupported one is an error. */
static int load_schema_own(const char *path, const struct load_target_ops *ops,
			   const struct load_options *options, struct buf *out, struct error *err)
{
	_cleanup_(store_freep) struct store *s = NULL;
	int r = store_open(&s, &path, 1, err);

	for (size_t i = 0; r >= 0 && ops->own_schema && i < store_made_count(s); i++) {
		const struct store_made *m = store_made(s, i);

		if (m && m->table == TABLE_OWN)
			r = ops->own_schema(m, options, out, err);
	}
	return r;
}

static int load_schema(const struct load_opts *o, int argc, char **argv)
{
	const struct read_flags flags = {.inputs = o->inputs};
	_cleanup_free_ const char **paths = NULL;
	size_t count = 0;
	int r = 0;
	const struct load_options options = {.keep_ns = o->keep_ns};
	struct error err = {0};
	const struct load_target_ops *ops = load_target_find(o->to, &err);
	_cleanup_buf_ struct buf out = {0};

	if (ops->schema(&options, NULL, &out) < 0)
		r = error_errno(&err, -ENOMEM, "load");
	if (r >= 0 && (argc || o->inputs.count))
		r = read_flags_paths(&flags, argc, argv, &paths, &count, &err);
	for (size_t i = 0; i < count && r >= 0; i++)
		r = load_schema_own(paths[i], ops, &options, &out, &err);
	if (r < 0)
		return fail(&err);
	fputs(buf_str(&out), stdout);
	return 0;
}

static int load_run(const void *opts, int argc, char **argv)
{
	const struct load_opts *o = opts;
	struct error err = {0};
	struct interrupt it;
	int r;

	if (!o->to)
		return fail_usage("load: --to is missing, the store to load into: "
				  "weir load --to clickhouse://localhost/weir app.weir");
	if (!load_target_find(o->to, &err))
		return fail_usage("load: --to: %s", err.message);
	if (o->schema)
		return load_schema(o, argc, argv);
	if (interrupt_start(&it, INTERRUPT_END, &err) < 0)
		return fail(&err);
	interrupt_farewell(&it, "weir: interrupted: load again to continue; rows that were sent "
				"are not loaded twice\n");
	r = load_traces_all(o, argc, argv, &it, &err);
	return interrupt_stop(&it, r < 0 ? fail(&err) : 0);
}

static const struct option load_command_options[] = {
	{0, "to", OPTION_STRING, "ADDRESS",
	 "the store: clickhouse:// or opensearch://, "
	 "HOST[:PORT][,HOST...]/DATABASE[?tls=1&ca=FILE&login=FILE]; for OpenSearch the database "
	 "is a prefix of names",
	 offsetof(struct load_opts, to)},
	{'i', "input", OPTION_LIST, "TRACE",
	 "load this trace, or every trace in this folder; repeatable",
	 offsetof(struct load_opts, inputs)},
	{0, "schema", OPTION_FLAG, NULL,
	 "print the statements that create the tables, with those of TRACE's own (weir annotate), "
	 "and load "
	 "nothing",
	 offsetof(struct load_opts, schema)},
	{0, "keep", OPTION_DURATION, "TIME",
	 "tables created by this command drop rows this long after they ended (720h; default: "
	 "never)",
	 offsetof(struct load_opts, keep_ns)},
	{'f', "follow", OPTION_FLAG, NULL,
	 "keep loading while the trace is being recorded, including further files (record "
	 "--rotate)",
	 offsetof(struct load_opts, follow)},
	{0, "patience", OPTION_DURATION, "TIME",
	 "keep trying for this long while the store does not answer (default 60s)",
	 offsetof(struct load_opts, patience_ns)},
	{'q', "quiet", OPTION_FLAG, NULL, "print only what is lost",
	 offsetof(struct load_opts, quiet)},
	{0},
};

static const struct command_example load_examples[] = {
	{"weir load --to clickhouse://localhost/weir app.weir", "load a trace"},
	{"weir load --to clickhouse://db1,db2/weir?tls=1 --follow app.weir",
	 "during the recording, into whichever of two nodes answers"},
	{"weir load --to opensearch://localhost/weir app.weir",
	 "as documents for OpenSearch Dashboards or Kibana (docs/howto/opensearch.md)"},
	{"weir load --to clickhouse://localhost/weir --schema --keep 720h",
	 "the tables, for a database that someone else manages"},
	{0},
};

const struct command command_load = {
	.name = "load",
	.summary = "load traces into a database of many machines",
	.usage = "--to ADDRESS [--follow] [options] [TRACE...]",
	.description =
		"Loads every block of a trace exactly once, even after failures: a block is "
		"identified by host, boot, recording and number, and blocks that the database "
		"already holds are skipped. To continue after a failure, load again; loading a "
		"trace twice changes nothing. Data that could not be recorded or read is loaded as "
		"rows of table loss.\n\n"
		"User and password come from $WEIR_USER and $WEIR_PASSWORD, or from the file "
		"login=FILE in the address, which must be readable only by its owner. Pass the "
		"same address to -i of query, report and other commands.\n\n"
		"Exit status: 0 done, 1 a trace cannot be read or the database cannot be reached, "
		"2 wrong options.",
	.options = load_command_options,
	.options_size = sizeof(struct load_opts),
	.examples = load_examples,
	.or_files = true,
	.run = load_run,
};
