/* SPDX-License-Identifier: Apache-2.0 */
/* report_rows.c: fills the tables of `report`. */
#include "cli/report/report_rows.h"
#include "cli/report/report_phases.h"
#include "cli/report/report_requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "analysis/disks/disk_use.h"
#include "cli/report/beside/beside.h"
#include "cli/terminal/text.h"
#include "names/names.h"

#define SLOW_REST    13 /* columns for a duration, and between columns */
#define MICROSECONDS 3	/* additional digits after those of report_when() */
#define CALL_MIN     20

/* ---- tables of sums ---- */

#define CALLS                                      \
	{                                          \
		"calls", {QUERY_INT}, ANSWER_COUNT \
	}
#define ERRORS                                                                               \
	{                                                                                    \
		"errors", {QUERY_INT}, ANSWER_COUNT, .dash = true, .alarm = true, .gives = 4 \
	}
#define BYTES                                                       \
	{                                                           \
		"bytes", {QUERY_SIZE}, .word = "size", .dash = true \
	}
#define TIME                                                       \
	{                                                          \
		"time", {QUERY_DUR}, .word = "dur", .weight = true \
	}
#define SPARK                                                                               \
	{                                                                                   \
		FORMAT_SPARK_TITLE, {QUERY_TEXT}, .people = true, .gives = 9, .fixed = true \
	}
/* The machine of a row's thread or file, which people read before its name. */
#define HOST                                           \
	{                                              \
		"host", {QUERY_TEXT}, .programs = true \
	}
#define TEXT(NAME)                 \
	{                          \
		NAME,              \
		{                  \
			QUERY_TEXT \
		}                  \
	}
/* on a narrow terminal the middle percentile and the drawing are dropped */
#define MEASURES                                                                     \
	CALLS, ERRORS, BYTES, TIME, {"p50", {QUERY_DUR}, .word = "dur", .gives = 6}, \
		{"p90", {QUERY_DUR}, .word = "dur", .gives = 8},                     \
		{"p99", {QUERY_DUR}, .word = "dur"}, {"max", {QUERY_DUR}, .word = "dur"}, SPARK

static const struct answer_column op_columns[] = {
	TEXT("op"), {"class", {QUERY_CODE, "class"}, .gives = 7}, MEASURES};
static const struct answer_column file_columns[] = {
	MEASURES,
	{"files", {QUERY_INT}, ANSWER_COUNT, .programs = true},
	{"file", {QUERY_TEXT}, .programs = true},
	HOST,
	{"file", {QUERY_TEXT}, .people = true},
};
static const struct answer_column dir_columns[] = {MEASURES, TEXT("dir")};
static const struct answer_column peer_columns[] = {
	MEASURES, {"connections", {QUERY_INT}, ANSWER_COUNT, .gives = 5}, TEXT("peer"), HOST};
static const struct answer_column process_columns[] = {
	MEASURES,
	{"waits", {QUERY_INT}, ANSWER_COUNT, .dash = true, .gives = 5},
	{"waiting", {QUERY_DUR}, .word = "dur", .dash = true},
	{"pid", {QUERY_INT}},
	{"process", {QUERY_TEXT}, .fixed = true},
	HOST,
	{"argument", {QUERY_TEXT}, .gives = 9},
	{"exe", {QUERY_TEXT}, .programs = true}};
static const struct answer_column thread_columns[] = {
	MEASURES,
	{"waits", {QUERY_INT}, ANSWER_COUNT, .dash = true, .gives = 5},
	{"waiting", {QUERY_DUR}, .word = "dur", .dash = true},
	{"async", {QUERY_DUR}, .word = "dur", .dash = true, .gives = 7},
	{"tid", {QUERY_INT}},
	TEXT("thread"),
	HOST};
