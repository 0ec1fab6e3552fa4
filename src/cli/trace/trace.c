/* SPDX-License-Identifier: Apache-2.0 */
/* weir trace: prints a line per call, like strace. */
#include "cli/trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/shell.h"
#include "cli/commands.h"
#include "cli/record/record_live.h"
#include "cli/terminal/text.h"
#include "privilege/privilege.h"
#include "schema/wire_detail.h"

static bool reads_stored(const struct trace_opts *o)
{
	return o->inputs.count > 0;
}

/* Rejects options that apply only live, or only to a stored trace, in the other case. 0 or 2. */
static int trace_check(const struct trace_opts *o)
{
	if (reads_stored(o)) {
		if (o->rec.everything)
			return fail_usage("trace: -a records the whole host, -i reads a trace: use "
					  "one of them");
		if (o->rec.user)
			return fail_usage("trace: -u is for a command, and -i reads a trace; to "
					  "select by user use --uid %s",
					  o->rec.user);
		if (o->rec.with.count || o->rec.stacks)
			return fail_usage("trace: --with and --stacks are for recording, and -i "
					  "reads a trace; --phases shows the phases in it");
		if (o->lossless || o->duration_ns || o->rec.ring_bytes || o->keep_secrets)
			return fail_usage("trace: --lossless, --duration, --ring and "
					  "--keep-secrets are for recording, and -i reads a trace");
	} else if (o->from || o->to || o->hosts.count) {
		return fail_usage(
			"trace: --from, --to and --host select within a trace: name one with -i");
	}
	if (o->rec.strace_f > 1 && o->summary)
		return fail_usage("trace: -ff writes lines to a file for each thread, -c prints a "
				  "summary: use one of them");
	if (o->string_bytes > WIRE_DETAIL_MOST)
		return fail_usage("trace: --string-limit: must be at most %d bytes",
				  WIRE_DETAIL_MOST);
	if (o->relative && o->rel)
		return fail_usage("trace: -r counts from the line before, --rel from the start: "
				  "use one of them");
	return 0;
}

/* Rejects a trace in the place of a command. 0 or 2. */
static int check_command(const struct trace_opts *o, int argc, char **argv)
{
	_cleanup_buf_ struct buf word = {0};

	if (!argc || reads_stored(o) || !store_path_is_trace(argv[0]))
		return 0;
	return fail_usage("trace: %s is a trace, not a command: weir trace -i %s", argv[0],
			  shell_word(&word, argv[0], strlen(argv[0])) < 0 ? "TRACE"
									  : buf_str(&word));
}

static int trace_run(const struct trace_opts *o, int argc, char **argv, FILE *standard)
{
	_cleanup_(trace_out_close) struct trace_out out = {0};
	struct error err = {0}, named = {0};
	int r = trace_out_open(&out, o, standard);

	if (r == 0)
		r = reads_stored(o) ? trace_stored(o, argc, argv, &out, &err)
				    : trace_live(o, argc, argv, &out, &err);
	if (trace_files_close(out.files, &named) < 0 && r >= 0)
		r = named.code;
	if (named.code)
		err = named;
	if (r < 0 && out.file == stdout && ferror(stdout))
		return 1; /* main() reports it */
	if (r < 0 && out.file != standard && ferror(out.file)) {
		err = (struct error){0};
		error_errno(&err, r, "-o %s", o->output);
	}
	if (out.file != standard && fclose(out.file) != 0 && r >= 0)
		r = live_at_work(error_errno(&err, -errno, "-o %s", o->output));
	if (r < 0 && !err.code)
		error_errno(&err, r, "trace");
	return r < 0 ? live_fail(r, &err) : r;
}

static int trace_main(const void *opts, int argc, char **argv)
{
	const struct trace_opts *o = opts;
	/* with a command, standard output belongs to it, as for strace */
	FILE *file = !reads_stored(o) && argc ? stderr : stdout;
	bool split = o->output && o->rec.strace_f > 1;
	struct error err = {0};
	int status = trace_check(o);

	if (!status && reads_stored(o) && privilege_drop(privilege_files(), &err) < 0)
		return fail(&err);
	if (!status)
		status = check_command(o, argc, argv);
	if (status)
		return status;
	if (!o->output && reads_stored(o))
		text_pager_begin();
	/* with -ff, what concerns no particular thread goes to standard error */
	status = trace_run(o, argc, argv, split ? stderr : file);
	if (!o->output && reads_stored(o))
		text_pager_end();
	return status;
}

