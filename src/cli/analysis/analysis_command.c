/* SPDX-License-Identifier: Apache-2.0 */
/* analysis_command.c: makes a command from a registered analysis: its table of options, and its output. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/analysis/analysis_command.h"
#include "cli/record/record_live.h"
#include "cli/terminal/answer_print.h"
#include "cli/terminal/text.h"

#define COMMANDS_MAX 32 /* analyses of one binary */

/* ---- the command ---- */

static const struct option side_options[] = {
	{'a', "a", OPTION_LIST, "TRACE", "a run of side A, or a folder of them; repeatable",
	 offsetof(struct analysis_opts, sides[0])},
	{'b', "b", OPTION_LIST, "TRACE", "a run of side B, or a folder of them; repeatable",
	 offsetof(struct analysis_opts, sides[1])},
	{0, "a-from", OPTION_STRING, "TIME", "side A from this time on, in the forms of --from",
	 offsetof(struct analysis_opts, from[0])},
	{0, "a-to", OPTION_STRING, "TIME", "side A up to this time",
	 offsetof(struct analysis_opts, to[0])},
	{0, "b-from", OPTION_STRING, "TIME", "side B from this time on",
	 offsetof(struct analysis_opts, from[1])},
	{0, "b-to", OPTION_STRING, "TIME", "side B up to this time",
	 offsetof(struct analysis_opts, to[1])},
	{0, "a-where", OPTION_LIST, "EXPR", "side A: only calls for which this is true, as --where",
	 offsetof(struct analysis_opts, where[0])},
	{0, "b-where", OPTION_LIST, "EXPR", "side B: only calls for which this is true",
	 offsetof(struct analysis_opts, where[1])},
	{0},
};

static const struct option follow_options[] = {
	{0, "follow", OPTION_FLAG, NULL, "print what is found while traces grow, until they end",
	 offsetof(struct analysis_opts, follow)},
	{0},
};

static const struct option common_options[] = {
	READ_FLAGS(struct analysis_opts, read),
	{0, "csv", OPTION_FLAG, NULL,
	 "print comma-separated values: the rows of --json, times in nanoseconds",
	 offsetof(struct analysis_opts, csv)},
	{0},
};

/* Appends a table, with its fields moved by `shift` bytes. */
static size_t analysis_add_options(struct option *to, size_t count, const struct option *table,
				   size_t shift)
{
	for (const struct option *o = table; !option_end(o); o++) {
		if (to) {
			to[count] = *o;
			to[count].offset += shift;
		}
		count++;
	}
	return count;
}

static size_t analysis_all_options(const struct analysis *a, struct option *to)
{
	size_t count = analysis_add_options(to, 0, a->sides == 2 ? side_options : NULL, 0);

	count = analysis_add_options(to, count, a->options, sizeof(struct analysis_opts));
	if (a->follow || a->follow_anew)
		count = analysis_add_options(to, count, follow_options, 0);
	return analysis_add_options(to, count, common_options, 0);
}

/* NULL without memory. */
static struct command *analysis_make_command(const struct analysis *a)
{
	struct option *options = calloc(analysis_all_options(a, NULL) + 1, sizeof(*options));
	struct command *c = calloc(1, sizeof(*c));
	char *description = NULL;

	if (!options || !c ||
	    asprintf(&description,
		     "%s\n\nExit status: 0 done%s, 1 a trace cannot be read, 2 wrong options%s.",
		     a->description, a->status ? "" : ", with or without findings",
		     a->status ? "; others as described at the options" : "") < 0) {
		free(options);
		free(c);
		return NULL;
	}
	analysis_all_options(a, options);
	*c = (struct command){
		.name = a->name,
		.summary = a->summary,
		.usage = a->sides == 2 ? "[options] A B | -a A1 -a A2 ... -b B1 -b B2 ... | TRACE "
					 "--a-to TIME --b-from TIME"
			 : a->takes    ? "[options] 'DEFINITION'..."
				       : "[options] [TRACE...]",
		.description = description,
		.options = options,
		.options_size = sizeof(struct analysis_opts) + a->options_size,
		.examples = a->examples,
		.analysis = a,
	};
	return c;
}

