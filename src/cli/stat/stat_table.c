/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stat/stat_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "cli/terminal/answer_print.h"
#include "names/names.h"
#include "schema/ops.h"

#define REST_SHOWN 4 /* kinds of calls outside the table to name */
#define LABEL_MAX  4096
static const char *const by_words[] = {"op", "process", "thread", "file", "error"};
static const char *const sort_words[] = {"time", "calls", "bytes",   "errors",
					 "max",	 "read",  "written", "p99"};

static_assert(ARRAY_SIZE(by_words) == FIGURES_BY_COUNT, "a word for each grouping");
static_assert(ARRAY_SIZE(sort_words) == FIGURES_SORT_COUNT, "a word for each order");

const char *stat_table_by_word(size_t by)
{
	return by < FIGURES_BY_COUNT ? by_words[by] : NULL;
}

const char *stat_table_sort_word(size_t sort)
{
	return sort < FIGURES_SORT_COUNT ? sort_words[sort] : NULL;
}

/* The index of a word; -EINVAL, with a list of the words, if it is unknown. */
static int word_find(const char *const *words, size_t count, const char *option, const char *word,
		     struct error *err)
{
	_cleanup_buf_ struct buf list = {0};
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		if (!strcmp(words[i], word))
			return (int)i;
	}
	for (size_t i = 0; i < count && r >= 0; i++)
		r = buf_printf(&list, "%s%s", i ? ", " : "", words[i]);
	return r < 0 ? error_errno(err, r, "%s", option)
		     : error_set(err, -EINVAL, "%s %.80s: use one of %s", option, word,
				 buf_str(&list));
}

int stat_table_options_parse(struct stat_table_options *ret, const char *by,
			     enum stat_table_by otherwise, const char *sort, struct error *err)
{
	int r = by ? word_find(by_words, FIGURES_BY_COUNT, "--by", by, err) : (int)otherwise;

	*ret = (struct stat_table_options){0};
	if (r < 0)
		return r;
	ret->by = (enum stat_table_by)r;
	r = sort ? word_find(sort_words, FIGURES_SORT_COUNT, "--sort", sort, err) : FIGURES_TIME;
	if (r < 0)
		return r;
	ret->sort = (enum stat_table_sort)r;
	for (unsigned int i = 0; i < FIGURES_BY_COUNT; i++)
		ret->only[i] = -1;
	return 0;
}

/* ---- grouping ---- */

struct grouping {
	const struct dims *dims;
	const struct file_lines *lines;
	const struct stat_table_options *opt;
	enum part {
		PART_IO,    /* data, metadata, sync, net: the contents of the table */
		PART_OTHER, /* memory, processes, ...: neither I/O nor waiting */
		PART_WAITING,
	} part;
	struct stat_table *totals; /* counts each call once, however many files it has */
};

static enum part stat_table_part_of(int64_t class)
{
	switch (class) {
	case CLASS_WAIT:
		return PART_WAITING;
	case CLASS_PROCESS:
	case CLASS_OTHER:
		return PART_OTHER;
	default:
		return PART_IO;
	}
}

/* The key of a row under each grouping. */
static int64_t stat_table_key_of(const struct grouping *g, enum stat_table_by by,
				 const struct rollup_row *row)
{
	switch (by) {
	case FIGURES_OP:
		return row->op;
	case FIGURES_PROCESS:
		return names_process_of(g->dims, row->thread_id);
	case FIGURES_THREAD:
		return names_task(g->dims, row->thread_id);
	case FIGURES_FILE:
		return file_lines_line(g->lines, g->dims, row->file_id);
	case FIGURES_ERROR:
		return row->err;
	default:
		return -1;
	}
}

/* By file, the figures include calls on it as their second file. */
static bool is_about_files(const struct stat_table_options *opt)
{
	return opt->by == FIGURES_FILE || opt->only[FIGURES_FILE] >= 0;
}

