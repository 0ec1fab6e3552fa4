/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.h: plans that weir answers itself, in one pass and one thread: groups with any aggregate, or rows in
 * another order, and where, select, sort and head over them. For hosts without an engine; one that is
 * there is faster, spills to disk, and can do the rest. The same answers, by a test.
 */
#pragma once

#include "engine/answer.h"
#include "store/store.h"

#define NATIVE_BYTES_MAX (512ull << 20) /* of groups or rows; more is refused */

/* NULL where the plan can be answered here, else what cannot: "join". */
const char *native_lacks(const struct plan *p);

struct native;

/* The store and the plan must outlive it. */
int native_new(struct native **ret, struct store *s, const struct plan *p, struct error *err);
void native_free(struct native *n);
DEFINE_CLEANUP(struct native *, native_free)
/* Reads the trace; `stopped` is asked now and then. -EINTR: it said so; -E2BIG: too many groups. */
int native_run(struct native *n, bool (*stopped)(void *arg), void *arg, struct error *err);
/* Blocks read so far, and all; any thread. */
void native_progress(const struct native *n, uint64_t *ret_done, uint64_t *ret_total);
/* The rows of the answer. 0 or -ENOMEM. */
int native_answer(struct answer *ret, struct native *n);
