/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catalog.h: in which folder the name of each file stands: numbers, worked out once for each file as it
 * comes or changes, so that a list of a million files needs no name but those that are shown.
 *
 * Folders are numbered, a folder behind the one that holds it. The first are the groups of files that have no path.
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
	FOLDER_FIRST /* below it */
};

struct catalog;

int catalog_new(struct catalog **ret) _must_check_;
void catalog_free(struct catalog *c);
DEFINE_CLEANUP(struct catalog *, catalog_free)
/* Takes what came or changed since the last time; nobody else uses the catalog meanwhile. 0 or -ENOMEM. */
int catalog_update(struct catalog *c, const struct dims *d) _must_check_;

/* The folder of a file that file_lines_file() gave. */
uint32_t catalog_folder(const struct catalog *c, const struct dims *d, int64_t file);
/* How many folders there are; the one that holds it (UINT32_MAX: none); its path, or the group's word. */
size_t catalog_count(const struct catalog *c);
uint32_t catalog_parent(const struct catalog *c, uint32_t folder);
struct bytes catalog_path(const struct catalog *c, uint32_t folder);
/* The folder of a path (slashes at its end do not count) or of a group's word; false: there is none. */
bool catalog_find(const struct catalog *c, struct bytes path, uint32_t *ret);
/* The last part of a path, all of any other name. */
struct bytes catalog_base(struct bytes name);
