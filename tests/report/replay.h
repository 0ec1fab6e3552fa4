/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h: replays a stored trace through the contract of a source. */
#pragma once

#include "capture/source.h"
#include "store/store.h"

/*
 * The rows of a trace in the order of its blocks; source keys are the stored ids. All dimension rows come first, so
 * that a later name of a file is known from the start. Summaries are left out: a writer makes new ones. A damaged
 * block becomes a row of loss with its rows. `store` is borrowed and must live as long. 0 or -ENOMEM.
 */
int replay_source_new(struct source **ret, const struct store *store, struct error *err);
