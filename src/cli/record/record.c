/* SPDX-License-Identifier: Apache-2.0 */
/* weir record: records what a program, a process or the host does into a trace. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/shell.h"
#include "cli/commands.h"
#include "cli/terminal/format.h"
#include "cli/record/record_live.h"
#include "cli/terminal/output.h"
#include "cli/record/record_after.h"
#include "cli/record/record_end.h"
#include "cli/trace/call_text.h"
#include "privilege/privilege.h"

#define STATUS_LINE_NS	(500 * NSEC_PER_MSEC)
#define SYNC_DEFAULT_NS (1 * NSEC_PER_SEC)
#define SYNC_MIN_NS \
	(10 * NSEC_PER_MSEC) /* a shorter interval would keep the disk busy with nothing else */
#define ROTATE_MIN    (64ull << 10) /* a smaller file holds little but names */
#define ROTATE_MIN_NS (100 * NSEC_PER_MSEC)

struct record_opts {
	struct record_flags rec;
	const char *output, *sync;
	struct option_list spans;
	bool lossless, no_argv, keep_secrets, quiet, diagnose;
	int64_t duration_ns;
	uint64_t size_max;
	const char *rotate;
	int64_t keep; /* 0: all files */
};

/* ---- the file ---- */

/* The thread that calls fdatasync() has its descriptor and needs no privileges. */
static void record_sync_thread(void)
{
	privilege_drop_thread(PRIVILEGE_NONE);
}

/*
 * Under sudo the recorder already runs as the caller and may lack access to a folder of root: the message explains
 * it.
 */
static int open_output(const char *path, int64_t sync_ns, bool parts, struct output *out,
		       struct error *err)
{
	const struct store_options store = {.owner = (uid_t)-1,
					    .sync_ns = sync_ns,
					    .sync_thread = record_sync_thread,
					    .parts = parts};
	const char *sudo_user = secure_getenv("SUDO_USER");
	int r = output_open(out, path, &store, err);
	struct error why = *err;

	if (r != -EACCES || geteuid() == 0 || !sudo_user)
		return r;
	*err = (struct error){0};
	return error_set(err, r,
			 "%.700s: the trace is written as user %.64s, who ran sudo: use -o with a "
			 "folder of that user, or unset SUDO_UID",
			 why.message, sudo_user);
}

static int parse_sync(const char *text, int64_t *ret, struct error *err)
{
	*ret = SYNC_DEFAULT_NS;
	if (!text)
		return 0;
	*ret = 0;
	if (!strcmp(text, "off"))
		return 0;
	if (parse_duration(text, ret, err) < 0)
		return error_prefix(err, "--sync");
	return *ret < SYNC_MIN_NS ? error_set(err, -EINVAL,
					      "--sync: '%s' is too short: at least "
					      "10ms, or off",
					      text)
				  : 0;
}

/* "5m" is a time and "5M" a size: units of time are lower case, and a bare number is in bytes. */
static bool is_time(const char *text)
{
	static const char *const units[] = {"ns", "us", "ms", "s", "m", "min", "h"};
	const char *unit = text + strspn(text, ".0123456789");

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (!strcmp(unit, units[i]))
			return true;
	}
	return false;
}

static int parse_rotate(const struct record_opts *o, struct record_rotation *ret, struct error *err)
{
	ret->keep = (uint64_t)o->keep;
	if (!o->rotate)
		return o->keep ? error_set(err, -EINVAL, "--keep needs --rotate") : 0;
	if (is_time(o->rotate)) {
		if (parse_duration(o->rotate, &ret->every_ns, err) < 0)
			return error_prefix(err, "--rotate");
		return ret->every_ns < ROTATE_MIN_NS
			       ? error_set(err, -EINVAL,
					   "--rotate: '%s' is too short: at least 100ms", o->rotate)
			       : 0;
	}
	if (parse_size(o->rotate, &ret->size, NULL) < 0)
		return error_set(err, -EINVAL,
				 "--rotate: '%s' is neither a size nor a time; write 100MiB or 10m",
				 o->rotate);
	return ret->size < ROTATE_MIN
		       ? error_set(err, -EINVAL, "--rotate: '%s' is too small: at least 64KiB",
				   o->rotate)
		       : 0;
}

/* ---- the terminal ---- */

struct progress {
	bool wanted, shown;
	int64_t next, last_at;
	uint64_t last_ops;
	struct record_told told;
	const struct store_writer *writer;
};

static void clear_progress(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}

