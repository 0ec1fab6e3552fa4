/* SPDX-License-Identifier: Apache-2.0 */
/* report_data.c: reads the data of a report: the trace, the selection, loss and marks, threads' times. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "cli/report/report_requests.h"
#include "names/names.h"
#include "schema/ops.h"

static int resolve_selection(struct report *r, struct error *err)
{
	const struct select_flags *f = &r->opts->read.sel;
	int e = choice_make(&r->choice, f, &r->select, &f->where, r->store, err);

	if (e < 0)
		return e;
	r->filter = r->choice.filter;
	r->filtered = r->choice.expr != NULL;
	if (r->ranged) {
		r->filter.from = r->from;
		r->filter.to = r->to;
	}
	return 0;
}

static bool op_waits(int64_t op)
{
	const struct op_def *def = op >= 0 ? op_def((uint32_t)op) : NULL;

	return def && def->class == CLASS_WAIT;
}

static bool names_op(const struct expr *e)
{
	return e->type.type == QUERY_CODE && !strcmp(e->type.vocab, "op");
}

/* True if the expression itself selects waiting calls, by class or by name. */
static bool report_data_names_waits(const struct expr *e)
{
	bool found = e->kind == EXPR_COLUMN
			     ? e->column == OP_CLASS
			     : e->kind == EXPR_CONST && names_op(e) && op_waits(e->value.i);

	for (size_t i = 0; e->kind == EXPR_IN && names_op(e->arg[0]) && i < e->count; i++)
		found |= op_waits(e->list[i].i);
	for (unsigned int i = 0; i < e->arg_count && !found; i++)
		found = report_data_names_waits(e->arg[i]);
	return found;
}

/* ---- marks ---- */

