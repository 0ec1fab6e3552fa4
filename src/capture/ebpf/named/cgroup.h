/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h: the control group hierarchy used by the kernel programs; conversion between ids and paths. */
#pragma once

#include "base/error.h"
#include "schema/wire.h"

struct cgroup_hierarchy {
	char mount[256]; /* where it is mounted */
	enum wire_controller controller;
};

/*
 * Chooses the hierarchy: that of `path` (a selected folder) if given; else v2 if it contains the processes; else, as v1
 * and v2 side by side keep every task at the root of v2, a controller of v1. 0, or -ENOENT.
 */
int cgroup_choose(const char *path, struct cgroup_hierarchy *ret);
/* The name of a v1 hierarchy's controller: "pids"; NULL for v2. */
const char *cgroup_controller_name(enum wire_controller controller);
/* The kernel's id of a cgroup folder. */
int cgroup_id(const char *path, uint64_t *ret, struct error *err);
/* The path of an id, relative to its mount ("/system.slice/x.service"). 0 or negative. */
int cgroup_path(const struct cgroup_hierarchy *h, uint64_t id, char *buf, size_t size);
