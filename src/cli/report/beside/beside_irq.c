/* SPDX-License-Identifier: Apache-2.0 */
/* beside_irq.c: `weir report irq`: counts and durations of interrupt handlers and softirqs, from the table irq. */
#include <errno.h>
#include <string.h>

#include "cli/report/beside/beside.h"

const struct answer_column beside_irq_columns[BESIDE_IRQ_COLUMNS] = {
	BESIDE_COUNT("runs"),
	BESIDE_DUR("time", .weight = true),
	BESIDE_DUR("mean"),
	BESIDE_DUR("shortest", .gives = 5),
	BESIDE_DUR("longest"),
	BESIDE_DUR("raise_mean", .gives = 6),
	BESIDE_DUR("raise_longest", .gives = 7),
	{"kind", {QUERY_CODE, "irq_kind"}},
	{"number", {QUERY_INT}},
	{"handler", {QUERY_TEXT}},
};

struct handler {
	int64_t kind, number;
	int64_t runs, time, shortest, longest, raised, raise_time, raise_longest;
	char name[32];
};

static int irq_take(void *arg, const struct batch *b, size_t row)
{
	const int64_t key[] = {batch_get(b, IRQ_IRQ_KIND, row, -1),
			       batch_get(b, IRQ_NUMBER, row, -1)};
	struct handler *h = beside_group(arg, hash_bytes(key, sizeof(key)));
	int64_t shortest = batch_get(b, IRQ_SHORTEST, row, INT64_MAX);
	struct bytes name = batch_get_bytes(b, IRQ_HANDLER, row);

	if (!h)
		return -ENOMEM;
	h->shortest = h->runs ? MIN(h->shortest, shortest) : shortest;
	h->kind = key[0];
	h->number = key[1];
	h->runs += batch_get(b, IRQ_RUNS, row, 0);
	h->time += batch_get(b, IRQ_TIME, row, 0);
	h->longest = MAX(h->longest, batch_get(b, IRQ_LONGEST, row, 0));
	h->raised += batch_get(b, IRQ_RAISED, row, 0);
	h->raise_time += batch_get(b, IRQ_RAISE_TIME, row, 0);
	h->raise_longest = MAX(h->raise_longest, batch_get(b, IRQ_RAISE_LONGEST, row, 0));
	memcpy(h->name, name.data ? name.data : (const uint8_t *)"",
	       MIN(name.len, sizeof(h->name) - 1));
	return 0;
}

int beside_irq(struct report *r, struct answer_list *t, struct error *err)
{
	_cleanup_beside_ struct beside_groups all = {.size = sizeof(struct handler)};
	int e = beside_scan(r, TABLE_IRQ, ~0ull, BESIDE_ALL, 0, irq_take, &all);

	for (size_t i = 0; e >= 0 && i < all.count; i++) {
		const struct handler *h = (struct handler *)all.all + i;

		answer_list_int(t, h->runs);
		answer_list_int(t, h->time);
		beside_put_known(t, h->runs ? h->time / h->runs : -1);
		answer_list_int(t, h->shortest);
		answer_list_int(t, h->longest);
		beside_put_known(t, h->raised ? h->raise_time / h->raised : -1);
		beside_put_known(t, h->raised ? h->raise_longest : -1);
		answer_list_int(t, h->kind);
		answer_list_int(t, h->number);
		answer_list_str(t, h->name);
	}
	return e;
}