/* Shows one line, rewritten twice a second: elapsed time, calls, rate, losses. */
static void record_show_progress(struct progress *p, const struct record_totals *t)
{
	uint64_t ops = t->source.ops;
	int64_t now = clock_monotonic_ns();

	if (now < p->next)
		return;
	fprintf(stderr, "\r%8.1f s  %s calls  %s  lost %s  %s\033[K",
		(double)t->ran_ns / NSEC_PER_SEC, format_count(ops).s,
		format_rate(ops - p->last_ops, p->last_at ? now - p->last_at : 0, false).s,
		format_count(t->source.lost + t->store.lost_rows).s, format_size(t->store.bytes).s);
	p->shown = true;
	p->last_at = now;
	p->last_ops = ops;
	p->next = now + STATUS_LINE_NS;
}

static int on_tick(void *arg, const struct record_totals *t)
{
	struct progress *p = arg;

	if (t->place.fate != p->told.fate || t->store.changed != p->told.changed)
		clear_progress(p);
	record_tell(&p->told, store_writer_path(p->writer), t);
	if (p->wanted)
		record_show_progress(p, t);
	return 0;
}

/* Prints which files there are, and how many were removed. */
static void print_parts(const char *base, uint64_t keep, uint64_t parts)
{
	uint64_t kept = keep ? MIN(keep, parts) : parts;

	fprintf(stderr, "      in %s, %s.%llu", format_counted(kept, "file").s, base,
		(unsigned long long)(parts - kept + 1));
	if (kept > 1)
		fprintf(stderr, " to .%llu", (unsigned long long)parts);
	if (parts > kept)
		fprintf(stderr, "; %s older one%s removed (--keep)", format_count(parts - kept).s,
			parts - kept == 1 ? " was" : "s were");
	fputc('\n', stderr);
}

static void print_summary(const struct record_opts *o, const struct record_end *e,
			  const struct record_totals *t)
{
	double seconds = (double)t->ran_ns / NSEC_PER_SEC;
	uint64_t lost = t->source.lost + t->store.lost_rows + e->missing;
	const char *path = e->found ? e->found : e->path;
	_cleanup_buf_ struct buf shown = {0};

	(void)!format_safe(&shown, path, strlen(path));
	fprintf(stderr, "weir: %s   %s in %.2f s   %s", buf_str(&shown),
		format_counted(e->calls, "call").s, seconds, format_size(t->store.bytes).s);
	if (e->calls)
		fprintf(stderr, " (%.1f B per call)", (double)t->store.bytes / (double)e->calls);
	fprintf(stderr, "   lost %s%s%s%s\n",
		e->more && !lost		  ? "an unknown number"
		: t->source.unfollowed || e->more ? "at least "
						  : "",
		e->more && !lost ? "" : format_count(lost).s,
		!t->source.beside_count ? ""
		: lost == 1 && !e->more ? " call"
					: " calls",
		record_gap_free(t) && !e->error.code ? " (sequence gap-free)" : "");
	fprintf(stderr, "      stopped: %s   recorder's CPU %s",
		t->why_stopped ? t->why_stopped : "failed", format_dur(t->cpu_ns).s);
	if (t->source.held_ns)
		fprintf(stderr, "   the program was paused for %s",
			format_dur((int64_t)t->source.held_ns).s);
	if (t->source.raised_ns)
		fprintf(stderr, "   the recorder had priority for %s",
			format_dur(t->source.raised_ns).s);
	if (live_left_out(t))
		fprintf(stderr, "   left out %s", format_counted(live_left_out(t), "call").s);
	fputc('\n', stderr);
	if (t->masked)
		fprintf(stderr,
			"      masked %s that look%s like secrets; --keep-secrets keeps "
			"them\n",
			format_counted(t->masked, "argument").s, t->masked == 1 ? "s" : "");
	live_warn_lost(t, o->lossless);
	if (t->command_pid && !t->command_ended)
		fprintf(stderr, "      the command is still running, pid %d\n",
			(int)t->command_pid);
}

/* Quotes a path for a shell; control characters become escapes: $'a\33b'. */
static int put_word(struct buf *to, const char *path)
{
	const struct bytes name = {(const uint8_t *)path, strlen(path)};
	_cleanup_buf_ struct buf shown = {0};
	int r = format_safe(&shown, path, name.len);

	if (r < 0)
		return r;
	if (!strcmp(buf_str(&shown), path))
		return shell_word(to, path, name.len);
	buf_printf(to, "$'");
	call_text_escape(to, name, "'");
	return buf_printf(to, "'");
}

