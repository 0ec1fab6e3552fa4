/* SPDX-License-Identifier: Apache-2.0 */
/* duckdb_result.h: the result of a statement, and what a plan's answer knows beside it. */
#pragma once

#include "engine/ask.h"
#include "engine/duckdb/internal.h"

/*
 * Of the columns the first `shown` are the answer; estimate[i] is the column that says whether the
 * value of i is an estimate, -1: it never is (the array is taken over). Units are constants.
 */
int result_shape(struct engine_result *r, size_t shown, int **estimate, const char *const *units);
/* Takes over the steps (an array that was allocated). */
void result_steps(struct engine_result *r, struct ask_step *steps, size_t count);
/* steps.c: what the steps of the statement that ran last took; they go to the result. 0 or -ENOMEM. */
int steps_read(struct duck *e, enum table_id table, struct engine_result *r);
