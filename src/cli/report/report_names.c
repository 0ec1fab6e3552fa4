/* SPDX-License-Identifier: Apache-2.0 */
/* report_names.c: the names of ids, and their grouping into lines. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/trace/call_text.h"
#include "cli/report/report.h"
#include "names/names.h"
#include "schema/ops.h"

#define GROUP_TREE_NAMES 2 /* leading names of a path that identify a tree */

/* ---- groups ---- */

void grouping_free(struct grouping *g)
{
	for (size_t i = 0; i < g->keys.count; i++)
		free((void *)g->groups[i].name.data);
	free(g->groups);
	map_free(&g->ids);
	intern_free(&g->keys);
	*g = (struct grouping){0};
}

/* The number of files behind a key of the sums: in the first trace the key is a line. */
static uint64_t group_members(const struct report *r, int64_t id)
{
	return id >= 0 && (uint64_t)id < r->alias_count ? MAX(r->members[id], 1u) : 1;
}

static int grouping_add(struct grouping *g, int64_t id, const struct buf *key,
			const struct buf *name, int64_t *ret)
{
	uint32_t at;
	bool known = intern_find(&g->keys, key->data, key->len, &at);
	_cleanup_free_ uint8_t *copy = NULL;
	int e;

	if (!known) {
		copy = malloc(name->len + 1);
		e = grow((void **)&g->groups, &g->cap, g->keys.count + 1, sizeof(*g->groups));
		if (!copy || e < 0)
			return -ENOMEM;
		if (name->len)
			memcpy(copy, name->data, name->len);
		copy[name->len] = '\0';
		e = intern_add(&g->keys, key->data, key->len, &at);
		if (e < 0)
			return e;
		g->groups[at] = (struct group){.name = {TAKE_PTR(copy), name->len}, .id = id};
	}
	g->groups[at].members += g->members ? group_members(g->report, id) : 1;
	*ret = at;
	return 0;
}

int64_t grouping_of(struct grouping *g, int64_t id)
{
	_cleanup_buf_ struct buf key = {0}, name = {0};
	uint64_t known;
	int64_t at = -1;
	int e;

	if (g->members)
		id = file_lines_file(g->report->lines, g->report->dims, id);
	if (map_get(&g->ids, (uint64_t)id + 1, &known))
		return (int64_t)known - 1;
	e = g->fn(g->report, id, &key, &name);
	if (e == 0)
		e = grouping_add(g, id, &key, &name, &at);
	if (e >= 0)
		e = map_set(&g->ids, (uint64_t)id + 1, (uint64_t)(at + 1));
	if (e < 0)
		g->error = e;
	return at;
}

/* ---- one line ---- */

static int report_names_put(struct buf *b, struct bytes text)
{
	return buf_append(b, text.data, text.len);
}

static int report_names_same(struct buf *key, struct buf *name, struct bytes text)
{
	buf_fail(name, report_names_put(key, text));
	return report_names_put(name, text);
}

int group_task(const struct report *r, int64_t id, struct buf *key, struct buf *name)
{
	const struct dims_thread *t = dims_thread(r->dims, id);
	int e = t ? buf_printf(key, "%lld", (long long)names_task(r->dims, id))
		  : buf_printf(key, "?%lld", (long long)id);

	return e < 0 ? e : names_thread(r->dims, id, name);
}

int group_comm(const struct report *r, int64_t id, struct buf *key, struct buf *name)
{
	const struct dims_thread *t = dims_thread(r->dims, id);

	return t ? report_names_same(key, name, t->comm) : 0;
}

int group_process(const struct report *r, int64_t id, struct buf *key, struct buf *name)
{
	int64_t process = names_process_of(r->dims, id);
	int e;

	if (process < 0 || !dims_has(r->dims, TABLE_PROCESS, process))
		return group_task(r, id, key, name);
	e = buf_printf(key, "p%lld", (long long)process);
	return e < 0 ? e : names_process(r->dims, process, name);
}

int group_file(const struct report *r, int64_t id, struct buf *key, struct buf *name)
{
	bool known = id < 0 || dims_has(r->dims, TABLE_FILE, id);
	int64_t line = known ? file_lines_line(r->lines, r->dims, id) : id;
	int e = known ? buf_printf(key, "%lld", (long long)line) : buf_printf(key, "?");

	return e < 0 ? e : file_lines_name(r->lines, r->dims, line, name);
}

