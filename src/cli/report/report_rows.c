/* SPDX-License-Identifier: Apache-2.0 */
/* report_rows.c: fills the tables of `report`. */
#include "cli/report/report_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "names/names.h"
#include "schema/ops.h"

/* ---- cells ---- */

void values_free(struct value_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->cells[i].text);
	free(t->cells);
	*t = (struct value_table){0};
}

static void report_rows_put(struct value_table *t, struct value_cell v)
{
	if (grow((void **)&t->cells, &t->cap, t->count + 1, sizeof(*t->cells)) < 0) {
		free(v.text);
		t->error = -ENOMEM;
		return;
	}
	t->cells[t->count++] = v;
}

static void put_n(struct value_table *t, uint64_t n)
{
	report_rows_put(t, (struct value_cell){.n = n > INT64_MAX ? INT64_MAX : (int64_t)n});
}

static void report_rows_put_text(struct value_table *t, struct bytes text)
{
	struct value_cell v = {.text = malloc(text.len + 1), .len = text.len};

	if (!v.text) {
		t->error = -ENOMEM;
		return;
	}
	if (text.len)
		memcpy(v.text, text.data, text.len);
	v.text[text.len] = '\0';
	report_rows_put(t, v);
}

static void put_str(struct value_table *t, const char *text)
{
	report_rows_put_text(t, (struct bytes){(const uint8_t *)text, strlen(text)});
}

/* ---- tables of sums ---- */

#define MEASURES                                                                        \
	{"calls", VALUE_COUNT}, {"errors", VALUE_COUNT}, {"bytes", VALUE_SIZE},         \
		{"time", VALUE_TIME}, {"p50", VALUE_QUANTILE}, {"p90", VALUE_QUANTILE}, \
		{"p99", VALUE_QUANTILE}, {"max", VALUE_DUR},                            \
	{                                                                               \
		FORMAT_SPARK_TITLE, VALUE_SPARK, .text_only = true                      \
	}

static const struct value_column op_columns[] = {
	{"op", VALUE_TEXT}, {"class", VALUE_TEXT}, MEASURES};
static const struct value_column file_columns[] = {
	MEASURES,
	{"files", VALUE_COUNT, .json_only = true},
	{"file", VALUE_TEXT, .json_only = true},
	{"file", VALUE_TEXT, .text_only = true},
};
static const struct value_column dir_columns[] = {MEASURES, {"dir", VALUE_TEXT}};
static const struct value_column peer_columns[] = {
	MEASURES, {"connections", VALUE_COUNT}, {"peer", VALUE_TEXT}};
static const struct value_column process_columns[] = {
	MEASURES,
	{"waits", VALUE_COUNT},
	{"waiting", VALUE_TIME},
	{"pid", VALUE_INT},
	{"process", VALUE_TEXT},
	{"argument", VALUE_TEXT},
	{"exe", VALUE_TEXT, .json_only = true},
};
static const struct value_column thread_columns[] = {
	MEASURES,	    {"waits", VALUE_COUNT}, {"waiting", VALUE_TIME},
	{"tid", VALUE_INT}, {"thread", VALUE_TEXT},
};
static const struct value_column error_columns[] = {
	{"error", VALUE_TEXT},	 {"op", VALUE_TEXT}, {"calls", VALUE_COUNT}, {"time", VALUE_TIME},
	{"p50", VALUE_QUANTILE}, {"max", VALUE_DUR}, {"file", VALUE_TEXT},
};
static const struct value_column slow_columns[] = {
	{"dur", VALUE_DUR},
	{"start", VALUE_AT},
	{"thread", VALUE_TEXT},
	{"tid", VALUE_INT, .json_only = true},
	{"op", VALUE_TEXT, .json_only = true},
	{"file", VALUE_TEXT, .json_only = true},
	{"bytes", VALUE_SIZE, .json_only = true},
	{"ret", VALUE_INT, .json_only = true},
	{"error", VALUE_TEXT, .json_only = true},
	{"call", VALUE_TEXT},
};

static void put_measures(struct value_table *t, const struct rollup_row *row)
{
	put_n(t, row->calls);
	put_n(t, row->errors);
	put_n(t, row->bytes);
	put_n(t, row->time_ns);
	put_n(t, (uint64_t)report_quantile(row, 0.5));
	put_n(t, (uint64_t)report_quantile(row, 0.9));
	put_n(t, (uint64_t)report_quantile(row, 0.99));
	put_n(t, row->max_ns);
	put_str(t, format_spark(&row->hist).s);
}