static void add_total(struct stat_table *f, const struct rollup_row *row)
{
	f->calls += row->calls;
	f->errors += row->errors;
	f->bytes += row->bytes;
	f->time_ns = add_sat(f->time_ns, row->time_ns);
}

/* True if the row counts for g->part under the selected key. */
static bool stat_table_takes(const struct grouping *g, const struct rollup_row *row)
{
	enum part part = stat_table_part_of(row->class);

	bool errors = g->opt->by == FIGURES_ERROR || g->opt->only[FIGURES_ERROR] >= 0;

	/* By error, every call but waits counts; otherwise only I/O. */
	if (errors && g->part == PART_IO ? part == PART_WAITING : part != g->part)
		return false;
	for (unsigned int by = 0; by < FIGURES_BY_COUNT; by++) {
		if (g->opt->only[by] >= 0 && stat_table_key_of(g, by, row) != g->opt->only[by])
			return false;
	}
	return g->part != PART_IO || !((g->opt->by == FIGURES_ERROR && row->err < 0) ||
				       (row->second && !is_about_files(g->opt)));
}

/* Puts the key into file_id, the key field of the regrouped I/O rows. */
static bool regroup(void *arg, struct rollup_row *row)
{
	const struct grouping *g = arg;

	if (!stat_table_takes(g, row))
		return false;
	if (g->part != PART_IO)
		return true;
	if (!row->second || g->opt->only[FIGURES_FILE] >= 0)
		add_total(g->totals, row);
	row->file_id = stat_table_key_of(g, g->opt->by, row);
	return true;
}

/* ---- direction ---- */

/* For a copy, each of its files has one direction; the copying thread has both. */
static void figure_add_moved(struct figure *f, const struct rollup_row *row, bool of_file)
{
	enum op_copy copy = row->op >= 0 ? op_copy((uint32_t)row->op) : OP_COPY_NONE;
	enum op_way way = row->op >= 0 ? op_way((uint32_t)row->op) : OP_WAY_NONE;
	bool first_read = copy == OP_COPY_TO_SECOND;

	if (copy == OP_COPY_NONE ? way == OP_WAY_IN : !of_file || row->second != first_read)
		f->read = add_sat(f->read, row->bytes);
	if (copy == OP_COPY_NONE ? way == OP_WAY_OUT : !of_file || row->second == first_read)
		f->written = add_sat(f->written, row->bytes);
}

/* Calls that waited for data have moved it, too: a process or thread has all of its bytes. */
static bool moves(const struct grouping *g, const struct rollup_row *row)
{
	struct grouping waiting = *g;

	waiting.part = PART_WAITING;
	return stat_table_takes(g, row) ||
	       ((g->opt->by == FIGURES_PROCESS || g->opt->by == FIGURES_THREAD) &&
		stat_table_takes(&waiting, row));
}

static int sum_moved(struct stat_table *f, const struct rollup *r, const struct grouping *g)
{
	_cleanup_(map_free) struct map items = {0}; /* key + 1 -> index */
	int ret = 0;

	for (size_t i = 0; i < f->count && ret >= 0; i++)
		ret = map_set(&items, (uint64_t)f->items[i].key + 1, i);
	for (size_t i = 0; i < rollup_count(r) && ret >= 0; i++) {
		const struct rollup_row *row = rollup_row(r, i);
		uint64_t n;

		if (row->bytes && moves(g, row) &&
		    map_get(&items, (uint64_t)stat_table_key_of(g, g->opt->by, row) + 1, &n))
			figure_add_moved(&f->items[n], row, is_about_files(g->opt));
	}
	return ret;
}

/* ---- labels ---- */

/* A name made safe for a terminal; an id without a row has none. */
static int label_name(struct buf *b, const struct dims *d, int64_t id, bool known,
		      int (*name)(const struct dims *d, int64_t id, struct buf *out))
{
	_cleanup_buf_ struct buf text = {0};
	int r;

	if (!known)
		return buf_printf(b, "(unknown)");
	r = name(d, id, &text);
	return r < 0 ? r : format_safe(b, text.data, text.len);
}

