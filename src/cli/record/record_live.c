/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_live.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/shell.h"
#include "cli/terminal/format.h"
#include "privilege/privilege.h"

/* ---- signals ---- */

/* What comes so soon after another of its kind is the same: timeout(1) sends one to weir and one to its group. */
#define SAME_SIGNAL_NS (100 * NSEC_PER_MSEC)

static struct record_signals live_signals;

static void on_signal(int number, siginfo_t *info, void *context)
{
	static int64_t last;
	int64_t now = clock_monotonic_ns();

	if (live_signals.count && number == live_signals.number && now - last < SAME_SIGNAL_NS)
		return;
	last = now;
	live_signals.number = number;
	live_signals.by_kernel =
		info->si_code == SI_KERNEL; /* from the terminal: the command has it too */
	live_signals.count++;
}

static void catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART},
			 old;

	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		/* What the caller ignores (nohup) stays ignored, but for SIGINT: a script's
		 * background job ignores it, and `kill -INT` is how scripts end a recording. */
		if (sigaction(numbers[i], NULL, &old) == 0 &&
		    (old.sa_handler != SIG_IGN || numbers[i] == SIGINT))
			sigaction(numbers[i], &act, NULL);
	}
}

/* ---- the selection in words, for the trace ---- */

static void describe_list(struct buf *b, const char *name, const struct option_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		buf_printf(b, "%s%s %s", b->len ? " " : "", name, list->items[i]);
}

/* Exactly, and as one word of a command line: 1500us. */
static void describe_slower(struct buf *b, int64_t ns)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"s", NSEC_PER_SEC}, {"ms", NSEC_PER_MSEC}, {"us", NSEC_PER_USEC}, {"ns", 1}};
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	buf_printf(b, "%s--slower %" PRId64 "%s", b->len ? " " : "", ns / units[i].ns,
		   units[i].name);
}

static void record_live_describe(struct buf *b, const struct record_flags *f)
{
	const struct select_flags *s = &f->sel;

	if (f->everything)
		buf_printf(b, "-a");
	describe_list(b, "-p", &s->pids);
	describe_list(b, "-t", &s->tids);
	describe_list(b, "--comm", &s->comms);
	describe_list(b, "--uid", &s->uids);
	describe_list(b, "--unit", &s->units);
	describe_list(b, "--container", &s->containers);
	describe_list(b, "--cgroup", &s->cgroups);
	describe_list(b, "-e", &s->ops);
	describe_list(b, "-P", &s->paths);
	if (s->failed_only)
		buf_printf(b, "%s-Z", b->len ? " " : "");
	if (s->slower_ns)
		describe_slower(b, s->slower_ns);
	for (size_t i = 0; i < s->where.count; i++) {
		buf_printf(b, "%s--where ", b->len ? " " : "");
		(void)!shell_word(b, s->where.items[i], strlen(s->where.items[i]));
	}
	if (f->no_follow)
		buf_printf(b, "%s--no-follow", b->len ? " " : "");
}

/* ---- opening ---- */

