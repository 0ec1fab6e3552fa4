/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/trace_held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool held_before(const struct held_line *a, const struct held_line *b)
{
	return a->turn != b->turn ? a->turn < b->turn : a->number < b->number;
}

static void held_swap(struct held_line *a, struct held_line *b)
{
	struct held_line t = *a;

	*a = *b;
	*b = t;
}

int held_add(struct held_lines *h, int64_t turn, int64_t at, int64_t tid, struct bytes text)
{
	struct held_line line = {turn, h->added, at, tid, malloc(text.len + 1), text.len};
	size_t i = h->count;

	if (!line.text || grow((void **)&h->items, &h->cap, h->count + 1, sizeof(*h->items)) < 0) {
		free(line.text);
		return -ENOMEM;
	}
	memcpy(line.text, text.data, text.len);
	h->items[h->count++] = line;
	h->added++;
	h->bytes += text.len;
	for (; i && held_before(&h->items[i], &h->items[(i - 1) / 2]); i = (i - 1) / 2)
		held_swap(&h->items[i], &h->items[(i - 1) / 2]);
	return 0;
}

bool held_take(struct held_lines *h, int64_t until, struct held_line *ret)
{
	size_t i = 0, next;

	if (!h->count || h->items[0].turn >= until)
		return false;
	*ret = h->items[0];
	h->bytes -= ret->len;
	h->items[0] = h->items[--h->count];
	while ((next = 2 * i + 1) < h->count) {
		next += next + 1 < h->count && held_before(&h->items[next + 1], &h->items[next]);
		if (!held_before(&h->items[next], &h->items[i]))
			break;
		held_swap(&h->items[next], &h->items[i]);
		i = next;
	}
	return true;
}

void held_free(struct held_lines *h)
{
	for (size_t i = 0; i < h->count; i++)
		free(h->items[i].text);
	free(h->items);
	*h = (struct held_lines){0};
}
