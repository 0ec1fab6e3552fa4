/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_gone.h: names taken from files: removed, or given to another file. The trace shows that a file lost its last name
 * (file.deleted) only if the file was used afterwards, and not all calls on a name find its file. Names are therefore
 * compared as text: a file whose latest name was set before that name was taken has no name left, unless it was given
 * others (link()). Hard links made before recording are unknown.
 */
#pragma once

#include "analysis/features/feature.h"
#include "base/map.h"

#define FD_GONE_MAX 65536 /* names remembered: the most recent ones */

struct fd_gone {
	const struct feature_world *world;
	struct recent gone;   /* hash of a name -> time at which it was taken */
	struct recent linked; /* hash of a name whose file has others */
};

void fd_gone_init(struct fd_gone *g, const struct feature_world *w);
void fd_gone_free(struct fd_gone *g);
/* Notes that the name of a file's version was taken, or that its file was given another name. 0 or -ENOMEM. */
int fd_gone_note(struct fd_gone *g, int64_t file_id, int64_t at) _must_check_;
int fd_gone_linked(struct fd_gone *g, int64_t file_id) _must_check_;
/* True for a file that had no name at a time. False for one in memory that never had a name (memfd_create()). */
bool fd_gone_is(struct fd_gone *g, int64_t file_id, int64_t at);
