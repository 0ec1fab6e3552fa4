/* SPDX-License-Identifier: Apache-2.0 */
/* eval_table.c: expressions that depend on one id or code, computed once for each. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "names/names.h"
#include "query/eval/eval_internal.h"

#define CANCEL_CHECK_ROWS 256

/* ---- entries ---- */

static size_t entry_size(const struct eval_table *t)
{
	return t->is_bool	    ? sizeof(uint8_t)
	       : t->rep == REP_WORD ? sizeof(uint32_t)
				    : sizeof(int64_t);
}

static void copy_entry(const struct eval_table *t, struct table_part *to, size_t at,
		       const struct table_part *from, size_t from_at)
{
	size_t size = entry_size(t);

	memcpy((uint8_t *)to->any + at * size, (const uint8_t *)from->any + from_at * size, size);
	if (to->unknown)
		to->unknown[at] = from->unknown[from_at];
}

/* Makes room for ids below `count`; new entries have the value for an unknown id. */
static int part_grow(const struct eval_table *t, struct table_part *p, size_t count)
{
	size_t cap = p->cap;
	int r;

	if (count <= p->count)
		return 0;
	r = grow(&p->any, &cap, count, entry_size(t));
	if (r < 0)
		return r;
	if (t->rep == REP_INT && !t->is_bool) {
		uint8_t *unknown = realloc(p->unknown, cap);

		if (!unknown)
			return -ENOMEM;
		p->unknown = unknown;
	}
	assert(cap >= count);
	p->cap = cap;
	for (size_t i = p->count; i < count && t->none.any && p != &t->none; i++)
		copy_entry(t, p, i, &t->none, 0);
	p->count = count;
	return 0;
}

static int entry_set(struct eval_table *t, struct table_part *p, size_t at, struct eval_scalar *s,
		     const struct value *v)
{
	struct bytes text = v->t;
	int r;

	assert(at < p->count);
	if (t->is_bool) {
		p->truth[at] = v->null ? TRUTH_UNKNOWN : !!v->i;
		return 0;
	}
	switch (t->rep) {
	case REP_INT:
		p->ints[at] = v->null ? 0 : v->i;
		p->unknown[at] = v->null;
		return 0;
	case REP_FLOAT:
		p->floats[at] = v->null ? NAN : v->f;
		return 0;
	default:
		assert(t->rep == REP_WORD);
		p->words[at] = WORD_UNKNOWN;
		if (v->null)
			return 0;
		r = scalar_text(s, t->expr->type, v, &text);
		if (r < 0)
			return r;
		/* A plain name is in the dims and lives as long as they do. */
		return dictionary_add(t->words, text,
				      t->expr->kind == EXPR_NAME && t->expr->name != QNAME_ARGV,
				      &p->words[at]);
	}
}

/* ---- filling ---- */

static int eval_table_fill(struct eval_table *t, struct table_part *p, size_t at,
			   struct eval_scalar *s)
{
	struct value v;
	int r = scalar_value(s, t->expr, &v);

	if (r >= 0)
		r = entry_set(t, p, at, s, &v);
	arena_clear(s->texts);
	return r;
}

int table_begin(struct eval *e, struct eval_table *t)
{
	_cleanup_(arena_free) struct arena texts = {0};
	_cleanup_(scalar_done) struct eval_scalar s = {
		.e = e, .at = SCALAR_ID, .id = -1, .texts = &texts};
	int r;

	assert(!t->none.count && !t->part_count); /* once per table */
	r = part_grow(t, &t->none, 1);
	if (r < 0)
		return r;
	s.at = t->by_code ? SCALAR_CODE : SCALAR_ID;
	r = eval_table_fill(t, &t->none, 0, &s);
	if (r < 0 || !t->by_code)
		return r;
	t->parts = calloc(1, sizeof(*t->parts));
	if (!t->parts)
		return -ENOMEM;
	t->part_count = 1;
	r = part_grow(t, &t->parts[0], CODES_MAX);
	for (s.id = 0; s.id < CODES_MAX && r >= 0; s.id++)
		r = eval_table_fill(t, &t->parts[0], (size_t)s.id, &s);
	return r;
}

