/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h: engines, one for each question that needs one at a time: one holds one statement. */
#pragma once

#include "engine/engine.h"
#include "server/internal.h"

/* The engines use the sums that the server's index has by then. */
int pool_new(struct pool **ret, struct server *s);
void pool_free(struct pool *p);
/*
 * An engine that nobody uses, opened where there is none yet; the request's client going away, or its
 * deadline, interrupts it from now on. Two may be taken at once, each with half of the memory that questions
 * share; others wait. Errors as engine_open()'s, as 503.
 */
int pool_take(struct question *q, struct engine **ret);
/* The same for who makes no rows with it, but a text of SQL: waits for no memory. */
int pool_take_for_text(struct question *q, struct engine **ret);
void pool_give(struct question *q, struct engine *e);
/*
 * True where that memory was not enough and all of it may be: what was answered is forgotten, ask once more. Where all
 * was not enough the error says so.
 */
bool pool_again(struct question *q, int r);
