// SPDX-License-Identifier: Apache-2.0
#include "server/sums/catalog.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "batch/id_array.h"
#include "names/names.h"
#include "schema/vocab.h"

#define NONE UINT32_MAX

struct catalog {
	uint64_t clock;		 /* state of the dims */
	struct id_array folders; /* the folder of each file, by id */
	struct intern paths;	 /* paths of folders */
	uint32_t *parents;	 /* parents of folders */
	size_t parent_count, parents_cap;
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
	if (r < 0)
		return r;
	c->parents[c->parent_count++] = parent;
	return r;
}

/* Normalizes the slashes of an absolute path: "//a///b/" becomes "/a/b", "/" becomes "". */
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

/* The folder that contains a path's last part. */
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
	/* nearly always the folder is known, or its parent is */
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

/* Longer paths never come from a kernel, and would add a folder for each part. */
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
	path = names_trimmed(path);
	return path.len && intern_find(&c->paths, path.data, path.len, ret);
}

struct bytes catalog_base(struct bytes name)
{
	return name.len && name.data[0] == '/' ? names_base(names_trimmed(name)) : name;
}

/* ---- files ---- */

static int catalog_take_file(struct catalog *c, const struct dims *d, int64_t id)
{
	int64_t file = names_inode(d, id);
	uint32_t folder, *at;
	int r = take_folder(c, d, file, &folder);

	if (r >= 0)
		r = id_array_need(&c->folders, d, TABLE_FILE, file, &at);
	if (r >= 0 && at)
		*at = folder;
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
	if (r < 0)
		return r;
	while (r >= 0 && n > 0)
		r = catalog_take_file(c, d, ids[--n]);
	if (r < 0)
		return r;
	c->clock = clock;
	return r;
}

uint32_t catalog_folder(const struct catalog *c, const struct dims *d, int64_t file)
{
	const uint32_t *at = id_array_at(&c->folders, file);
	struct dims_file room;
	const struct dims_file *f;

	if (at && *at != NONE)
		return *at;
	f = dims_file(d, file, &room);
	return group_of(f ? f->type : FILE_TYPE_UNKNOWN);
}

/* ---- creating and freeing ---- */

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
	id_array_free(&c->folders);
	intern_free(&c->paths);
	free(c->parents);
	buf_free(&c->scratch);
	free(c);
}