static int eval_table_part_of(struct eval_table *t, const struct dims *d, int64_t id,
			      struct table_part **ret)
{
	uint64_t trace = id_recording(id), low = id_own(id);
	int r;

	assert(!t->by_code);
	if (id < 0 || trace >= TRACES_MAX || low >= dims_ids_most(d, t->ids))
		return -EBADMSG;
	if (trace >= t->part_count) {
		struct table_part *parts = realloc(t->parts, (trace + 1) * sizeof(*parts));

		if (!parts)
			return -ENOMEM;
		memset(parts + t->part_count, 0, (trace + 1 - t->part_count) * sizeof(*parts));
		t->parts = parts;
		t->part_count = trace + 1;
	}
	*ret = &t->parts[trace];
	if (low < (*ret)->count)
		return 0;
	/* Ids come in order, so room is made for those still to come. */
	r = part_grow(t, *ret, MAX((size_t)low + 1, dims_dense(d, t->ids, trace)));
	if (r < 0)
		return r;
	assert(low < (*ret)->count);
	return 0;
}

static int update_id(struct eval *e, struct eval_table *t, struct eval_scalar *s, int64_t id,
		     struct error *err)
{
	struct table_part *p;
	struct buf *b = &s->scratch;
	int r = eval_table_part_of(t, s->dims, id, &p);

	assert(s->at == SCALAR_ID);
	if (r == -EBADMSG)
		return error_set(
			err, r,
			"ids of %s are not dense: the trace was not written by weir, or is damaged",
			schema_table(t->ids)->name);
	s->id = id;
	if (r >= 0)
		r = eval_table_fill(t, p, (size_t)id_own(id), s);
	if (r == -EOVERFLOW) {
		buf_clear(b);
		(void)!query_entity_text(t->ids, s->dims, id, b);
		return error_set(err, r,
				 "the regular expression takes more than %d steps on the name "
				 "\"%.200s\": simplify it (nested repeats take exponential time)",
				 REGEX_STEPS_MAX, buf_str(b));
	}
	return r < 0 ? error_errno(err, r, "evaluating names") : 0;
}

/*
 * True for threads whose process (or its host) or control group was added or changed, and for files that have a newer
 * version.
 */
static bool hangs_on(const struct eval_table *t, const struct dims *d, int64_t id,
		     const struct map *processes, const struct map *cgroups,
		     const struct map *latest)
{
	const struct dims_thread *thread;

	if (t->uses_latest) {
		int64_t newest =
			t->ids == TABLE_FILE ? dims_latest_file(d, id) : dims_latest_thread(d, id);

		if (map_get(latest, (uint64_t)newest, NULL))
			return true;
	}
	thread = t->ids == TABLE_THREAD ? dims_thread(d, id) : NULL;
	return thread &&
	       ((thread->process_id >= 0 &&
		 map_get(processes, (uint64_t)thread->process_id, NULL)) ||
		(thread->cgroup_id >= 0 && map_get(cgroups, (uint64_t)thread->cgroup_id, NULL)));
}

static int eval_table_collect(const struct dims *d, enum table_id table, uint64_t clock,
			      struct map *ret)
{
	size_t pos = 0;
	int64_t id;
	int r = 0;

	while (r >= 0 && dims_changed(d, table, clock, &pos, &id))
		r = map_set(ret, (uint64_t)id, 1);
	return r;
}

/* Collects processes whose name may have changed, as it comes from their first thread. */
static int collect_processes(const struct dims *d, uint64_t clock, struct map *ret)
{
	size_t pos = 0;
	int64_t id;
	int r = 0;

	while (r >= 0 && dims_changed(d, TABLE_THREAD, clock, &pos, &id)) {
		int64_t process = names_process_of(d, id);

		r = process < 0 ? 0 : map_set(ret, (uint64_t)process, 1);
	}
	return r;
}

/* Collects changed rows of other tables on which entries of the table depend. */
static int collect_changes(const struct eval_table *t, const struct dims *d, const uint64_t *clocks,
			   struct map *processes, struct map *cgroups, struct map *latest)
{
	bool hosts = t->uses_host && dims_clock(d, TABLE_HOST) != clocks[TABLE_HOST];
	int r = 0;

