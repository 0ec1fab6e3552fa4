/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h: the known name that a misspelt word most likely means, for "did you mean ...?". */
#pragma once

#include "base/util.h"

#define NEAREST_WORD_MAX 64 /* no suggestions for longer words */

struct nearest {
	const char *word; /* what was typed */
	const char *best; /* the nearest name so far; NULL: none is close enough */
	unsigned int distance;
};

/* Offers one candidate; start with {.word = typed}. Close enough: at most a third of the word's letters differ, but at
 * least one may. */
void nearest_offer(struct nearest *n, const char *name);
/* The number of letters to insert, delete, change or swap with their neighbour to turn one word into the other
 * (restricted Damerau-Levenshtein distance). */
unsigned int nearest_distance(const char *a, const char *b);
