/* SPDX-License-Identifier: Apache-2.0 */
/* file.h: the file under a trace that is being written: writes, limits, syncs. Inside store/ only. */
#pragma once

#include <stdatomic.h>

#include "store/store.h"

/* True if a file of that size exceeds the process's own limit: a write would raise a signal instead of failing. */
bool file_beyond_limit(uint64_t size);

/* ---- a syncing thread, so that the writing thread never waits for the disk ---- */

struct file_syncer;

/*
 * Calls fdatasync() every opt->sync_ns if anything was written since. The first time it also syncs the folder of
 * `path`, so that the file's name is durable. 0 or a negative errno.
 */
int file_syncer_new(struct file_syncer **ret, int fd, const char *path,
		    const struct store_options *opt) _must_check_;
/* Notes that something was written. */
void file_syncer_note(struct file_syncer *s);
/* Returns the negative errno of a sync that failed since the last call; 0: none did. */
int file_syncer_error(struct file_syncer *s);
/* Waits for a sync in progress; syncs the folder unless that was done. The caller syncs what was written since. */
void file_syncer_free(struct file_syncer *s);
DEFINE_CLEANUP(struct file_syncer *, file_syncer_free)
