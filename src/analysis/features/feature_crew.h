/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_crew.h: threads that run features on batches read by another thread. Each feature is run by one thread, and
 * receives every batch, in order.
 */
#pragma once

#include "analysis/features/feature_calls.h"

struct feature_crew;

/* Begins the features, with copies of the numbering's world. 0 or -ENOMEM; call feature_crew_free() in either case. */
int feature_crew_new(struct feature_crew **ret, const struct feature_world *world) _must_check_;
void feature_crew_free(struct feature_crew *c);
DEFINE_CLEANUP(struct feature_crew *, feature_crew_free)
/* The next batch to fill; waits until no feature needs its previous content. */
struct feature_stretch *feature_crew_next(struct feature_crew *c);
/* Hands the batch over. 0, or the first failure of a feature. */
int feature_crew_give(struct feature_crew *c);
/* Waits until every feature has processed every batch. */
int feature_crew_end(struct feature_crew *c);
/* The state of features[i], after feature_crew_end(). */
void *feature_crew_state(const struct feature_crew *c, size_t i);
