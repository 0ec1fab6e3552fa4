/* SPDX-License-Identifier: Apache-2.0 */
/* periods.c: `weir periods` as an analysis. */
#include "analysis/periods/periods.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* ---- definitions ---- */

static int load_definition(struct period_set *s, const char *text, struct error *err)
{
	const struct buf given = {.data = (uint8_t *)(uintptr_t)text, .len = strlen(text)};
	_cleanup_buf_ struct buf ours = {0};
	int r;

	if (!given.len)
		return error_set(err, -EINVAL, "--period: the definition is empty");
	if (!period_is_lttng(&given))
		return period_define(s, text, err);
	r = period_from_lttng(text, &ours, err);
	return r < 0 ? error_errno(err, r, "period '%.200s'", text)
		     : period_define(s, buf_str(&ours), err);
}

/* Loads definitions from everything except files. */
static int load_texts(struct period_set *s, const struct periods_flags *f, struct error *err)
{
	int r = 0;

	s->scan = f->scan;
	for (size_t i = 0; i < f->use.count && r >= 0; i++)
		r = period_use(s, f->use.items[i], err);
	for (size_t i = 0; i < f->define.count && r >= 0; i++)
		r = load_definition(s, f->define.items[i], err);
	return r;
}

static int load_all(struct period_set *s, const struct periods_flags *f, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < f->file.count; i++) {
		r = period_file(s, f->file.items[i], err);
		if (r < 0)
			return r;
	}
	r = load_texts(s, f, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < f->captures.count && r >= 0; i++) {
		r = period_lttng_captures(s, f->captures.items[i], err);
		if (r < 0)
			error_prefix(err, "--period-captures");
	}
	return r;
}

/* Checks options without accessing files, which a request may not name. */
static int periods_check(const void *options, struct error *err)
{
	const struct periods_flags *f = options;
	_cleanup_(period_set_free) struct period_set s = {0};

	if (!f->define.count && !f->use.count && !f->file.count)
		return error_set(
			err, -EINVAL,
			"a definition is missing: 'NAME : BEGIN : END', -f FILE or --use %s",
			period_texts[0].name ? period_texts[0].name : "NAME");
	if (f->order_by && strcmp(f->order_by, "time") != 0 &&
	    strcmp(f->order_by, "hierarchy") != 0)
		return error_set(err, -EINVAL, "--order-by %.40s: use time or hierarchy",
				 f->order_by);
	return f->file.count ? 0 : load_all(&s, f, err);
}

static int check_select(struct periods_found *f, const struct option_list *select,
			struct error *err)
{
	size_t len;

	for (size_t i = 0; i < f->set.count; i++)
		f->shown[i] = !select->count;
	for (size_t i = 0; i < select->count; i++) {
		if (!*select->items[i])
			return error_set(err, -EINVAL,
					 "--select: the names of periods are missing");
		for (const char *text = select->items[i]; periods_next_name(&text, &len);) {
			int at = period_find(&f->set, text, len);

			if (at < 0)
				return error_set(err, -EINVAL, "--select: no period '%.*s'",
						 (int)MIN(len, (size_t)64), text);
			f->shown[at] = true;
			text += len;
		}
	}
	return 0;
}

/* ---- matches ---- */

static int put_json_string(struct buf *to, struct bytes text)
{
	buf_printf(to, "\"");
	json_escape(to, text.data, text.len, "");
	return buf_printf(to, "\"");
}

int periods_attributes(const struct periods_found *f, const struct period_match *m, struct buf *to)
{
	const struct period *p = f->set.items[m->period];

	for (size_t i = 0; i < p->capture_count; i++) {
		const struct period_capture *c = &p->captures[i];
		uint32_t text = f->matches.captures[m->first_capture + i];
		struct bytes value;

		if (text == PERIOD_NO_TEXT)
			continue;
		buf_printf(to, "%s", to->len ? ", " : "{");
		put_json_string(to, bytes_of(c->name));
		buf_printf(to, ": ");
		value = intern_get(&f->matches.captured, text);
		if (c->number)
			buf_append(to, value.data, value.len);
		else
			put_json_string(to, value);
	}
	return to->len ? buf_printf(to, "}") : buf_status(to);
}

