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

/* ---- signals ---- */

/* A repeated signal within this time counts as the same: timeout(1) sends one to weir and one to its process group. */
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
		info->si_code == SI_KERNEL; /* from the terminal: the command received it too */
	live_signals.count++;
}

static void catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART},
			 old;

	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		/*
		 * A signal that the caller ignores (nohup) stays ignored, except SIGINT: a script's background jobs
		 * ignore it, but scripts end a recording by `kill -INT`.
		 */
		if (sigaction(numbers[i], NULL, &old) == 0 &&
		    (old.sa_handler != SIG_IGN || numbers[i] == SIGINT))
			sigaction(numbers[i], &act, NULL);
	}
}

/* ---- the selection as text, for the trace ---- */

static void describe_list(struct buf *b, const char *name, const struct option_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		buf_printf(b, "%s%s %s", b->len ? " " : "", name, list->items[i]);
}

/* Exact, and one word of a command line: 1500us. */
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

static int record_live_explain(const struct recording *r, struct error *err)
{
	_cleanup_buf_ struct buf text = {0};
	int e = where_explain(&r->where, &r->kernel, &r->select, &text);

	if (e < 0)
		return error_errno(err, e, "--explain");
	fputs(buf_str(&text), stdout);
	return 1;
}

static int record_live_choose(struct live *l, const struct live_options *o, struct error *err)
{
	const struct option_list *where = &o->rec->sel.where;
	_cleanup_buf_ struct buf text = {0};
	int r = where_parse(&l->rec.where, where->items, where->count, NULL, err);

	if (r >= 0)
		r = record_flags_select(o->rec, &l->rec.select, err);
	if (r >= 0)
		r = recording_split(&l->rec, err);
	if (r < 0)
		return r;
	if (o->rec->explain)
		return record_live_explain(&l->rec, err);
	if (o->rec->user && !o->argc)
		return error_set(err, -EINVAL,
				 "-u sets the user that a command runs as, and there is no "
				 "command; to select by user use --uid %s",
				 o->rec->user);
	if (!o->argc && record_flags_no_target(o->rec))
		return error_set(
			err, -EINVAL,
			"nothing to record: give %s -- CMD, %s -p PID, or %s -a for the whole host",
			o->usage, o->usage, o->usage);
	if (o->rec->user) {
		r = user_find(o->rec->user, &l->account, err);
		if (r < 0)
			return error_prefix(err, "-u");
		l->user = (struct privilege_user){l->account.name, l->account.uid, l->account.gid};
	}
	record_live_describe(&text, o->rec);
	l->selection = strdup(buf_str(&text));
	return l->selection ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static void record_live_warn_memory(const struct recording *r, bool verbose)
{
	if (!r->memory_limit) /* it failed before the limit was known */
		return;
	if (r->memory_limit < RECORDING_MEMORY_LEAST)
		fprintf(stderr,
			"weir: this control group allows %s of memory, and recording many files "
			"takes up to %s: the kernel may kill the recorder (allow more: memory.max, "
			"MemoryMax=)\n",
			format_size(r->memory_limit).s, format_size(RECORDING_MEMORY_LEAST).s);
	else if (verbose && r->memory_limit < RECORDING_MEMORY_ENOUGH)
		fprintf(stderr,
			"weir: this control group allows %s of memory: rings of %s and a small "
			"backlog are used; with %s they are not reduced\n",
			format_size(r->memory_limit).s, format_size(r->ring_bytes).s,
			format_size(RECORDING_MEMORY_ENOUGH).s);
}

/* Reported once: some of it is known when the programs are loaded, the rest when they are attached. */
static void record_live_warn_missing(void *live)
{
	struct live *l = live;
	const struct ebpf_missing *missing;
	size_t count = ebpf_source_missing(l->rec.source, &missing);

	for (; l->missing_told < count; l->missing_told++) {
		const struct ebpf_missing *m = &missing[l->missing_told];

		fprintf(stderr, "weir: this kernel does not show %s (it refuses %s: %s)\n",
			m->shows, m->tracepoint, strerror(-m->error));
	}
}

/* Rejects data that the command would record but never show. */
static int live_check_with(const struct live_options *o, uint32_t with, struct error *err)
{
	const char *word;

	if (o->rec->stacks)
		with |= EBPF_WITH(STACKS);
	if (o->rec->content)
		with |= EBPF_WITH(CONTENT);
	for (size_t i = 0; o->with && (word = ebpf_with_word(i)); i++) {
		char known[32];

		snprintf(known, sizeof(known), " %s ", word);
		if (!(with & ebpf_with(word, strlen(word))) || strstr(o->with, known))
			continue;
		if (o->rec->phases && !strcmp(word, "phases"))
			return error_set(
				err, -EINVAL,
				"--phases: %s does not show phases; use weir trace or weir record",
				o->usage);
		return error_set(err, -EINVAL,
				 "--%s%s: %s cannot show this data; use weir record, which stores "
				 "it in a trace",
				 (o->rec->stacks && !strcmp(word, "stacks")) ||
						 (o->rec->content && !strcmp(word, "content"))
					 ? ""
					 : "with ",
				 word, o->usage);
	}
	return 0;
}

/* Rejects `--stacks slow`, which does not mean `--stacks=slow`. */
static int live_check_stacks(const struct live_options *o, struct error *err)
{
	static const char *const words[] = {"slow", "failed", "all", "slow,failed", "failed,slow"};
	const char *first = o->argc ? o->argv[0] : "";

	for (size_t i = 0; o->rec->stacks && i < ARRAY_SIZE(words); i++) {
		if (!strcmp(first, words[i]))
			return error_set(err, -EINVAL,
					 "write the value of --stacks after '=': --stacks=%s (for "
					 "a command of that name: ./%s)",
					 first, first);
	}
	return 0;
}

/* Adds the probes of --span. */
static int live_spans(struct live *l, const struct option_list *list, struct error *err)
{
	for (size_t i = 0; list && i < list->count; i++) {
		int r = probe_spans_add(&l->spans, list->items[i], err);

		if (r < 0) {
			error_prefix(err, "--span");
			return r;
		}
	}
	return 0;
}

static void live_warn_stacks(const struct live *l)
{
	for (size_t i = 0; i < l->spans.count; i++) {
		const struct probe_span *s = &l->spans.list[i];
		const struct probe_point *p = s->end.switches ? &s->end : &s->begin;

		if (p->switches)
			fprintf(stderr,
				"weir: --span '%s': %s can switch stacks (coroutines): if %s does, "
				"the "
				"kernel kills the program when it returns; an END other than "
				"return avoids that\n",
				s->name, p->path, p->name);
	}
}

int live_open(struct live *l, const struct live_options *o, struct error *err)
{
	struct recording_options opt = {.argv = o->argc ? o->argv : NULL,
					.user = o->rec->user ? &l->user : NULL,
					.signals = &live_signals,
					.ring_bytes = o->rec->ring_bytes,
					.lossless = o->lossless,
					.no_argv = o->no_argv,
					.keep_secrets = o->keep_secrets,
					.detail_bytes = o->detail_bytes,
					.stored = o->stored};
	int r;

	*l = (struct live){0};
	r = record_flags_with(o->rec, &opt.with, err);
	if (o->details)
		opt.with |= EBPF_WITH(DETAILS);
	opt.raw_args = opt.with & EBPF_WITH(DETAILS);
	if (r >= 0)
		r = live_check_with(o, opt.with, err);
	if (r >= 0)
		r = live_check_stacks(o, err);
	if (r >= 0)
		r = record_flags_stacks(o->rec, opt.with, &opt.stacks, err);
	if (r >= 0)
		r = record_flags_content(o->rec, opt.with, &opt.content, err);
	if (r >= 0)
		r = live_spans(l, o->spans, err);
	if (r >= 0)
		r = record_live_choose(l, o, err);
	if (r != 0)
		return r;
	catch_signals();
	l->others = o->rec->sel.pids.count || o->rec->sel.tids.count;
	opt.selection = l->selection;
	opt.spans = &l->spans;
	r = recording_open(&l->rec, &opt, err);
	record_live_warn_memory(&l->rec, o->verbose);
	if (r < 0)
		return live_at_work(r);
	record_live_warn_missing(l);
	live_warn_stacks(l);
	l->rec.session.begun = record_live_warn_missing;
	l->rec.session.begun_arg = l;
	return 0;
}

void live_warn_left(const struct live *l, const struct record_totals *t)
{
	int32_t first = 0;
	size_t left = l->others ? 0 : recording_left(&l->rec, t, &first);

	if (left)
		fprintf(stderr,
			"weir: the command ended; %zu process%s that it started continue%s "
			"unrecorded: weir record -p %d\n",
			left, left > 1 ? "es" : "", left > 1 ? "" : "s", (int)first);
}

int live_run(struct live *l, struct record_totals *ret, struct error *err)
{
	int r = live_at_work(recording_run(&l->rec, ret, err));

	if (r >= 0 && !l->quiet)
		live_warn_left(l, ret);
	return r;
}

void live_close(struct live *l)
{
	recording_close(&l->rec);
	free(l->selection);
	probe_spans_free(&l->spans);
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

/* Reports which tables beside op lack rows. */
static void warn_lost_beside(const struct record_totals *t)
{
	_cleanup_buf_ struct buf b = {0};
	struct loss l = {0};

	for (size_t i = 0; i < t->source.beside_count; i++)
		loss_add_beside(&l, t->source.beside[i].table, t->source.beside[i].cause,
				t->source.beside[i].count, !t->source.beside[i].count);
	if (l.beside_count && loss_put_beside(&b, &l, true) >= 0)
		fprintf(stderr, "weir: LOST in other tables: %s\n", buf_str(&b));
}

void live_warn_lost(const struct record_totals *t, bool lossless)
{
	uint64_t lost = t->source.lost - t->source.compat;

	warn_polled(t);
	warn_lost_beside(t);
	if (t->source.compat)
		fprintf(stderr,
			"weir: %s 32-bit call%s counted but not recorded: only 64-bit calls can "
			"be recorded.\n",
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
			"weir: the calls that %s thread%s in at the end could not be read (%s)\n",
			t->source.running_unread ? format_count(t->source.running_unread).s
						 : "some",
			t->source.running_unread == 1 ? " was" : "s were",
			strerror(-t->source.running_error));
	if (t->source.unfollowed)
		fprintf(stderr,
			"weir: %s could not be followed, as there are too many at once: "
			"their calls are missing (select them by --cgroup or --uid instead)\n",
			format_counted(t->source.unfollowed, "process").s);
	if (!lost)
		return;
	if (lossless)
		fprintf(stderr, "weir: lossless guarantee broken: %s lost\n",
			format_counted(lost, "call").s);
	fprintf(stderr,
		"weir: LOST %s calls (%.2g %% of all): the figures are too low by that much.\n",
		format_count(lost).s, 100.0 * (double)lost / (double)(lost + t->source.ops));
	if (lossless)
		fprintf(stderr,
			"      --lossless pauses programs for at most 10 s while the recorder is "
			"stuck: give it more CPU or memory, or a larger ring (--ring 64MiB)\n");
	else if (t->source.raise_refused)
		fprintf(stderr,
			"      the kernel refused the recorder real-time priority (%s): add "
			"CAP_SYS_NICE, or record with --lossless\n",
			strerror(t->source.raise_refused));
	else
		fprintf(stderr, "      record with --lossless, with a larger ring (--ring 64MiB), "
				"or select less (-p, -e, -P)\n");
}