static const struct answer_column error_columns[] = {
	{"error", {QUERY_TEXT}, .alarm = true, .fixed = true},
	{"op", {QUERY_TEXT}, .fixed = true},
	CALLS,
	TIME,
	{"p50", {QUERY_DUR}, .word = "dur", .gives = 6},
	{"max", {QUERY_DUR}, .word = "dur"},
	TEXT("file"),
	HOST,
};
static const struct answer_column slow_columns[] = {
	{"dur", {QUERY_DUR}, .word = "dur"},
	{"start", {QUERY_TIME}},
	{"thread", {QUERY_TEXT}, .fixed = true},
	HOST,
	{"tid", {QUERY_INT}, .programs = true},
	{"op", {QUERY_TEXT}, .programs = true},
	{"file", {QUERY_TEXT}, .programs = true},
	{"bytes", {QUERY_SIZE}, .word = "size", .programs = true},
	{"ret", {QUERY_INT}, .programs = true},
	{"error", {QUERY_TEXT}, .programs = true},
	TEXT("call"),
};

static const struct answer_column phase_columns[] = {
	CALLS,
	TIME,
	{"cpu", {QUERY_DUR}, .word = "dur", .dash = true},
	{"runq", {QUERY_DUR}, .word = "dur", .dash = true},
	{"io_wait", {QUERY_DUR}, .word = "dur", .dash = true},
	{"sleep", {QUERY_DUR}, .word = "dur", .dash = true},
	{"queued", {QUERY_DUR}, .word = "dur", .dash = true, .gives = 11},
	{"device", {QUERY_DUR}, .word = "dur", .dash = true, .gives = 10},
	{"Cpu Runq Io Sleep", {QUERY_TEXT}, .people = true, .gives = 8, .fixed = true},
	{"misses", {QUERY_INT}, ANSWER_COUNT, .dash = true, .gives = 7},
	{"read", {QUERY_SIZE}, .word = "size", .dash = true, .gives = 6},
	{"unknown", {QUERY_INT}, ANSWER_COUNT, .dash = true, .gives = 9},
	{"op", {QUERY_TEXT}, .fixed = true},
	{"process", {QUERY_TEXT}, .gives = 5},
	TEXT("file"),
};

static void put_measures(struct answer_list *t, const struct rollup_row *row, uint64_t requests_ns)
{
	answer_list_uint(t, row->calls);
	answer_list_uint(t, row->errors);
	answer_list_uint(t, row->bytes);
	answer_list_uint(t, row->time_ns - MIN(row->time_ns, requests_ns));
	answer_list_uint(t, (uint64_t)report_quantile(row, 0.5));
	answer_list_uint(t, (uint64_t)report_quantile(row, 0.9));
	answer_list_uint(t, (uint64_t)report_quantile(row, 0.99));
	answer_list_uint(t, row->max_ns);
	answer_list_str(t, format_spark(&row->hist).s);
}

static int fill_ops(struct report *r, struct answer_list *t, struct error *err)
{
	_cleanup_(rollup_freep) struct rollup *ops = NULL;
	int e = rollup_project(r->scan.rollup, ROLLUP_OP | ROLLUP_CLASS, &ops);

	for (size_t i = 0; e >= 0 && i < rollup_count(ops); i++) {
		const struct rollup_row *row = rollup_row(ops, i);
		char name[32];

		answer_list_str(t, report_op_name(row->op, name));
		answer_list_int(t, row->class);
		put_measures(t, row, 0);
	}
	return e;
}

struct keyed {
	struct grouping by;
	bool file; /* group by file, else by thread */
};

/* Replaces ids by groups; in tables by file, waiting calls count only if selected. */
static bool map_group(void *arg, struct rollup_row *key)
{
	struct keyed *k = arg;
	int64_t group = grouping_of(&k->by, k->file ? key->file_id : key->thread_id);

	if (k->file)
		key->file_id = group;
	else
		key->thread_id = group;
	return group >= 0 && (k->by.report->waits || !report_is_wait(key));
}

/* Waiting calls that moved bytes, if the table leaves these calls out. */
static bool map_moved(void *arg, struct rollup_row *key)
{
	struct keyed *k = arg;

	if (!key->bytes || !report_is_wait(key) || k->by.report->waits)
		return false;
	key->file_id = grouping_of(&k->by, key->file_id);
	return key->file_id >= 0;
}