void periods_count(struct periods_found *f, const struct period_match *m)
{
	f->cut += m->status == SPAN_STATUS_CUT;
	f->running += m->status == SPAN_STATUS_RUNNING;
	f->lost += m->lost;
}

/* ---- rows ---- */

static const struct answer_column row_columns[] = {
	{"start", {QUERY_TIME}},
	{"dur", {QUERY_DUR}, .word = "dur"},
	{"name", {QUERY_TEXT}},
	{"status", {QUERY_TEXT}},
	{"comm", {QUERY_TEXT}},
	{"tid", {QUERY_INT}},
	{"number", {QUERY_INT}, .gives = 2},
	{"parent", {QUERY_INT}, .dash = true, .gives = 3},
	{"span_id", {QUERY_TEXT}, .gives = 4},
	{"parent_id", {QUERY_TEXT}, .gives = 5},
	{"thread_id", {QUERY_INT}, .gives = 6},
	{"attributes", {QUERY_TEXT}, .gives = 1},
};

static void put_id(struct answer_list *t, int64_t number)
{
	char text[PERIODS_ID_TEXT];

	answer_list_str(t, number ? periods_id(number, text) : NULL);
}

int periods_put_row(const struct periods_found *f, const struct dims *dims, struct answer_list *t,
		    const struct period_match *m)
{
	const struct dims_thread *thread = m->thread < 0 ? NULL : dims_thread(dims, m->thread);
	_cleanup_buf_ struct buf attributes = {0};
	int r = periods_attributes(f, m, &attributes);

	answer_list_int(t, m->start);
	answer_list_if(t, m->dur != PERIOD_NO_DUR, m->dur);
	answer_list_str(t, f->set.items[m->period]->name);
	answer_list_str(t, vocab_word("span_status", m->status));
	answer_list_some(t, thread && thread->comm.data ? thread->comm : (struct bytes){0});
	answer_list_if(t, thread && thread->tid >= 0, thread ? thread->tid : 0);
	answer_list_int(t, m->number);
	answer_list_if(t, m->parent != PERIOD_NO_PARENT, periods_parent_number(f, m));
	put_id(t, m->number);
	put_id(t, periods_parent_number(f, m));
	answer_list_if(t, m->thread >= 0, m->thread);
	answer_list_some(t, buf_bytes(&attributes));
	return r;
}

/* Adds the match and then all matches below it. */
static int put_tree(const struct periods_found *f, const struct dims *dims, struct answer_list *t,
		    const uint32_t *first, const uint32_t *next, uint32_t at)
{
	const struct period_match *m = &f->matches.items[at];
	int r = f->shown[m->period] ? periods_put_row(f, dims, t, m) : 0;

	for (uint32_t c = first[at]; c && r >= 0; c = next[c - 1])
		r = put_tree(f, dims, t, first, next, c - 1);
	return r;
}

static int put_hierarchy(const struct periods_found *f, const struct dims *dims,
			 struct answer_list *t)
{
	size_t count = f->matches.count;
	_cleanup_free_ uint32_t *first = calloc(count + 1, sizeof(*first));
	_cleanup_free_ uint32_t *next = calloc(count + 1, sizeof(*next));
	int r = 0;

	if (!first || !next)
		return -ENOMEM;
	for (size_t i = count; i-- > 0;) {
		const struct period_match *parent = periods_parent(f, &f->matches.items[i]);
		size_t at = parent ? (size_t)(parent - f->matches.items) : count;

		next[i] = first[at];
		first[at] = (uint32_t)i + 1;
	}
	for (uint32_t c = first[count]; c && r >= 0; c = next[c - 1])
		r = put_tree(f, dims, t, first, next, c - 1);
	return r;
}

static int put_rows(const struct periods_found *f, const struct periods_flags *flags,
		    const struct dims *dims, struct answer_list *t)
{
	int r = 0;

	if (flags->order_by && strcmp(flags->order_by, "hierarchy") == 0)
		return put_hierarchy(f, dims, t);
	for (size_t i = 0; i < f->matches.count && r >= 0; i++) {
		if (f->shown[f->matches.items[i].period])
			r = periods_put_row(f, dims, t, &f->matches.items[i]);
	}
	return r;
}