static const struct option trace_options[] = {
	{'i', "input", OPTION_LIST, "TRACE",
	 "print this trace, or every trace in this folder, instead of recording",
	 offsetof(struct trace_opts, inputs)},
	HOST_FLAG(struct trace_opts, hosts),
	RECORD_FLAGS(struct trace_opts, rec),
	{'o', "output", OPTION_STRING, "FILE",
	 "write to this file, which is overwritten unless it is a trace; with -ff to FILE.TID, one "
	 "for each thread",
	 offsetof(struct trace_opts, output)},
	{'s', "string-limit", OPTION_COUNT, "N",
	 "show the first N bytes (at most 4096) of each buffer that a call reads or writes",
	 offsetof(struct trace_opts, string_bytes)},
	{'k', "stack-trace", OPTION_FLAG, NULL,
	 "after each call, print the functions that led to it; for a trace, if it has stacks",
	 offsetof(struct trace_opts, stacks)},
	{'c', "summary", OPTION_FLAG, NULL,
	 "count calls, errors and time of each call instead of printing lines",
	 offsetof(struct trace_opts, summary)},
	{'r', NULL, OPTION_FLAG, NULL, "times as seconds since the line before",
	 offsetof(struct trace_opts, relative)},
	{0, "rel", OPTION_FLAG, NULL, "times as seconds since the start",
	 offsetof(struct trace_opts, rel)},
	{0, "utc", OPTION_FLAG, NULL, "times in UTC instead of local time",
	 offsetof(struct trace_opts, utc)},
	{0, "from", OPTION_STRING, "TIME",
	 "with -i: from this time: +1.5s after the start, -2s before the end, 09:55:03.5",
	 offsetof(struct trace_opts, from)},
	{0, "to", OPTION_STRING, "TIME", "with -i: up to this time, in the same forms",
	 offsetof(struct trace_opts, to)},
	{0, "duration", OPTION_DURATION, "TIME", "stop after this time: 10s, 5m",
	 offsetof(struct trace_opts, duration_ns)},
	{0, "lossless", OPTION_FLAG, NULL,
	 "lose no calls: slow the program down when it is faster than the output",
	 offsetof(struct trace_opts, lossless)},
	{0, "keep-secrets", OPTION_FLAG, NULL,
	 "show arguments that look like passwords, tokens or keys; by default *** stands in their "
	 "place",
	 offsetof(struct trace_opts, keep_secrets)},
	{0},
};

static const struct command_example trace_examples[] = {
	{"weir trace -e %file -- ls /tmp", "the calls of ls that name a file"},
	{"weir trace -p 4711 -e fdatasync --slower 1ms",
	 "each fdatasync of a process that takes a millisecond or more"},
	{"weir trace -i weir.trace --from -2s -Z",
	 "the failed calls of the last two seconds of a trace"},
	{0},
};

const struct command command_trace = {
	.name = "trace",
	.summary = "print every call, live or from a trace, as strace does",
	.usage = "[options] [--] CMD [ARG...] | -p PID | -a | -i TRACE",
	.description =
		"Prints a line per call when it has ended: its start time, thread, the call in "
		"strace's format with the names of descriptors and the structures passed in or "
		"filled, its result and its duration. -s N adds the first N bytes of each buffer, "
		"which are left out otherwise ('...'). A path is printed as the program gave it; "
		"if an opened path leads to another file, that file follows after an arrow. Lines "
		"name their thread once there are several. Signals have lines too ('--- SIGCHLD "
		"... ---'), and so have exits of processes ('+++ exited with 0 +++'). A call that "
		"has not returned for a second is shown ('... still in').\n\n"
		"Memory is read when a call ends: an argument that the call overwrote is shown "
		"with its new value. A trace has structures and signals if it was recorded with "
		"--with details, and content with --content=bytes.\n\n"
		"With a command, lines go to standard error, otherwise to standard output; -o "
		"names a file. strace's -f, -T and -y are always on. Lines are printed as calls "
		"end; with -tt they are delayed by 100 ms, so that calls are in the order of their "
		"start, as they are for a stored trace. With -ff -o FILE the lines of each thread "
		"go to FILE.TID; -ttt prints seconds since the epoch.\n\n"
		"Exit status: the command's own (128 + n where signal n ended it); without a "
		"command 0. 1 if recording or reading failed, 2 for wrong options.",
	.options = trace_options,
	.options_size = sizeof(struct trace_opts),
	.examples = trace_examples,
	.takes_command = true,
	.records = true,
	.run = trace_main,
};
