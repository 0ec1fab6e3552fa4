/* SPDX-License-Identifier: Apache-2.0 */
/* file.h: the file under a trace that is being written: writes, limits, syncs. Inside store/ only. */
#pragma once

#include <stdatomic.h>

#include "store/store.h"

/* Writes all of it at an offset. 0 or a negative errno. */
int file_write(int fd, const void *data, size_t len, uint64_t offset);
/* True where a file of that size is beyond the process's own limit: a write would not fail but be a signal. */
bool file_beyond_limit(uint64_t size);

/* ---- a thread that syncs, so that the one that writes never waits for the disk ---- */

struct file_syncer;

/*
 * Calls fdatasync() every opt->sync_ns while there is something new. With the first, the folder of `path` is synced, so
 * that the file's name is there too. 0 or a negative errno.
 */
int file_syncer_new(struct file_syncer **ret, int fd, const char *path,
		    const struct store_options *opt) _must_check_;
/* Something was written. */
void file_syncer_note(struct file_syncer *s);
/* The errno, negative, of a sync that failed since the last call; 0: none did. */
int file_syncer_error(struct file_syncer *s);
/* Waits for a sync that is under way. What was written since is the caller's to sync. */
void file_syncer_free(struct file_syncer *s);
DEFINE_CLEANUP(struct file_syncer *, file_syncer_free)
