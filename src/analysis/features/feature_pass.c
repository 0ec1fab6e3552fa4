// SPDX-License-Identifier: Apache-2.0
/* feature_pass.c: the list of features, and the pass over the stream that feeds them. */
#include "analysis/features/feature_pass.h"

#include <errno.h>
#include <malloc.h>

#include "analysis/features/feature_crew.h"
#include "engine/ask.h"
#include "store/made/made.h"

#define FEATURES_ORIGIN "weir.features"

const struct feature *const features[] = {
	&feature_use, &feature_habit, &feature_fdlife, &feature_stall, &feature_press, NULL,
};

static size_t features_count(void)
{
	size_t n = 0;

	while (features[n])
		n++;
	return n;
}

/* True for a table that features_make() makes. */
static bool features_has_table(enum table_id table)
{
	if (table == TABLE_COUNT) /* one of the user's own */
		return false;
	for (size_t i = 0; i < features_count(); i++) {
		for (size_t k = 0; k < FEATURE_TABLES; k++) {
			if (features[i]->tables[k] == table)
				return true;
		}
	}
	return false;
}

bool features_are_current(const struct store *s)
{
	for (size_t i = 0; i < features_count(); i++) {
		for (size_t k = 0; k < FEATURE_TABLES && features[i]->tables[k] != TABLE_COUNT;
		     k++) {
			const struct store_made *m = store_made_current(s, features[i]->tables[k]);

			if (!m || m->version != FEATURES_VERSION)
				return false;
		}
	}
	return true;
}

/* ---- the pass ---- */

struct features_pass {
	const struct features_request *request;
	struct feature_numbering numbering;
	struct feature_crew *crew;
	struct feature_stretch *stretch; /* being filled; NULL: none */
};

static void features_pass_free(struct features_pass *p)
{
	feature_crew_free(p->crew); /* before the numbering, which its threads read */
	feature_numbering_free(&p->numbering);
	/* returns some 200 MiB after a trace of a million files, which queries may need */
	malloc_trim(0);
}

static struct feature_stretch *features_stretch(struct features_pass *p)
{
	if (p->stretch)
		return p->stretch;
	p->stretch = feature_crew_next(p->crew);
	feature_stretch_clear(p->stretch);
	return p->stretch;
}

static int features_give(struct features_pass *p)
{
	if (!p->stretch)
		return 0;
	feature_stretch_look(p->stretch, &p->numbering);
	p->stretch = NULL;
	return feature_crew_give(p->crew);
}

static int features_take_calls(struct features_pass *p, struct engine_merge *m,
			       const struct batch *b, const uint32_t *rows, size_t count)
{
	const int64_t *ends = engine_merge_ends(m);
	int r = 0;

	for (size_t from = 0, n; from < count && r >= 0; from += n) {
		struct feature_stretch *s = features_stretch(p);

		n = MIN(count - from, FEATURE_CALLS_MAX - s->count);
		r = feature_stretch_take(s, &p->numbering, b, rows + from, ends, n);
		if (r >= 0 && s->count == FEATURE_CALLS_MAX)
			r = features_give(p);
	}
	return r;
}

static int features_take_events(struct features_pass *p, const struct batch *b,
				const uint32_t *rows, size_t count)
{
	int r = 0;

	for (size_t from = 0, n; from < count && r >= 0; from += n) {
		n = MIN(count - from, (size_t)FEATURE_CALLS_MAX);
		if (!feature_stretch_fits(features_stretch(p), b->table, n))
			r = features_give(p);
		if (r >= 0)
			r = feature_stretch_events(features_stretch(p), &p->numbering, b,
						   rows + from, n);
	}
	return r;
}

/* Requests op and the other tables that features read, without duplicates. */
static size_t features_requests(const struct features_request *q, struct scan_request *ret)
{
	uint64_t columns[TABLE_COUNT] = {[TABLE_OP] = feature_columns()};
	size_t count = 0;

	for (size_t i = 0; i < features_count(); i++) {
		if (features[i]->more != TABLE_COUNT)
			columns[features[i]->more] = ~0ull;
	}
	for (unsigned int i = TABLE_COUNT; i-- > 0;) {
		if (columns[i])
			ret[count++] = (struct scan_request){
				.table = (enum table_id)i,
				.columns = columns[i],
				.from = q->from,
				.to = q->to,
				.filter = i == TABLE_OP ? q->where : NULL,
			};
	}
	return count;
}

