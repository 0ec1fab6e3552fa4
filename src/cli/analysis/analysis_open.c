/* SPDX-License-Identifier: Apache-2.0 */
/* analysis_open.c: opens the runs of an analysis: their traces, and the selected part of each. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/shell.h"
#include "cli/analysis/analysis_command.h"
#include "cli/record/record_live.h"

/* Reports an invalid selection before any trace is opened. */
static int analysis_check_selection(const struct analysis *a, const struct analysis_opts *o)
{
	_cleanup_(select_free) struct select s = {0};
	struct error err = {0};

	return read_flags_select(&o->read, &s, &err) < 0
		       ? fail_usage("%s: %s", a->name, err.message)
		       : 0;
}

int analysis_check_inputs(const struct analysis *a, const struct analysis_opts *o, int argc,
			  char **argv)
{
	bool ranges = o->from[0] || o->from[1] || o->to[0] || o->to[1] || o->where[0].count ||
		      o->where[1].count;
	bool sides = o->sides[0].count || o->sides[1].count;

	if (o->read.json && o->csv)
		return fail_usage("%s: --json and --csv exclude each other", a->name);
	if (a->sides != 2)
		return analysis_check_selection(a, o);
	if (sides && argc)
		return fail_usage("%s: '%.200s' belongs to neither side: with -a and -b, put one "
				  "of them before every trace",
				  a->name, argv[0]);
	if (sides && (!o->sides[0].count || !o->sides[1].count))
		return fail_usage("%s: -%c is missing: -a A1 -a A2 ... -b B1 -b B2 ...", a->name,
				  o->sides[0].count ? 'b' : 'a');
	if (argc > 2)
		return fail_usage("%s: '%.200s' is a third trace; for several runs of a side write "
				  "-a A1 -a A2 -b B1 -b B2, or name folders",
				  a->name, argv[2]);
	if (o->read.inputs.count && (sides || argc + (int)o->read.inputs.count > 1))
		return fail_usage(
			"%s: -i compares two parts of one trace; for two traces: weir %s A B",
			a->name, a->name);
	if (!sides && argc < 2 && !ranges)
		return fail_usage("%s: the second side is missing: weir %s A B, or two parts of "
				  "one trace: --a-to +5s --b-from +5s",
				  a->name, a->name);
	return 0;
}

/* ---- the part of a trace ---- */

/* The options of one side: its own range, or else the common one. */
static struct read_flags analysis_flags_of(const struct analysis_opts *o, unsigned int side)
{
	struct read_flags f = o->read;

	f.from = o->from[side] ? o->from[side] : f.from;
	f.to = o->to[side] ? o->to[side] : f.to;
	return f;
}

/* Changes "--from: ..." to "--a-from: ..." if that option was given. */
static int analysis_name_side(const struct analysis_opts *o, unsigned int side, struct error *err)
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