const struct command *analysis_command(size_t i)
{
	static struct command *made[COMMANDS_MAX];

	for (size_t k = 0; k <= i; k++) {
		if (!analyses[k])
			return NULL;
	}
	assert(i < COMMANDS_MAX);
	if (!made[i])
		made[i] = analysis_make_command(analyses[i]);
	return made[i];
}

/* ---- output ---- */

static int analysis_put_loss(void *arg, struct buf *to, struct error *err _unused_)
{
	return loss_put_text(to, &((const struct analysis_view *)arg)->loss);
}

static int analysis_put_out(void *arg _unused_, const void *data, size_t len)
{
	fwrite(data, 1, len, stdout);
	return ferror(stdout) ? -EIO : 0;
}

/* Prints on one line: JSON text contains no line break. */
static int analysis_put_line(void *arg _unused_, const void *data, size_t len)
{
	const char *text = data;

	for (size_t i = 0; i < len; i++)
		putchar(text[i] == '\n' ? ' ' : text[i]);
	return ferror(stdout) ? -EIO : 0;
}

int analysis_document(struct analysis_view *v, bool compact, struct error *err)
{
	const struct answer_json document = {.origin = v->origin,
					     .compact = compact,
					     .put_loss = analysis_put_loss,
					     .put = compact ? analysis_put_line : analysis_put_out,
					     .arg = v};
	int r = analysis_json(v->in, v->result, &document, err);

	if (compact)
		putchar('\n');

	return r == -EIO ? 0 : r; /* main() handles a reader that went away */
}

/* True if this answer is one of several. */
static bool is_followed(const struct analysis_view *v)
{
	return v->opts->follow && v->analysis->follow_anew;
}

static int analysis_print(struct analysis_view *v, struct error *err)
{
	_cleanup_answer_ struct answer rows = {0};
	int r;

	if (v->opts->read.json)
		return analysis_document(v, false, err);
	if (v->opts->csv) {
		r = answer_of_list(&rows, &v->result->tables[0].rows, false);
		if (r < 0)
			return r;
		r = answer_csv(stdout, &rows, err);
		loss_warn(&v->loss); /* the rows have no room for it */
		return r;
	}
	if (is_followed(v) && text_terminal())
		fputs("\033[H\033[J", stdout); /* erases the previous answer */
	else if (!is_followed(v))
		text_pager_begin();
	r = analysis_screen(v, err);
	if (!is_followed(v))
		text_pager_end();
	return r;
}

/* ---- running ---- */

/* Sums what is missing from all runs, including damage found on the way. */
static int analysis_sum_loss(struct analysis_view *v)
{
	for (size_t i = 0; i < v->count; i++) {
		struct analysis_trace *t = &v->traces[i];
		int r;

		if (t->store)
			loss_take_damage(&t->loss, t->store);
		if (!t->part)
			loss_merge(&v->loss, &t->loss);
		r = loss_put_text(&t->loss_json, &t->loss);
		if (r < 0)
			return r;
		v->runs[i].loss = buf_bytes(&t->loss_json);
	}
	return 0;
}

static void analysis_progress(const void *arg, uint64_t *ret_done, uint64_t *ret_all)
{
	const struct analysis_steps *steps = arg;

	*ret_done = steps->done;
	*ret_all = steps->all;
}