/* Parses "cpu_ns=3012 held_ns=0 ring_bytes=64": the number after a word, 0 if absent. */
static uint64_t report_data_number_of(struct bytes text, const char *word)
{
	const uint8_t *p = memmem(text.data, text.len, word, strlen(word)),
		      *end = text.data + text.len;
	uint64_t n = 0;

	if (!p)
		return 0;
	for (p += strlen(word); p < end && *p >= '0' && *p <= '9' && n < INT64_MAX / 10; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	return n;
}

static int mark_text_take(struct mark_text *m, struct bytes text)
{
	m->count++;
	if (m->text) {
		m->differ |= !bytes_is(text, m->text);
		return 0;
	}
	m->text = strndup((const char *)text.data, text.len);
	return m->text ? 0 : -ENOMEM;
}

static int take_mark(struct report *r, const struct batch *b, size_t row)
{
	struct bytes name = batch_get_bytes(b, MARK_NAME, row),
		     text = batch_get_bytes(b, MARK_TEXT, row);
	bool synth = bytes_is(name, "weir.synth");

	if (!text.data)
		return 0;
	if (bytes_is(name, "weir.sequence"))
		r->gap_free_marks += bytes_is(text, "gap-free");
	if (bytes_is(name, "weir.cost")) {
		r->held_ns += report_data_number_of(text, "held_ns=");
		r->left_out += report_data_number_of(text, "left_out=");
		r->masked += report_data_number_of(text, "masked=");
	}
	r->synthetic += synth;
	r->sources += bytes_is(name, "weir.version");
	if (bytes_is(name, "weir.selection"))
		return mark_text_take(&r->selection, text);
	return synth || bytes_is(name, "weir.command") ? mark_text_take(&r->command, text) : 0;
}

static int report_data_take_marks(void *arg, const struct store_block *block, const struct batch *b)
{
	int e = 0;

	for (size_t row = 0; e >= 0 && row < b->rows; row++)
		e = take_mark(arg, b, row);
	return e;
}

static int read_marks(struct report *r, struct error *err)
{
	int e = store_each(r->store, 1ull << TABLE_MARK, ~0ull, report_data_take_marks, r, err);

	return e < 0 ? error_errno(err, e, "reading the trace") : 0;
}

/* Drops a text that not every trace has. */
static void mark_text_settle(struct mark_text *m, size_t traces)
{
	m->differ |= m->text && m->count < traces;
}

/* The recorders state that nothing was lost; if blocks have event numbers, those must agree. */
static void check_numbers(struct report *r)
{
	struct store_events e;

	store_events(r->store, &e);
	r->gap_free = r->gap_free_marks >= store_recording_count(r->store) && !e.missing && !e.gaps;
}

/* ---- files shown as one ---- */

/*
 * Assigns every file its line before the sums are made, so that a server's million connections are one key. Only ids
 * of the first trace have an alias; those of further traces are beyond the array and are grouped later.
 */
static int report_data_alias_files(struct report *r)
{
	int e = file_lines_new(&r->lines);

	if (e >= 0)
		e = file_lines_update(r->lines, r->dims);
	r->alias_count = dims_dense(r->dims, TABLE_FILE, 0);
	r->alias = calloc(r->alias_count + 1, sizeof(*r->alias));
	r->members = calloc(r->alias_count + 1, sizeof(*r->members));
	if (e < 0 || !r->alias || !r->members)
		return -ENOMEM;
	for (size_t i = 0; i < r->alias_count; i++)
		r->alias[i] = file_lines_line(r->lines, r->dims, (int64_t)i);
	return 0;
}

static bool is_accept(int64_t op)
{
	const struct op_def *def = op >= 0 ? op_def((uint32_t)op) : NULL;

	return def && (!strcmp(def->name, "accept") || !strcmp(def->name, "accept4"));
}

/* Of several unix sockets with one address, one is the listening socket that produced the others: it is not counted. */
static int take_off_unix(struct report *r)
{
	_cleanup_(map_free) struct map done = {0};
	int e = 0;

	for (size_t i = 0; e >= 0 && i < rollup_count(r->scan.rollup); i++) {
		const struct rollup_row *row = rollup_row(r->scan.rollup, i);
		struct dims_file room;
		const struct dims_file *f =
			is_accept(row->op) ? dims_file(r->dims, row->file_id, &room) : NULL;
		uint64_t id = (uint64_t)row->file_id;

		if (!f || f->family != AF_UNIX || id >= r->alias_count || r->members[id] < 2 ||
		    map_get(&done, id, NULL))
			continue;
		r->members[id]--;
		e = map_set(&done, id, 1);
	}
	return e;
}

/* Counts each file once, whichever of its versions calls named. */
static int count_members(struct report *r)
{
	uint8_t *seen = r->scan.file_seen;
	const uint8_t counted = 2;

	for (size_t i = 0; i < r->alias_count; i++) {
		int64_t file = seen[i] & 1 ? file_lines_file(r->lines, r->dims, (int64_t)i) : -1;
		int64_t line = r->alias[i];

		if (file < 0 || (size_t)file >= r->alias_count || (size_t)line >= r->alias_count ||
		    seen[file] & counted || file_lines_is_listener(r->lines, file))
			continue;
		seen[file] |= counted;
		r->members[line]++;
	}
	return take_off_unix(r);
}

/* ---- opening ---- */

/* Groups files for tables that need more than the sums. 0 or -ENOMEM. */
static int report_data_group_files(struct report *r, struct scan_options *scan)
{
	int e = report_data_alias_files(r);

	scan->seconds = true;
	scan->file_alias = r->alias;
	scan->file_alias_count = r->alias_count;
	return e;
}

int report_open(struct report *r, const struct report_opts *opts, int argc, char **argv,
		const char *which, size_t slowest, struct error *err)
{
	const unsigned int all =
		ROLLUP_OP | ROLLUP_THREAD | ROLLUP_FILE | ROLLUP_ERR | ROLLUP_CLASS;
	struct scan_options scan = {
		.keys = which ? report_table_keys(which) : all,
		.slowest = slowest,
		.slowest_io = !which,
	};
	bool lines = scan.keys & ROLLUP_FILE && (!which || report_table_beside(which) == TABLE_OP);
	int e;

	*r = (struct report){.opts = opts, .names = argv, .name_count = argc};
	e = read_flags_select(&opts->read, &r->select, err);
	if (e < 0)
		return -EINVAL;
	e = read_flags_open(&opts->read, argc, argv, &r->store, err);
	if (e < 0)
		return e == -EINVAL ? -EIO : e; /* an invalid trace is not wrong usage */
	/* reading file names takes time if there are millions */
	r->dims = scan.keys & ROLLUP_FILE || slowest ? store_dims(r->store)
						     : store_dims_few(r->store);
	store_range(r->store, &r->first, &r->last);
	if (r->first == INT64_MIN || r->last == INT64_MIN)
		r->first = r->last = 0;
	e = read_flags_range(&opts->read, r->first, r->last, &r->from, &r->to, err);
	if (e < 0)
		return e;
	r->ranged = opts->read.from || opts->read.to;
	if (r->ranged && r->from > r->to)
		return error_set(err, -EINVAL, "--from %s is later than --to %s", opts->read.from,
				 opts->read.to);
	e = resolve_selection(r, err);
	if (e < 0)
		return e;
	r->waits = r->select.waits ||
		   (r->choice.where.expr && report_data_names_waits(r->choice.where.expr));
	scan.slowest_waits = r->waits;
	e = loss_read(&r->loss, r->store, err);
	if (e >= 0)
		e = read_marks(r, err);
	if (e < 0)
		return e;
	r->sources = MAX(r->sources, store_trace_count(r->store));
	mark_text_settle(&r->command, r->sources);
	mark_text_settle(&r->selection, r->sources);
	check_numbers(r);
	r->hosts = names_hosts(r->dims);
	e = lines ? report_data_group_files(r, &scan) : 0;
	if (e < 0)
		return error_errno(err, e, "grouping files");
	scan.filter = r->filtered || r->ranged ? &r->filter : NULL;
	e = scan_run(r->store, &scan, &r->scan, err);
	if (e < 0)
		return e;
	loss_take_damage(&r->loss, r->store); /* more damage may be found while blocks are read */
	/* From here on the range has both ends. */
	r->from = r->ranged ? MAX(r->from, r->first) : r->first;
	r->to = r->ranged ? MIN(r->to, r->last) : r->last;
	e = count_members(r);
	return e < 0 ? error_errno(err, e, "counting connections") : 0;
}

struct sums_ask report_ask(const struct report *r)
{
	const struct scan_filter *f = r->filtered || r->ranged ? &r->filter : NULL;

	return (struct sums_ask){.store = r->store,
				 .filter = f ? f->where : NULL,
				 .from = f ? f->from : INT64_MIN,
				 .to = f ? f->to : INT64_MAX};
}

void report_close(struct report *r)
{
	scan_result_free(&r->scan);
	choice_free(&r->choice);
	map_free(&r->trees);
	map_free(&r->alone);
	select_free(&r->select);
	store_free(r->store);
	free(r->command.text);
	free(r->selection.text);
	file_lines_free(r->lines);
	free(r->alias);
	free(r->members);
}

/* ---- threads' times ---- */

static uint64_t *time_slot(struct thread_time *t, int64_t class)
{
	struct rollup_row row = {.class = class};

	return report_is_wait(&row) ? &t->wait : report_is_io(&row) ? &t->io : &t->other;
}

struct thread_times {
	struct map tasks; /* -> index */
	struct thread_time *items;
	size_t count, cap;
};

static int times_get(const struct report *r, struct thread_times *all, int64_t thread_id,
		     struct thread_time **ret)
{
	const struct dims_thread *t = dims_thread(r->dims, thread_id);
	int64_t task = names_task(r->dims, thread_id), start, stop;
	bool new;

	*ret = array_of_key(all->items, all->count, all->cap, &all->tasks, (uint64_t)task, &new);
	if (!*ret)
		return -ENOMEM;
	if (new)
		**ret = (struct thread_time){.task = task, .tid = t ? t->tid : -1};
	if (t) {
		const struct dims_thread *born = dims_thread(r->dims, task);

		/* The latest version has the name and the end, the first has the start. */
		t = dims_thread(r->dims, dims_latest_thread(r->dims, thread_id));
		(*ret)->comm = t->comm;
		start = MAX(born ? born->since : t->since, r->from);
		stop = t->stopped == INT64_MIN ? r->to : MIN(t->stopped, r->to);
		(*ret)->span =
			stop > start ? MAX((*ret)->span, (uint64_t)(stop - start)) : (*ret)->span;
	}
	return 0;
}

int report_running(const struct report *r, struct rollup **ret)
{
	_cleanup_(batch_freep) struct batch *ended = NULL;
	int e = batch_new(&ended, TABLE_OP);

	if (e >= 0)
		e = batch_append(ended, r->scan.running, 0, r->scan.running->rows);
	for (size_t i = 0; e >= 0 && i < ended->rows; i++) {
		e = batch_set(ended, OP_STATUS, i, 0);
		if (e >= 0)
			e = batch_set(ended, OP_DUR, i,
				      clip_part(r->store, r->filter.from, r->filter.to, ended, i));
	}
	if (e >= 0)
		e = rollup_new(ret, ROLLUP_OP);
	return e < 0 ? e : rollup_add(*ret, ended);
}

static int times_order(const void *a, const void *b)
{
	const struct thread_time *x = a, *y = b;

	return ORDER(MAX(y->io, y->async), MAX(x->io, x->async)) ?: ORDER(y->wait, x->wait)
								 ?: ORDER(x->task, y->task);
}

/* Requests overlap, and their thread does other work meanwhile: they are not part of its time. */
static int times_take_requests(const struct report *r, struct thread_times *all)
{
	struct beside_groups requests;
	int e = report_requests(r, &requests);

	for (size_t i = 0; e >= 0 && i < requests.count; i++) {
		const struct request_time *q = (struct request_time *)requests.all + i;
		struct thread_time *t;

		e = times_get(r, all, q->task, &t);
		if (e < 0)
			break;
		t->io -= MIN(t->io, q->io);
		t->wait -= MIN(t->wait, q->wait);
		t->other -= MIN(t->other, q->other);
		t->async = (uint64_t)cover_sum(&q->under_way);
	}
	report_requests_free(&requests);
	return e;
}

int report_threads(const struct report *r, struct thread_time **ret, size_t *ret_count)
{
	_cleanup_(rollup_freep) struct rollup *sums = NULL;
	struct thread_times all = {0};
	uint64_t key, value;
	size_t pos = 0;
	int e = rollup_project(r->scan.rollup, ROLLUP_THREAD | ROLLUP_CLASS, &sums);

	for (size_t i = 0; e >= 0 && i < rollup_count(sums); i++) {
		const struct rollup_row *row = rollup_row(sums, i);
		struct thread_time *t;

		e = times_get(r, &all, row->thread_id, &t);
		if (e >= 0)
			*time_slot(t, row->class) =
				add_sat(*time_slot(t, row->class), row->time_ns);
	}
	while (e >= 0 && map_next(&r->scan.clip.by, &pos, &key, &value)) {
		struct thread_time *t;

		e = times_get(r, &all, clip_thread(key), &t);
		if (e >= 0)
			*time_slot(t, clip_class(key)) += value;
	}
	e = e < 0 ? e : times_take_requests(r, &all);
	map_free(&all.tasks);
	if (e < 0) {
		free(all.items);
		return e;
	}
	array_sort(all.items, all.count, times_order);
	*ret = all.items;
	*ret_count = all.count;
	return 0;
}