/* "further tables: weir report block, disks, net": the commands that show them. */
static int put_also(struct buf *b, uint32_t with)
{
	const char *word, *separator = "\n      further tables: weir report ";

	for (size_t i = 0; (word = ebpf_with_word(i)); i++) {
		if (!(with & ebpf_with(word, strlen(word))) || !strcmp(word, "faults") ||
		    !strcmp(word, "content") || !strcmp(word, "details"))
			continue;
		buf_printf(b, "%s%s%s", separator, word,
			   strcmp(word, "block") == 0 ? ", disks" : "");
		separator = ", ";
	}
	return buf_status(b);
}

/* Prints the commands to run next. */
static void record_print_next(const struct record_opts *o, const struct record_end *e)
{
	_cleanup_buf_ struct buf word = {0}, also = {0};
	struct error ignored = {0};
	bool usual;
	uint32_t with = 0;

	if (!e->found)
		return;
	usual = !strcmp(e->found, TRACE_DEFAULT);
	if (put_word(&word, e->found) < 0)
		return;
	(void)record_flags_with(&o->rec, &with, &ignored);
	if (o->rec.stacks)
		with |= EBPF_WITH(STACKS);
	fprintf(stderr, "next: weir report%s%s%s%s\n", usual ? "" : " ",
		!usual && *e->found == '-' ? "./" : "", usual ? "" : buf_str(&word),
		put_also(&also, with) < 0 ? "" : buf_str(&also));
	if (with & EBPF_WITH(FAULTS))
		fprintf(stderr, "      weir trace -i %s --where 'kind == fault'\n", buf_str(&word));
}

/* ---- the command ---- */

/* True if the status line can have the terminal for itself, which no command reads or writes. */
static bool wants_status_line(const struct record_opts *o, const struct live *live)
{
	bool shared = live->rec.session.child && (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO));

	return isatty(STDERR_FILENO) && !shared && !o->quiet;
}

/* Closes the trace and prints its contents. Returns the exit status. */
static int end_session(const struct record_opts *o, struct output *out,
		       struct record_totals *totals, struct record_after *after,
		       struct error *failed)
{
	_privileged_(privilege_files());
	_cleanup_free_ char *path = strdup(store_writer_path(out->writer)); /* the last file */
	_cleanup_close_ int fd = fcntl(store_writer_fd(out->writer), F_DUPFD_CLOEXEC, 0);
	_cleanup_(record_end_free) struct record_end end = {0};
	struct error close_err = {0};
	struct stat st;

	if (store_close_stats(TAKE_PTR(out->writer), &totals->store, &close_err) < 0)
		error_set(failed, close_err.code, "%s", close_err.message);
	if (fd >= 0 && fstat(fd, &st) == 0)
		totals->store.bytes += (uint64_t)st.st_size -
				       totals->store.part_bytes; /* including what closing added */
	record_end(&end, fd, path ? path : out->path, totals, failed);
	if (out->parts && end.found == end.path)
		end.found = out->path;
	if (!o->quiet || totals->source.lost || totals->source.beside_count ||
	    totals->source.unfollowed || totals->source.polled.processes || end.error.code)
		print_summary(o, &end, totals);
	if (out->parts && !o->quiet)
		print_parts(out->path, (uint64_t)o->keep, totals->store.parts);
	if (end.error.code)
		fail(&end.error);
	if (!o->quiet || end.error.code)
		record_print_next(o, &end);
	if (end.found)
		after->path = strdup(end.found);
	return end.error.code ? 1 : live_status(totals);
}

static int run_session(const struct record_opts *o, const struct record_rotation *rotation,
		       struct live *live, struct output *out, struct record_after *after,
		       struct error *err)
{
	struct record_totals totals = {0};
	struct progress progress = {.wanted = wants_status_line(o, live), .writer = out->writer};
	int r;

	live->quiet = o->quiet;
	live->rec.session.store = out->writer;
	live->rec.session.rotation = out->parts ? rotation : NULL;
	live->rec.session.duration_ns = o->duration_ns;
	live->rec.session.size_max = o->size_max;
	live->rec.session.tick = on_tick;
	live->rec.session.tick_arg = &progress;
	r = live_run(live, &totals, err);
	clear_progress(&progress);
	if (r < 0 && !totals.store.rows[TABLE_OP]) {
		output_undo(out);
		return r;
	}
	return end_session(o, out, &totals, after, err);
}

