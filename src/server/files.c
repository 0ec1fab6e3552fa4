// SPDX-License-Identifier: Apache-2.0
/* files.c: /files: one level of the tree of files, by the latest name of each, with the I/O on them. */
#include <errno.h>
#include <string.h>

#include "server/file_sums.h"
#include "server/names.h"

#define ENTRIES_MAX 5000u /* of one folder; the ones with most time first */

struct entry {
	struct bytes name; /* its last part */
	struct bytes path; /* of a folder or file; {NULL, 0}: it has none */
	bool dir;
	int64_t id; /* of a file */
	uint64_t calls, errors, bytes, time;
};

struct tree {
	struct question *q;
	const struct dims *dims;
	const char *dir;   /* without the slash at its end; "" is the root's own */
	bool roots;	   /* nothing was asked for: the roots themselves */
	const char *group; /* a group of files without a path */
	struct intern names;
	struct entry *entries;
	size_t count, cap;
};

/* Where a file without a path is found. */
static const char *group_of(const struct dims_file *f)
{
	switch (f ? f->type : FILE_TYPE_UNKNOWN) {
	case FILE_TYPE_SOCKET:
		return "sockets";
	case FILE_TYPE_PIPE:
		return "pipes";
	case FILE_TYPE_ANON:
		return "anon";
	}
	return "others";
}

static bool has_path(const struct dims_file *f, struct bytes name)
{
	return f && name.len && name.data[0] == '/' && f->type != FILE_TYPE_SOCKET &&
	       f->type != FILE_TYPE_PIPE && f->type != FILE_TYPE_ANON;
}

/* The part of a path that stands in the folder; false where it is not below it. */
static bool part_below(const struct tree *t, struct bytes path, struct bytes *ret, bool *ret_dir)
{
	size_t len = strlen(t->dir);
	const uint8_t *slash;

	if (path.len <= len + 1 || memcmp(path.data, t->dir, len) || path.data[len] != '/')
		return false;
	ret->data = path.data + len + 1;
	ret->len = path.len - len - 1;
	slash = memchr(ret->data, '/', ret->len);
	*ret_dir = slash != NULL;
	if (slash)
		ret->len = (size_t)(slash - ret->data);
	return ret->len > 0;
}

/* Names are told apart by kind: a folder may have had the name of a file. */
static int find_entry(struct tree *t, struct bytes name, bool dir, int64_t id, struct entry **ret)
{
	_cleanup_buf_ struct buf key = {0};
	uint32_t at;
	int r = buf_append(&key, dir ? "d" : "f", 1);

	if (r >= 0 && !dir)
		r = buf_append(&key, &id, sizeof(id));
	if (r >= 0)
		r = buf_append(&key, name.data, name.len);
	if (r >= 0)
		r = intern_add(&t->names, key.data, key.len, &at);
	if (r < 0)
		return r;
	if (at == t->count) {
		r = grow((void **)&t->entries, &t->cap, t->count + 1, sizeof(*t->entries));
		if (r < 0)
			return r;
		t->entries[t->count++] = (struct entry){.name = name, .dir = dir, .id = id};
	}
	*ret = &t->entries[at];
	return 0;
}

static void add(struct entry *e, const struct sums_file *row)
{
	e->calls += row->calls;
	e->errors += row->errors;
	e->bytes += row->bytes;
	e->time += row->time;
}

static int add_file(struct tree *t, const struct sums_file *row)
{
	struct dims_file room;
	const struct dims_file *f = dims_file(t->dims, row->id, &room);
	struct bytes name = f ? dims_file_name(t->dims, row->id) : (struct bytes){0};
	bool path = has_path(f, name), dir = true;
	const char *group = group_of(f);
	struct bytes part = {(const uint8_t *)group, strlen(group)};
	struct entry *e;
	int r;

	if (t->roots) {
		if (path)
			part = (struct bytes){(const uint8_t *)"/", 1};
	} else if (t->group) {
		if (path || strcmp(group, t->group) != 0)
			return 0;
		part = name;
		dir = false;
	} else if (!path || !part_below(t, name, &part, &dir)) {
		return 0;
	}
	r = find_entry(t, part, dir, dir ? -1 : row->id, &e);
	if (r < 0)
		return r;
	if (path && !t->roots)
		e->path = (struct bytes){name.data, (size_t)(part.data + part.len - name.data)};
	else if (dir)
		e->path = part;
	add(e, row);
	return 0;
}

static int compare_names(struct bytes a, struct bytes b)
{
	size_t n = MIN(a.len, b.len);
	int c = n ? memcmp(a.data, b.data, n) : 0;

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? 1 : -1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	if (x->dir != y->dir)
		return x->dir ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return compare_names(x->name, y->name);
}

static void put_entry(struct js *j, const struct entry *e)
{
	js_open(j, '{');
	js_key_bytes(j, "name", e->name);
	js_key_bytes(j, "path", e->path.data ? e->path : (struct bytes){(const uint8_t *)"", 0});
	js_key(j, "dir");
	js_bool(j, e->dir);
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

static void take_dir(struct tree *t, char *dir)
{
	static const char *const groups[] = {"sockets", "pipes", "anon", "others"};
	size_t len = strlen(dir);

	t->roots = !len;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		if (strcmp(dir, groups[i]) == 0)
			t->group = groups[i];
	}
	while (len && dir[len - 1] == '/')
		dir[--len] = '\0';
	t->dir = dir;
}

static int gather(struct question *q, struct tree *t)
{
	const struct sums_want want = {.files = true};
	_cleanup_sieve_ struct sieve sieve = {0};
	_cleanup_(sums_freep) struct sums *s = NULL;
	_cleanup_free_ struct sums_file *files = NULL;
	size_t count = 0;
	int r = sieve_make(q, q->filter, &sieve);

	if (r >= 0)
		r = names_prepare(q->server);
	if (r >= 0)
		r = sums_run(q, &sieve, &want, &s);
	if (r >= 0)
		r = file_sums_merge(q->server, s, &files, &count);
	for (size_t i = 0; r >= 0 && i < count; i++)
		r = add_file(t, &files[i]);
	return r;
}

static int files_answer(struct question *q)
{
	const char *given = http_param(q->request, "dir");
	_cleanup_free_ char *dir = strdup(given ? given : "");
	struct tree t = {.q = q, .dims = store_dims(q->server->store)};
	struct js j = {.to = &q->out};
	int r;

	if (!dir)
		return -ENOMEM;
	take_dir(&t, dir);
	r = gather(q, &t);
	if (t.count)
		qsort(t.entries, t.count, sizeof(*t.entries), by_time);
	js_open(&j, '{');
	js_key(&j, "entries");
	js_open(&j, '[');
	for (size_t i = 0; i < MIN(t.count, (size_t)ENTRIES_MAX); i++)
		put_entry(&j, &t.entries[i]);
	js_close(&j, ']');
	js_key_uint(&j, "others", t.count > ENTRIES_MAX ? t.count - ENTRIES_MAX : 0);
	js_close(&j, '}');
	free(t.entries);
	intern_free(&t.names);
	return r < 0 ? r : j.error;
}

void files_get(void *arg, struct http_request *r)
{
	question_run(arg, r, files_answer);
}
