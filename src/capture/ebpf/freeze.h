/* SPDX-License-Identifier: Apache-2.0 */
/*
 * freeze.h: holds the command that weir started when back-pressure is not enough: its control group is frozen until
 * the rings are empty. A process of its own, the guardian, thaws it whatever happens to the recorder.
 */
#pragma once

#include "base/error.h"

#define HOLD_LIMIT_NS (10ll * 1000 * 1000 * 1000) /* the default limit of a hold */

struct freezer;

/* Forks the guardian; call it while the process has one thread, or few. `cgroup_fd`: the folder of the group, v2
 * (cgroup.freeze) or of the v1 freezer (freezer.state); borrowed until freezer_new() returns. A program is never held
 * longer than limit_ns; after that loss is counted. */
int freezer_new(struct freezer **ret, int cgroup_fd, int64_t limit_ns, struct error *err);
/* Thaws, ends the guardian. */
void freezer_free(struct freezer *f);
DEFINE_CLEANUP(struct freezer *, freezer_free)

/* For the reader thread. Freezes unless it is so already or the limit was reached and the rings were not empty since. */
void freezer_hold(struct freezer *f);
void freezer_release(struct freezer *f);
/* Releases when the limit is reached. Call it often while held. */
void freezer_tick(struct freezer *f);

/* For any thread. */

bool freezer_held(struct freezer *f);
/* How much of [from, to] (monotonic ns) the program was held. */
int64_t freezer_overlap(struct freezer *f, int64_t from, int64_t to);
/* Total, and how often the limit was reached. */
void freezer_totals(struct freezer *f, uint64_t *ret_held_ns, uint64_t *ret_limits);
