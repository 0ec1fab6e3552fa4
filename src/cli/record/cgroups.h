/* SPDX-License-Identifier: Apache-2.0 */
/* cgroups.h: finds the control-group folder of a systemd unit, a container, or a path as
 * /proc/PID/cgroup has it. */
#pragma once

#include "base/map.h"
#include "base/error.h"

/* Each returns the folder (to be freed) in *ret, or a negative errno with what was looked for and
 * where. */
int cgroup_of_path(const char *path, char **ret, struct error *err);
int cgroup_of_unit(const char *unit, char **ret, struct error *err);
int cgroup_of_container(const char *name, char **ret, struct error *err);

/*
 * The same three for a stored trace: nothing is looked up here, as its host may be another. What
 * they give is for cgroup_stored_match() alone.
 */
int cgroup_stored_path(const char *path, char **ret, struct error *err);
int cgroup_stored_unit(const char *unit, char **ret, struct error *err);
int cgroup_stored_container(const char *name, char **ret, struct error *err);
/* True where the path of a recorded control group is it, or is below it. */
bool cgroup_stored_match(const char *wanted, struct bytes path);