static int record_live_choose(struct live *l, const struct live_options *o, struct error *err)
{
	_cleanup_buf_ struct buf text = {0};
	int r = where_parse(&l->where, &o->rec->sel.where, NULL, err);

	if (r >= 0)
		r = record_flags_select(o->rec, &l->select, err);
	if (r >= 0)
		r = where_push(&l->where, &l->select, &l->kernel, err);
	if (r < 0)
		return r;
	l->session.where = l->where.expr;
	if (o->rec->explain) {
		r = where_explain(&l->where, &l->kernel, &l->select, stdout);
		return r < 0 ? error_errno(err, r, "--explain") : 1;
	}
	if (o->rec->user && !o->argc)
		return error_set(err, -EINVAL,
				 "-u sets the user that a command runs as, and there is no "
				 "command; to choose by user "
				 "use --uid %s",
				 o->rec->user);
	if (!o->argc && record_flags_no_target(o->rec))
		return error_set(err, -EINVAL,
				 "what to record is missing: %s -- CMD, %s -p PID, or %s -a for "
				 "the whole host",
				 o->usage, o->usage, o->usage);
	record_live_describe(&text, o->rec);
	l->selection = strdup(buf_str(&text));
	return l->selection ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static int fork_command(struct live *l, const struct live_options *o, struct error *err)
{
	int r;

	if (!o->argc)
		return 0;
	l->command = (struct record_command){.argv = o->argv};
	if (o->rec->user) {
		r = user_find(o->rec->user, &l->account, err);
		if (r < 0)
			return error_prefix(err, "-u");
		l->user = (struct privilege_user){l->account.name, l->account.uid, l->account.gid};
		l->command.user = &l->user;
	}
	r = record_child_new(&l->child, &l->command, err);
	if (r < 0)
		return live_at_work(r);
	l->session.child = &l->child;
	/* The whole host for as long as the command runs, or the command and its children. */
	if (!l->select.everything) {
		if (l->select.pid_count == SELECT_LIST_MAX)
			return error_set(err, -EINVAL, "-p: more than %d processes",
					 SELECT_LIST_MAX - 1);
		l->select.pids[l->select.pid_count++] = (int32_t)l->child.pid;
	}
	return 0;
}

/* ---- memory ---- */

#define MEMORY_ENOUGH \
	(320u         \
	 << 20) /* rings, 128 MiB that wait to be decoded, and all that is remembered, beside each other */
#define MEMORY_LEAST \
	(96u << 20) /* 300,000 files and 20 million calls of a whole host fit, with less kept */
#define BACKLOG_LEAST (4u << 20)
#define RING_LEAST    (256u << 10)
#define RING_MOST     (4u << 20)

/* Where the control group allows little, less is kept in memory, at the price of calls lost sooner in bursts. */
static void fit_memory(struct ebpf_options *opt, bool verbose)
{
	uint64_t limit = record_memory_limit(), rings;

	if (limit >= MEMORY_ENOUGH)
		return;
	opt->little_memory = true;
	opt->backlog_bytes = MAX(limit / 16, (uint64_t)BACKLOG_LEAST);
	rings = limit / 16 / (uint64_t)MAX(sysconf(_SC_NPROCESSORS_CONF), 1);
	if (!opt->ring_bytes) {
		opt->ring_bytes = RING_LEAST;
		while (opt->ring_bytes * 2 <= MIN(rings, (uint64_t)RING_MOST))
			opt->ring_bytes *= 2;
	}
	if (limit < MEMORY_LEAST)
		fprintf(stderr,
			"weir: this control group allows %s of memory, and recording many files "
			"takes up to %s: the kernel may end the recorder (allow more: memory.max, "
			"MemoryMax=)\n",
			format_size(limit).s, format_size(MEMORY_LEAST).s);
	else if (verbose)
		fprintf(stderr,
			"weir: this control group allows %s of memory: rings of %s and a small "
			"backlog are used; with %s nothing is made smaller\n",
			format_size(limit).s, format_size(opt->ring_bytes).s,
			format_size(MEMORY_ENOUGH).s);
}

int live_open(struct live *l, const struct live_options *o, struct error *err)
{
	struct ebpf_options ebpf = {.ring_bytes = (size_t)o->rec->ring_bytes,
				    .lossless = o->lossless,
				    .raw_args = o->raw_args,
				    .no_argv = o->no_argv,
				    .select = &l->select,
				    .filter = &l->kernel};
	int r;

	*l = (struct live){.child = RECORD_CHILD_NONE, .opened = true};
	r = record_live_choose(l, o, err);
	if (r != 0)
		return r;
	catch_signals();
	r = fork_command(l, o, err);
	if (r < 0)
		return r;
	fit_memory(&ebpf, o->verbose);
	/* which of the calls that run the filter lets pass shows only when they end */
	ebpf.mark_running = o->stored && !l->where.expr;
	ebpf.command_pid = (int32_t)MAX(l->child.pid, 0);
	/* A tree needs a root: without one (-a, --comm, --cgroup, ...) following would select
	 * nothing. */
	l->select.follow &= l->select.pid_count || l->select.tid_count;
	r = ebpf_source_new(&l->source, &ebpf, err);
	if (r >= 0)
		r = enrich_new(&l->enrich, err);
	if (r < 0)
		return live_at_work(r);
	l->session.enrich = l->enrich;
	l->marks[0] = (struct record_mark){"weir.selection", l->selection};
	l->session.marks = l->marks;
	l->session.mark_count = *l->selection ? 1 : 0;
	l->session.no_argv = o->no_argv;
	l->session.keep_secrets = o->keep_secrets;
	l->session.signals = &live_signals;
	l->session.targets_gone = ebpf_source_targets_gone;
	l->session.shared_signal = ebpf_source_shared_signal;
	l->session.stop_with_targets = !o->argc && (l->select.pid_count || l->select.tid_count);
	return live_at_work(privilege_become_caller(err));
}

void live_warn_left(const struct live *l, const struct record_totals *t)
{
	int32_t first = 0;
	size_t left = t->command_ended ? ebpf_source_processes_left(l->source, &first) : 0;

	if (left)
		fprintf(stderr,
			"weir: the command ended; %zu process%s that it started run%s on, "
			"unrecorded: "
			"weir record -p %d\n",
			left, left > 1 ? "es" : "", left > 1 ? "" : "s", (int)first);
}

int live_run(struct live *l, struct record_totals *ret, struct error *err)
{
	int r;

	r = privilege_settle(err);
	if (r < 0)
		return live_at_work(r);
	enrich_keep_dims(l->enrich, l->session.sink_count > 0 ? ENRICH_KEEP_ALL : 0);
	r = live_at_work(record_run(l->source, &l->session, ret, err));
	if (r >= 0 && !l->quiet)
		live_warn_left(l, ret);
	return r;
}

void live_close(struct live *l)
{
	if (!l->opened)
		return;
	source_free(l->source);
	enrich_free(l->enrich);
	record_child_free(&l->child);
	select_free(&l->select);
	where_free(&l->where);
	free(l->selection);
	*l = (struct live){0};
}

/* ---- afterwards ---- */

int live_status(const struct record_totals *t)
{
	if (!t->command_ended)
		return 0;
	if (WIFSIGNALED(t->command_status))
		return 128 + WTERMSIG(t->command_status);
	return WEXITSTATUS(t->command_status);
}

int live_at_work(int r)
{
	return r == -EINVAL ? -EIO : r;
}

int live_fail(int r, const struct error *err)
{
	fail(err);
	return r == -EINVAL ? 2 : 1;
}

uint64_t live_left_out(const struct record_totals *t)
{
	return t->source.filtered + t->left_out;
}

int live_polled(const struct record_totals *t, struct loss_polled *ret)
{
	const struct source_polled *p = &t->source.polled;

	*ret = (struct loss_polled){0};
	return loss_add_polled(
		ret, p->processes, p->pid,
		(struct bytes){(const void *)p->comm, strnlen(p->comm, sizeof(p->comm))});
}

static void warn_polled(const struct record_totals *t)
{
	_cleanup_buf_ struct buf b = {0};
	struct loss_polled polled;

	if (live_polled(t, &polled) >= 0 && loss_put_polled(&b, &polled) >= 0 && b.len)
		fprintf(stderr, "weir: %s\n", buf_str(&b));
}

void live_warn_lost(const struct record_totals *t, bool lossless)
{
	uint64_t lost = t->source.lost - t->source.compat;

	warn_polled(t);
	if (t->source.compat)
		fprintf(stderr,
			"weir: %s 32-bit call%s counted and not recorded: only 64-bit calls "
			"can be.\n",
			format_count(t->source.compat).s,
			t->source.compat == 1 ? " was" : "s were");
	if (t->disk_full)
		fprintf(stderr,
			"weir: the disk is full: %s rows did not reach the trace; free space, "
			"write elsewhere (-o) "
			"or bound it (--size)\n",
			format_count(t->store.lost_rows).s);
	if (t->source.running_error)
		fprintf(stderr,
			"weir: the calls in which some threads were at the end could not be read "
			"(%s)\n",
			strerror(-t->source.running_error));
	if (t->source.unfollowed)
		fprintf(stderr,
			"weir: %s process%s could not be followed, as there are too many at once: "
			"their calls "
			"are missing (choose them by --cgroup or --uid instead)\n",
			format_count(t->source.unfollowed).s,
			t->source.unfollowed == 1 ? "" : "es");
	if (!lost)
		return;
	if (lossless)
		fprintf(stderr, "weir: lossless guarantee broken: %s call%s lost\n",
			format_count(lost).s, lost == 1 ? "" : "s");
	fprintf(stderr,
		"weir: LOST %s calls (%.2g %% of all): the figures are too low by that much.\n",
		format_count(lost).s, 100.0 * (double)lost / (double)(lost + t->source.ops));
	if (lossless)
		fprintf(stderr,
			"      --lossless holds programs up for 10 s at most while the recorder "
			"stands still: give it more CPU or memory, or a larger ring (--ring "
			"64MiB)\n");
	else if (t->source.raise_refused)
		fprintf(stderr,
			"      the kernel refused the recorder real-time priority (%s): add "
			"CAP_SYS_NICE, or record with --lossless\n",
			strerror(t->source.raise_refused));
	else
		fprintf(stderr, "      record with --lossless, with a larger ring (--ring 64MiB), "
				"or choose less (-p, -e, -P)\n");
}
