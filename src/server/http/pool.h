/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h: engines, one per question that needs one at a time, as an engine runs one statement. */
#pragma once

#include "engine/engine.h"
#include "server/internal.h"

/* The engines use the sums that the server's index has at that time. */
int pool_new(struct pool **ret, struct server *s);
void pool_free(struct pool *p);
/*
 * Gets a free engine, opened if there is none yet. It is interrupted when the request's client goes away or its
 * deadline passes. Two may be taken at once, each with half of the memory budget; others wait. Errors are those of
 * engine_open(), as 503.
 */
int pool_take(struct question *q, struct engine **ret);
/* The same for translating a plan to SQL without running it: does not wait for memory. */
int pool_take_for_text(struct question *q, struct engine **ret);
void pool_give(struct question *q, struct engine *e);
/*
 * True if half of the memory was not enough and all of it may be: the answer so far is dropped and the caller repeats
 * the question. If all was not enough, the error says so.
 */
bool pool_again(struct question *q, int r);