static int fill_ops(struct report *r, struct value_table *t)
{
	_cleanup_(rollup_freep) struct rollup *ops = NULL;
	int e = rollup_project(r->scan.rollup, ROLLUP_OP | ROLLUP_CLASS, &ops);

	for (size_t i = 0; e >= 0 && i < rollup_count(ops); i++) {
		const struct rollup_row *row = rollup_row(ops, i);
		const char *class = vocab_word("class", row->class);
		char name[32];

		put_str(t, report_op_name(row->op, name));
		put_str(t, class ? class : "?");
		put_measures(t, row);
	}
	return e;
}

struct keyed {
	struct grouping by;
	bool file; /* the file is grouped, else the thread */
};

/* Groups take the place of the id; waiting has a part in tables by file only where it is asked for. */
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

/* "/tmp/x (10 files)", which had this path one after another. */
static int put_name_of_many(struct value_table *t, const struct group *g)
{
	_cleanup_buf_ struct buf b = {0};
	int e = buf_append(&b, g->name.data, g->name.len);

	if (e >= 0 && g->members > 1 && g->name.len && g->name.data[0] == '/')
		e = buf_printf(&b, " (%s files)", format_count(g->members).s);
	if (e >= 0)
		report_rows_put_text(t, (struct bytes){b.data, b.len});
	return e;
}

static int fill_by_file(struct report *r, struct value_table *t, group_fn *fn)
{
	_cleanup_(rollup_freep) struct rollup *sums = NULL;
	struct keyed k = {.by = {.report = r, .fn = fn, .members = true}, .file = true};
	int e = rollup_regroup(r->scan.rollup, ROLLUP_FILE, map_group, &k, &sums);

	for (size_t i = 0; e >= 0 && i < rollup_count(sums); i++) {
		const struct rollup_row *row = rollup_row(sums, i);
		const struct group *g = &k.by.groups[row->file_id];

		put_measures(t, row);
		if (fn != group_dir)
			put_n(t, g->members);
		report_rows_put_text(t, g->name);
		if (fn == group_path)
			e = put_name_of_many(t, g);
	}
	e = e < 0 ? e : k.by.error;
	grouping_free(&k.by);
	return e;
}

/* Also those that only wait, with zeros. */
static bool map_waiting(void *arg, struct rollup_row *key)
{
	struct keyed *k = arg;

	key->thread_id = grouping_of(&k->by, key->thread_id);
	key->class = report_is_wait(key) ? CLASS_WAIT : CLASS_OTHER;
	return key->thread_id >= 0;
}

/* "redis-server 30617" as two values. */
static void put_who(struct value_table *t, struct bytes name)
{
	const uint8_t *space = name.len ? memrchr(name.data, ' ', name.len) : NULL;
	struct error ignored = {0};
	int64_t id;

	if (space && parse_int((const char *)space + 1, &id, &ignored) == 0) {
		report_rows_put(t, (struct value_cell){.n = id});
		report_rows_put_text(t, (struct bytes){name.data, (size_t)(space - name.data)});
	} else {
		report_rows_put(t, (struct value_cell){.null = true});
		report_rows_put_text(t, name);
	}
}

/* A thread's or process's sums: of its calls, and of what it waited. */
struct thread_sums {
	const struct rollup_row *row;
	uint64_t waits, waiting;
};

/* For each group of processes what tells it from others of its name. */
static int find_apart(const struct report *r, const struct grouping *by, int64_t *ids,
		      struct bytes *apart)
{
	for (size_t g = 0; g < grouping_count(by); g++)
		ids[g] = names_process_of(r->dims, by->groups[g].id);
	return names_apart(r->dims, ids, grouping_count(by), apart);
}

static void put_program(struct report *r, struct value_table *t, int64_t id, struct bytes apart)
{
	const struct dims_process *p = id < 0 ? NULL : dims_process(r->dims, id);

	report_rows_put_text(t, apart);
	if (p && p->exe.len)
		report_rows_put_text(t, p->exe);
	else
		report_rows_put(t, (struct value_cell){.null = true});
}

