/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_files.c: the section of files and peers: the files with the most time, and the operations on each; or trees
 * of folders, if a program goes through thousands of files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/report_page.h"

#define FILE_LINES 10 /* of the section, without its title */
/*
 * If there are more files, only those with 1/ALONE_SHARE of the time are listed individually, the others as trees of
 * folders.
 */
#define ALL_FILES_MAX	 20
#define ALONE_SHARE	 20
#define TREE_OPEN_SHARE	 4  /* a tree with this part of the time is opened, */
#define TREE_CHILD_SHARE 8  /* and stays open if a folder in it has this part of its time */
#define TREE_FILES_MIN	 10 /* minimum number of files for opening a tree */
#define TREE_ROUNDS	 6
#define TREE_FILES_MAX	 200000 /* above this number each pass takes too long */
#define TRIFLE_SHARE	 200 /* trees with less than this part of the time are summed as others */
#define RATE_CALLS_MIN	 5   /* a rate over fewer calls is meaningless */

struct regroup {
	struct grouping files, comms;
};

static bool map_file(void *arg, struct rollup_row *key)
{
	struct regroup *g = arg;

	if (!report_is_io(key) && !(g->files.report->waits && report_is_wait(key)))
		return false;
	key->file_id = grouping_of(&g->files, key->file_id);
	key->thread_id = grouping_of(&g->comms, key->thread_id);
	return key->file_id >= 0;
}

/* Calls that waited and moved bytes, unless waiting calls have lines of their own. */
static bool map_waited(void *arg, struct rollup_row *key)
{
	struct regroup *g = arg;

	if (!key->bytes || !report_is_wait(key) || g->files.report->waits)
		return false;
	key->file_id = grouping_of(&g->files, key->file_id);
	key->thread_id = grouping_of(&g->comms, key->thread_id);
	return key->file_id >= 0;
}

/*
 * The end of a line for an operation on a file: how it accessed the file. Omits the rate of a few calls. `moved`: bytes,
 * with those of calls that waited for them.
 */
static void manner(const struct report *r, const struct rollup_row *row, uint64_t moved, char *out,
		   size_t size)
{
	uint64_t good = row->calls - row->errors, each = good ? (row->bytes + good / 2) / good : 0;
	bool often = row->calls >= RATE_CALLS_MIN;

	if (row->bytes && often && each >= 1000 * 1024)
		snprintf(out, size, "%.16s each", format_size(each).s);
	else if (row->bytes && each)
		snprintf(out, size, "%.16s each%s%.16s", format_size(each).s, often ? ", " : "",
			 often ? format_rate(moved, r->to - r->from, true).s : "");
	else
		snprintf(out, size, "%.24s",
			 often ? format_rate(row->calls, r->to - r->from, false).s : "");
}

#define SECTION_HOW 6 /* the section's column with sizes and rates */
static const struct answer_column section[] = {
	{"FILES AND PEERS", {QUERY_TEXT}},
	{"", {QUERY_TEXT}, .fixed = true, .gives = 7},
	{"calls", {QUERY_INT}, ANSWER_COUNT},
	{"bytes", {QUERY_SIZE}, .dash = true},
	{"time", {QUERY_DUR}, .weight = true},
	{"p99", {QUERY_DUR}},
	[SECTION_HOW] = {"", {QUERY_TEXT}, .fixed = true, .gives = 9},
};

static void put_sums(struct answer_list *to, const struct rollup_row *row, uint64_t moved,
		     const char *how)
{
	answer_list_uint(to, row->calls);
	answer_list_uint(to, add_sat(row->bytes, moved));
	answer_list_uint(to, row->time_ns);
	answer_list_int(to, report_quantile(row, 0.99));
	answer_list_str(to, how);
}

static bool report_files_begins(struct bytes name, const char *with)
{
	return name.len > strlen(with) && !memcmp(name.data, with, strlen(with));
}

/* The name, the number of files shown as one, and the number of operations without a line. */
static int file_name_line(const struct report *r, const struct group *g, size_t more_ops,
			  struct answer_list *to)
{
	_cleanup_buf_ struct buf b = {0}, more = {0};
	bool sockets = g->id >= 0 && file_lines_kind(r->lines, g->id) != FILE_LINE_FILES;