/* Puts a name, with that of its machine if there are several, and the machine as the column for programs. */
static int report_rows_put_name(const struct report *r, struct answer_list *t, enum table_id table,
				int64_t id, struct bytes name)
{
	_cleanup_buf_ struct buf b = {0};

	buf_fail(&b, report_put_host(r, table, id, &b));
	buf_append(&b, name.data, name.len);
	answer_list_text(t, buf_bytes(&b));
	answer_list_some(t, names_host(r->dims, table, id));
	return buf_status(&b);
}

/* "/tmp/x (10 files)": files that successively had this path. */
static int put_name_of_many(const struct report *r, struct answer_list *t, const struct group *g)
{
	_cleanup_buf_ struct buf b = {0};
	int e;

	buf_fail(&b, report_put_host(r, TABLE_FILE, g->id, &b));
	buf_append(&b, g->name.data, g->name.len);
	if (g->members > 1 && g->name.len && g->name.data[0] == '/')
		buf_printf(&b, " (%s files)", format_count(g->members).s);
	e = buf_status(&b);
	if (e >= 0)
		answer_list_text(t, buf_bytes(&b));
	return e;
}

static int fill_by_file(struct report *r, struct answer_list *t, group_fn *fn)
{
	_cleanup_(rollup_freep) struct rollup *sums = NULL, *waited = NULL;
	_cleanup_free_ uint64_t *moved = NULL; /* by group, in calls that waited */
	struct keyed k = {.by = {.report = r, .fn = fn, .members = true}, .file = true};
	int e = rollup_regroup(r->scan.rollup, ROLLUP_FILE, map_group, &k, &sums);

	if (e >= 0)
		e = rollup_regroup(r->scan.rollup, ROLLUP_FILE, map_moved, &k, &waited);
	moved = calloc(grouping_count(&k.by) + 1, sizeof(*moved));
	e = moved ? e : -ENOMEM;
	for (size_t i = 0; e >= 0 && i < rollup_count(waited); i++)
		moved[rollup_row(waited, i)->file_id] = rollup_row(waited, i)->bytes;
	for (size_t i = 0; e >= 0 && i < rollup_count(sums); i++) {
		struct rollup_row row = *rollup_row(sums, i);
		const struct group *g = &k.by.groups[row.file_id];

		row.bytes = add_sat(row.bytes, moved[row.file_id]);
		put_measures(t, &row, 0);
		if (fn != group_dir)
			answer_list_uint(t, g->members);
		if (fn == group_peer)
			e = report_rows_put_name(r, t, TABLE_FILE, g->id, g->name);
		else
			answer_list_text(t, g->name);
		if (fn == group_path) {
			answer_list_some(t, names_host(r->dims, TABLE_FILE, g->id));
			e = put_name_of_many(r, t, g);
		}
	}
	e = e < 0 ? e : k.by.error;
	grouping_free(&k.by);
	return e;
}

/* Includes threads that only wait, with zeros. */
static bool map_waiting(void *arg, struct rollup_row *key)
{
	struct keyed *k = arg;

	key->thread_id = grouping_of(&k->by, key->thread_id);
	key->class = report_is_wait(key) ? CLASS_WAIT : CLASS_OTHER;
	return key->thread_id >= 0;
}

/* Puts "redis-server 30617" as two values. */
static int put_who(const struct report *r, struct answer_list *t, const struct group *g)
{
	struct bytes name = g->name;
	const uint8_t *space = name.len ? memrchr(name.data, ' ', name.len) : NULL;
	struct error ignored = {0};
	int64_t id;

	if (space && parse_int((const char *)space + 1, &id, &ignored) == 0) {
		answer_list_int(t, id);
		name.len = (size_t)(space - name.data);
	} else {
		answer_list_null(t);
	}
	return report_rows_put_name(r, t, TABLE_THREAD, g->id, name);
}

/* The sums of a thread or process: of its calls, and of its waits. */
struct thread_sums {
	const struct rollup_row *row;
	uint64_t waits, waiting;
	uint64_t moved; /* bytes of calls that waited */
	uint64_t requests,
		async; /* time of requests; for a thread, the time during which any was under way */
};