static int label_file(struct buf *b, const struct grouping *g, int64_t line)
{
	_cleanup_buf_ struct buf name = {0};
	int r = file_lines_name(g->lines, g->dims, line, &name);

	return r < 0 ? r : format_safe(b, name.data, MIN(name.len, (size_t)LABEL_MAX));
}

static int make_label(char **ret, const struct grouping *g, int64_t key)
{
	const struct dims *d = g->dims;
	_cleanup_buf_ struct buf b = {0};
	const char *word;
	char name[32];
	int r = 0;

	switch (g->opt->by) {
	case FIGURES_OP:
		r = buf_printf(&b, "%s", op_name((uint32_t)key, name));
		break;
	case FIGURES_PROCESS:
		r = label_name(&b, d, key, dims_has(d, TABLE_PROCESS, key), names_process);
		break;
	case FIGURES_THREAD:
		r = label_name(&b, d, key, dims_has(d, TABLE_THREAD, key), names_thread);
		break;
	case FIGURES_FILE:
		r = label_file(&b, g, key);
		break;
	default:
		word = vocab_word("err", key);
		r = word ? buf_printf(&b, "%s %s", word,
				      strerrordesc_np((int)key)) /* not translated to the locale */
			 : buf_printf(&b, "errno %lld", (long long)key);
		break;
	}
	if (r < 0)
		return r;
	*ret = strdup(buf_str(&b));
	return *ret ? 0 : -ENOMEM;
}

/* ---- order ---- */

uint64_t stat_table_quantile(const struct rollup_row *row, double q)
{
	return hist_quantile_at_most(&row->hist, q, row->max_ns);
}

static uint64_t sort_value(const struct figure *f, enum stat_table_sort sort)
{
	const struct rollup_row *row = f->row;

	switch (sort) {
	case FIGURES_CALLS:
		return row->calls;
	case FIGURES_BYTES:
		return row->bytes;
	case FIGURES_ERRORS:
		return row->errors;
	case FIGURES_MAX:
		return row->max_ns;
	case FIGURES_READ:
		return f->read;
	case FIGURES_WRITTEN:
		return f->written;
	case FIGURES_P99:
		return stat_table_quantile(row, 0.99);
	default:
		return row->time_ns;
	}
}

static int stat_table_compare(const void *a, const void *b, void *arg)
{
	const struct figure *x = a, *y = b;
	const struct stat_table_options *opt = arg;

	return ORDER(sort_value(y, opt->sort), sort_value(x, opt->sort))
		       ?: ORDER(y->row->calls, x->row->calls)
		       ?: strcmp(x->label, y->label);
}

/* ---- making ---- */

static int compare_calls(const void *a, const void *b)
{
	const struct rollup_row *const *x = a, *const *y = b;

	return ORDER((*y)->calls, (*x)->calls);
}

/* Sums what is not in the table, and names its most frequent kinds. */
static int sum_rest(struct stat_table_rest *rest, const struct rollup *r, struct grouping *g,
		    enum part part)
{
	_cleanup_(rollup_freep) struct rollup *sums = NULL;
	_cleanup_free_ const struct rollup_row **rows = NULL;
	_cleanup_buf_ struct buf text = {0};
	size_t count;
	int ret;

