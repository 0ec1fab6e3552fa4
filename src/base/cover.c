/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cover.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void cover_free(struct cover *c)
{
	free(c->list);
	*c = (struct cover){0};
}

/* Intervals that overlap the new one are merged into it. */
int cover_add(struct cover *c, int64_t from, int64_t to)
{
	if (to <= from)
		return 0;
	while (c->count && c->list[c->count - 1].to >= from) {
		c->count--;
		from = MIN(from, c->list[c->count].from);
		to = MAX(to, c->list[c->count].to);
	}
	return array_add(c->list, c->count, c->cap, (struct cover_interval){from, to});
}

int64_t cover_sum(const struct cover *c)
{
	int64_t sum = 0;

	for (size_t i = 0; i < c->count; i++)
		sum += c->list[i].to - c->list[i].from;
	return sum;
}
