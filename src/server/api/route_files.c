// SPDX-License-Identifier: Apache-2.0
/* route_files.c: /files: one level of the tree of files, by the latest name of each, with the I/O on them. */
#include <errno.h>
#include <string.h>

#include "base/saturate.h"
#include "server/sums/catalog.h"
#include "server/sums/file_sums.h"
#include "server/sums/who.h"

#define ENTRIES_MAX 5000u      /* of one folder; the ones with most time first */
#define ROOTS	    UINT32_MAX /* instead of a folder: what stands in none */

struct entry {
	int64_t id;	 /* of a file; -1: a folder */
	uint32_t folder; /* its own number */
	uint64_t files, calls, errors, bytes, time;
};

struct tree {
	struct question *q;
	uint32_t dir;	       /* that is asked for */
	struct entry *folders; /* [catalog_count()]: all that is in each, at any depth */
	struct entry *entries; /* of dir */
	size_t count, cap;
};

/* ---- what is in it ---- */

static void route_files_add(struct entry *to, const struct entry *e)
{
	to->files += e->files;
	to->calls = add_sat(to->calls, e->calls);
	to->errors = add_sat(to->errors, e->errors);
	to->bytes = add_sat(to->bytes, e->bytes);
	to->time = add_sat(to->time, e->time);
}

static int add_entry(struct tree *t, const struct entry *e)
{
	int r = grow((void **)&t->entries, &t->cap, t->count + 1, sizeof(*t->entries));

	if (r >= 0)
		t->entries[t->count++] = *e;
	return r;
}

static int route_files_add_file(struct tree *t, const struct dims *d, const struct sums_file *f)
{
	const struct server *s = t->q->server;
	uint32_t folder = catalog_folder(s->catalog, d, f->id);
	const struct entry e = {.id = f->id,
				.files = 1,
				.calls = f->calls,
				.errors = f->errors,
				.bytes = f->bytes,
				.time = f->time};

	route_files_add(&t->folders[folder], &e);
	return folder == t->dir ? add_entry(t, &e) : 0;
}

/* Folders stand behind those that hold them. */
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
			r = add_entry(t, &t->folders[i]);
	}
	return r;
}

static int route_files_gather(struct question *q, struct tree *t)
{
	const struct dims *d = store_dims(q->server->store);
	const struct sums_want want = {.files = true};
	_cleanup_pass_filter_ struct pass_filter pass_filter = {0};
	_cleanup_(sums_freep) struct sums *s = NULL;
	_cleanup_free_ struct sums_file *files = NULL;
	size_t count = 0;
	int r = pass_filter_make(q, q->filter, &pass_filter);

	if (r >= 0)
		r = sums_run(q, &pass_filter, &want, &s);
	if (r >= 0)
		r = file_sums_merge(q->server, s, &files, &count);
	if (r < 0)
		return r;
	t->folders = calloc(catalog_count(q->server->catalog), sizeof(*t->folders));
	if (!t->folders)
		return -ENOMEM;
	for (size_t i = 0; r >= 0 && i < count; i++)
		r = route_files_add_file(t, d, &files[i]);
	return r < 0 ? r : add_folders(t);
}

/* ---- which are shown ---- */

/* Most time first, then most calls, folders before files. */
static int route_files_by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? 1 : -1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->folder > y->folder) - (x->folder < y->folder);
}

static void swap(struct entry *a, struct entry *b)
{
	struct entry was = *a;

	*a = *b;
	*b = was;
}

/* The place of one of e[from .. to) by order; those before it are put before it. */
static size_t partition(struct entry *e, size_t from, size_t to)
{
	size_t at = from, last = to - 1;

	swap(&e[from + (to - from) / 2], &e[last]);
	for (size_t i = from; i < last; i++) {
		if (route_files_by_time(&e[i], &e[last]) < 0)
			swap(&e[i], &e[at++]);
	}
	swap(&e[at], &e[last]);
	return at;
}

/* Puts the first `top` to the front, in order: sorting a million takes longer. */
static void route_files_choose(struct entry *e, size_t count, size_t top)
{
	size_t from = 0, to = count;

	while (top < count && to - from > 64) {
		size_t at = partition(e, from, to);

		if (at >= top)
			to = at;
		else
			from = at + 1;
	}
	if (to)
		qsort(e, to, sizeof(*e), route_files_by_time);
}

static void put_entry(const struct tree *t, struct js *j, const struct entry *e)
{
	const struct server *s = t->q->server;
	const struct dims *d = store_dims(s->store);
	struct bytes none = {(const uint8_t *)"", 0}, name, path;

	if (e->id < 0) {
		path = catalog_path(s->catalog, e->folder);
		name = catalog_base(path);
	} else {
		name = dims_has(d, TABLE_FILE, e->id) ? dims_file_name(d, e->id)
						      : (struct bytes){0};
		path = t->dir >= FOLDER_ROOT ? name : none;
		name = t->dir >= FOLDER_ROOT ? catalog_base(name) : name;
	}
	js_open(j, '{');
	js_key_bytes(j, "name", name);
	js_key_bytes(j, "path", path.data ? path : none);
	js_key(j, "dir");
	js_bool(j, e->id < 0);
	js_key(j, "id");
	if (e->id < 0)
		js_null(j);
	else
		js_int(j, e->id);
	js_key_uint(j, "calls", e->calls);
	js_key_uint(j, "errors", e->errors);
	js_key_uint(j, "bytes", e->bytes);
	js_key_uint(j, "time", e->time);
	js_close(j, '}');
}

/* ---- the answer ---- */

static int files_answer(struct question *q)
{
	const char *given = http_param(q->request, "dir");
	struct bytes dir = {(const uint8_t *)given, given ? strlen(given) : 0};
	struct tree t = {.q = q, .dir = ROOTS};
	struct js j = {.to = &q->out};
	int r = names_prepare(q->server);
	bool known;

	question_deadline(q, QUESTION_NS); /* not of the names: the next question has them */
	known = !dir.len || (r >= 0 && catalog_find(q->server->catalog, dir, &t.dir));

	if (r >= 0 && known)
		r = route_files_gather(q, &t);
	route_files_choose(t.entries, t.count, ENTRIES_MAX);
	js_open(&j, '{');
	js_key(&j, "entries");
	js_open(&j, '[');
	for (size_t i = 0; i < MIN(t.count, (size_t)ENTRIES_MAX); i++)
		put_entry(&t, &j, &t.entries[i]);
	js_close(&j, ']');
	js_key_uint(&j, "others", t.count > ENTRIES_MAX ? t.count - ENTRIES_MAX : 0);
	js_close(&j, '}');
	free(t.folders);
	free(t.entries);
	return r < 0 ? r : j.error;
}

void files_get(void *arg, struct http_request *r)
{
	question_run(arg, r, files_answer);
}
