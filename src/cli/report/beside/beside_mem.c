/* SPDX-License-Identifier: Apache-2.0 */
/* beside_mem.c: `weir report mem`: pages that each process allocated, freed and reclaimed, from the table mem. */
#include <errno.h>

#include "cli/report/beside/beside.h"
#include "names/names.h"

#define PAGES(NAME, ...)                                                                    \
	{                                                                                   \
		NAME, {QUERY_INT}, ANSWER_COUNT, .unit = "pages", .dash = true, __VA_ARGS__ \
	}

const struct answer_column beside_mem_columns[BESIDE_MEM_COLUMNS] = {
	PAGES("pages_allocated"),
	PAGES("pages_freed"),
	PAGES("pages_largest", .gives = 5), /* in one allocation */
	BESIDE_COUNT("reclaims", .alarm = true, .gives = 1),
	BESIDE_DUR("reclaim_time", .gives = 2),
	PAGES("pages_reclaimed", .gives = 3),
	{"process", {QUERY_TEXT}},
};

struct pages {
	int64_t thread; /* of the process, + 1; 0: all that are not recorded */
	int64_t allocated, freed, largest, reclaims, reclaim_time, reclaimed;
};

struct mem {
	const struct report *r;
	struct beside_groups groups;
};

static int mem_take(void *arg, const struct batch *b, size_t row)
{
	struct mem *m = arg;
	int64_t thread = batch_get(b, MEM_THREAD_ID, row, -1), process = -1;
	struct pages *p;

	if (thread >= 0)
		process = names_process_of(m->r->dims, thread);
	p = beside_group(&m->groups, (uint64_t)process);
	if (!p)
		return -ENOMEM;
	p->thread = thread + 1;
	p->allocated += batch_get(b, MEM_ALLOCATED, row, 0);
	p->freed += batch_get(b, MEM_FREED, row, 0);
	p->largest = MAX(p->largest, batch_get(b, MEM_LARGEST, row, 0));
	p->reclaims += batch_get(b, MEM_RECLAIMS, row, 0);
	p->reclaim_time += batch_get(b, MEM_RECLAIM_TIME, row, 0);
	p->reclaimed += batch_get(b, MEM_RECLAIMED, row, 0);
	return 0;
}

int beside_mem(struct report *r, struct answer_list *t, struct error *err)
{
	struct mem m = {.r = r, .groups.size = sizeof(struct pages)};
	int e = beside_scan(r, TABLE_MEM, ~0ull, BESIDE_TASKS, MEM_THREAD_ID, mem_take, &m);

	for (size_t i = 0; e >= 0 && i < m.groups.count; i++) {
		const struct pages *p = (struct pages *)m.groups.all + i;

		answer_list_int(t, p->allocated);
		answer_list_int(t, p->freed);
		answer_list_int(t, p->largest);
		answer_list_int(t, p->reclaims);
		answer_list_int(t, p->reclaim_time);
		answer_list_int(t, p->reclaimed);
		if (p->thread)
			e = beside_put_process(r, t, p->thread - 1);
		else
			answer_list_str(t, "(others, kernel, interrupts)");
	}
	beside_groups_free(&m.groups);
	return e;
}
