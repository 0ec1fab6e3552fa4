// SPDX-License-Identifier: Apache-2.0
/*
 * route_files.c: /files: one level of the tree of files, by the latest name of each, with their I/O. Files of one
 * line (names/file_lines.h) are one entry with its members. Calls on a folder itself count towards its entry, and
 * appear as the entry "." inside it.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/heap.h"
#include "base/saturate.h"
#include "server/sums/catalog.h"
#include "server/sums/file_sums.h"
#include "server/sums/who.h"

#define ENTRIES_MAX 5000u      /* per folder, those with most time first */
#define ROOTS	    UINT32_MAX /* in place of a folder: entries outside any folder */

struct entry {
	int64_t id;	 /* id of a file, or of a line of several; -1: a folder */
	int64_t line;	 /* of a file */
	uint32_t folder; /* a folder's number */
	bool self;	 /* the requested folder itself, as a file */
	size_t first;	 /* for a line: its members are members.items[first .. first + files) */
	uint64_t files, calls, errors, bytes, time;
};

struct entries {
	struct entry *items;
	size_t count, cap;
};

struct tree {
	struct question *q;
	uint32_t dir;		/* the requested folder */
	struct entry *folders;	/* [catalog_count()]: sums over everything in each, at any depth */
	struct entries all;	/* entries of dir */
	struct entries members; /* files of dir that may share their line */
	size_t shown;		/* entries and members that were written */
};

/* ---- contents ---- */

/* Sorts by time, then calls, descending; folders before files. */
static int route_files_by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return ORDER(y->time, x->time) ?: ORDER(y->calls, x->calls)
				       ?: ORDER(x->id, y->id)
				       ?: ORDER(x->folder, y->folder);
}

static void route_files_add(struct entry *to, const struct entry *e)
{
	to->files += e->files;
	to->calls = add_sat(to->calls, e->calls);
	to->errors = add_sat(to->errors, e->errors);
	to->bytes = add_sat(to->bytes, e->bytes);
	to->time = add_sat(to->time, e->time);
}

static int add_entry(struct entries *to, const struct entry *e)
{
	return array_add(to->items, to->count, to->cap, *e);
}

/* The folder that a file is, if it contains anything. */
static uint32_t folder_itself(const struct tree *t, const struct dims *d, int64_t file)
{
	uint32_t folder;

	return catalog_find(t->q->server->catalog, dims_file_name(d, file), &folder) ? folder
										     : ROOTS;
}

static int route_files_add_file(struct tree *t, const struct dims *d, const struct sums_file *f)
{
	const struct server *s = t->q->server;
	uint32_t folder = catalog_folder(s->catalog, d, f->id);
	struct entry e = {.id = f->id,
			  .files = 1,
			  .calls = f->calls,
			  .errors = f->errors,
			  .bytes = f->bytes,
			  .time = f->time};

	route_files_add(&t->folders[folder], &e);
	if (t->dir == ROOTS)
		return 0;
	e.self = t->dir >= FOLDER_ROOT &&
		 (folder == t->dir || folder == catalog_parent(s->catalog, t->dir)) &&
		 folder_itself(t, d, f->id) == t->dir;
	if (folder != t->dir && !e.self)
		return 0;
	e.line = names_one_line(s, f->id);
	return add_entry(file_lines_is_shared(s->lines, f->id) ? &t->members : &t->all, &e);
}

/* ---- lines ---- */

static int route_files_by_line(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return ORDER(x->line, y->line) ?: route_files_by_time(x, y);
}

static int add_lines(struct tree *t)
{
	const struct entry *m = t->members.items;
	size_t count = t->members.count;
	int r = 0;

	array_sort(t->members.items, count, route_files_by_line);
	for (size_t i = 0, next; i < count && r >= 0; i = next) {
		struct entry line = m[i];

		for (next = i + 1; next < count && m[next].line == line.line; next++)
			route_files_add(&line, &m[next]);
		if (line.files > 1)
			line.id = line.line;
		line.first = i;
		r = add_entry(&t->all, &line);
	}
	return r;
}

/* Calls on a folder count towards its entry, which comes after those of files. */
static int route_files_add_selves(struct tree *t, const struct dims *d, size_t files)
{
	_cleanup_(map_free) struct map folders = {0};
	struct entry *e = t->all.items;
	size_t n = 0;
	uint64_t at;
	int r = 0;

	if (t->all.count == files)
		return 0;
	for (size_t i = files; i < t->all.count && r >= 0; i++)
		r = map_set(&folders, e[i].folder, i);
	for (size_t i = 0; i < files && r >= 0; i++) {
		if (!e[i].self && map_get(&folders, folder_itself(t, d, e[i].id), &at))
			route_files_add(&e[at], &e[i]);
		else
			e[n++] = e[i];
	}
	if (r < 0 || n == files)
		return r;
	memmove(&e[n], &e[files], (t->all.count - files) * sizeof(*e));
	t->all.count -= files - n;
	return 0;
}

/* Folders come after their parents, so one backward pass sums them up. */
static int add_folders(struct tree *t)
{
	const struct catalog *c = t->q->server->catalog;
	int r = 0;

	for (size_t i = catalog_count(c); i-- > 0 && r >= 0;) {
		uint32_t parent = catalog_parent(c, (uint32_t)i);

		t->folders[i].id = -1;
		t->folders[i].folder = (uint32_t)i;
		if (parent != ROOTS)
			route_files_add(&t->folders[parent], &t->folders[i]);
		if (parent == t->dir && t->folders[i].files)
			r = add_entry(&t->all, &t->folders[i]);
	}
	return r;
}

