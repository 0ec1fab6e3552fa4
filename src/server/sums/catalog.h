/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog.h: the folder of each file's name, as a number. It is computed once per file, when the file is added or
 * changes, so that listing a million files needs only the names that are shown.
 *
 * Folders are numbered after their parents. The first ones are the groups of files that have no path.
 */
#pragma once

#include "base/map.h"
#include "batch/dims.h"

enum catalog_folder {
	FOLDER_SOCKETS,
	FOLDER_PIPES,
	FOLDER_ANON,
	FOLDER_OTHERS,
	FOLDER_ROOT, /* "/" */
	FOLDER_FIRST /* first folder below it */
};

struct catalog;

int catalog_new(struct catalog **ret) _must_check_;
void catalog_free(struct catalog *c);
DEFINE_CLEANUP(struct catalog *, catalog_free)
/*
 * Adds what was recorded or changed since the last call; no other thread may use the catalog meanwhile. 0 or -ENOMEM.
 */
int catalog_update(struct catalog *c, const struct dims *d) _must_check_;

/* The folder of a file, as returned by file_lines_file(). */
uint32_t catalog_folder(const struct catalog *c, const struct dims *d, int64_t file);
/* The number of folders; a folder's parent (UINT32_MAX: none); its path, or the group's word. */
size_t catalog_count(const struct catalog *c);
uint32_t catalog_parent(const struct catalog *c, uint32_t folder);
struct bytes catalog_path(const struct catalog *c, uint32_t folder);
/* The folder of a path (trailing slashes are ignored) or of a group's word; false: there is none. */
bool catalog_find(const struct catalog *c, struct bytes path, uint32_t *ret);
/* The last part of a path, or the whole of any other name. */
struct bytes catalog_base(struct bytes name);
