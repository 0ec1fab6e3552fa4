/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts.h: which path the recorder has for a file that a process in another mount namespace uses. A container and a service
 * with a /tmp of its own see a file under names that lead nowhere outside; the same file may lie below a mount of
 * the recorder's own namespace.
 *
 * The file is looked up by its place in its file system, which the kernel programs send, not by name. So `hostpath` of a
 * service's private /tmp is the folder behind it, and is null for a container's own tmpfs or overlay.
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
 * The recorder's path of a file, from the device of its file system and its path within that: where a mount of the recorder shows
 * that part of the file system, and no other mount covers it there. Returns its length; 0: it has none, or it does not fit.
 * The table of mounts is read at the first call and again whenever it has changed.
 */
size_t mounts_path(struct mounts *m, uint32_t dev, const char *inside, char *buf, size_t size);
void mounts_free(struct mounts *m);