	g->part = part;
	ret = rollup_regroup(r, ROLLUP_OP, regroup, g, &sums);
	if (ret < 0)
		return ret;
	ret = rollup_sorted(sums, NULL, compare_calls, &rows, &count);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < count; i++) {
		rest->calls += rows[i]->calls;
		rest->bytes = add_sat(rest->bytes, rows[i]->bytes);
		rest->time_ns = add_sat(rest->time_ns, rows[i]->time_ns);
	}
	for (size_t i = 0; i < count && i < REST_SHOWN && ret >= 0; i++) {
		char name[32];

		ret = buf_printf(&text, "%s%s %s", i ? ", " : "",
				 op_name((uint32_t)rows[i]->op, name),
				 format_count(rows[i]->calls).s);
	}
	if (ret >= 0 && count > REST_SHOWN)
		ret = buf_printf(&text, ", ...");
	rest->kinds = ret < 0 ? NULL : strdup(buf_str(&text));
	return ret < 0 ? ret : rest->kinds ? 0 : -ENOMEM;
}

/* Includes processes that `text` leaves out, so that a row looks the same with a filter. */
static int stat_table_arguments(const struct stat_table *f, const struct dims *d,
				struct bytes **ret)
{
	size_t count = rollup_count(f->grouped);
	_cleanup_free_ int64_t *ids = calloc(count + 1, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		ids[i] = rollup_row(f->grouped, i)->file_id;
	return names_apart(d, ids, count, ret);
}

static int make_items(struct stat_table *f, const struct grouping *g)
{
	_cleanup_free_ struct bytes *arguments = NULL;
	int r = g->opt->by == FIGURES_PROCESS ? stat_table_arguments(f, g->dims, &arguments) : 0;

	for (size_t i = 0; i < rollup_count(f->grouped) && r >= 0; i++) {
		struct figure *item = &f->items[f->count];

		item->row = rollup_row(f->grouped, i);
		item->key = item->row->file_id;
		if (arguments)
			item->argument = arguments[i];
		r = make_label(&item->label, g, item->key);
		if (r < 0)
			break;
		if (!g->opt->text || strcasestr(item->label, g->opt->text))
			f->count++;
		else
			free(TAKE_PTR(item->label));
	}
	return r;
}

int stat_table_make(struct stat_table *ret, const struct rollup *r, const struct dims *d,
		    struct file_lines *lines, const struct stat_table_options *opt)
{
	struct grouping g = {.dims = d, .lines = lines, .opt = opt, .totals = ret};
	int result;