/* ---- the analysis ---- */

static void periods_free(void *own)
{
	struct periods_found *f = own;

	period_follow_free(f->follow);
	period_set_free(&f->set);
	period_matches_free(&f->matches);
	free(f);
}

static int periods_options(struct periods_found *f, const struct analysis_input *in,
			   struct error *err)
{
	const struct periods_flags *flags = in->options;
	uint64_t hash = 0;
	int r;

	if (in->shared && (flags->file.count || flags->keep))
		return error_set(err, -EINVAL, "-f and --keep work only on the command line");
	r = load_all(&f->set, flags, err);
	if (r >= 0)
		r = check_select(f, &flags->select, err);
	f->aggregate_by = -1;
	if (r >= 0 && flags->aggregate_by) {
		f->aggregate_by =
			period_find(&f->set, flags->aggregate_by, strlen(flags->aggregate_by));
		if (f->aggregate_by < 0)
			return error_set(err, -EINVAL, "--aggregate-by: no period '%.64s'",
					 flags->aggregate_by);
	}
	for (size_t i = 0; i < f->set.count; i++)
		hash = hash * 31 + f->set.items[i]->hash;
	snprintf(f->made_by, sizeof(f->made_by), "periods %016llx", (unsigned long long)hash);
	return r;
}

int periods_begin(struct periods_found *f, const struct analysis_input *in,
		  struct analysis_result *out, struct error *err)
{
	const struct analysis_run *run = &in->runs[0];

	if (!f)
		return error_set(err, -ENOMEM, "out of memory");
	out->own = f;
	if (!run->store)
		return error_set(err, -EOPNOTSUPP, "%s: periods reads trace files, not a store",
				 run->name);
	analysis_table(out, "matches", row_columns, ARRAY_SIZE(row_columns));
	return periods_options(f, in, err);
}

static int periods_run(const struct analysis_input *in, struct analysis_result *out,
		       struct error *err)
{
	const struct periods_flags *flags = in->options;
	const struct analysis_run *run = &in->runs[0];
	struct periods_found *f = calloc(1, sizeof(*f));
	bool part = run->where || run->from != INT64_MIN || run->to != INT64_MAX;
	int r = periods_begin(f, in, out, err);

	if (r >= 0)
		r = period_pass_run(&f->set, in, run, &f->matches, &f->pass, err);
	for (size_t i = 0; i < f->matches.count && r >= 0; i++)
		periods_count(f, &f->matches.items[i]);
	if (r >= 0 && flags->keep)
		r = periods_keep(run->store, f, part, err);
	if (r >= 0 && (!in->screen || flags->log))
		r = put_rows(f, flags, store_dims(run->store), &out->tables[0].rows);
	return r < 0 ? r : periods_sums(f, flags, out, err);
}

static int periods_members(const struct analysis_input *in _unused_,
			   const struct analysis_result *r, struct buf *to)
{
	const struct periods_found *f = r->own;

	return buf_printf(to,
			  ",\n\"calls\": %llu, \"events\": %llu, \"cut\": %lld, \"cut_by_loss\": "
			  "%lld, \"running\": %lld, \"late\": %llu",
			  (unsigned long long)f->pass.rows, (unsigned long long)f->pass.events,
			  (long long)f->cut, (long long)f->lost, (long long)f->running,
			  (unsigned long long)f->pass.late);
}

static const char *use_word(size_t i)
{
	return period_texts[i].name;
}

static const char *order_word(size_t i)
{
	static const char *const words[] = {"time", "hierarchy"};

	return i < ARRAY_SIZE(words) ? words[i] : NULL;
}

