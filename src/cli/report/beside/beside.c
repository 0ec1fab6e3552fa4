/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/beside/beside.h"

#include <string.h>

#include "base/array.h"
#include "names/names.h"

static int64_t beside_key(const struct report *r, enum beside_by by, int64_t thread, int64_t file)
{
	if (by == BESIDE_FILES)
		return file;
	return by == BESIDE_TASKS && thread >= 0 ? names_task(r->dims, thread) : thread;
}

/* Collects the column's values in the selected calls. 0 or -ENOMEM. */
static int beside_selected(const struct report *r, enum beside_by by, struct map *ret)
{
	int e = 0;

	for (size_t i = 0; e >= 0 && i < rollup_count(r->scan.rollup); i++) {
		const struct rollup_row *row = rollup_row(r->scan.rollup, i);

		e = map_set(ret, (uint64_t)beside_key(r, by, row->thread_id, row->file_id), 1);
	}
	return e;
}

int beside_scan(const struct report *r, enum table_id table, uint64_t columns, enum beside_by by,
		unsigned int column, beside_fn *fn, void *arg)
{
	const struct scan_request q = {.table = table,
				       .columns = columns,
				       .from = r->ranged ? r->from : INT64_MIN,
				       .to = r->ranged ? r->to : INT64_MAX};
	bool some = r->filtered && by != BESIDE_ALL;
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	_cleanup_(map_free) struct map selected = {0};
	const struct batch *b;
	const uint32_t *rows;
	struct error err = {0};
	ssize_t n;
	int e = some ? beside_selected(r, by, &selected) : 0;

	if (e >= 0)
		e = engine_scan_new(&scan, r->store, &q, &err);
	if (e < 0)
		return e;
	while ((n = engine_scan_next(scan, &b, &rows, &err)) > 0) {
		for (ssize_t i = 0; i < n && e >= 0; i++) {
			int64_t id = some ? batch_get(b, column, rows[i], -1) : 0;

			if (some &&
			    ((by != BESIDE_FILES && id < 0) ||
			     !map_get(&selected, (uint64_t)beside_key(r, by, id, id), NULL)))
				continue;
			e = fn(arg, b, rows[i]);
		}
		if (e < 0)
			return e;
	}
	return (int)n;
}

void *beside_group(struct beside_groups *g, uint64_t hash)
{
	return array_element(&g->all, &g->count, &g->cap, g->size, &g->at, hash, NULL);
}

void beside_groups_free(struct beside_groups *g)
{
	map_free(&g->at);
	free(g->all);
	g->all = NULL;
	g->count = g->cap = 0;
}

static int put_name(struct answer_list *t, const struct dims *d, int64_t id,
		    int (*name)(const struct dims *d, int64_t id, struct buf *out))
{
	_cleanup_buf_ struct buf b = {0};
	int e = id < 0 ? 0 : name(d, id, &b);

	if (e < 0)
		return e;
	answer_list_some(t, id >= 0 ? buf_bytes(&b) : (struct bytes){0});
	return 0;
}

int beside_put_process(const struct report *r, struct answer_list *t, int64_t thread_id)
{
	int64_t process = thread_id < 0 ? -1 : names_process_of(r->dims, thread_id);

	return put_name(t, r->dims, process, names_process);
}

int beside_put_thread(const struct report *r, struct answer_list *t, int64_t thread_id)
{
	return put_name(t, r->dims, thread_id, names_thread);
}
