// SPDX-License-Identifier: Apache-2.0
/* fetch.c: copies an engine's rows to a trace file. */
#include "engine/fetch.h"

#include <errno.h>
#include <string.h>

#include "engine/ask.h"
#include "engine/fetch_own.h"
#include "query/query.h"
#include "store/made/made.h"

struct fetch {
	struct engine *engine;
	struct store_writer *writer;
	struct map ids[TABLE_COUNT]; /* the engine's ids -> ids in the file */
	struct batch *batches[TABLE_COUNT];
	struct fetch_own own;
};

static void fetch_free(struct fetch *f)
{
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		map_free(&f->ids[i]);
		batch_free(f->batches[i]);
	}
	fetch_own_free(&f->own);
	if (f->writer)
		(void)store_close(f->writer, NULL);
}

static int fetch_id(struct fetch *f, enum table_id table, int64_t *id)
{
	struct map *m = &f->ids[table];
	uint64_t own = m->count;

	if (*id < 0)
		return 0;
	if (!map_get(m, (uint64_t)*id, &own)) {
		int r = map_set(m, (uint64_t)*id, own);

		if (r < 0)
			return r;
	}
	*id = (int64_t)own;
	return 0;
}

static int fetch_own_id_of(void *arg, enum table_id table, int64_t *id)
{
	return fetch_id(arg, table, id);
}

static int fetch_ids(struct fetch *f, struct batch *b)
{
	int r = 0;

	for (unsigned int c = 0; c < b->def->column_count && r >= 0; c++) {
		int to = schema_refers(b->def, c);

		if (to < 0 || !schema_is_dimension((enum table_id)to) || !b->columns[c].val)
			continue;
		for (size_t i = 0; i < b->rows && r >= 0; i++) {
			if (!batch_is_null(b, c, i))
				r = fetch_id(f, (enum table_id)to, &b->columns[c].val[i]);
		}
	}
	return r;
}

static int fetch_rows(struct fetch *f, const struct batch *b, const uint32_t *rows, size_t n,
		      struct error *err)
{
	struct batch **to = &f->batches[b->table];
	int r = *to ? 0 : batch_new(to, b->table);

	if (r >= 0)
		batch_clear(*to);
	if (r >= 0)
		r = batch_append_rows(*to, b, rows, n);
	if (r >= 0)
		r = fetch_ids(f, *to);
	if (r >= 0 && b->table == TABLE_OP)
		r = fetch_own_calls(&f->own, b, rows, n);
	return r < 0 ? error_errno(err, r, "rows of %s", b->def->name)
		     : store_append(f->writer, *to, err);
}

static int fetch_dimension(struct fetch *f, enum table_id table, struct error *err)
{
	const struct scan_request q = {
		.table = table, .columns = ~0ull, .from = INT64_MIN, .to = INT64_MAX};
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n = 0;
	int r = engine_scan_of(&scan, f->engine, &q, err);

	while (r >= 0 && (n = engine_scan_next(scan, &b, &rows, err)) > 0)
		r = fetch_rows(f, b, rows, (size_t)n, err);
	return r < 0 ? r : (int)n;
}

static int fetch_events(struct fetch *f, int64_t from, int64_t to, struct error *err)
{
	_cleanup_(engine_merge_freep) struct engine_merge *m = NULL;
	struct scan_request q[TABLE_COUNT];
	const struct batch *b;
	const uint32_t *rows;
	size_t count = 0, which;
	ssize_t n = 0;
	int r;

	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		if (schema_table(i)->kind == TABLE_IS_EVENTS)
			q[count++] = (struct scan_request){
				.table = i, .columns = ~0ull, .from = from, .to = to};
	}
	r = engine_merge_new(&m, NULL, f->engine, q, count, err);
	while (r >= 0 && (n = engine_merge_next(m, &which, &b, &rows, err)) > 0)
		r = fetch_rows(f, b, rows, (size_t)n, err);
	return r < 0 ? r : (int)n;
}

/* The corrections that were applied to the engine's rows when they were loaded; they are not applied again. */
static int fetch_clocks(struct fetch *f, struct error *err)
{
	const struct store_making what = {.table = TABLE_CLOCK, .origin = MADE_CLOCKS_APPLIED};
	const struct scan_request q = {
		.table = TABLE_CLOCK, .columns = ~0ull, .from = INT64_MIN, .to = INT64_MAX};
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	_cleanup_(batch_freep) struct batch *some = NULL;
	bool begun = false;
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n = 0;
	int r = engine_scan_of(&scan, f->engine, &q, err);

	while (r >= 0 && (n = engine_scan_next(scan, &b, &rows, err)) > 0) {
		if (!begun)
			r = store_made_begin(f->writer, &what, err);
		begun = true;
		batch_free(TAKE_PTR(some));
		if (r >= 0)
			r = batch_new(&some, TABLE_CLOCK);
		if (r >= 0)
			r = batch_append_rows(some, b, rows, (size_t)n);
		if (r >= 0)
			r = store_made_rows(f->writer, some, err);
	}
	if (r < 0 || n < 0)
		return r < 0 ? error_errno(err, r, "the clocks") : (int)n;
	return begun ? store_made_end(f->writer, false, err) : 0;
}

static int fetch_bounded(struct engine *e, int64_t from, int64_t to, struct error *err)
{
	static const char text[] = "count()";
	_cleanup_(plan_freep) struct plan *p = NULL;
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	struct query_error wrong = {0};
	int64_t calls;
	int r = query_parse(text, strlen(text), &p, &wrong);

	if (r < 0)
		return error_errno(err, r, "the calls");
	p->from = from;
	p->to = to;
	r = engine_ask(e, p, NULL, &result, err);
	if (r < 0 || !engine_result_next(result))
		return r;
	calls = engine_result_int(result, 0);
	if (calls <= FETCH_CALLS_MAX)
		return 0;
	return error_set(err, -E2BIG,
			 "%s holds %lld calls of that time, but at most %d are fetched for this: "
			 "select fewer with --from and --to, or use weir query",
			 engine_name(e), (long long)calls, FETCH_CALLS_MAX);
}

int engine_fetch(struct engine *e, int64_t from, int64_t to, const char *path, struct buf *left_out,
		 struct error *err)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	_cleanup_(fetch_free) struct fetch f = {.engine = e};
	int r = fetch_bounded(e, from, to, err);

	if (r < 0)
		return r;
	r = store_create(&f.writer, path, &opt, err);
	if (r < 0)
		return r;
	for (unsigned int i = 0; i < SCHEMA_DIMENSION_COUNT; i++) {
		r = fetch_dimension(&f, schema_dimensions[i], err);
		if (r < 0)
			return r;
	}
	r = fetch_own_open(&f.own, e, err);
	if (r < 0)
		return r;
	r = fetch_events(&f, from, to, err);
	if (r < 0)
		return r;
	r = fetch_clocks(&f, err);
	if (r < 0)
		return r;
	r = store_close(TAKE_PTR(f.writer), err);
	if (r >= 0)
		r = fetch_own_write(&f.own, path, fetch_own_id_of, &f, err);
	return r < 0 ? r : buf_append(left_out, f.own.left_out.data, f.own.left_out.len);
}