	if (g->members > 1 && sockets)
		buf_printf(&more, " (%s connections)", format_count(g->members).s);
	if (g->members > 1 && report_files_begins(g->name, "/"))
		buf_printf(&more, " (%s files)", format_count(g->members).s);
	if (more_ops)
		buf_printf(&more, "   and %zu more %s", more_ops,
			   more_ops == 1 ? "kind of call" : "kinds of calls");
	buf_printf(&b, "  ");
	buf_fail(&b, report_put_host(r, TABLE_FILE, g->id, &b));
	format_path(&b, g->name.data, g->name.len, page_width() - b.len - more.len);
	buf_add(&b, &more);
	answer_list_text(to, buf_bytes(&b));
	page_rest(to);
	return buf_status(&b);
}

/* Sums by file and operation; g defines what counts as one file. */
struct by_file {
	struct regroup g;
	struct rollup *all, *files;
	const struct rollup_row **rows; /* files, most time first */
	size_t count;
	struct rollup *waited; /* as `all`, of calls that waited for the bytes that they moved */
	uint64_t *moved;       /* by file: their bytes */
};

static void by_file_free(struct by_file *f)
{
	grouping_free(&f->g.files);
	grouping_free(&f->g.comms);
	rollup_free(f->all);
	rollup_free(f->files);
	rollup_free(f->waited);
	free(f->moved);
	free(f->rows);
	*f = (struct by_file){0};
}

static int by_file_fill(struct by_file *f, const struct report *r, group_fn *fn)
{
	int e;

	*f = (struct by_file){
		.g = {{.report = r, .fn = fn, .members = true}, {.report = r, .fn = group_comm}}};
	e = rollup_regroup(r->scan.rollup, ROLLUP_FILE | ROLLUP_OP | ROLLUP_THREAD, map_file, &f->g,
			   &f->all);
	if (e >= 0)
		e = rollup_project(f->all, ROLLUP_FILE, &f->files);
	if (e >= 0)
		e = rollup_sorted(f->files, NULL, page_row_order, &f->rows, &f->count);
	if (e >= 0)
		e = rollup_regroup(r->scan.rollup, ROLLUP_FILE | ROLLUP_OP | ROLLUP_THREAD,
				   map_waited, &f->g, &f->waited);
	if (e >= 0)
		e = f->g.files.error ? f->g.files.error : f->g.comms.error;
	if (e < 0)
		return e;
	f->moved = calloc(grouping_count(&f->g.files) + 1, sizeof(*f->moved));
	if (!f->moved)
		return -ENOMEM;
	for (size_t i = 0; i < rollup_count(f->waited); i++) {
		uint64_t *to = &f->moved[rollup_row(f->waited, i)->file_id];

		*to = add_sat(*to, rollup_row(f->waited, i)->bytes);
	}
	return 0;
}

/* The row of the same operation, file and program; NULL if there is none. */
static const struct rollup_row *same_op(const struct rollup *in, const struct rollup_row *row)
{
	for (size_t i = 0; i < rollup_count(in); i++) {
		const struct rollup_row *one = rollup_row(in, i);

		if (one->file_id == row->file_id && one->op == row->op &&
		    one->thread_id == row->thread_id)
			return one;
	}
	return NULL;
}

static void file_op_line(const struct report *r, const struct by_file *f,
			 const struct rollup_row *row, struct answer_list *to)
{
	const struct rollup_row *waited = same_op(f->waited, row);
	uint64_t moved = waited ? waited->bytes : 0;
	char op[32], name[48], how[64];

	snprintf(name, sizeof(name), "    %s", report_op_name(row->op, op));
	answer_list_str(to, name);
	answer_list_some(to, row->thread_id >= 0 ? f->g.comms.groups[row->thread_id].name
						 : (struct bytes){0});
	if (waited == row) { /* it did nothing but wait */
		snprintf(how, sizeof(how), "waited %.14s time%s", format_count(row->calls).s,
			 row->calls == 1 ? "" : "s");
		answer_list_null(to);
		answer_list_uint(to, row->bytes);
		answer_list_null(to);
		answer_list_null(to);
		answer_list_str(to, how);
		return;
	}
	manner(r, row, add_sat(row->bytes, moved), how, sizeof(how));
	put_sums(to, row, moved, how);
}

/* The operations on one file, most time first, those that only waited last; free() the array. */
static int file_ops(const struct by_file *f, int64_t file, const struct rollup_row ***ret,
		    size_t *ret_count)
{
	size_t most = rollup_count(f->all) + rollup_count(f->waited), count = 0, ranked;
	const struct rollup_row **rows = calloc(most + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < rollup_count(f->all); i++) {
		if (rollup_row(f->all, i)->file_id == file)
			rows[count++] = rollup_row(f->all, i);
	}
	ranked = count;
	for (size_t i = 0; f->moved[file] && i < rollup_count(f->waited); i++) {
		const struct rollup_row *row = rollup_row(f->waited, i);

		if (row->file_id == file && !same_op(f->all, row))
			rows[count++] = row;
	}
	qsort(rows, ranked, sizeof(*rows), page_row_order);
	qsort(rows + ranked, count - ranked, sizeof(*rows), page_row_order);
	*ret = rows;
	*ret_count = count;
	return 0;
}