static int record_main(const void *opts, int argc, char **argv)
{
	const struct record_opts *o = opts;
	_cleanup_(live_close) struct live live = {0};
	_cleanup_(record_after_free) struct record_after after = {
		0}; /* freed last, when the trace is closed */
	_cleanup_(output_free) struct output out = {0};
	struct live_options lo = {.rec = &o->rec,
				  .argc = argc,
				  .argv = argv,
				  .usage = "weir record",
				  .lossless = o->lossless,
				  .no_argv = o->no_argv,
				  .stored = true,
				  .verbose = !o->quiet,
				  .keep_secrets = o->keep_secrets,
				  .spans = &o->spans};
	const char *path = o->output ? o->output : TRACE_DEFAULT;
	struct record_rotation rotation = {.base = path};
	struct error err = {0};
	int64_t sync_ns;
	int r;

	r = parse_sync(o->sync, &sync_ns, &err);
	if (r >= 0)
		r = parse_rotate(o, &rotation, &err);
	if (r >= 0 && !o->rec.explain)
		r = output_check(path, o->rotate, &err);
	if (r < 0)
		return live_fail(r, &err);
	if (o->diagnose && !o->rec.explain)
		r = record_after_prepare(&after, &err);
	if (r < 0)
		return live_fail(r, &err);
	/* Freed large buffers return to the system, whatever their size. */
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	r = live_open(&live, &lo, &err);
	if (r != 0)
		return r < 0 ? live_fail(r, &err) : 0;
	r = open_output(path, sync_ns, o->rotate, &out, &err);
	if (r >= 0)
		r = live_at_work(run_session(o, &rotation, &live, &out, &after, &err));
	return r < 0 ? live_fail(r, &err) : r;
}

static const struct option record_options[] = {
	{'o', "output", OPTION_STRING, "TRACE",
	 "write this trace; an existing one is moved to TRACE.old, any other file is left alone "
	 "(default: weir.trace)",
	 offsetof(struct record_opts, output)},
	RECORD_FLAGS(struct record_opts, rec),
	{0, "span", OPTION_LIST, "SPAN",
	 "record spans that begin and end at probes: 'NAME : BEGIN : END', where each "
	 "is "
	 "usdt:FILE:PROBE, uprobe:FILE:FUNCTION or uretprobe:FILE:FUNCTION; repeatable",
	 offsetof(struct record_opts, spans)},
	{0, "lossless", OPTION_FLAG, NULL,
	 "lose no calls: slow the program down when it is faster than the recorder",
	 offsetof(struct record_opts, lossless)},
	{0, "duration", OPTION_DURATION, "TIME", "stop after this time: 10s, 5m",
	 offsetof(struct record_opts, duration_ns)},
	{0, "size", OPTION_SIZE, "SIZE", "stop when the trace reaches this size: 500MiB, 2GiB",
	 offsetof(struct record_opts, size_max)},
	{0, "rotate", OPTION_STRING, "SIZE|TIME",
	 "start a new file when the current one reaches this size or age: 100MiB, 10m; the files "
	 "TRACE.1, TRACE.2, ... can be read alone, TRACE names them all",
	 offsetof(struct record_opts, rotate)},
	{0, "keep", OPTION_COUNT, "N", "with --rotate: keep the newest N files (default: all)",
	 offsetof(struct record_opts, keep)},
	{0, "sync", OPTION_STRING, "TIME",
	 "flush to the disk at this interval, which bounds what a power cut loses; off: only at "
	 "the "
	 "end (default: 1s)",
	 offsetof(struct record_opts, sync)},
	{0, "no-argv", OPTION_FLAG, NULL, "keep the arguments of commands out of the trace",
	 offsetof(struct record_opts, no_argv)},
	{0, "keep-secrets", OPTION_FLAG, NULL,
	 "keep arguments that look like passwords, tokens or keys; by default *** stands in their "
	 "place",
	 offsetof(struct record_opts, keep_secrets)},
	{0, "diagnose", OPTION_FLAG, NULL,
	 "diagnose at the end what is wrong, as weir diagnose does",
	 offsetof(struct record_opts, diagnose)},
	{'q', "quiet", OPTION_FLAG, NULL, "print nothing if all went well",
	 offsetof(struct record_opts, quiet)},
	{0},
};

