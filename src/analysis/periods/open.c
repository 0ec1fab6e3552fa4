/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/periods/open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEADS_FIRST 64

void period_kinds_init(struct period_kind *kinds, const struct period_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct period *p = set->items[i];
		struct period_kind *k = &kinds[i];

		k->end_keys = p->begin.take_count;
		k->val_count = k->end_keys + p->end.key_count;
		if (p->parent >= 0) {
			struct period_kind *parent = &kinds[p->parent];

			k->child = parent->child_count;
			parent->children[parent->child_count++] = (uint32_t)i;
		}
	}
	for (size_t i = 0; i < set->count; i++) {
		struct period_kind *k = &kinds[i];

		for (size_t c = 0; c < k->child_count; c++) {
			k->child_keys[c] = k->val_count;
			k->val_count += set->items[k->children[c]]->begin.key_count;
		}
	}
}

void period_kind_free(struct period_kind *k)
{
	while (k->spare) {
		struct period_open *o = k->spare;

		k->spare = o->next;
		free(o);
	}
	free(k->ends.heads);
	free(k->begins.heads);
}

struct period_open *period_open_new(struct period_kind *k)
{
	size_t links = 1 + k->child_count;
	struct period_open *o = k->spare;

	if (o)
		k->spare = o->next;
	else
		o = malloc(sizeof(*o) + k->val_count * sizeof(*o->val) + links * sizeof(*o->links));
	if (!o)
		return NULL;
	memset(o, 0, sizeof(*o));
	o->links = (struct period_link *)(o->val + k->val_count);
	memset(o->links, 0, links * sizeof(*o->links));
	return o;
}

void period_open_release(struct period_kind *k, struct period_open *o)
{
	o->next = k->spare;
	k->spare = o;
}

uint64_t period_hash(const int64_t *keys, size_t count)
{
	uint64_t h = 0;

	for (size_t i = 0; i < count; i++)
		h = hash_u64(h ^ (uint64_t)keys[i]);
	return h;
}

static void index_put(struct period_link **heads, size_t cap, struct period_link *l)
{
	struct period_link **head = &heads[l->hash & (cap - 1)];

	l->next = *head;
	l->back = head;
	if (l->next)
		l->next->back = &l->next;
	*head = l;
}

static int index_grow(struct period_index *in)
{
	size_t cap = in->cap ? in->cap * 2 : HEADS_FIRST;
	struct period_link **heads;

	if (in->count < in->cap)
		return 0;
	heads = calloc(cap, sizeof(struct period_link *));
	if (!heads)
		return -ENOMEM;
	for (size_t i = 0; i < in->cap; i++) {
		for (struct period_link *l = in->heads[i], *next; l; l = next) {
			next = l->next;
			index_put(heads, cap, l);
		}
	}
	free(in->heads);
	in->heads = heads;
	in->cap = cap;
	return 0;
}

int period_index_add(struct period_index *in, struct period_link *l, struct period_open *o,
		     uint64_t hash)
{
	int r = index_grow(in);

	if (r < 0)
		return r;
	l->open = o;
	l->hash = hash;
	index_put(in->heads, in->cap, l);
	in->count++;
	return 0;
}

void period_index_del(struct period_index *in, struct period_link *l)
{
	if (!l->open)
		return;
	*l->back = l->next;
	if (l->next)
		l->next->back = l->back;
	l->open = NULL;
	assert(in->count);
	in->count--;
}