static int route_files_gather(struct question *q, struct tree *t)
{
	const struct dims *d = store_dims(q->server->store);
	const struct sums_want want = {.files = true};
	_cleanup_sums_filter_ struct sums_filter filter = {0};
	_cleanup_(sums_freep) struct sums *s = NULL;
	_cleanup_free_ struct sums_file *files = NULL;
	size_t count = 0;
	int r = question_filter(q, q->filter, &filter);

	if (r >= 0)
		r = sums_run(q, &filter, &want, &s);
	if (r >= 0)
		r = file_sums_merge(q->server, s, &files, &count);
	if (r < 0)
		return r;
	t->folders = calloc(catalog_count(q->server->catalog), sizeof(*t->folders));
	if (!t->folders)
		return -ENOMEM;
	for (size_t i = 0; r >= 0 && i < count; i++)
		r = route_files_add_file(t, d, &files[i]);
	if (r >= 0)
		r = add_lines(t);
	count = t->all.count;
	if (r < 0)
		return r;
	r = add_folders(t);
	return r < 0 ? r : route_files_add_selves(t, d, count);
}

/* ---- writing ---- */

static void put_path(const struct tree *t, struct js *j, const struct entry *e, bool line)
{
	const struct server *s = t->q->server;
	const struct dims *d = store_dims(s->store);
	struct bytes path = {(const uint8_t *)"", 0}, name = {NULL, 0};
	_cleanup_buf_ struct buf text = {0};
	int r = 0;

	if (e->id < 0) {
		path = catalog_path(s->catalog, e->folder);
		name = catalog_base(path);
	} else {
		r = line ? file_lines_name(s->lines, d, e->id, &text) : 0;
		name = line ? buf_bytes(&text) : dims_file_name(d, e->id);
		if (t->dir >= FOLDER_ROOT) {
			path = names_trimmed(name);
			name = e->self ? (struct bytes){(const uint8_t *)".", 1}
				       : catalog_base(name);
		}
	}
	if (r < 0)
		j->error = r;
	js_key_bytes(j, "name", name);
	js_key_bytes(j, "path", path);
}

static void put_entry(struct tree *t, struct js *j, const struct entry *e)
{
	bool line = e->id >= 0 && e->files > 1;

	t->shown++;
	js_open(j, '{');
	put_path(t, j, e, line);
	js_key_bool(j, "dir", e->id < 0);
	js_key_known(j, "id", e->id >= 0 && !line, e->id);
	js_key_uint(j, "calls", e->calls);
	js_key_uint(j, "errors", e->errors);
	js_key_uint(j, "bytes", e->bytes);
	js_key_uint(j, "time", e->time);
}

/* Writes a line with as many of its members as fit, most time first. */
static void route_files_put_line(struct tree *t, struct js *j, const struct entry *e)
{
	uint64_t files = 0;

	put_entry(t, j, e);
	if (e->id >= 0 && e->files > 1) {
		for (size_t i = e->first; i < e->first + e->files; i++)
			files += !file_lines_is_listener(t->q->server->lines,
							 t->members.items[i].id);
		js_key_int(j, "line", e->id);
		js_key_uint(j, "files", files);
		js_key_string(j, "kind", names_line_kind(t->q->server, e->id));
		js_key_open(j, "members", '[');
		for (size_t i = e->first; i < e->first + e->files && t->shown < ENTRIES_MAX; i++) {
			put_entry(t, j, &t->members.items[i]);
			js_close(j, '}');
		}
		js_close(j, ']');
	}
	js_close(j, '}');
}

/* ---- the answer ---- */

static int files_answer(struct question *q)
{
	const char *given = http_param(q->request, "dir");
	struct bytes dir = {(const uint8_t *)given, given ? strlen(given) : 0};
	struct tree t = {.q = q, .dir = ROOTS};
	struct js j = {.to = &q->out};
	int r = names_prepare_folders(q->server);
	bool known;

	if (r >= 0 && dir.len) /* only folders contain lines of files */
		r = names_prepare(q->server);
	question_deadline(q,
			  QUESTION_NS); /* excludes the names: the next question will have them */
	known = !dir.len || (r >= 0 && catalog_find(q->server->catalog, dir, &t.dir));

	if (r >= 0 && known)
		r = route_files_gather(q, &t);
	heap_first(t.all.items, t.all.count, ENTRIES_MAX, sizeof(*t.all.items),
		   route_files_by_time);
	js_open(&j, '{');
	js_key_open(&j, "entries", '[');
	for (size_t i = 0; i < MIN(t.all.count, (size_t)ENTRIES_MAX); i++)
		route_files_put_line(&t, &j, &t.all.items[i]);
	js_close(&j, ']');
	js_key_uint(&j, "others", t.all.count > ENTRIES_MAX ? t.all.count - ENTRIES_MAX : 0);
	js_close(&j, '}');
	free(t.folders);
	free(t.all.items);
	free(t.members.items);
	return r < 0 ? r : j.error;
}

void files_get(void *arg, struct http_request *r)
{
	bool list = http_param(r, "find") || http_param(r, "section");

	question_run(arg, r, list ? file_list_answer : files_answer);
}