static const struct option periods_options_table[] = {
	{0, "period", OPTION_LIST, "DEFINITION",
	 "'NAME(PARENT) : BEGIN : END : CAPTURE = EXPR, ...', also as an argument, or in the "
	 "syntax of lttng-analyses ($evt.$name == \"syscall_exit_read\"); repeatable",
	 offsetof(struct periods_flags, define)},
	{'f', "file", OPTION_LIST, "FILE",
	 "read definitions from this file, one per line; repeatable",
	 offsetof(struct periods_flags, file)},
	{0, "use", OPTION_LIST, "NAME",
	 "built-in definitions: web (nginx, PHP-FPM, MariaDB as one tree), "
	 "http-server, fastcgi, redis, postgresql, mariadb; repeatable",
	 offsetof(struct periods_flags, use), .words = use_word},
	{0, "log", OPTION_FLAG, NULL, "print every match", offsetof(struct periods_flags, log)},
	{0, "keep", OPTION_FLAG, NULL,
	 "store the matches in the trace, as table period, for weir query and sql",
	 offsetof(struct periods_flags, keep)},
	{0, "select", OPTION_LIST, "PERIOD,...", "print these periods only",
	 offsetof(struct periods_flags, select)},
	{0, "aggregate-by", OPTION_STRING, "PERIOD",
	 "for each match of this period, sums of the matches within it",
	 offsetof(struct periods_flags, aggregate_by)},
	{0, "group-by", OPTION_STRING, "PERIOD.CAPTURE,...",
	 "sums for each value of captures, also of enclosing periods",
	 offsetof(struct periods_flags, group_by)},
	{0, "order-by", OPTION_STRING, "ORDER",
	 "order of the matches: time, or hierarchy (each followed by those within it)",
	 offsetof(struct periods_flags, order_by), .words = order_word},
	{0, "period-captures", OPTION_LIST, "CAPTURES",
	 "captures in the syntax of lttng-analyses: 'NAME : a = $evt.FIELD, ... : b = $evt.FIELD, "
	 "...', "
	 "at "
	 "the begin and at the end",
	 offsetof(struct periods_flags, captures)},
	{0, "scan", OPTION_FLAG, NULL, NULL, offsetof(struct periods_flags, scan)},
	{0},
};

static const struct command_example periods_examples[] = {
	{"weir periods --use redis", "each query of a Redis server to its answer"},
	{"weir periods 'save : op == openat && path ~ \"**.tmp\" : op == rename && end.thread == "
	 "begin.thread'",
	 "from the opening of a temporary file to its renaming"},
	{"weir periods --log 'in : enter op == read : op == read && end.thread == begin.thread'",
	 "each read, as it began and ended"},
	{"weir periods --follow --use redis", "the same during a recording, as the queries end"},
	{"weir periods --keep --use http-server && weir query 'from period | by name | count(), "
	 "p99(dur)'",
	 "store them in the trace, and query them"},
	{0},
};

static const struct analysis_reads periods_reads[] = {{TABLE_OP, ~0ull}, {TABLE_COUNT}};

const struct analysis analysis_periods = {
	.files = true,
	.name = "periods",
	.summary = "find requests by the calls that begin and end them",
	.description =
		"A period is defined by the call that begins it and the call that ends it, after "
		"the "
		"recording and without a change to the program: NAME(PARENT) : BEGIN : END : "
		"CAPTURE "
		"= EXPR, .... BEGIN and END are conditions of weir's language over a call; the "
		"moment "
		"is the end of the call, or with `enter` in front its beginning. END compares with "
		"the "
		"call that began the period by `begin.`: end.file == begin.file. `parent.` is the "
		"call "
		"that began the period around it, `parent.parent.` one further out. Any number of "
		"periods may be open at once; an END closes every one that it matches. Without "
		"END, BEGIN ends the open period and begins a new one. A child begins under every "
		"open parent that matches, with NAME(last PARENT) under the one that began last. "
		"connection == "
		"parent.connection joins the two ends of a connection.\n\n"
		"Numbers are compared by what they refer to: fd by the process and the open file, "
		"tid and pid by the thread and the process. A null equals nothing. A child that is "
		"open when its parent ends is cut, and so is a period that a missing call may have "
		"ended; a period without an end in the recording is running. Sums cover complete "
		"periods; the others are counted separately.",
	.examples = periods_examples,
	.order = ANALYSIS_STREAM,
	.reads = periods_reads,
	.options = periods_options_table,
	.options_size = sizeof(struct periods_flags),
	.takes = "period",
	.check = periods_check,
	.run = periods_run,
	.follow = periods_follow,
	.put_members = periods_members,
	.free = periods_free,
};