	*ret = (struct stat_table){0};
	result = is_about_files(opt) ? file_lines_update(lines, d) : 0;
	if (result < 0)
		return result;
	result = rollup_regroup(r, ROLLUP_FILE, regroup, &g, &ret->grouped);
	if (result < 0)
		return result;
	ret->items = calloc(rollup_count(ret->grouped) + 1, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	result = make_items(ret, &g);
	if (result >= 0)
		result = sum_moved(ret, r, &g);
	if (result < 0)
		return result;
	qsort_r(ret->items, ret->count, sizeof(*ret->items), stat_table_compare, (void *)opt);
	result = sum_rest(&ret->waiting, r, &g, PART_WAITING);
	return result < 0 ? result : sum_rest(&ret->other, r, &g, PART_OTHER);
}

void stat_table_free(struct stat_table *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->items[i].label);
	free(f->items);
	free(f->waiting.kinds);
	free(f->other.kinds);
	rollup_free(f->grouped);
	*f = (struct stat_table){0};
}

/* ---- rows ---- */

/* People see a descriptive title, programs the word of --by. */
#define COLUMNS(TITLE, WORD, CALLS, BOTH)                                                            \
	{TITLE, {QUERY_TEXT}, .people = true}, {WORD, {QUERY_TEXT}, .programs = true},               \
		{CALLS, {QUERY_INT}, ANSWER_COUNT, .people = true, .width = 7},                      \
		{"calls", {QUERY_INT}, ANSWER_COUNT, .programs = true},                              \
		{"errors", {QUERY_INT}, ANSWER_COUNT, .alarm = true, .gives = 2},                    \
		{"bytes", {QUERY_SIZE}, .word = "size", .dash = true, .width = 8, .programs = BOTH}, \
		{"read", {QUERY_SIZE}, .word = "size", .dash = true, .width = 8, .programs = !BOTH}, \
		{"written",    {QUERY_SIZE}, .word = "size",                                         \
		 .dash = true, .width = 8,   .programs = !BOTH},                                     \
		{"time", {QUERY_DUR}, .word = "dur", .weight = true, .width = 7},                    \
		{"% I/O", {QUERY_FLOAT}, .people = true, .gives = 5},                                \
		{"p50", {QUERY_DUR}, .word = "dur", .gives = 6, .width = 7},                         \
		{"p90", {QUERY_DUR}, .word = "dur", .programs = true},                               \
		{"p99", {QUERY_DUR}, .word = "dur", .width = 7},                                     \
		{"max", {QUERY_DUR}, .word = "dur", .width = 7},                                     \
	{                                                                                            \
		FORMAT_SPARK_TITLE, {QUERY_TEXT}, .people = true, .gives = 9, .fixed = true          \
	}

static const struct answer_column op_columns[] = {COLUMNS("OPERATIONS", "op", "I/O calls", false)};
static const struct answer_column process_columns[] = {
	COLUMNS("PROCESSES", "process", "I/O calls", true),
	{"argument", {QUERY_TEXT}, .gives = 10}};
static const struct answer_column thread_columns[] = {
	COLUMNS("THREADS", "thread", "I/O calls", true)};
static const struct answer_column file_columns[] = {COLUMNS("FILES", "file", "I/O calls", true)};
static const struct answer_column error_columns[] = {COLUMNS("ERRORS", "error", "calls", false)};

static const struct {
	const struct answer_column *columns;
	size_t count;
} stat_columns[FIGURES_BY_COUNT] = {
	[FIGURES_OP] = {op_columns, ARRAY_SIZE(op_columns)},
	[FIGURES_PROCESS] = {process_columns, ARRAY_SIZE(process_columns)},
	[FIGURES_THREAD] = {thread_columns, ARRAY_SIZE(thread_columns)},
	[FIGURES_FILE] = {file_columns, ARRAY_SIZE(file_columns)},
	[FIGURES_ERROR] = {error_columns, ARRAY_SIZE(error_columns)},
};

void stat_table_rows(struct answer_list *ret, const struct stat_table *f, enum stat_table_by by,
		     size_t rows)
{
	*ret = (struct answer_list){stat_columns[by].columns, stat_columns[by].count};
	for (size_t i = 0; i < MIN(rows, f->count); i++) {
		const struct rollup_row *row = f->items[i].row;

		answer_list_str(ret, f->items[i].label);
		answer_list_str(ret, f->items[i].label);
		answer_list_uint(ret, row->calls); /* once for people, once for programs */
		answer_list_uint(ret, row->calls);
		answer_list_uint(ret, row->errors);
		answer_list_uint(ret, row->bytes);
		answer_list_uint(ret, f->items[i].read);
		answer_list_uint(ret, f->items[i].written);
		answer_list_uint(ret, row->time_ns);
		answer_list_str(ret, format_percent(row->time_ns, f->time_ns).s);
		answer_list_uint(ret, stat_table_quantile(row, 0.5));
		answer_list_uint(ret, stat_table_quantile(row, 0.9));
		answer_list_uint(ret, stat_table_quantile(row, 0.99));
		answer_list_uint(ret, row->max_ns);
		answer_list_str(ret, format_spark(&row->hist).s);
		if (by == FIGURES_PROCESS)
			answer_list_text(ret, f->items[i].argument);
	}
}

int stat_table_print(FILE *out, const struct stat_table *f, enum stat_table_by by, size_t rows,
		     size_t width, bool colour, struct error *err)
{
	_cleanup_answer_list_ struct answer_list list = {0};

	stat_table_rows(&list, f, by, rows);
	return answer_text_list(
		&(struct answer_print){.out = out, .width = width, .colour = colour}, &list, err);
}