	if (t->uses_process)
		r = eval_table_collect(d, TABLE_PROCESS, hosts ? 0 : clocks[TABLE_PROCESS],
				       processes);
	if (r >= 0 && t->uses_leader)
		r = collect_processes(d, clocks[TABLE_THREAD], processes);
	if (r >= 0 && t->uses_cgroup)
		r = eval_table_collect(d, TABLE_CGROUP, clocks[TABLE_CGROUP], cgroups);
	if (r >= 0 && t->uses_latest)
		r = eval_table_collect(d, t->ids, clocks[t->ids], latest);
	return r;
}

/* Updates entries of known ids that depend on changed rows of other tables. */
static int update_others(struct eval *e, struct eval_table *t, struct eval_scalar *s,
			 const uint64_t *clocks, struct error *err)
{
	_cleanup_(map_free) struct map processes = {0}, cgroups = {0}, latest = {0};
	const struct dims *d = s->dims;
	int r = collect_changes(t, d, clocks, &processes, &cgroups, &latest);

	if (r < 0)
		return error_errno(err, r, "evaluating names");
	if (!processes.count && !cgroups.count && !latest.count)
		return 0;
	for (size_t i = 0; i < dims_rows(d, t->ids); i++) {
		int64_t id = dims_id_at(d, t->ids, i);

		if (hangs_on(t, d, id, &processes, &cgroups, &latest)) {
			r = update_id(e, t, s, id, err);
			if (r < 0)
				return r;
		}
		if (i % CANCEL_CHECK_ROWS == 0 && eval_stopped(e))
			return error_set(err, -EINTR, "interrupted");
	}
	return 0;
}

/* Lists the ids for which a filter is true, ascending, if they are few. */
static int list_true(struct eval_table *t)
{
	size_t cap = t->true_count, n = 0;

	t->true_listed = false;
	if (!t->is_bool || t->by_code || t->none.truth[0] == 1)
		return 0;
	cap = 0;
	for (size_t k = 0; k < t->part_count; k++) {
		for (size_t i = 0; i < t->parts[k].count; i++)
			cap += t->parts[k].truth[i] == 1;
	}
	if (cap > TRUE_IDS_MAX)
		return 0;
	free(t->true_ids);
	t->true_ids = malloc(MAX(cap, (size_t)1) * sizeof(*t->true_ids));
	if (!t->true_ids)
		return -ENOMEM;
	for (size_t k = 0; k < t->part_count; k++) {
		for (size_t i = 0; i < t->parts[k].count; i++) {
			if (t->parts[k].truth[i] == 1)
				t->true_ids[n++] = id_compose((int64_t)i, k);
		}
	}
	assert(n == cap);
	t->true_count = n;
	t->true_listed = true;
	return 0;
}

int table_update(struct eval *e, struct eval_table *t, const struct dims *d, const uint64_t *clocks,
		 struct error *err)
{
	_cleanup_(arena_free) struct arena texts = {0};
	_cleanup_(scalar_done) struct eval_scalar s = {
		.e = e, .dims = d, .at = SCALAR_ID, .texts = &texts};
	size_t pos = 0, done = 0;
	int64_t id;
	int r;

	if (t->by_code)
		return 0;
	assert(t->none.count == 1); /* table_begin() made it */
	while (dims_changed(d, t->ids, clocks[t->ids], &pos, &id)) {
		r = update_id(e, t, &s, id, err);
		if (r < 0)
			return r;
		if (++done % CANCEL_CHECK_ROWS == 0 && eval_stopped(e))
			return error_set(err, -EINTR, "interrupted");
	}
	if (clocks[t->ids]) {
		r = update_others(e, t, &s, clocks, err);
		if (r < 0)
			return r;
	}
	r = list_true(t);
	return r < 0 ? error_errno(err, r, "evaluating names") : 0;
}

static void eval_table_part_free(struct table_part *p)
{
	free(p->any);
	free(p->unknown);
}

void id_table_free(struct eval_table *t)
{
	for (size_t i = 0; i < t->part_count; i++)
		eval_table_part_free(&t->parts[i]);
	eval_table_part_free(&t->none);
	free(t->parts);
	free(t->true_ids);
	*t = (struct eval_table){0};
}
