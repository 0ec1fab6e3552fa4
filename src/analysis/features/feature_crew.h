/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_crew.h: threads that feed features, each its own ones, with the stretches that one thread reads. Every feature gets
 * every stretch, in order.
 */
#pragma once

#include "analysis/features/feature_calls.h"

struct feature_crew;

/* Begins the features over a world like that of the numbering. 0 or -ENOMEM; feature_crew_free() in either case. */
int feature_crew_new(struct feature_crew **ret, const struct feature_world *world) _must_check_;
void feature_crew_free(struct feature_crew *c);
DEFINE_CLEANUP(struct feature_crew *, feature_crew_free)
/* The next stretch to fill, once no feature needs what is in it. */
struct feature_stretch *feature_crew_next(struct feature_crew *c);
/* Hands it over. 0, or the first failure of a feature. */
int feature_crew_give(struct feature_crew *c);
/* Waits until every feature has had every stretch. */
int feature_crew_end(struct feature_crew *c);
/* The state of features[i], after the end. */
void *feature_crew_state(const struct feature_crew *c, size_t i);
