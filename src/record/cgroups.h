/* SPDX-License-Identifier: Apache-2.0 */
/* cgroups.h: finds the control group folder of a systemd unit, a container, or a path as in /proc/PID/cgroup. */
#pragma once

#include "base/map.h"
#include "base/error.h"

/* Each returns the folder (to be freed) in *ret, or a negative errno with a message that names what was searched for
 * and where. */
int cgroup_of_path(const char *path, char **ret, struct error *err);
int cgroup_of_unit(const char *unit, char **ret, struct error *err);
int cgroup_of_container(const char *name, char **ret, struct error *err);