int group_peer(const struct report *r, int64_t id, struct buf *key, struct buf *name)
{
	struct dims_file room;
	const struct dims_file *f = id < 0 ? NULL : dims_file(r->dims, id, &room);

	return f && f->type == FILE_TYPE_SOCKET ? group_file(r, id, key, name) : 1;
}

/* Groups files individually, by their name at the time of the call. */
int group_path(const struct report *r, int64_t id, struct buf *key, struct buf *name)
{
	struct dims_file room;
	const struct dims_file *f = id < 0 ? NULL : dims_file(r->dims, id, &room);

	return f && f->type != FILE_TYPE_SOCKET ? group_file(r, id, key, name) : 1;
}

int group_dir(const struct report *r, int64_t id, struct buf *key, struct buf *name)
{
	struct dims_file room;
	const struct dims_file *f = id < 0 ? NULL : dims_file(r->dims, id, &room);
	struct bytes path;
	const uint8_t *slash;

	if (!f || f->type == FILE_TYPE_SOCKET || f->type == FILE_TYPE_PIPE ||
	    f->type == FILE_TYPE_ANON)
		return 1;
	path = names_trimmed(dims_file_name(r->dims, id));
	if (f->type == FILE_TYPE_DIRECTORY)
		return report_names_same(key, name, path);
	slash = path.len ? memrchr(path.data, '/', path.len) : NULL;
	if (!slash)
		return 1;
	return report_names_same(
		key, name, (struct bytes){path.data, MAX((size_t)(slash - path.data), (size_t)1)});
}

/* Length of a path up to the slash after its second name: "/usr/lib/x/y" -> "/usr/lib"; "/etc/passwd" -> "/etc". */
static size_t tree_length(struct bytes path, bool folder)
{
	size_t names = 0, end = 0;

	for (size_t i = 1; i <= path.len && names < GROUP_TREE_NAMES; i++) {
		if (i < path.len ? path.data[i] != '/' : !folder)
			continue;
		names++;
		end = i;
	}
	return end;
}

static bool tree_is_open(const struct report *r, struct bytes path, size_t len)
{
	uint64_t how;

	return map_get(&r->trees, hash_bytes(path.data, len), &how) && how == TREE_OPEN;
}

/* Length of the part of the path that names its tree; *ret_flat is set for a file directly in an opened folder. */
static size_t tree_of(const struct report *r, struct bytes path, bool folder, bool *ret_flat)
{
	size_t len = tree_length(path, folder);

	*ret_flat = false;
	while (len && tree_is_open(r, path, len)) {
		const uint8_t *slash =
			len + 1 < path.len ? memchr(path.data + len + 1, '/', path.len - len - 1)
					   : NULL;

		if (!slash && (!folder || len >= path.len)) {
			*ret_flat = true;
			break;
		}
		len = slash ? (size_t)(slash - path.data) : path.len;
	}
	return len;
}

static bool told_alone(const struct report *r, const struct buf *key)
{
	uint64_t yes;

	return map_get(&r->alone, hash_bytes(key->data, key->len), &yes);
}

/*
 * Like group_file, but groups the files of a folder tree, except those listed individually: for programs that walk
 * through thousands of files.
 */
int group_tree(const struct report *r, int64_t id, struct buf *key, struct buf *name)
{
	struct dims_file room;
	const struct dims_file *f = id < 0 ? NULL : dims_file(r->dims, id, &room);
	struct bytes path = f ? dims_file_name(r->dims, id) : (struct bytes){NULL, 0};
	bool flat;
	size_t len;
	int e = group_file(r, id, key, name);

	if (e || !f || f->type == FILE_TYPE_SOCKET || f->type == FILE_TYPE_PIPE ||
	    f->type == FILE_TYPE_ANON || !path.len || path.data[0] != '/' || told_alone(r, key))
		return e;
	len = tree_of(r, path, f->type == FILE_TYPE_DIRECTORY, &flat);
	buf_clear(key);
	buf_clear(name);
	report_names_put(name, (struct bytes){path.data, len});
	e = buf_printf(name, flat ? "/*" : "/**");
	if (e >= 0)
		e = buf_printf(key, REPORT_TREE_KEY);
	return e < 0 ? e : report_names_put(key, buf_bytes(name));
}

