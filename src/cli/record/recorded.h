/* SPDX-License-Identifier: Apache-2.0 */
/* recorded.h: whether a recording used a word of record --with, and the message if there are no rows of it. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "store/store.h"

enum recorded_state {
	RECORDED_NOT, /* not requested, or refused by the kernel */
	RECORDED_YES,
	RECORDED_SOME, /* in some of several recordings */
};

/*
 * Looks up a word (block, phases, stacks, ...) in the marks weir.with of the trace's recordings. enum recorded_state
 * or negative.
 */
int recorded_with(const struct store *s, const char *word);
/* Prints the line for a trace without such rows: nothing happened, or how to record it. 0 or negative. */
int recorded_put_none(FILE *to, const struct store *s, const char *word);