static const struct command_example record_examples[] = {
	{"weir record -- make -j2", "a command and everything that it starts"},
	{"weir record -p 4711 --duration 10s", "a running process, for ten seconds"},
	{"weir record -a -e %file -P '/var/lib/**'",
	 "the whole host, but only calls on files below /var/lib"},
	{"weir record -a --rotate 100MiB --keep 10 -o flight.trace",
	 "a flight recorder: the last gigabyte, until Ctrl-C"},
	{"weir record --diagnose -- ./backup.sh", "a command, and then what is wrong with it"},
	{"weir record --content -- ./import data.csv",
	 "a command, with a hash of every 4 KiB that its calls move"},
	{"weir record --span 'save : uprobe:./shop:save_order(id)' -- ./shop",
	 "record each call of a function as a span"},
	{"weir record --lossless -o fio.trace -- fio job.fio",
	 "a command, without losing calls at any rate"},
	{0},
};

const struct command command_record = {
	.name = "record",
	.summary = "record a command, a process or the whole host into a trace",
	.usage = "[options] [--] CMD [ARG...] | -p PID | -a",
	.description =
		"Records every call of the command and of its children, from its first call until "
		"it exits (processes still running then are listed); or of running "
		"processes, "
		"a unit, a container, a control group, or the whole host, until Ctrl-C, a "
		"limit, or the end of the chosen "
		"processes. Anything that could not be recorded is counted and reported. If "
		"programs keep every CPU busy and the recorder falls behind, it takes up to nine "
		"tenths of one CPU with priority over them, if the kernel allows it "
		"(CAP_SYS_NICE). Arguments that can be recognized as passwords, tokens or keys are "
		"recorded as ***: "
		"--password=X, PGPASSWORD=X, user:X@host, Authorization: Bearer X, mysql -pX and "
		"the "
		"like. Requests of io_uring and libaio are recorded as rows of their own, from "
		"submission to completion: -e read selects both, and column kind distinguishes "
		"them.\n\n"
		"--phases adds to each call how long its thread ran, waited for a CPU, was blocked "
		"on "
		"I/O and was blocked otherwise (weir report phases). It is off by default because "
		"it adds about 100 ns to every context switch of the host, also of programs that "
		"are not recorded, and about 15 ns to a call that does not block. With --with "
		"phases,block "
		"the time blocked on I/O is split into queued and in the device.\n\n"
		"--with adds tables: block has the requests to disks, their files and owners (weir "
		"disks, weir report block); net the connections and their problems (report net); "
		"sched, irq and mem the times for which threads had no CPU, interrupt handlers, "
		"and pages (report sched, irq, mem). phases and stacks are the same as --phases "
		"and --stacks. details adds the data that arguments of calls point to (structures, "
		"paths as given) and signals, which weir trace -i shows. faults adds page faults "
		"that read a mapped file, which are "
		"rows of op with kind == fault: weir trace -i TRACE --where 'kind == fault'.\n\n"
		"--content records the content that calls move, as rows of table chunk: hashes of "
		"each 4 KiB of a file or stream, the bytes themselves (=bytes), or hashes of "
		"content-defined chunks (=chunks). It costs 0.2 us for a small call and 0.2 s for "
		"a gigabyte. A hash lets anyone confirm a guess of the content, and up to 7 bytes "
		"at either end of a call are stored as they are; report content shows what could "
		"not be read.\n\n"
		"--span records spans that begin and end when a thread hits a probe: "
		"usdt:FILE:PROBE, a probe defined in the program; uprobe:FILE:FUNCTION, the entry "
		"of a function; uretprobe:FILE:FUNCTION, its return. A function without "
		"END ends as it returns; END may leave out the file. (sql:string, rows:int) behind "
		"a probe names its arguments, which become attributes. Each hit costs the program "
		"a trap, whether it is recorded or not. weir requests shows where the time of the "
		"spans went.\n\n"
		"Ctrl-C reaches the command too, and recording goes on until it has ended; "
		"a second one stops at once. "
		"Other signals are passed on to the command, unless they were sent to its whole "
		"process group and so have reached it already.\n\n"
		"The command runs as the user who started weir (with sudo: root) and keeps all "
		"privileges; the recorder drops those that it does not need, becomes the user who "
		"ran sudo, and writes the trace as that user.\n\n"
		"If the trace is deleted or unmounted during recording, record warns at once and "
		"saves a copy at the end, as TRACE.saved, in the same folder or in the working "
		"directory.\n\n"
		"Exit status: the command's own (128 + n where signal n ended it); without a "
		"command 0. 1 if recording failed, the trace is not at its path, or the command "
		"could not be run, 2 for wrong options.",
	.options = record_options,
	.options_size = sizeof(struct record_opts),
	.examples = record_examples,
	.takes_command = true,
	.records = true,
	.run = record_main,
};
