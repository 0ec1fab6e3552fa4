/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_gone.h: names that were taken from files: removed, or given to another file. The trace has that a file lost its last
 * name (file.deleted) only if it was used afterwards, and not all calls on a name find its file. So names are compared as
 * text: a file that had its latest name before that name went has none any more, unless it was given others (link()).
 * Of hard links from before recording nothing is known.
 */
#pragma once

#include "analysis/features/feature.h"
#include "base/map.h"

#define FD_GONE_MAX 65536 /* names that are remembered: those that went last */

struct fd_gone {
	const struct feature_world *world;
	struct recent gone;   /* hash of a name -> when it went */
	struct recent linked; /* hash of a name whose file has others */
};

void fd_gone_init(struct fd_gone *g, const struct feature_world *w);
void fd_gone_free(struct fd_gone *g);
/* The name of a version of a file went at a time, or its file was given another. 0 or -ENOMEM. */
int fd_gone_note(struct fd_gone *g, int64_t file_id, int64_t at) _must_check_;
int fd_gone_linked(struct fd_gone *g, int64_t file_id) _must_check_;
/* True for a file that had no name at a time. One in memory that never had one to lose (memfd_create()) is none. */
bool fd_gone_is(struct fd_gone *g, int64_t file_id, int64_t at);
