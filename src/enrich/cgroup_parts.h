/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_parts.h: what the path of a cgroup says about the systemd unit and the container that it belongs
 * to. */
#pragma once

#include "base/map.h"

/* The innermost "x.service", "x.scope", "x.socket", "x.mount" or, failing these, "x.slice"; {NULL,
 * 0}: none. */
struct bytes cgroup_unit(struct bytes path);
/*
 * The container's id: 64 hexadecimal digits under the prefixes and suffixes that Docker,
 * containerd, CRI-O and Podman use ("docker-ID.scope", "/docker/ID", "libpod-ID.scope"), or LXC's
 * "lxc.payload.NAME"; {NULL, 0}: none.
 */
struct bytes cgroup_container(struct bytes path);