/* Requests of io_uring and libaio overlap, so they are not part of the submitting thread's time. */
static int take_requests(struct report *r, struct grouping *by, struct thread_sums *sums,
			 size_t count)
{
	struct beside_groups requests;
	int e = report_requests(r, &requests);

	for (size_t i = 0; e >= 0 && i < requests.count; i++) {
		const struct request_time *q = (struct request_time *)requests.all + i;
		int64_t g = grouping_of(by, q->task);

		if (g < 0 || (size_t)g >= count)
			continue;
		sums[g].requests = add_sat(sums[g].requests, add_sat(q->io, q->other));
		sums[g].waiting -= MIN(sums[g].waiting, q->wait);
		sums[g].async = add_sat(sums[g].async, (uint64_t)cover_sum(&q->under_way));
	}
	report_requests_free(&requests);
	return e;
}

/* For each group of processes, finds what distinguishes it from others of the same name. */
static int find_apart(const struct report *r, const struct grouping *by, int64_t *ids,
		      struct bytes **apart)
{
	for (size_t g = 0; g < grouping_count(by); g++)
		ids[g] = names_process_of(r->dims, by->groups[g].id);
	return names_apart(r->dims, ids, grouping_count(by), apart);
}

static void put_program(struct report *r, struct answer_list *t, int64_t id, struct bytes apart)
{
	const struct dims_process *p = id < 0 ? NULL : dims_process(r->dims, id);

	answer_list_text(t, apart);
	answer_list_some(t, p && p->exe.len ? p->exe : (struct bytes){0});
}

static int fill_by_thread(struct report *r, struct answer_list *t, group_fn *fn)
{
	bool processes = fn == group_process;
	_cleanup_(rollup_freep) struct rollup *sums = NULL;
	_cleanup_free_ struct thread_sums *by_group = NULL;
	_cleanup_free_ struct bytes *apart = NULL;
	_cleanup_free_ int64_t *ids = NULL;
	const struct rollup_row none = {0};
	struct keyed k = {.by = {.report = r, .fn = fn}};
	int e = rollup_regroup(r->scan.rollup, ROLLUP_THREAD | ROLLUP_CLASS, map_waiting, &k,
			       &sums);
	size_t groups = e >= 0 ? grouping_count(&k.by) : 0;

	by_group = calloc(groups + 1, sizeof(*by_group));
	ids = calloc(groups + 1, sizeof(*ids));
	e = by_group && ids ? e : -ENOMEM;
	if (e >= 0 && processes)
		e = find_apart(r, &k.by, ids, &apart);
	for (size_t i = 0; e >= 0 && i < rollup_count(sums); i++) {
		const struct rollup_row *one = rollup_row(sums, i);

		if (one->thread_id < 0 || (size_t)one->thread_id >= groups)
			continue;
		if (report_is_wait(one))
			by_group[one->thread_id] =
				(struct thread_sums){.row = by_group[one->thread_id].row,
						     .waits = one->calls,
						     .waiting = one->time_ns,
						     .moved = one->bytes};
		else
			by_group[one->thread_id].row = one;
	}
	if (e >= 0)
		e = take_requests(r, &k.by, by_group, groups);
	for (size_t g = 0; e >= 0 && g < groups; g++) {
		struct rollup_row row = by_group[g].row ? *by_group[g].row : none;

		row.bytes = add_sat(row.bytes, by_group[g].moved);
		put_measures(t, &row, by_group[g].requests);
		answer_list_uint(t, by_group[g].waits);
		answer_list_uint(t, by_group[g].waiting);
		if (!processes)
			answer_list_uint(t, by_group[g].async);
		e = put_who(r, t, &k.by.groups[g]);
		if (processes && e >= 0)
			put_program(r, t, ids[g], apart[g]);
	}
	e = e < 0 ? e : k.by.error;
	grouping_free(&k.by);
	return e;
}

/* A failure has one row, with the first of its files. */
static bool map_error(void *arg, struct rollup_row *key)
{
	struct keyed *k = arg;

	key->file_id = grouping_of(&k->by, key->file_id);
	return key->err > 0 && !key->second;
}