static int fill_by_thread(struct report *r, struct value_table *t, group_fn *fn, bool processes)
{
	_cleanup_(rollup_freep) struct rollup *sums = NULL;
	_cleanup_free_ struct thread_sums *by_group = NULL;
	_cleanup_free_ struct bytes *apart = NULL;
	_cleanup_free_ int64_t *ids = NULL;
	static const struct rollup_row none;
	struct keyed k = {.by = {.report = r, .fn = fn}};
	int e = rollup_regroup(r->scan.rollup, ROLLUP_THREAD | ROLLUP_CLASS, map_waiting, &k,
			       &sums);
	size_t groups = e >= 0 ? grouping_count(&k.by) : 0;

	by_group = calloc(groups + 1, sizeof(*by_group));
	ids = calloc(groups + 1, sizeof(*ids));
	apart = calloc(groups + 1, sizeof(*apart));
	e = by_group && ids && apart ? e : -ENOMEM;
	if (e >= 0 && processes)
		e = find_apart(r, &k.by, ids, apart);
	for (size_t i = 0; e >= 0 && i < rollup_count(sums); i++) {
		const struct rollup_row *one = rollup_row(sums, i);

		if (one->thread_id < 0 || (size_t)one->thread_id >= groups)
			continue;
		if (report_is_wait(one))
			by_group[one->thread_id] = (struct thread_sums){
				by_group[one->thread_id].row, one->calls, one->time_ns};
		else
			by_group[one->thread_id].row = one;
	}
	for (size_t g = 0; e >= 0 && g < groups; g++) {
		put_measures(t, by_group[g].row ? by_group[g].row : &none);
		put_n(t, by_group[g].waits);
		put_n(t, by_group[g].waiting);
		put_who(t, k.by.groups[g].name);
		if (processes)
			put_program(r, t, ids[g], apart[g]);
	}
	e = e < 0 ? e : k.by.error;
	grouping_free(&k.by);
	return e;
}

/* A failure is told once, with the first of its files. */
static bool map_error(void *arg, struct rollup_row *key)
{
	struct keyed *k = arg;

	key->file_id = grouping_of(&k->by, key->file_id);
	return key->err > 0 && !key->second;
}

static int fill_errors(struct report *r, struct value_table *t)
{
	_cleanup_(rollup_freep) struct rollup *sums = NULL;
	struct keyed k = {.by = {.report = r, .fn = group_file}, .file = true};
	int e = rollup_regroup(r->scan.rollup, ROLLUP_FILE | ROLLUP_OP | ROLLUP_ERR, map_error, &k,
			       &sums);

	for (size_t i = 0; e >= 0 && i < rollup_count(sums); i++) {
		const struct rollup_row *row = rollup_row(sums, i);
		char word[32], name[32];

		put_str(t, report_err_name(row->err, word));
		put_str(t, report_op_name(row->op, name));
		put_n(t, row->calls);
		put_n(t, row->time_ns);
		put_n(t, (uint64_t)report_quantile(row, 0.5));
		put_n(t, row->max_ns);
		if (row->file_id >= 0)
			report_rows_put_text(t, k.by.groups[row->file_id].name);
		else
			put_str(t, "");
	}
	e = e < 0 ? e : k.by.error;
	grouping_free(&k.by);
	return e;
}

/* ---- single calls ---- */

static int fill_slow(struct report *r, struct value_table *t)
{
	const struct batch *b = r->scan.slowest;

	for (size_t i = 0; i < b->rows; i++) {
		_cleanup_buf_ struct buf call = {0};
		int64_t file = batch_get(b, OP_FILE_ID, i, -1),
			thread = batch_get(b, OP_THREAD_ID, i, -1);
		int64_t err = batch_get(b, OP_ERR, i, -1);
		const struct dims_thread *who = dims_thread(r->dims, thread);
		char name[32];
		int e = report_call(r, b, i, SIZE_MAX / 2, &call);

		if (e < 0)
			return e;
		put_n(t, (uint64_t)MAX(batch_get(b, OP_DUR, i, 0), 0));
		report_rows_put(t, (struct value_cell){.n = batch_get(b, OP_START, i, 0),
						       .null = batch_is_null(b, OP_START, i)});
		report_rows_put_text(t, who ? who->comm : (struct bytes){NULL, 0});
		report_rows_put(t, (struct value_cell){.n = batch_get(b, OP_TID, i, 0),
						       .null = batch_is_null(b, OP_TID, i)});
		put_str(t, report_op_name(batch_get(b, OP_OP, i, -1), name));
		if (file >= 0)
			report_rows_put_text(t, dims_file_version_name(r->dims, file));
		else
			report_rows_put(t, (struct value_cell){.null = true});
		put_n(t, (uint64_t)MAX(batch_get(b, OP_BYTES, i, 0), 0));
		report_rows_put(t, (struct value_cell){.n = batch_get(b, OP_RET, i, 0),
						       .null = batch_is_null(b, OP_RET, i)});
		if (err > 0)
			put_str(t, report_err_name(err, name));
		else
			report_rows_put(t, (struct value_cell){.null = true});
		report_rows_put_text(t, (struct bytes){call.data, call.len});
	}
	return 0;
}

/* ---- which, in what order ---- */

static int fill_files(struct report *r, struct value_table *t)
{
	return fill_by_file(r, t, group_path);
}

static int fill_dirs(struct report *r, struct value_table *t)
{
	return fill_by_file(r, t, group_dir);
}

