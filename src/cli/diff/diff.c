/* SPDX-License-Identifier: Apache-2.0 */
/* weir diff: what changed between two sides. Options, and opening of the runs; diff_screen.c and
 * diff_json.c print. */
#include "cli/diff/diff.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/record/record_live.h"
#include "cli/terminal/text.h"
#include "schema/ops.h"

/* ---- runs ---- */

static void diff_trace_free(struct diff_trace *t)
{
	choice_free(&t->choice);
	select_free(&t->select);
	store_free(t->store);
	free(t->path);
}

static void view_free(struct diff_view *v)
{
	for (size_t i = 0; i < v->count; i++)
		diff_trace_free(&v->traces[i]);
	free(v->traces);
	free(v->inputs);
}

static void diff_add_loss(struct loss *to, const struct loss *from)
{
	for (unsigned int c = 0; c < CAUSE_COUNT; c++) {
		to->events[c] += from->events[c];
		to->more[c] |= from->more[c];
	}
	to->lost += from->lost;
	to->cut += from->cut;
	to->no_file += from->no_file;
	to->at_least |= from->at_least;
	if (!to->damage.first[0])
		memcpy(to->damage.first, from->damage.first, sizeof(to->damage.first));
	to->damage.blocks += from->damage.blocks;
	to->damage.traces += from->damage.traces;
	to->damage.rows += from->damage.rows;
	to->damage.calls += from->damage.calls;
	to->damage.bytes += from->damage.bytes;
	to->damage.gaps |= from->damage.gaps;
	to->damage.torn |= from->damage.torn;
	if (from->failed.count && !to->failed.count)
		to->failed = from->failed;
	else
		to->failed.count += from->failed.count;
	if (from->unclosed.traces) {
		if (!to->unclosed.traces || from->unclosed.until < to->unclosed.until)
			to->unclosed.until = from->unclosed.until;
		to->unclosed.traces += from->unclosed.traces;
	}
}

/* The options of one side: its own range, else the common one. */
static struct read_flags flags_of(const struct diff_opts *o, unsigned int side)
{
	struct read_flags f = o->read;

	f.from = o->from[side] ? o->from[side] : f.from;
	f.to = o->to[side] ? o->to[side] : f.to;
	return f;
}

/* "--from: ..." is about --a-from where that was given. */
static int name_side(const struct diff_opts *o, unsigned int side, struct error *err)
{
	bool from = strncmp(err->message, "--from", 6) == 0,
	     to = strncmp(err->message, "--to", 4) == 0,
	     where = strncmp(err->message, "--where", 7) == 0;
	struct error named = {0};

	if (!(from && o->from[side]) && !(to && o->to[side]) && !(where && o->where[side].count))
		return err->code;
	error_set(&named, err->code, "--%c-%.960s", side ? 'b' : 'a', err->message + 2);
	*err = named;
	return err->code;
}

/* The expressions of both sides and those of this one; free() what is returned. */
static const char **both_where(const struct diff_opts *o, unsigned int side,
			       struct option_list *ret)
{
	const struct option_list *common = &o->read.sel.where, *own = &o->where[side];
	const char **items = calloc(common->count + own->count + 1, sizeof(*items));

	for (size_t i = 0; items && i < common->count; i++)
		items[i] = common->items[i];
	for (size_t i = 0; items && i < own->count; i++)
		items[common->count + i] = own->items[i];
	*ret = (struct option_list){.items = items, .count = common->count + own->count};
	return items;
}

static int diff_choice(const struct diff_opts *o, struct diff_trace *t, const struct read_flags *f,
		       unsigned int side, struct error *err)
{
	struct option_list where;
	_cleanup_free_ const char **items = both_where(o, side, &where);

	if (!items)
		return error_set(err, -ENOMEM, "out of memory");
	return choice_make(&t->choice, &f->sel, &t->select, &where, t->store, err);
}

/* Which of its calls belong to the run, and when it was. */
static int diff_choose(const struct diff_opts *o, struct diff_trace *t, struct diff_input *in,
		       struct error *err)
{
	const struct read_flags side = flags_of(o, in->side), *f = &side;
	int64_t first, last, from, to;
	bool ranged = f->from || f->to;
	int r = read_flags_select(f, &t->select, err);

	if (r >= 0)
		r = diff_choice(o, t, f, in->side, err);
	store_range(t->store, &first, &last);
	if (first == INT64_MIN || last == INT64_MIN)
		first = last = 0;
	if (r >= 0)
		r = read_flags_range(f, first, last, &from, &to, err);
	if (r < 0)
		return name_side(o, in->side, err);
	t->filter = t->choice.filter;
	t->filter.from = from;
	t->filter.to = to;
	if (ranged || t->filter.where)
		in->filter = &t->filter;
	in->from = MAX(from, first);
	in->to = MIN(to, last);
	in->to = MAX(in->to, in->from + 1);
	return 0;
}