static struct bytes report_files_key_of(const struct by_file *f, const struct rollup_row *row)
{
	return intern_get(&f->g.files.keys, (uint32_t)row->file_id);
}

/* The sum of everything without its own line; each file of a tree counts. */
static int others_line(const struct by_file *f, size_t from, struct answer_list *to)
{
	struct rollup_row rest;
	uint64_t n = 0, moved = 0;
	char name[48];
	int e = page_sum(f->rows, from, f->count, &rest);

	for (size_t i = from; i < f->count; i++) {
		moved = add_sat(moved, f->moved[f->rows[i]->file_id]);
		n += report_files_begins(report_files_key_of(f, f->rows[i]), REPORT_TREE_KEY)
			     ? f->g.files.groups[f->rows[i]->file_id].members
			     : 1;
	}
	snprintf(name, sizeof(name), "  %.14s other%s", format_count(n).s, n == 1 ? "" : "s");
	answer_list_str(to, name);
	answer_list_null(to);
	put_sums(to, &rest, moved, NULL);
	hist_free(&rest.hist);
	return e;
}

/* The folder of a tree; empty if the row is not a tree that can be opened. */
static struct bytes tree_folder(const struct by_file *f, const struct rollup_row *row)
{
	struct bytes name = f->g.files.groups[row->file_id].name;

	if (!report_files_begins(report_files_key_of(f, row), REPORT_TREE_KEY) || name.len <= 3 ||
	    memcmp(name.data + name.len - 3, "/**", 3))
		return (struct bytes){NULL, 0};
	return (struct bytes){name.data, name.len - 3};
}

/*
 * "/usr/include/linux/.. 8,900 101 MiB 503 ms 242 us 8,827 files, read 84 %": a tree, or a file among trees, in one
 * line.
 */
static int tree_line(const struct report *r, const struct by_file *f, const struct rollup_row *row,
		     struct answer_list *to)
{
	const struct group *g = &f->g.files.groups[row->file_id];
	bool tree =
		report_files_begins(report_files_key_of(f, row), REPORT_TREE_KEY) && g->members > 1;
	struct bytes path = tree || g->id < 0 ? g->name : dims_file_name(r->dims, g->id);
	const struct rollup_row *most = NULL;
	_cleanup_buf_ struct buf name = {0}, how = {0};
	char op[32];

	for (size_t i = 0; i < rollup_count(f->all); i++) {
		const struct rollup_row *one = rollup_row(f->all, i);

		if (one->file_id == row->file_id && (!most || one->time_ns > most->time_ns))
			most = one;
	}
	buf_printf(&name, "  ");
	if (!tree)
		buf_fail(&name, report_put_host(r, TABLE_FILE, g->id, &name));
	buf_append(&name, path.data, path.len);
	if (tree)
		buf_printf(&how, "%s files, ", format_count(g->members).s);
	if (most)
		buf_printf(&how, "%s %s", report_op_name(most->op, op),
			   format_percent(most->time_ns, row->time_ns).s);
	answer_list_text(to, buf_bytes(&name));
	answer_list_null(to);
	put_sums(to, row, f->moved[row->file_id], buf_str(&how));
	return buf_fail(&name, buf_status(&how));
}

static int put_file_lines(const struct report *r, const struct by_file *f, bool trees,
			  const struct page_totals *t, struct answer_list *to)
{
	size_t lines = FILE_LINES, i = 0;
	int e = 0;

	for (; e >= 0 && i < f->count; i++) {
		const struct rollup_row *row = f->rows[i];
		_cleanup_free_ const struct rollup_row **ops = NULL;
		size_t all, shown = i >= 2 ? 1 : trees ? 2 : 3;
		bool others = i + 1 < f->count, trifle = row->time_ns < t->io_ns / TRIFLE_SHARE;

		if (trees && (row->time_ns < t->io_ns / ALONE_SHARE ||
			      report_files_begins(report_files_key_of(f, row), REPORT_TREE_KEY))) {
			if (lines < 1u + others || (i && trifle))
				break;
			e = tree_line(r, f, row, to);
			lines--;
			continue;
		}
		/* A name, at least one line, and the line of the others. */
		if (lines < 2u + others)
			break;
		e = file_ops(f, row->file_id, &ops, &all);
		if (e < 0)
			return e;
		shown = MIN(shown, lines - 1 - others);
		shown = MIN(shown, all);
		e = file_name_line(r, &f->g.files.groups[row->file_id], all - shown, to);
		for (size_t k = 0; k < shown && e >= 0; k++)
			file_op_line(r, f, ops[k], to);
		lines -= 1 + shown;
	}
	return e >= 0 && i < f->count ? others_line(f, i, to) : e;
}