static int features_pass_run(struct features_pass *p, struct store *s, struct error *err)
{
	const struct features_request *q = p->request;
	_cleanup_(engine_merge_freep) struct engine_merge *m = NULL;
	struct scan_request requests[TABLE_COUNT];
	size_t count = features_requests(q, requests), which;
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n;
	int r = engine_merge_new(&m, s, NULL, requests, count, err);

	if (r < 0)
		return r;
	while ((n = engine_merge_next(m, &which, &b, &rows, err)) > 0) {
		if (q->stopped && q->stopped(q->arg))
			return error_set(err, -EINTR, "interrupted");
		r = b->table == TABLE_OP ? features_take_calls(p, m, b, rows, (size_t)n)
					 : features_take_events(p, b, rows, (size_t)n);
		if (r < 0)
			return error_errno(err, r, "cannot compute the features of the trace");
	}
	if (n < 0)
		return (int)n;
	r = features_give(p);
	if (r >= 0)
		r = feature_crew_end(p->crew);
	feature_numbering_end(&p->numbering);
	return r < 0 ? error_errno(err, r, "cannot compute the features of the trace") : 0;
}

/* ---- the tables ---- */

struct feature_rows {
	struct store_writer *to;
	struct error *err;
};

struct batch_row feature_row(struct feature_rows *out)
{
	return store_made_row(out->to, out->err);
}

static bool features_is_whole(const struct features_request *q)
{
	return !q->where && q->from == INT64_MIN && q->to == INT64_MAX;
}

static int features_put_table(struct features_pass *p, size_t i, enum table_id table,
			      struct store_writer *w, uint64_t covered, struct error *err)
{
	bool partial = !features_is_whole(p->request);
	const struct store_making what = {.table = table,
					  .origin = FEATURES_ORIGIN,
					  .version = FEATURES_VERSION,
					  .covered = covered};
	int r = store_made_begin(w, &what, err);

	if (r < 0)
		return r;
	r = features[i]->end(feature_crew_state(p->crew, i), table,
			     &(struct feature_rows){.to = w, .err = err});
	if (r < 0)
		return error_errno(err, r, "cannot compute the table %s",
				   schema_table(table)->name);
	return store_made_end(w, partial, err);
}

static int features_put_all(void *arg, struct store_writer *w, uint64_t covered, struct error *err)
{
	struct features_pass *p = arg;

	/* the first feature has the most rows: by then the memory of the others is free */
	for (size_t i = features_count(); i-- > 0;) {
		for (size_t k = 0; k < FEATURE_TABLES && features[i]->tables[k] != TABLE_COUNT;
		     k++) {
			int r = features_put_table(p, i, features[i]->tables[k], w, covered, err);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

int features_make(struct store *s, const struct features_request *q, struct error *err)
{
	_cleanup_(features_pass_free) struct features_pass p = {.request = q};
	struct feature_world *world = &p.numbering.world;
	int r;

	world->dims = store_dims(s);
	world->lost = q->lost;
	store_range(s, &world->first, &world->last);
	world->first = MAX(world->first, q->from);
	world->last = MIN(world->last, q->to);
	r = feature_crew_new(&p.crew, world);
	if (r < 0)
		return error_errno(err, r, "cannot compute the features of the trace");
	r = features_pass_run(&p, s, err);
	if (r < 0)
		return r;
	return store_made_keep(s, q->keep && features_is_whole(q), features_put_all, &p, err);
}

int features_need(struct store *s, enum table_id table, struct error *err)
{
	const struct features_request q = {.from = INT64_MIN, .to = INT64_MAX, .keep = true};

	if (features_has_table(table) && !features_are_current(s))
		return features_make(s, &q, err);
	if (table != TABLE_FINDING)
		return 0;
	for (size_t i = 0; i < store_made_count(s); i++) {
		const struct store_made *m = store_made(s, i);

		if (m && m->table == table)
			return 0;
	}
	return error_set(err, -ENOENT,
			 "the trace has no table finding: run weir diagnose %.700s first",
			 store_trace_path(s, 0));
}
