/* SPDX-License-Identifier: Apache-2.0 */
/* weir synth: writes a synthetic trace. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "capture/synth/synth.h"
#include "cli/commands.h"
#include "cli/terminal/format.h"
#include "cli/terminal/output.h"
#include "cli/options/shared.h"
#include "enrich/enrich.h"

#define SYNTH_ROWS_DEFAULT 1000000
#define SYNTH_SEED_DEFAULT 1

struct synth_opts {
	const char *output, *profile, *host;
	int64_t rows, seed;
	bool quiet;
};

/* The destination of a source's rows. */
struct pipeline {
	struct enrich *enrich;
	struct output file;
	struct batch_set in, out;
};

static void pipeline_free(struct pipeline *p)
{
	output_free(&p->file);
	enrich_free(p->enrich);
	batch_set_free(&p->in);
	batch_set_free(&p->out);
}

static int pump(struct source *source, struct pipeline *p, struct error *err)
{
	int r = source_start(source, err);

	while (r >= 0 && r != SOURCE_END) {
		r = source_read(source, &p->in, 0, err);
		if (r != SOURCE_ROWS)
			continue;
		r = enrich_apply(p->enrich, &p->in, &p->out, err);
		if (r >= 0)
			r = store_append_set(p->file.writer, &p->out, err);
		batch_set_clear(&p->in);
		batch_set_clear(&p->out);
	}
	return r < 0 ? r : 0;
}

static int write_trace(const struct synth_opts *o, const struct synth_options *synth,
		       struct error *err)
{
	_cleanup_(pipeline_free) struct pipeline p = {0};
	_cleanup_(source_freep) struct source *source = NULL;
	/* Blocks are cut by rows alone, so that the file does not depend on how fast this machine writes. */
	struct store_options store = {.owner = (uid_t)-1, .block_ns = 3600 * NSEC_PER_SEC};
	_cleanup_buf_ struct buf shown = {0};
	struct store_stats stats;
	int64_t began = clock_monotonic_ns();
	int r = synth_source_new(&source, synth, err);

	if (r >= 0)
		r = enrich_new(&p.enrich, err);
	if (r < 0)
		return r;
	enrich_keep_dims(p.enrich, 0);
	r = output_open(&p.file, o->output, &store, err);
	if (r >= 0)
		r = pump(source, &p, err);
	if (r >= 0)
		r = store_flush(p.file.writer, true, err);
	if (r < 0) {
		if (p.file.writer)
			output_undo(&p.file);
		return r;
	}
	store_writer_stats(p.file.writer, &stats);
	r = store_close(TAKE_PTR(p.file.writer), err);
	if (r >= 0 && !o->quiet)
		r = format_safe(&shown, o->output, strlen(o->output));
	if (r >= 0 && !o->quiet)
		fprintf(stderr, "weir: %s   %s synthetic calls (%s, seed %lld)   %s   in %s\n",
			buf_str(&shown), format_count(stats.rows[TABLE_OP]).s,
			synth_profile_name(synth->profile), (long long)o->seed,
			format_size(stats.bytes).s, format_dur(clock_monotonic_ns() - began).s);
	return r;
}

static int synth_run(const void *opts, int argc, char **argv)
{
	struct synth_opts o = *(const struct synth_opts *)opts;
	struct synth_options synth = {0};
	struct error err = {0};
	int profile = o.profile ? synth_profile_find(o.profile) : SYNTH_MIXED;

	if (profile < 0)
		return fail_usage("synth: --profile %.80s: use mixed, redis, rocksdb, fio, network "
				  "or hostile",
				  o.profile);
	o.output = o.output ? o.output : TRACE_DEFAULT;
	synth.profile = (enum synth_profile)profile;
	synth.rows = o.rows ? (uint64_t)o.rows : SYNTH_ROWS_DEFAULT;
	o.seed = o.seed ? o.seed : SYNTH_SEED_DEFAULT;
	synth.seed = (uint64_t)o.seed;
	synth.host = o.host;
	return write_trace(&o, &synth, &err) < 0 ? fail(&err) : 0;
}

static const struct option options[] = {
	{'o', "output", OPTION_STRING, "TRACE",
	 "write this trace; an existing one is moved to TRACE.old, any other file is left alone "
	 "(default: weir.trace)",
	 offsetof(struct synth_opts, output)},
	{'n', "rows", OPTION_COUNT, "N", "number of calls (default: 1,000,000)",
	 offsetof(struct synth_opts, rows)},
	{'s', "seed", OPTION_COUNT, "N", "the same number gives the same calls (default: 1)",
	 offsetof(struct synth_opts, seed)},
	{0, "profile", OPTION_STRING, "NAME",
	 "mixed (default), redis, rocksdb, fio, network or hostile",
	 offsetof(struct synth_opts, profile), .words = synth_profile_name},
	{0, "host", OPTION_STRING, "NAME", "name of the machine in the trace (default: synth)",
	 offsetof(struct synth_opts, host)},
	{'q', "quiet", OPTION_FLAG, NULL, "do not print a summary at the end",
	 offsetof(struct synth_opts, quiet)},
	{0},
};

static const struct command_example examples[] = {
	{"weir synth -o big.trace --rows 10000000 --seed 7",
	 "ten million calls to try commands with"},
	{"weir synth -o bad.trace --rows 100000 --profile hostile",
	 "names and values that break careless readers"},
	{"weir synth -o b.trace --host b --seed 2",
	 "a second machine for a.trace: weir query -i a.trace -i b.trace 'by host | count()'"},
	{0},
};

const struct command command_synth = {
	.name = "synth",
	.summary = "write a synthetic trace, for tests and experiments",
	.usage = "[-o TRACE] [--rows N] [--seed S] [--profile NAME] [--host NAME]",
	.description = "Writes a trace of made-up calls: streams like those of Redis, "
		       "RocksDB, fio and a web server, or "
		       "hostile ones. The same rows, seed and profile give the same calls on every "
		       "machine.\n\n"
		       "Exit status: 0 done, 1 the trace cannot be written, 2 wrong options.",
	.options = options,
	.options_size = sizeof(struct synth_opts),
	.examples = examples,
	.no_args = true,
	.run = synth_run,
};
