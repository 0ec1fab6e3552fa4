/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markers.h: spans that scripts mark by a call that fails: `[ -r /dev/null/weir/begin:NAME ]` requests access to a path
 * below a file, which is ENOTDIR. The path specifies what to mark: begin:NAME, end:NAME or note:KEY=VALUE. These become
 * rows of `span` and `note` here, where the path is known as passed by the program. Spans of a process nest: an end
 * closes the innermost span of that name, and cuts those that began in it.
 */
#pragma once

#include "capture/ebpf/calls/decode.h"

struct markers;

void markers_free(struct markers *m);
/* A call with a path has ended: processes it if it is a marker. 0 or negative. */
int markers_call(struct decode *d, const struct wire_op *w, const struct wire_name *path,
		 struct batch_set *out) _must_check_;
/* A process ended, or called exec: cuts its open spans. 0 or negative. */
int markers_gone(struct decode *d, int32_t pid, uint64_t process_start, int64_t time,
		 struct batch_set *out) _must_check_;
/* Calls so far that mark spans and found no room in a ring. */
uint64_t markers_lost(const struct decode *d);
/* Recording ends: adds rows for all open spans. 0 or negative. */
int markers_end(struct decode *d, struct batch_set *out) _must_check_;