static int fill_peers(struct report *r, struct value_table *t)
{
	return fill_by_file(r, t, group_peer);
}

static int fill_processes(struct report *r, struct value_table *t)
{
	return fill_by_thread(r, t, group_process, true);
}

static int fill_threads(struct report *r, struct value_table *t)
{
	return fill_by_thread(r, t, group_task, false);
}

static const struct table_kind {
	const char *name;
	const struct value_column *columns;
	size_t column_count;
	const char *sort;
	int (*fill)(struct report *r, struct value_table *t);
	const char *note;
} kinds[] = {
	{"ops", op_columns, ARRAY_SIZE(op_columns), "time", fill_ops, NULL},
	{"files", file_columns, ARRAY_SIZE(file_columns), "time", fill_files, NULL},
	{"dirs", dir_columns, ARRAY_SIZE(dir_columns), "time", fill_dirs, NULL},
	{"processes", process_columns, ARRAY_SIZE(process_columns), "time", fill_processes, NULL},
	{"threads", thread_columns, ARRAY_SIZE(thread_columns), "time", fill_threads, NULL},
	{"peers", peer_columns, ARRAY_SIZE(peer_columns), "time", fill_peers, NULL},
	{"errors", error_columns, ARRAY_SIZE(error_columns), "calls", fill_errors, NULL},
	{"slow", slow_columns, ARRAY_SIZE(slow_columns), "dur", fill_slow, NULL},
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

bool report_table_known(const char *which)
{
	return kind_find(which) != NULL;
}

/* True where a table before the k-th has a column of that name. */
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
			if (!is_named_before(k, kinds[k].columns[c].name) && !i--)
				return kinds[k].columns[c].name;
		}
	}
	return NULL;
}

struct order {
	const struct value_table *t;
	size_t column;
	size_t class; /* of ops: waiting goes last; SIZE_MAX: no such column */
};

static int report_rows_compare_values(const struct value_table *t, const struct value_cell *a,
				      const struct value_cell *b, size_t c)
{
	int cmp;

	if (t->columns[c].type != VALUE_TEXT) {
		/* Most first; what is not known last. */
		if (a[c].null != b[c].null)
			return a[c].null ? 1 : -1;
		return (a[c].n < b[c].n) - (a[c].n > b[c].n);
	}
	cmp = memcmp(a[c].text ? a[c].text : "", b[c].text ? b[c].text : "",
		     MIN(a[c].len, b[c].len));
	return cmp ? cmp : (a[c].len > b[c].len) - (a[c].len < b[c].len);
}

static int report_rows_compare_rows(const void *x, const void *y, void *arg)
{
	const struct order *o = arg;
	const struct value_cell *a = x, *b = y;
	int cmp = 0;

	if (o->class != SIZE_MAX)
		cmp = !strcmp(a[o->class].text, "wait") - !strcmp(b[o->class].text, "wait");
	if (!cmp)
		cmp = report_rows_compare_values(o->t, a, b, o->column);
	/* Equals in an order of their own, so that the output is the same on every run. */
	for (size_t c = o->t->column_count; !cmp && c-- > 0;)
		cmp = o->t->columns[c].type == VALUE_SPARK
			      ? 0
			      : report_rows_compare_values(o->t, a, b, c);
	return cmp;
}

static int column_find(const struct table_kind *k, const char *name, size_t *ret, struct error *err)
{
	char known[160] = "";
	size_t at = 0;

	for (size_t i = 0; i < k->column_count; i++) {
		if (k->columns[i].type == VALUE_SPARK)
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

int report_values(struct report *r, const char *which, struct value_table *ret, struct error *err)
{
	const struct table_kind *k = kind_find(which);
	struct order order = {.t = ret, .class = SIZE_MAX};
	size_t max = r->opts->head > 0 ? (size_t)r->opts->head : SIZE_MAX;
	int e;

	assert(k);
	*ret = (struct value_table){
		.columns = k->columns, .column_count = k->column_count, .note = k->note};
	e = column_find(k, r->opts->sort ? r->opts->sort : k->sort, &order.column, err);
	if (e < 0)
		return e;
	e = k->fill(r, ret);
	if (e < 0 || ret->error < 0)
		return error_errno(err, e < 0 ? e : ret->error, "report %s", which);
	assert(ret->count % ret->column_count == 0);
	if (k->columns == op_columns && !r->opts->sort)
		order.class = 1;
	if (ret->count)
		qsort_r(ret->cells, values_rows(ret), k->column_count * sizeof(*ret->cells),
			report_rows_compare_rows, &order);
	while (values_rows(ret) > max) {
		for (size_t c = 0; c < ret->column_count; c++)
			free(ret->cells[--ret->count].text);
	}
	return 0;
}
