/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd.h: reads and writes that continue where a signal or a full pipe interrupted them; the folder for temporary files.
 */
#pragma once

#include "base/buf.h"

/* Writes all of the data, at the current position or at an offset. 0 or -errno; -EIO if the file takes no more. */
int fd_write(int fd, const void *data, size_t len);
int fd_write_at(int fd, const void *data, size_t len, uint64_t offset);
/* Reads at an offset; fewer than `len` bytes only at the end of the file. Their number, or -errno. */
ssize_t fd_read_at(int fd, void *to, size_t len, uint64_t offset);
/* Appends what follows up to the end; stops once the buffer holds more than `max` bytes. 0, -ENOMEM or -errno. */
int fd_read_all(int fd, size_t max, struct buf *to);
/* $TMPDIR, else /var/tmp, which is on disk while /tmp may be memory. Ignores $TMPDIR in a program with privileges. */
const char *temporary_folder(void);