static int fill_errors(struct report *r, struct answer_list *t, struct error *err)
{
	_cleanup_(rollup_freep) struct rollup *sums = NULL;
	struct keyed k = {.by = {.report = r, .fn = group_file}, .file = true};
	int e = rollup_regroup(r->scan.rollup, ROLLUP_FILE | ROLLUP_OP | ROLLUP_ERR, map_error, &k,
			       &sums);

	for (size_t i = 0; e >= 0 && i < rollup_count(sums); i++) {
		const struct rollup_row *row = rollup_row(sums, i);
		char word[32], name[32];

		answer_list_str(t, report_err_name(row->err, word));
		answer_list_str(t, report_op_name(row->op, name));
		answer_list_uint(t, row->calls);
		answer_list_uint(t, row->time_ns);
		answer_list_uint(t, (uint64_t)report_quantile(row, 0.5));
		answer_list_uint(t, row->max_ns);
		if (row->file_id >= 0)
			e = report_rows_put_name(r, t, TABLE_FILE, k.by.groups[row->file_id].id,
						 k.by.groups[row->file_id].name);
		else
			e = report_rows_put_name(r, t, TABLE_FILE, -1,
						 (struct bytes){(const uint8_t *)"", 0});
	}
	e = e < 0 ? e : k.by.error;
	grouping_free(&k.by);
	return e;
}

/* ---- single calls ---- */

static void put_known(struct answer_list *t, const struct batch *b, unsigned int column, size_t row)
{
	answer_list_if(t, !batch_is_null(b, column, row), batch_get(b, column, row, 0));
}

enum cell_times report_times(const struct report *r)
{
	return cell_times_of(r->opts->read.rel, r->opts->read.utc);
}

/* Width of a call on a terminal, so that the paths in it are cut first; elsewhere a call is not cut. */
static size_t call_room(struct report *r)
{
	const struct batch *b = r->scan.slowest;
	size_t thread = strlen("thread"), start;

	if (r->opts->read.json || !text_terminal())
		return SIZE_MAX / 2;
	start = report_times(r) == CELL_REL
			? strlen(format_rel(clock_between(r->first, r->last), 6).s)
			: strlen(report_when(r, r->first).s) + MICROSECONDS;
	for (size_t i = 0; i < b->rows; i++) {
		const struct dims_thread *who =
			dims_thread(r->dims, batch_get(b, OP_THREAD_ID, i, -1));

		thread = MAX(thread,
			     (who ? who->comm.len : 0) + (r->hosts > 1 ? REPORT_HOST_MAX + 1 : 0));
	}
	return MAX(text_width(), SLOW_REST + start + thread + CALL_MIN) -
	       (SLOW_REST + start + thread);
}

static int fill_slow(struct report *r, struct answer_list *t, struct error *err)
{
	const struct batch *b = r->scan.slowest;
	size_t room = call_room(r);

	for (size_t i = 0; i < b->rows; i++) {
		_cleanup_buf_ struct buf call = {0};
		int64_t file = batch_get(b, OP_FILE_ID, i, -1),
			thread = batch_get(b, OP_THREAD_ID, i, -1);
		int64_t error = batch_get(b, OP_ERR, i, -1);
		const struct dims_thread *who = dims_thread(r->dims, thread);
		char name[32];
		int e = report_call(r, b, i, room, &call);

		if (e < 0)
			return e;
		answer_list_uint(t, (uint64_t)MAX(batch_get(b, OP_DUR, i, 0), 0));
		put_known(t, b, OP_START, i);
		e = report_rows_put_name(r, t, TABLE_THREAD, thread,
					 who ? who->comm : (struct bytes){NULL, 0});
		if (e < 0)
			return e;
		put_known(t, b, OP_TID, i);
		answer_list_str(t, report_op_name(batch_get(b, OP_OP, i, -1), name));
		answer_list_some(t, file >= 0 ? dims_file_version_name(r->dims, file)
					      : (struct bytes){0});
		answer_list_uint(t, (uint64_t)MAX(batch_get(b, OP_BYTES, i, 0), 0));
		put_known(t, b, OP_RET, i);
		answer_list_str(t, error > 0 ? report_err_name(error, name) : NULL);
		answer_list_text(t, buf_bytes(&call));
	}
	return 0;
}

