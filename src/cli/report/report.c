/* SPDX-License-Identifier: Apache-2.0 */
/* weir report: one page about a trace, or one table: options and dispatch; the files report_*.c do the work. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/record/record_live.h"
#include "cli/report/report.h"
#include "cli/terminal/text.h"

static size_t slowest_wanted(const struct report_opts *o, const char *which)
{
	if (!which)
		return REPORT_SLOWEST_SCREEN;
	if (strcmp(which, "slow"))
		return 0;
	return o->head > 0			  ? (size_t)o->head
	       : text_terminal() && !o->read.json ? TEXT_ROWS_MAX
						  : REPORT_SLOWEST_PIPE;
}

static int report_print(struct report *r, const char *which, struct error *err)
{
	int e;

	if (r->opts->read.json)
		return report_json(r, which, err);
	text_pager_begin();
	e = which ? report_table(r, which, err) : report_screen(r);
	text_pager_end();
	return e;
}

/* Rejects a word that is neither a table nor a file, and does not look like a file's name. 0 or 2. */
static int check_word(const char *word)
{
	_cleanup_buf_ struct buf names = {0};
	struct nearest near = {.word = word};
	const char *name;

	if (strpbrk(word, "./") || access(word, F_OK) == 0)
		return 0;
	for (size_t i = 0; (name = report_table_name(i)); i++) {
		nearest_offer(&near, name);
		buf_printf(&names, "%s%s", i ? ", " : "", name);
	}
	if (report_table_known(word))
		return fail_usage("report: '%s' is a second table: name one table, or none for the "
				  "overview page",
				  word);
	return fail_usage("report: no table or file '%s'%s%s; tables are %s", word,
			  near.best ? "; did you mean " : "", near.best ? near.best : "",
			  buf_str(&names));
}

/* Takes the table's name out of the arguments, where it may also follow the traces. 0 or 2. */
static int take_table(int *argc, char **argv, const char **ret)
{
	int kept = 0, status = 0;

	for (int i = 0; i < *argc && !status; i++) {
		bool table = !*ret && report_table_known(argv[i]) &&
			     (i == 0 || access(argv[i], F_OK) < 0);

		if (table)
			*ret = argv[i];
		else
			argv[kept++] = argv[i];
	}
	*argc = kept;
	for (int i = 0; i < kept && !status; i++)
		status = check_word(argv[i]);
	return status;
}

static int report_run(const void *opts, int argc, char **argv)
{
	const struct report_opts *o = opts;
	const char *which = NULL;
	struct report r;
	struct error err = {0};
	int e = take_table(&argc, argv, &which);

	if (e)
		return e;
	if (o->sort && report_sort_check(which ? which : "ops", o->sort, &err) < 0)
		return fail_usage("report: %s", err.message);
	if (o->sort && !which && !o->read.json)
		return fail_usage("report: --sort needs a table: weir report ops --sort %.40s",
				  o->sort);
	e = report_open(&r, o, argc, argv, which, slowest_wanted(o, which), &err);
	if (e >= 0)
		e = report_print(&r, which, &err);
	report_close(&r);
	if (fflush(stdout) || ferror(stdout))
		return 1; /* main() reports it */
	if (e < 0)
		error_errno(&err, e, "report");
	return e < 0 ? live_fail(e, &err) : e;
}

static const struct option options[] = {
	READ_FLAGS(struct report_opts, read),
	{0, "sort", OPTION_STRING, "COLUMN",
	 "sort a table by this column: time (default), calls, errors, bytes, p50, ...",
	 offsetof(struct report_opts, sort), .words = report_column_name},
	{0, "head", OPTION_COUNT, "N", "print at most N rows of a table",
	 offsetof(struct report_opts, head)},
	{0},
};

static const struct command_example examples[] = {
	{"weir report", "one page about weir.trace"},
	{"weir report files --sort bytes", "every file, most bytes first"},
	{"weir report slow -e fdatasync,fsync", "the slowest syncs"},
	{"weir report phases --slower 1ms",
	 "where the time of slow calls went, from a trace of record --phases"},
	{"weir report ops --from +1s --to +2s --json", "one second of the trace, for a script"},
	{0},
};

const struct command command_report = {
	.name = "report",
	.summary = "show where the I/O of a trace went",
	.words = report_table_name,
	.or_files = true,
	.usage = "[TABLE] [options] [TRACE...]",
	.description =
		"TABLE is ops, files, dirs, processes, threads, peers, errors or slow, or, for "
		"data of record --with, phases, block, disks, net, sched, irq, mem or content; "
		"report stacks is weir stacks, with its options. Without TABLE, one page shows "
		"what was recorded and what is missing, the time of threads, operations, files and "
		"peers, the slowest calls and those still running. Waiting (epoll_wait, futex, "
		"...) is shown separately and is ranked only if the selection names it: -e poll, "
		"--where 'class == wait'. Time in I/O is the time in calls, during which a thread "
		"can also be ready to run but have no CPU: (no CPU 1.2 s) is shown if that was a "
		"tenth or more. A terminal shows at most 50 rows of a table, a pipe gets all.\n\n"
		"A call counts at the time when it ended. The time of threads and processes does "
		"not include the io_uring and libaio requests that they submitted, as these "
		"overlap each other and the thread's other work: async I/O is the time for which "
		"at least one was in flight. The sums by operation and file include them. The "
		"bytes of processes, threads, files and peers include those of calls that waited "
		"for them.\n\n"
		"net shows the data of --with net: bytes moved by each TCP connection, its "
		"round-trip time, retransmitted segments, how long bytes stayed in the socket's "
		"queues (in_wait until they were read; ~out_wait, an estimate, until they were "
		"acknowledged), resets, dropped packets and how long the peer's window was closed. "
		"A selection takes the sockets of selected calls. sched shows how long threads "
		"were ready to run but had no CPU (runq), which thread ran instead for most of "
		"that time and which thread woke them most often; irq how long interrupt handlers "
		"and softirqs ran, on all CPUs; mem how many pages processes allocated, freed and "
		"reclaimed.\n\n"
		"block and disks show the data of --with block: the owners and files of the "
		"requests to disks, also for data that the kernel wrote back later; and how busy "
		"each disk was, its load (the sum of the requests' times divided by the time), how "
		"long reads and writes took, queued and in the device, and how many were "
		"sequential. A selection takes the owners of selected calls.\n\n"
		"content shows how much of the content that calls moved record --content captured: "
		"handled, incomplete (some of it could not be read), truncated (more than "
		"--content=bytes:SIZE keeps), lost (on the way to the recorder), discarded (left "
		"out by sampling) and absent (not in the program's memory, or moved without a "
		"call). The overview page has the sum.\n\n"
		"Missing data is listed by cause: ring_full (calls came faster than the recorder "
		"could read them: --lossless), disk_full and write_failed (the trace could "
		"not be written), compat (32-bit calls, which are counted and not decoded), "
		"storage_full and recursion (the kernel had no memory for a thread, or skipped the "
		"BPF programs), unpaired, thread_gap and decode (one end of a call was not seen, "
		"or a record was malformed), torn and corrupt (parts of the file are missing or "
		"damaged). Other tables have their own causes: side_full (rows came faster than "
		"the recorder could read them), side_unseen (switches that the kernel did not "
		"show), side_storage (more at once than can be tracked), side_skipped (a BPF "
		"program was already running on that CPU) and side_unread (not read at the "
		"end).\n\n"
		"Exit status: 0 done, 1 no call of the trace can be read, 2 wrong options.",
	.options = options,
	.options_size = sizeof(struct report_opts),
	.examples = examples,
	.run = report_run,
};
