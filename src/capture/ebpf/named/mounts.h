/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts.h: the recorder's path for a file used by a process in another mount namespace. A container, or a service with
 * a private /tmp, sees files under names that are not valid outside; the same file may be below a mount of the
 * recorder's own namespace.
 *
 * The file is looked up by its location in its file system, which the kernel programs send, not by name. So the
 * `hostpath` of a file in a service's private /tmp is in the folder behind it, and is null for a container's own tmpfs
 * or overlay.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct mounts {
	int fd; /* /proc/self/mountinfo; 0: not opened yet */
	struct buf text;
	struct mount *list;
	size_t count, cap;
	size_t top; /* the root of the namespace; count: not found */
};

/*
 * The recorder's path of a file, from the device of its file system and its path within that: if a mount of the
 * recorder contains that part of the file system, and no other mount covers it. Returns the length; 0: there is none,
 * or it does not fit. The table of mounts is read at the first call and again whenever it has changed.
 */
size_t mounts_path(struct mounts *m, uint32_t dev, const char *inside, char *buf, size_t size);
void mounts_free(struct mounts *m);