/* ---- single names and figures ---- */

int64_t report_quantile(const struct rollup_row *row, double q)
{
	uint64_t v = hist_quantile_at_most(&row->hist, q, row->max_ns);

	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

struct text report_when(const struct report *r, int64_t ns)
{
	if (r->opts->read.rel)
		return format_rel(clock_between(r->first, ns), 6);
	return format_when(ns, r->opts->read.utc ? FORMAT_UTC : FORMAT_LOCAL);
}

int report_put_host(const struct report *r, enum table_id table, int64_t id, struct buf *out)
{
	struct bytes name;
	int e;

	if (r->hosts < 2 || r->opts->read.json || id < 0)
		return 0;
	name = names_host(r->dims, table, id);
	e = name.len ? format_path(out, name.data, name.len, REPORT_HOST_MAX)
		     : buf_printf(out, "?");
	return e < 0 ? e : buf_printf(out, ":");
}

int report_comm(const struct report *r, int64_t thread_id, struct buf *out)
{
	const struct dims_thread *t = dims_thread(r->dims, thread_id);

	buf_fail(out, report_put_host(r, TABLE_THREAD, thread_id, out));
	return t ? format_safe(out, t->comm.data, t->comm.len) : buf_status(out);
}

const char *report_op_name(int64_t op, char buf[static 32])
{
	if (op < 0 || op > UINT32_MAX)
		return "?";
	return op_name((uint32_t)op, buf);
}

const char *report_err_name(int64_t err, char buf[static 32])
{
	const char *word = vocab_word("err", err);

	if (word)
		return word;
	snprintf(buf, 32, "errno %lld", (long long)err);
	return buf;
}

/* If even short names do not fit, the arguments are cut and the result is kept. */
static int call_squeeze(const struct report *r, const struct batch *b, size_t row, size_t width,
			const struct call_text_style *style, struct buf *out)
{
	_cleanup_buf_ struct buf entry = {0}, result = {0};
	size_t used;
	int e = call_text_entry(&entry, b, row, r->dims, style);

	if (e >= 0)
		e = call_text_result(&result, b, row, r->dims, style);
	used = format_width(buf_str(&result)) + strlen("...) = ");
	if (e >= 0)
		e = format_pad(out, buf_str(&entry), used < width ? width - used : 0, false);
	return e < 0 ? e : buf_printf(out, "...) = %s", buf_str(&result));
}

/* Marks a call that was slow largely for lack of a CPU, which otherwise its file or peer would be blamed for. */
static int call_runq(const struct batch *b, size_t row, struct buf *out)
{
	int64_t runq = batch_get(b, OP_RUNQ, row, 0), dur = batch_get(b, OP_DUR, row, 0);

	if (runq <= 0 || runq < dur / REPORT_RUNQ_PART)
		return 0;
	return buf_printf(out, " (no CPU %s)", report_time((uint64_t)runq).s);
}

static int call_fit(const struct report *r, const struct batch *b, size_t row, size_t width,
		    struct buf *out)
{
	/* Uses whole names if they fit, else as much of them as does: names are shortened before flags and results. */
	static const unsigned int columns[] = {0, 60, 54, 48, 42, 38, 34, 30, 26, 22, 18, 14};
	struct call_text_style style = {.brief = true};

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		_cleanup_buf_ struct buf text = {0};
		int e;

		style.path_max = columns[i];
		e = call_text(&text, b, row, r->dims, &style);
		if (e < 0)
			return e;
		if (format_width(buf_str(&text)) <= width)
			return buf_append(out, text.data, text.len);
	}
	return call_squeeze(r, b, row, width, &style, out);
}

int report_call(const struct report *r, const struct batch *b, size_t row, size_t width,
		struct buf *out)
{
	_cleanup_buf_ struct buf note = {0};
	int e = call_runq(b, row, &note);
	size_t used = note.len;

	if (used > width / 2)
		used = 0;
	if (e >= 0)
		e = call_fit(r, b, row, width - used, out);
	return e < 0 || !used ? e : buf_append(out, note.data, note.len);
}