static int open_run(struct diff_view *v, unsigned int side, const char *path, struct error *err)
{
	struct diff_trace *t;
	struct diff_input *in;
	int r;

	if (v->count >= DIFF_RUNS_MAX)
		return error_set(err, -E2BIG, "more than %d runs", DIFF_RUNS_MAX);
	t = &v->traces[v->count];
	in = &v->inputs[v->count++];
	*t = (struct diff_trace){.path = strdup(path)};
	*in = (struct diff_input){.side = side};
	if (!t->path)
		return error_set(err, -ENOMEM, "out of memory");
	r = live_at_work(store_open(&t->store, &path, 1, err));
	if (r >= 0)
		r = loss_read(&t->loss, t->store, err);
	if (r >= 0)
		r = diff_choose(v->opts, t, in, err);
	if (r < 0)
		return r;
	in->store = t->store;
	in->lost = t->loss.lost;
	in->lost_unknown = t->loss.at_least;
	return 0;
}

/* A folder is as many runs as it has traces. */
static int open_path(struct diff_view *v, unsigned int side, const char *path, struct error *err)
{
	_cleanup_(store_freep) struct store *all = NULL;
	struct stat st;
	int r = 0;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return open_run(v, side, path, err);
	r = live_at_work(store_open(&all, &path, 1, err));
	for (size_t i = 0; r >= 0 && i < store_trace_count(all); i++)
		r = open_run(v, side, store_trace_path(all, i), err);
	return r;
}

static int diff_open_all(struct diff_view *v, int argc, char **argv, struct error *err)
{
	const struct diff_opts *o = v->opts;
	int r = 0;

	v->traces = calloc(DIFF_RUNS_MAX, sizeof(*v->traces));
	v->inputs = calloc(DIFF_RUNS_MAX, sizeof(*v->inputs));
	if (!v->traces || !v->inputs)
		return error_set(err, -ENOMEM, "out of memory");
	for (unsigned int side = 0; side < 2; side++) {
		const char *both = argc			  ? argv[argc > 1 ? side : 0]
				   : o->read.inputs.count ? o->read.inputs.items[0]
							  : TRACE_DEFAULT;

		for (size_t i = 0; r >= 0 && i < o->sides[side].count; i++)
			r = open_path(v, side, o->sides[side].items[i], err);
		if (r >= 0 && !o->sides[side].count)
			r = open_path(v, side, both, err);
	}
	return r;
}

/* ---- options ---- */

static int parse_per(const char *text, struct diff_options *opt)
{
	int op;

	if (!text || strcmp(text, "auto") == 0)
		return 0;
	if (strcmp(text, "run") == 0) {
		opt->unit = DIFF_UNIT_RUN;
	} else if (strcmp(text, "second") == 0 || strcmp(text, "s") == 0) {
		opt->unit = DIFF_UNIT_SECOND;
	} else if ((op = op_find(text)) >= 0) {
		opt->unit = DIFF_UNIT_OP;
		opt->unit_op = op;
	} else {
		return fail_usage("diff: --per '%.40s': there are run, second and the names of "
				  "operations, as pread64",
				  text);
	}
	return 0;
}

/* What must be told apart: two traces, or two parts of one. */
static int diff_check(const struct diff_opts *o, int argc, char **argv)
{
	bool ranges = o->from[0] || o->from[1] || o->to[0] || o->to[1] || o->where[0].count ||
		      o->where[1].count;
	bool sides = o->sides[0].count || o->sides[1].count;

	if (o->read.json && o->csv)
		return fail_usage("diff: --json and --csv exclude each other");
	if (sides && argc)
		return fail_usage("diff: '%.200s' belongs to no side: with -a and -b every trace "
				  "has one of them in front",
				  argv[0]);
	if (sides && (!o->sides[0].count || !o->sides[1].count))
		return fail_usage("diff: -%c is missing: -a A1 -a A2 ... -b B1 -b B2 ...",
				  o->sides[0].count ? 'b' : 'a');
	if (argc > 2)
		return fail_usage(
			"diff: '%.200s' is the third trace; several runs of a side: -a A1 "
			"-a A2 -b B1 -b B2, or folders",
			argv[2]);
	if (argc + (int)o->read.inputs.count > 1 && o->read.inputs.count)
		return fail_usage("diff: -i is for two parts of one trace; else: weir diff A B");
	if (!sides && argc < 2 && !ranges)
		return fail_usage("diff: compared with what? weir diff A B, or parts of one trace: "
				  "--a-to +5s --b-from +5s");
	return 0;
}

static int diff_print(const struct diff_view *v, struct error *err)
{
	int r;

	if (v->opts->read.json)
		return diff_json(v, err);
	if (v->opts->csv) {
		r = diff_csv(v, err);
		loss_warn(&v->loss); /* there is no room for it in the rows */
		return r;
	}
	text_pager_begin();
	r = diff_screen(v);
	text_pager_end();
	return r;
}