/* ---- the tables, and their order ---- */

#define BY_OP (ROLLUP_OP | ROLLUP_CLASS)
#define BY_FILE \
	(ROLLUP_FILE | ROLLUP_OP | ROLLUP_CLASS) /* op: report_data.c counts connections by it */
#define BY_THREAD (ROLLUP_THREAD | ROLLUP_CLASS)
#define BY_ERROR  (ROLLUP_FILE | ROLLUP_OP | ROLLUP_ERR)

static const struct table_kind {
	const char *name;
	const struct answer_column *columns;
	size_t column_count;
	const char *sort;
	int (*fill)(struct report *r, struct answer_list *t, struct error *err);
	unsigned int keys; /* keys of the sums behind the table */
	/* the source of its rows, if that is a table recorded on request (--with); else TABLE_OP */
	enum table_id table;
	group_fn *by_file,
		*by_thread; /* for sums by groups of files or threads, in place of `fill` */
} kinds[] = {
	{"ops", op_columns, ARRAY_SIZE(op_columns), "time", fill_ops, BY_OP},
	{"files", file_columns, ARRAY_SIZE(file_columns), "time", NULL, BY_FILE,
	 .by_file = group_path},
	{"dirs", dir_columns, ARRAY_SIZE(dir_columns), "time", NULL, BY_FILE, .by_file = group_dir},
	{"processes", process_columns, ARRAY_SIZE(process_columns), "time", NULL, BY_THREAD,
	 .by_thread = group_process},
	{"threads", thread_columns, ARRAY_SIZE(thread_columns), "time", NULL, BY_THREAD,
	 .by_thread = group_task},
	{"peers", peer_columns, ARRAY_SIZE(peer_columns), "time", NULL, BY_FILE,
	 .by_file = group_peer},
	{"errors", error_columns, ARRAY_SIZE(error_columns), "calls", fill_errors, BY_ERROR},
	{"slow", slow_columns, ARRAY_SIZE(slow_columns), "dur", fill_slow, 0},
	{"net", beside_net_columns, BESIDE_NET_COLUMNS, "bytes", beside_net, ROLLUP_FILE,
	 TABLE_NET_SAMPLE},
	{"block", beside_block_columns, BESIDE_BLOCK_COLUMNS, "bytes", beside_block,
	 ROLLUP_THREAD | ROLLUP_FILE, TABLE_REQUEST},
	{"disks", disk_use_columns, DISK_USE_COLUMNS, "time", beside_disks, 0, TABLE_REQUEST},
	{"phases", phase_columns, ARRAY_SIZE(phase_columns), "time", report_fill_phases, BY_FILE},
	{"sched", beside_sched_columns, BESIDE_SCHED_COLUMNS, "runq", beside_sched, ROLLUP_THREAD,
	 TABLE_SCHED},
	{"irq", beside_irq_columns, BESIDE_IRQ_COLUMNS, "time", beside_irq, ROLLUP_THREAD,
	 TABLE_IRQ},
	{"mem", beside_mem_columns, BESIDE_MEM_COLUMNS, "pages_allocated", beside_mem,
	 ROLLUP_THREAD, TABLE_MEM},
	{"content", beside_content_columns, BESIDE_CONTENT_COLUMNS, "bytes", beside_content,
	 ROLLUP_THREAD | ROLLUP_FILE, TABLE_CHUNK},
};

static const struct table_kind *kind_find(const char *which)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(kinds[i].name, which))
			return &kinds[i];
	}
	return NULL;
}

const char *report_table_name(size_t i)
{
	return i < ARRAY_SIZE(kinds) ? kinds[i].name : NULL;
}

unsigned int report_table_keys(const char *which)
{
	return kind_find(which)->keys;
}

enum table_id report_table_beside(const char *which)
{
	return kind_find(which)->table;
}

bool report_table_known(const char *which)
{
	return kind_find(which) != NULL;
}

/* True if a table before the k-th has a column of that name. */
static bool is_named_before(size_t k, const char *name)
{
	for (size_t i = 0; i < k; i++) {
		for (size_t c = 0; c < kinds[i].column_count; c++) {
			if (!strcmp(kinds[i].columns[c].name, name))
				return true;
		}
	}
	return false;
}

