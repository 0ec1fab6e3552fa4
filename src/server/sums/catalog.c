// SPDX-License-Identifier: Apache-2.0
#include "server/sums/catalog.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "names/names.h"
#include "schema/vocab.h"

#define TRACES_MAX 256u
#define SPARSE	   4u /* ids beyond so many times the files are looked up, not listed */
#define NONE	   UINT32_MAX

/* What is known of one version, by its id within its trace. */
struct entry {
	uint32_t file;	 /* the generation's own id; NONE: not known here */
	uint32_t folder; /* of the generation, where this is its id; NONE: not known here */
};

struct catalog {
	uint64_t clock; /* of the dims */
	struct entry *entries[TRACES_MAX];
	size_t count[TRACES_MAX];
	struct intern paths; /* of folders */
	uint32_t *parents;   /* of folders */
	size_t parent_count, parents_cap;
	struct map alone;    /* file that is known by name alone -> hash of the name */
	struct map owners;   /* hash of a path -> the file that has it */
	struct map same;     /* file that is known by name alone -> the one that has the name */
	struct map versions; /* id -> 0, of those that are not their generation's own */
	struct buf scratch;
};

static const char *const groups[] = {"sockets", "pipes", "anon", "others"};

/* ---- folders ---- */

static int catalog_add_folder(struct catalog *c, struct bytes path, uint32_t parent, uint32_t *ret)
{
	int r = intern_add(&c->paths, path.data, path.len, ret);

	if (r < 0 || *ret < c->parent_count)
		return r;
	r = grow((void **)&c->parents, &c->parents_cap, c->parent_count + 1, sizeof(*c->parents));
	if (r >= 0)
		c->parents[c->parent_count++] = parent;
	return r;
}

/* Copies an absolute path without double slashes, nor one at its end: "//a///b/" is "/a/b", "/" is "". */
static int clean(struct bytes path, struct buf *to)
{
	int r = 0;

	buf_clear(to);
	for (size_t i = 0; i < path.len && r >= 0; i++) {
		if (path.data[i] != '/' || (i + 1 < path.len && path.data[i + 1] != '/'))
			r = buf_append(to, path.data + i, 1);
	}
	return r;
}

/* The folder that a path's last part stands in. */
static int take_path(struct catalog *c, struct bytes path, uint32_t *ret)
{
	uint32_t folder = FOLDER_ROOT;
	struct bytes part;
	const uint8_t *slash;
	size_t end;
	int r = clean(path, &c->scratch);

	if (r < 0)
		return r;
	slash = c->scratch.len ? memrchr(c->scratch.data, '/', c->scratch.len) : NULL;
	part.data = c->scratch.data;
	part.len = end = slash ? (size_t)(slash - c->scratch.data) : 0;
	/* nearly always it is known, or the one that holds it is */
	if (!end || intern_find(&c->paths, part.data, part.len, &folder)) {
		*ret = folder;
		return 0;
	}
	for (part.len = 1; part.len <= end && r >= 0; part.len++) {
		if (part.len == end || part.data[part.len] == '/')
			r = catalog_add_folder(c, part, folder, &folder);
	}
	*ret = folder;
	return r;
}

static uint32_t group_of(int64_t type)
{
	switch (type) {
	case FILE_TYPE_SOCKET:
		return FOLDER_SOCKETS;
	case FILE_TYPE_PIPE:
		return FOLDER_PIPES;
	case FILE_TYPE_ANON:
		return FOLDER_ANON;
	}
	return FOLDER_OTHERS;
}

/* No kernel gives a longer path; each folder on its way would be kept. */
static int take_folder(struct catalog *c, const struct dims *d, int64_t file, uint32_t *ret)
{
	struct dims_file room;
	const struct dims_file *f = dims_file(d, file, &room);
	struct bytes name = f ? dims_file_name(d, file) : (struct bytes){0};

	*ret = group_of(f ? f->type : FILE_TYPE_UNKNOWN);
	return *ret == FOLDER_OTHERS && name.len && name.len < PATH_MAX && name.data[0] == '/'
		       ? take_path(c, name, ret)
		       : 0;
}

size_t catalog_count(const struct catalog *c)
{
	return c->parent_count;
}

uint32_t catalog_parent(const struct catalog *c, uint32_t folder)
{
	return c->parents[folder];
}

struct bytes catalog_path(const struct catalog *c, uint32_t folder)
{
	return intern_get(&c->paths, folder);
}

bool catalog_find(const struct catalog *c, struct bytes path, uint32_t *ret)
{
	while (path.len > 1 && path.data[path.len - 1] == '/')
		path.len--;
	return path.len && intern_find(&c->paths, path.data, path.len, ret);
}

struct bytes catalog_base(struct bytes name)
{
	if (!name.len || name.data[0] != '/')
		return name;
	while (name.len > 1 && name.data[name.len - 1] == '/')
		name.len--;
	return names_base(name);
}

/* ---- files ---- */

static struct entry *entry_of(const struct catalog *c, int64_t id)
{
	uint64_t trace = id_recording(id);
	uint64_t own = id_own(id);

	return trace < TRACES_MAX && own < c->count[trace] ? &c->entries[trace][own] : NULL;
}

/* The place of an id, made where ids lie close enough; NULL where it has none. */
static int need_entry(struct catalog *c, const struct dims *d, int64_t id, struct entry **ret)
{
	uint64_t trace = id_recording(id);
	uint64_t own = id_own(id);
	size_t cap;
	void *p;

	*ret = entry_of(c, id);
	if (*ret || id < 0 || trace >= TRACES_MAX ||
	    own / SPARSE > dims_rows(d, TABLE_FILE) + 1024 || own >= NONE)
		return 0;
	cap = MAX(2 * c->count[trace], (size_t)1024);
	cap = MAX(cap, own + 1);
	p = reallocarray(c->entries[trace], cap, sizeof(struct entry));
	if (!p)
		return -ENOMEM;
	c->entries[trace] = p;
	for (size_t i = c->count[trace]; i < cap; i++)
		c->entries[trace][i] = (struct entry){NONE, NONE};
	c->count[trace] = cap;
	*ret = entry_of(c, id);
	return 0;
}

