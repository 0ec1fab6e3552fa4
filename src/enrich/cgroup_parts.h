/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_parts.h: finds the systemd unit and the container in a cgroup's path. */
#pragma once

#include "base/map.h"

/* The innermost "x.service", "x.scope", "x.socket", "x.mount" or, if there is none, "x.slice"; {NULL, 0}: none. */
struct bytes cgroup_unit(struct bytes path);
/*
 * The container's id: 64 hexadecimal digits under the prefixes and suffixes that Docker,
 * containerd, CRI-O and Podman use ("docker-ID.scope", "/docker/ID", "libpod-ID.scope"), or LXC's
 * "lxc.payload.NAME"; {NULL, 0}: none.
 */
struct bytes cgroup_container(struct bytes path);