const char *report_column_name(size_t i)
{
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (size_t c = 0; c < kinds[k].column_count; c++) {
			if (!kinds[k].columns[c].people &&
			    !is_named_before(k, kinds[k].columns[c].name) && !i--)
				return kinds[k].columns[c].name;
		}
	}
	return NULL;
}

struct order {
	const struct answer_list *t;
	size_t column;
	size_t class; /* for ops: rows of waiting calls sort last; SIZE_MAX: no such column */
};

static int report_rows_compare_values(const struct answer_list *t, const struct value *a,
				      const struct value *b, size_t c)
{
	int cmp;

	/* Descending; unknown values last. */
	if (!answer_is_text(&t->columns[c]) && a[c].null != b[c].null)
		return a[c].null ? 1 : -1;
	if (!answer_is_text(&t->columns[c]))
		return (a[c].i < b[c].i) - (a[c].i > b[c].i);
	cmp = memcmp(a[c].t.data ? (const char *)a[c].t.data : "",
		     b[c].t.data ? (const char *)b[c].t.data : "", MIN(a[c].t.len, b[c].t.len));
	return cmp ? cmp : (a[c].t.len > b[c].t.len) - (a[c].t.len < b[c].t.len);
}

static int report_rows_compare_rows(const void *x, const void *y, void *arg)
{
	const struct order *o = arg;
	const struct value *a = x, *b = y;
	int cmp = 0;

	if (o->class != SIZE_MAX)
		cmp = (a[o->class].i == CLASS_WAIT) - (b[o->class].i == CLASS_WAIT);
	if (!cmp)
		cmp = report_rows_compare_values(o->t, a, b, o->column);
	/* Ties are broken by all columns, so that the output is the same on every run. */
	for (size_t c = o->t->column_count; !cmp && c-- > 0;)
		cmp = o->t->columns[c].people ? 0 : report_rows_compare_values(o->t, a, b, c);
	return cmp;
}

static int column_find(const struct table_kind *k, const char *name, size_t *ret, struct error *err)
{
	char known[160] = "";
	size_t at = 0;

	for (size_t i = 0; i < k->column_count; i++) {
		if (k->columns[i].people)
			continue;
		if (!strcmp(k->columns[i].name, name)) {
			*ret = i;
			return 0;
		}
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", at ? ", " : "",
				       k->columns[i].name);
		at = MIN(at, sizeof(known) - 1);
	}
	return error_set(err, -EINVAL, "--sort %.40s: report %s has the columns %s", name, k->name,
			 known);
}

int report_sort_check(const char *which, const char *sort, struct error *err)
{
	const struct table_kind *k = kind_find(which);
	size_t column;

	assert(k);
	return column_find(k, sort, &column, err);
}

int report_rows(struct report *r, const char *which, struct answer_list *ret, struct error *err)
{
	const struct table_kind *k = kind_find(which);
	struct order order = {.t = ret, .class = SIZE_MAX};
	int e;

	assert(k);
	*ret = (struct answer_list){.columns = k->columns, .column_count = k->column_count};
	e = column_find(k, r->opts->sort ? r->opts->sort : k->sort, &order.column, err);
	if (e < 0)
		return e;
	e = k->by_file	   ? fill_by_file(r, ret, k->by_file)
	    : k->by_thread ? fill_by_thread(r, ret, k->by_thread)
			   : k->fill(r, ret, err);
	if (e < 0 && err->code)
		return e;
	if (e < 0 || ret->error < 0)
		return error_errno(err, e < 0 ? e : ret->error, "report %s", which);
	if (k->columns == op_columns && !r->opts->sort)
		order.class = 1;
	if (ret->count)
		qsort_r(ret->cells, answer_list_rows(ret), k->column_count * sizeof(*ret->cells),
			report_rows_compare_rows, &order);
	if (r->opts->head > 0)
		answer_list_cut(ret, (size_t)r->opts->head);
	loss_take_damage(&r->loss, r->store); /* found in the tables beside op */
	return 0;
}