/* ---- trees ---- */

static int tree_set(struct report *r, struct bytes folder, enum tree how)
{
	return map_set(&r->trees, hash_bytes(folder.data, folder.len), how);
}

/* Copies the unopened tree with the most time; empty if none is worth opening. */
static int tree_next(const struct report *r, const struct by_file *f, const struct page_totals *t,
		     struct buf *ret, uint64_t *ret_time)
{
	buf_clear(ret);
	for (size_t i = 0; i < f->count && f->rows[i]->time_ns >= t->io_ns / TREE_OPEN_SHARE; i++) {
		struct bytes folder = tree_folder(f, f->rows[i]);
		uint64_t how;

		if (!folder.len ||
		    f->g.files.groups[f->rows[i]->file_id].members < TREE_FILES_MIN ||
		    map_get(&r->trees, hash_bytes(folder.data, folder.len), &how))
			continue;
		*ret_time = f->rows[i]->time_ns;
		return buf_append(ret, folder.data, folder.len);
	}
	return 0;
}

/* True if the folder's time is concentrated in few parts. */
static bool tree_pays(const struct by_file *f, const struct buf *folder, uint64_t time_ns)
{
	for (size_t i = 0; i < f->count && f->rows[i]->time_ns >= time_ns / TREE_CHILD_SHARE; i++) {
		struct bytes in = tree_folder(f, f->rows[i]);

		if (in.len > folder->len && !memcmp(in.data, folder->data, folder->len) &&
		    in.data[folder->len] == '/')
			return true;
	}
	return false;
}

/* Files that stand out are kept; the others become trees, each as deep as is informative. */
static int by_tree_fill(struct by_file *f, struct report *r, const struct page_totals *t)
{
	_cleanup_buf_ struct buf folder = {0};
	size_t files = f->count;
	uint64_t time_ns = 0;
	int e = 0;

	for (size_t i = 0; i < files && e >= 0 && f->rows[i]->time_ns >= t->io_ns / ALONE_SHARE;
	     i++) {
		struct bytes key = report_files_key_of(f, f->rows[i]);

		e = map_set(&r->alone, hash_bytes(key.data, key.len), 1);
	}
	by_file_free(f);
	if (e >= 0)
		e = by_file_fill(f, r, group_tree);
	for (int round = 0; round < TREE_ROUNDS && files <= TREE_FILES_MAX && e >= 0; round++) {
		e = tree_next(r, f, t, &folder, &time_ns);
		if (e < 0 || !folder.len)
			break;
		e = tree_set(r, buf_bytes(&folder), TREE_OPEN);
		by_file_free(f);
		if (e >= 0)
			e = by_file_fill(f, r, group_tree);
		if (e < 0 || tree_pays(f, &folder, time_ns))
			continue;
		e = tree_set(r, buf_bytes(&folder), TREE_WHOLE);
		by_file_free(f);
		if (e >= 0)
			e = by_file_fill(f, r, group_tree);
	}
	return e;
}

/* True if some line has a rate. */
static bool has_rates(const struct answer_list *list)
{
	for (size_t i = SECTION_HOW; i < list->count; i += list->column_count) {
		if (list->cells[i].t.len &&
		    memmem(list->cells[i].t.data, list->cells[i].t.len, "/s", 2))
			return true;
	}
	return false;
}

int page_files(struct report *r, const struct page_totals *t)
{
	struct answer_column columns[ARRAY_SIZE(section)];
	_cleanup_answer_list_ struct answer_list list = {columns, ARRAY_SIZE(section)};
	char over[48];
	_cleanup_(by_file_free) struct by_file f = {0};
	int e = by_file_fill(&f, r, group_file);
	bool trees = f.count > ALL_FILES_MAX;

	memcpy(columns, section, sizeof(section));
	if (e >= 0 && trees)
		e = by_tree_fill(&f, r, t);
	if (e < 0 || !f.count)
		return e;
	e = put_file_lines(r, &f, trees, t, &list);
	/* a file may have been used for only part of that time */
	snprintf(over, sizeof(over), "rates over %.32s", format_dur(r->to - r->from).s);
	if (has_rates(&list))
		columns[SECTION_HOW].name = over;
	return e < 0 ? e : page_table(&list);
}
