/* SPDX-License-Identifier: Apache-2.0 */
/* recorded.h: whether a recording had a word of record --with, and what to say where it left nothing to show. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "store/store.h"

enum recorded_state {
	RECORDED_NOT, /* nobody requested it, or the kernel refused it */
	RECORDED_YES,
	RECORDED_SOME, /* of several recordings */
};

/* What the marks weir.with of the trace's recordings say of a word: block, phases, stacks, ... enum recorded_state or negative. */
int recorded_with(const struct store *s, const char *word);
/* The line for a trace that has no rows of it: nothing happened, or how to record it. 0 or negative. */
int recorded_put_none(FILE *to, const struct store *s, const char *word);
