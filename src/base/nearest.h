/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h: the known name that a misspelt word most likely means, for "did you mean ...?". */
#pragma once

#include "base/util.h"

#define NEAREST_WORD_MAX 64 /* longer words are not guessed at */

struct nearest {
	const char *word; /* what was typed */
	const char *best; /* the nearest name so far; NULL: none is near enough */
	unsigned int distance;
};

/* Offers one name; start with {.word = typed}. Near enough: at most a third of the word's letters
 * differ, at least one. */
void nearest_offer(struct nearest *n, const char *name);
/* Letters to add, drop, change or swap with their neighbour to turn one into the other (Damerau,
 * restricted). */
unsigned int nearest_distance(const char *a, const char *b);