static int diff_run(const void *opts, int argc, char **argv)
{
	const struct diff_opts *o = opts;
	_cleanup_(view_free) struct diff_view v = {.opts = o};
	_cleanup_(diff_freep) struct diff *d = NULL;
	struct diff_options options = {0};
	struct error err = {0};
	int r = diff_check(o, argc, argv);

	if (r == 0)
		r = parse_per(o->per, &options);
	if (r)
		return r;
	r = diff_open_all(&v, argc, argv, &err);
	if (r >= 0)
		r = diff_compare(v.inputs, v.count, &options, &d, &err);
	v.diff = d;
	for (size_t i = 0; r >= 0 && i < v.count; i++) {
		loss_take_damage(&v.traces[i].loss, v.traces[i].store);
		diff_add_loss(&v.loss, &v.traces[i].loss);
	}
	for (unsigned int side = 0; r >= 0 && side < 2; side++)
		v.calls[side] = (uint64_t)((d->io[side].calls + d->waiting[side].calls +
					    d->other[side].calls) *
						   d->work[side] / (double)d->runs[side] +
					   0.5);
	if (r >= 0)
		r = diff_print(&v, &err);
	if (fflush(stdout) || ferror(stdout))
		return 1; /* main() says so */
	if (r < 0)
		error_errno(&err, r, "diff");
	return r < 0 ? live_fail(r, &err) : 0;
}

static const struct option options[] = {
	{'a', "a", OPTION_LIST, "TRACE", "a run of side A, or a folder of them; repeatable",
	 offsetof(struct diff_opts, sides[0])},
	{'b', "b", OPTION_LIST, "TRACE", "a run of side B, likewise",
	 offsetof(struct diff_opts, sides[1])},
	{0, "a-from", OPTION_STRING, "TIME", "side A from this time on, as --from has it",
	 offsetof(struct diff_opts, from[0])},
	{0, "a-to", OPTION_STRING, "TIME", "side A up to this time",
	 offsetof(struct diff_opts, to[0])},
	{0, "b-from", OPTION_STRING, "TIME", "side B from this time on",
	 offsetof(struct diff_opts, from[1])},
	{0, "b-to", OPTION_STRING, "TIME", "side B up to this time",
	 offsetof(struct diff_opts, to[1])},
	{0, "a-where", OPTION_LIST, "EXPR", "side A: only calls for which this is true, as --where",
	 offsetof(struct diff_opts, where[0])},
	{0, "b-where", OPTION_LIST, "EXPR", "side B: only calls for which this is true",
	 offsetof(struct diff_opts, where[1])},
	{0, "per", OPTION_STRING, "UNIT",
	 "calls, bytes and time per run, per second, or per call of an operation: --per fdatasync "
	 "(default: that in which most counts agree)",
	 offsetof(struct diff_opts, per)},
	{0, "head", OPTION_COUNT, "N", "at most so many changes (default 10)",
	 offsetof(struct diff_opts, head)},
	READ_FLAGS(struct diff_opts, read),
	{0, "csv", OPTION_FLAG, NULL,
	 "print comma-separated values: the rows of --json, times in nanoseconds",
	 offsetof(struct diff_opts, csv)},
	{0},
};

static const struct command_example examples[] = {
	{"weir diff old.trace new.trace", "what changed from one run to another"},
	{"weir diff -a old.1 -a old.2 -a old.3 -b new.1 -b new.2 -b new.3",
	 "three runs of each: the noise between runs is then known"},
	{"weir diff before/ after/", "the same: every trace in a folder is a run"},
	{"weir diff weir.trace --a-to +5s --b-from +5s", "the first five seconds and the rest"},
	{"weir diff weir.trace --a-where 'comm == \"old\"' --b-where 'comm == \"new\"'",
	 "two programs of one trace"},
	{"weir diff old.trace new.trace --per fdatasync -P /srv/db",
	 "what a commit costs below /srv/db"},
	{0},
};

const struct command command_diff = {
	.name = "diff",
	.summary = "say what changed between two traces, or two groups of them",
	.usage =
		"[options] A B | -a A1 -a A2 ... -b B1 -b B2 ... | TRACE --a-to TIME --b-from TIME",
	.description =
		"Compares calls, latency, bytes and errors by operation, file, program and error, "
		"and names what is in one side only. Changes are ranked by how much of the "
		"difference in time they explain. Waiting is kept apart and in no ranking.\n\n"
		"The unit is the run: a million calls of one run are not a million witnesses. From "
		"three runs a side on, a change is listed where it is larger than runs of one "
		"side differ. With fewer, parts of the runs are compared with one another, and a "
		"difference must be larger than two runs of one program may differ on one machine: "
		"latencies then need a large change to be listed. False alarms among all that is "
		"tested are held at 5 % (Benjamini and Hochberg).\n\n"
		"What all calls have in common (a slower machine) is shown by itself and taken out "
		"of the others. Names that differ in numbers or random letters alone (x.4711, "
		"000012.sst) are one, with # for these, where not every run has each.\n\n"
		"Exit status: 0 done, whether something changed or not, 1 a trace cannot be read, "
		"2 wrong options.",
	.options = options,
	.options_size = sizeof(struct diff_opts),
	.examples = examples,
	.run = diff_run,
};
