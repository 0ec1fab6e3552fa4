/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/trace_held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/heap.h"

/* The first line is the last one in this order. */
static int held_order(const void *a, const void *b)
{
	const struct held_line *x = a, *y = b;

	return ORDER(y->turn, x->turn) ?: ORDER(y->number, x->number);
}

int held_add(struct held_lines *h, int64_t turn, int64_t at, int64_t tid, struct bytes text)
{
	struct held_line line = {turn, h->added, at, tid, malloc(text.len + 1), text.len};

	if (!line.text || array_add(h->items, h->count, h->cap, line) < 0) {
		free(line.text);
		return -ENOMEM;
	}
	memcpy(line.text, text.data, text.len);
	h->added++;
	h->bytes += text.len;
	heap_raise(h->items, h->count, sizeof(line), held_order);
	return 0;
}

bool held_take(struct held_lines *h, int64_t until, struct held_line *ret)
{
	if (!h->count || h->items[0].turn >= until)
		return false;
	*ret = h->items[0];
	h->bytes -= ret->len;
	h->items[0] = h->items[--h->count];
	heap_sink(h->items, h->count, sizeof(*h->items), 0, held_order);
	return true;
}

void held_free(struct held_lines *h)
{
	for (size_t i = 0; i < h->count; i++)
		free(h->items[i].text);
	free(h->items);
	*h = (struct held_lines){0};
}
