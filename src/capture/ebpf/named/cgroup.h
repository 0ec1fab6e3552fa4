/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h: the hierarchy of control groups that the kernel programs look at, ids to paths and back. */
#pragma once

#include "base/error.h"
#include "schema/wire.h"

struct cgroup_hierarchy {
	char mount[256]; /* where it is mounted */
	enum wire_controller controller;
};

/*
 * Chooses the hierarchy: that of `path` (a folder of the selection) where given, else v2 where it holds the
 * processes, else (v1 and v2 side by side keep every task at the root of v2) a controller of v1. 0, or -ENOENT.
 */
int cgroup_choose(const char *path, struct cgroup_hierarchy *ret);
/* What a v1 hierarchy is mounted as: "pids"; of v2 NULL. */
const char *cgroup_controller_name(enum wire_controller controller);
/* The kernel's id of a cgroup folder. */
int cgroup_id(const char *path, uint64_t *ret, struct error *err);
/* The path under its mount ("/system.slice/x.service") of an id. 0 or negative. */
int cgroup_path(const struct cgroup_hierarchy *h, uint64_t id, char *buf, size_t size);
