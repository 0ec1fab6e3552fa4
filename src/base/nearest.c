/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

unsigned int nearest_distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	/* three rows of the edit distance table: the last but one, the last, the current */
	unsigned int rows[3][NEAREST_WORD_MAX + 1];
	unsigned int *before = rows[0], *last = rows[1], *now = rows[2];

	if (la > NEAREST_WORD_MAX || lb > NEAREST_WORD_MAX)
		return UINT_MAX;
	for (size_t j = 0; j <= lb; j++)
		last[j] = (unsigned int)j;
	for (size_t i = 1; i <= la; i++) {
		now[0] = (unsigned int)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned int change = last[j - 1] + !same_letter(a[i - 1], b[j - 1]);
			unsigned int add_or_drop = MIN(last[j], now[j - 1]) + 1;

			now[j] = MIN(add_or_drop, change);
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]))
				now[j] = MIN(now[j], before[j - 2] + 1);
		}
		unsigned int *spare = before;

		before = last;
		last = now;
		now = spare;
	}
	return last[lb];
}

void nearest_offer(struct nearest *n, const char *name)
{
	unsigned int limit = MAX((unsigned int)strlen(n->word) / 3, 1u);
	unsigned int distance = nearest_distance(n->word, name);

	if (distance <= limit && (!n->best || distance < n->distance)) {
		n->best = name;
		n->distance = distance;
	}
}