/* The expressions of both sides and of this one; the caller frees the result. */
static const char **analysis_both_where(const struct analysis_opts *o, unsigned int side,
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

static int analysis_choice(const struct analysis_opts *o, struct analysis_trace *t,
			   const struct read_flags *f, unsigned int side, struct error *err)
{
	struct option_list where;
	_cleanup_free_ const char **items = analysis_both_where(o, side, &where);

	if (!items)
		return error_set(err, -ENOMEM, "out of memory");
	return choice_make(&t->choice, &f->sel, &t->select, &where, t->store, err);
}

static int analysis_range(const struct analysis_run *run, int64_t *ret_first, int64_t *ret_last,
			  struct error *err)
{
	int r = 0;

	if (run->store)
		store_range(run->store, ret_first, ret_last);
	else
		r = engine_range(run->engine, ret_first, ret_last, err);
	if (r >= 0 && (*ret_first == INT64_MIN || *ret_last == INT64_MIN))
		*ret_first = *ret_last = 0;
	return r;
}

/* Selects the calls of the run, and its time range. */
static int analysis_choose(struct analysis_view *v, struct analysis_trace *t,
			   struct analysis_run *run, struct error *err)
{
	const struct read_flags f = analysis_flags_of(v->opts, run->side);
	int64_t first, last;
	int r = read_flags_select(&f, &t->select, err);

	if (r < 0)
		return analysis_name_side(v->opts, run->side, err);
	r = analysis_choice(v->opts, t, &f, run->side, err);
	if (r < 0)
		return analysis_name_side(v->opts, run->side, err);
	r = analysis_range(run, &first, &last, err);
	if (r < 0)
		return live_at_work(r);
	r = read_flags_range(&f, first, last, &run->from, &run->to, err);
	if (r < 0)
		return analysis_name_side(v->opts, run->side, err);
	t->filter = t->choice.filter;
	t->filter.from = run->from;
	t->filter.to = run->to;
	if (f.from || f.to || t->filter.where)
		run->filter = &t->filter;
	run->where = t->choice.expr;
	run->selection = t->choice.text.len ? buf_str(&t->choice.text) : NULL;
	run->users = annotations_get(t->choice.annotations);
	analysis_run_within(run, first, last);
	if (run == v->runs)
		v->origin = first;
	return 0;
}

/* ---- the traces ---- */

static int analysis_new_run(struct analysis_view *v, unsigned int side, const char *const *paths,
			    size_t count, struct analysis_trace **ret, struct error *err)
{
	int r = 0;

	if (v->count >= ANALYSIS_RUNS_MAX)
		return error_set(err, -E2BIG, "more than %d runs", ANALYSIS_RUNS_MAX);
	*ret = &v->traces[v->count];
	**ret = (struct analysis_trace){.name = strdup(input_shown(paths[0]))};
	v->runs[v->count++] = (struct analysis_run){.side = side, .name = (*ret)->name};
	for (size_t i = 0; i < count && r >= 0; i++) {
		const char *shown = input_shown(paths[i]);

		buf_printf(&(*ret)->inputs, " -i ");
		r = shell_word(&(*ret)->inputs, shown, strlen(shown));
	}
	return (*ret)->name && r >= 0 ? 0 : error_set(err, -ENOMEM, "out of memory");
}

/* Fills in what is missing from the run, and its part; its rows are selected. */
static int analysis_finish_run(struct analysis_view *v, struct analysis_trace *t, struct error *err)
{
	struct analysis_run *run = &v->runs[t - v->traces];
	int r = t->store ? loss_read(&t->loss, t->store, err)
			 : loss_read_engine(&t->loss, v->engine, err);

	if (r < 0)
		return live_at_work(r);
	run->store = t->store;
	run->engine = v->engine;
	run->lost = t->loss.lost;
	run->lost_unknown = t->loss.at_least;
	run->lost_beside = t->loss.beside ? t->loss.beside : t->loss.beside_unknown;
	return analysis_choose(v, t, run, err);
}

static int analysis_open_run(struct analysis_view *v, unsigned int side, const char *const *paths,
			     size_t count, struct error *err)
{
	struct analysis_trace *t;
	int r = analysis_new_run(v, side, paths, count, &t, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i + 1 < v->count && !t->part; i++) {
		t->part = strcmp(v->traces[i].name, t->name) == 0;
		t->store = t->part ? v->traces[i].store : NULL;
	}
	if (!t->part)
		r = live_at_work(store_open_corrected(&t->store, paths, count, err));
	if (r >= 0 && v->opts->follow)
		interrupt_wait_rows(v->it, t->store);
	if (r >= 0 && v->analysis->order == ANALYSIS_ASKS)
		r = live_at_work(engine_open(&v->engine, t->store,
					     &(struct engine_options){.only_rows = true}, err));
	return r < 0 ? r : analysis_finish_run(v, t, err);
}

static int analysis_open_engine(struct analysis_view *v, const char *address, struct error *err)
{
	struct analysis_trace *t;
	int r;

	r = analysis_new_run(v, 0, &address, 1, &t, err);
	if (r < 0)
		return r;
	r = live_at_work(read_flags_connect(&v->opts->read, address, (struct engine_options){0},
					    &v->engine, err));
	return r < 0 ? r : analysis_finish_run(v, t, err);
}

/* A folder contributes one run per trace. */
static int analysis_open_path(struct analysis_view *v, unsigned int side, const char *path,
			      struct error *err)
{
	struct read_flags one_of = v->opts->read;
	_cleanup_(store_freep) struct store *all = NULL;
	_cleanup_free_ const char **paths = NULL;
	struct stat st;
	size_t count;
	int r;

	/* an address, or the traces of the chosen hosts */
	one_of.inputs = (struct option_list){.items = &path, .count = 1};
	r = live_at_work(read_flags_paths(&one_of, 0, NULL, &paths, &count, err));
	if (r < 0)
		return r;
	if (one_of.hosts.count && count > 1) {
		for (size_t i = 0; r >= 0 && i < count; i++)
			r = analysis_open_run(v, side, &paths[i], 1, err);
		return r;
	}
	path = paths[0];
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return analysis_open_run(v, side, &path, 1, err);
	r = live_at_work(store_open(&all, &path, 1, err));
	for (size_t i = 0; r >= 0 && i < store_trace_count(all); i++) {
		const char *one = store_trace_path(all, i);

		r = analysis_open_run(v, side, &one, 1, err);
	}
	return r;
}

static int analysis_open_sides(struct analysis_view *v, int argc, char **argv, struct error *err)
{
	const struct analysis_opts *o = v->opts;
	int r = 0;

	for (unsigned int side = 0; side < 2; side++) {
		const char *both = argc			  ? argv[argc > 1 ? side : 0]
				   : o->read.inputs.count ? o->read.inputs.items[0]
							  : TRACE_DEFAULT;

		for (size_t i = 0; r >= 0 && i < o->sides[side].count; i++)
			r = analysis_open_path(v, side, o->sides[side].items[i], err);
		if (r >= 0 && !o->sides[side].count)
			r = analysis_open_path(v, side, both, err);
	}
	return r;
}

/* Rejects --keep without a trace file, where findings are kept. */
static int analysis_keeps_nothing(const struct analysis_view *v, const char *address,
				  struct error *err)
{
	const char *own = analysis_own_options(v->opts);

	for (const struct option *o = v->analysis->options; !option_end(o); o++) {
		if (o->type == OPTION_FLAG && o->long_name && !strcmp(o->long_name, "keep") &&
		    *(const bool *)(own + o->offset))
			return error_set(err, -EINVAL,
					 "--keep writes to a trace file, and %.200s is a store: "
					 "use --keep on the traces, and load them again",
					 address);
	}
	return 0;
}

int analysis_open(struct analysis_view *v, int argc, char **argv, struct error *err)
{
	_cleanup_free_ const char **paths = NULL;
	const char *address;
	size_t count;
	int r;

	v->traces = calloc(ANALYSIS_RUNS_MAX, sizeof(*v->traces));
	v->runs = calloc(ANALYSIS_RUNS_MAX, sizeof(*v->runs));
	if (!v->traces || !v->runs)
		return error_set(err, -ENOMEM, "out of memory");
	assert(v->analysis->sides != 2 || v->analysis->order != ANALYSIS_ASKS);
	if (v->analysis->sides == 2)
		return analysis_open_sides(v, argc, argv, err);
	r = read_flags_address(&v->opts->read, argc, argv, &address, err);
	if (r >= 0 && address)
		r = analysis_keeps_nothing(v, address, err);
	if (r < 0)
		return live_at_work(r);
	if (address && v->analysis->order != ANALYSIS_SUMS && !v->analysis->files)
		return analysis_open_engine(v, address, err);
	r = read_flags_paths(&v->opts->read, argc, argv, &paths, &count, err);
	return r < 0 ? live_at_work(r) : analysis_open_run(v, 0, paths, count, err);
}

int analysis_again(struct analysis_view *v, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < v->count && r >= 0; i++) {
		struct analysis_trace *t = &v->traces[i];

		if (store_look_again(t->store, ANALYSIS_RUNS_MAX))
			return 0;
		r = (int)MIN(store_refresh(t->store, err), (ssize_t)0);
		choice_free(&t->choice);
		select_free(&t->select);
		t->choice = (struct choice){0};
		t->select = (struct select){0};
		v->runs[i].filter = NULL;
		if (r >= 0)
			r = analysis_finish_run(v, t, err);
	}
	v->loss = (struct loss){0};
	return r < 0 ? r : 1;
}

void analysis_close(struct analysis_view *v)
{
	if (v->taken)
		v->analysis->free_taken(v->taken);
	engine_free(v->engine);
	for (size_t i = 0; i < v->count; i++) {
		struct analysis_trace *t = &v->traces[i];

		choice_free(&t->choice);
		select_free(&t->select);
		if (!t->part)
			store_free(t->store);
		buf_free(&t->loss_json);
		buf_free(&t->inputs);
		free(t->name);
	}
	free(v->traces);
	free(v->runs);
}