static uint64_t name_hash(const struct dims *d, int64_t id)
{
	struct bytes name = dims_file_name(d, id);

	return hash_bytes(name.data, name.len);
}

/* Who has which name; of several who had it, the one that came last. */
static int catalog_take_name(struct catalog *c, const struct dims *d, int64_t id, int64_t inode)
{
	struct dims_file room;
	const struct dims_file *f = dims_file(d, id, &room);

	if (f && f->name_only)
		return map_set(&c->alone, (uint64_t)inode, name_hash(d, id));
	if (f && f->path.len)
		return map_set(&c->owners, name_hash(d, id), (uint64_t)inode);
	return 0;
}

static int catalog_take_file(struct catalog *c, const struct dims *d, int64_t id)
{
	int64_t inode = names_inode(d, id);
	struct entry *e;
	uint32_t folder;
	int r = catalog_take_name(c, d, id, inode);

	if (r >= 0 && inode != id)
		r = map_set(&c->versions, (uint64_t)id, 0);
	if (r >= 0)
		r = need_entry(c, d, id, &e);
	if (r < 0)
		return r;
	if (e && id_recording(inode) == id_recording(id))
		e->file = (uint32_t)id_own(inode);
	r = take_folder(c, d, inode, &folder);
	if (r >= 0)
		r = need_entry(c, d, inode, &e);
	if (r >= 0 && e)
		e->folder = folder;
	return r;
}

/* A name that another file has by now is not its owner's any more. */
static int find_same(struct catalog *c, const struct dims *d)
{
	uint64_t id, hash, other;
	size_t pos = 0;
	int r = 0;

	map_clear(&c->same);
	while (r >= 0 && map_next(&c->alone, &pos, &id, &hash)) {
		if (map_get(&c->owners, hash, &other) && other != id &&
		    name_hash(d, (int64_t)other) == hash)
			r = map_set(&c->same, id, other);
	}
	return r;
}

int catalog_update(struct catalog *c, const struct dims *d)
{
	_cleanup_free_ int64_t *ids = NULL;
	uint64_t clock = dims_clock(d, TABLE_FILE);
	size_t n = 0, cap = 0, pos = 0;
	int64_t id;
	int r = 0;

	if (clock == c->clock)
		return 0;
	while (r >= 0 && dims_changed(d, TABLE_FILE, c->clock, &pos, &id)) {
		r = grow((void **)&ids, &cap, n + 1, sizeof(*ids));
		if (r >= 0)
			ids[n++] = id;
	}
	/* the newest came first */
	while (r >= 0 && n > 0)
		r = catalog_take_file(c, d, ids[--n]);
	if (r >= 0)
		r = find_same(c, d);
	if (r >= 0)
		c->clock = clock;
	return r;
}

int64_t catalog_file(const struct catalog *c, const struct dims *d, int64_t id)
{
	const struct entry *e = id < 0 ? NULL : entry_of(c, id);
	uint64_t other;
	int64_t file;

	if (e && e->file != NONE)
		file = id_compose(e->file, id_recording(id));
	else
		file = names_inode(d, id);
	return c->same.count && map_get(&c->same, (uint64_t)file, &other) ? (int64_t)other : file;
}

bool catalog_next_other(const struct catalog *c, const struct dims *d, struct catalog_walk *w,
			int64_t *ret_id, int64_t *ret_file)
{
	uint64_t id, ignored;
	bool found = map_next(&c->versions, &w->versions, &id, &ignored);

	while (!found && map_next(&c->same, &w->same, &id, &ignored))
		found = !map_get(&c->versions, id, NULL);
	if (found) {
		*ret_id = (int64_t)id;
		*ret_file = catalog_file(c, d, (int64_t)id);
	}
	return found;
}

uint32_t catalog_folder(const struct catalog *c, const struct dims *d, int64_t file)
{
	const struct entry *e = file < 0 ? NULL : entry_of(c, file);
	struct dims_file room;
	const struct dims_file *f;

	if (e && e->folder != NONE)
		return e->folder;
	f = dims_file(d, file, &room);
	return group_of(f ? f->type : FILE_TYPE_UNKNOWN);
}

/* ---- life ---- */

int catalog_new(struct catalog **ret)
{
	_cleanup_(catalog_freep) struct catalog *c = calloc(1, sizeof(*c));
	uint32_t folder;
	int r = c ? 0 : -ENOMEM;

	for (size_t i = 0; i < ARRAY_SIZE(groups) && r >= 0; i++)
		r = catalog_add_folder(
			c, (struct bytes){(const uint8_t *)groups[i], strlen(groups[i])}, NONE,
			&folder);
	if (r >= 0)
		r = catalog_add_folder(c, (struct bytes){(const uint8_t *)"/", 1}, NONE, &folder);
	if (r < 0)
		return r;
	assert(folder == FOLDER_ROOT);
	*ret = TAKE_PTR(c);
	return 0;
}

void catalog_free(struct catalog *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < TRACES_MAX; i++)
		free(c->entries[i]);
	intern_free(&c->paths);
	free(c->parents);
	map_free(&c->alone);
	map_free(&c->owners);
	map_free(&c->same);
	map_free(&c->versions);
	buf_free(&c->scratch);
	free(c);
}
