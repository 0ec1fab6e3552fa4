/* SPDX-License-Identifier: Apache-2.0 */
/* duckdb_result.h: the result of a statement, and additional properties of a plan's answer. */
#pragma once

#include "engine/ask.h"
#include "engine/duckdb/internal.h"

/*
 * The first `shown` columns are the answer; estimate[i] is the column that flags the value of i as an estimate, -1 if
 * it never is one (takes ownership of the array). Units are constants.
 */
int result_shape(struct engine_result *r, size_t shown, int **estimate, const char *const *units);
/* Takes ownership of the steps (an allocated array). */
void result_steps(struct engine_result *r, struct ask_step *steps, size_t count);
/* steps.c: adds the profile of the last statement's steps to the result. 0 or -ENOMEM. */
int steps_read(struct duck *e, enum table_id table, struct engine_result *r);