int analysis_run_all(struct analysis_view *v, struct interrupt *it, struct error *err)
{
	struct analysis_input in = {.analysis = v->analysis,
				    .runs = v->runs,
				    .count = v->count,
				    .options = analysis_own_options(v->opts),
				    .screen = !v->opts->read.json && !v->opts->csv,
				    .follow = is_followed(v),
				    .taken = v->taken};
	struct analysis_result result = {0};
	struct analysis_steps steps = {0};
	bool counts = it && v->analysis->steps;
	int r;

	if (it && v->engine)
		interrupt_engine(it, v->engine);
	if (counts) {
		in.steps = &steps;
		interrupt_progress(it, v->analysis->steps, analysis_progress, &steps);
	}
	r = analysis_answer(&in, &result, err);
	if (counts)
		interrupt_progress(it, NULL, NULL, NULL);
	if (it) {
		interrupt_engine(it, NULL);
		if (!is_followed(
			    v)) /* the answer is complete: from now on Ctrl-C goes to the pager */
			interrupt_mode(it, INTERRUPT_IGNORE);
	}
	v->in = &in;
	v->result = &result;
	if (r >= 0)
		r = analysis_sum_loss(v);
	if (r >= 0)
		r = analysis_print(v, err);
	if (r >= 0 && v->analysis->status)
		v->status = v->analysis->status(in.options, &result);
	analysis_result_free(v->analysis, &result);
	return MIN(r, 0);
}

/*
 * An engine must receive the signal, and its threads must be created after interrupt_start(); sums need neither, and
 * the process just ends. Returns the exit status, or negative.
 */
static int analysis_run_command(struct analysis_view *v, int argc, char **argv, struct error *err)
{
	bool sums = v->analysis->order == ANALYSIS_SUMS;
	struct interrupt it;
	int r = sums ? 0 : interrupt_start(&it, INTERRUPT_END, err), status;

	if (r < 0)
		return r;
	v->it = sums ? NULL : &it;
	if (is_followed(v)) {
		r = analysis_follow_anew(v, argc, argv, err);
	} else {
		r = analysis_open(v, argc, argv, err);
		if (r >= 0)
			r = v->opts->follow ? analysis_follow(v, err)
					    : analysis_run_all(v, v->it, err);
	}
	if (sums)
		return r;
	interrupt_release(&it);
	status = interrupt_stop(&it, 0);
	return status ? status : r;
}

/* Prints what needs no trace. 1 if that was all. */
static int analysis_instead(const struct analysis *a, const struct analysis_opts *o,
			    struct error *err)
{
	_cleanup_buf_ struct buf text = {0};
	int r = a->instead ? a->instead(analysis_own_options(o), &text, err) : 0;

	if (r <= 0)
		return r;
	text_pager_begin();
	fputs(buf_str(&text), stdout);
	text_pager_end();
	return 1;
}

/* Assigns a value to one of the analysis's own options. */
static int analysis_take(const struct analysis *a, const struct analysis_opts *o, const char *name,
			 const char *value, struct error *err)
{
	const struct option *to = a->options;

	while (strcmp(to->long_name, name) != 0)
		to++;
	return option_take(to, (void *)(uintptr_t)analysis_own_options(o), value, err);
}

int analysis_main(const struct analysis *a, struct analysis_opts *o, int argc, char **argv)
{
	_cleanup_(analysis_close) struct analysis_view v = {.analysis = a, .opts = o};
	struct error err = {0};
	int r = analysis_check_inputs(a, o, argc, argv);

	if (r)
		return r;
	for (int i = 0; a->takes && i < argc && r >= 0; i++)
		r = analysis_take(a, o, a->takes, argv[i], &err);
	if (r >= 0 && a->from_otherwise && o->read.from && strpbrk(o->read.from, " =<>~") &&
	    !read_is_time(o->read.from)) {
		r = analysis_take(a, o, a->from_otherwise, o->read.from, &err);
		o->read.from = NULL;
	}
	if (r < 0)
		return fail_usage("%s: %s", a->name, err.message);
	if (a->takes)
		argc = 0;
	if (a->check && a->check(analysis_own_options(o), &err) < 0)
		return fail_usage("%s: %s", a->name, err.message);
	r = analysis_instead(a, o, &err);
	if (r <= 0)
		r = r < 0 ? r : analysis_run_command(&v, argc, argv, &err);
	else
		r = 0;
	if (fflush(stdout) || ferror(stdout))
		return 1; /* main() reports it */
	if (r < 0)
		error_errno(&err, r, "%s", a->name);
	return r < 0 ? live_fail(r, &err) : r ? r : v.status;
}
