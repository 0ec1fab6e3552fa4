// SPDX-License-Identifier: Apache-2.0
/* topk_files.c: sums by file, in arrays. */
#include "engine/duckdb/rows/topk_files.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/array.h"
#include "engine/duckdb/rows/weir_rows.h"
#include "sums/walk.h"

/* The sums of one trace's files. */
struct part {
	_Atomic int64_t *sums;	/* [count] */
	_Atomic uint64_t *bits; /* one bit per file whose sum is 0 but which has calls */
	size_t count;
};

struct topk_files {
	struct part parts[ID_RECORDINGS_MAX];
	struct part none;	  /* one sum, for calls without a file */
	unsigned int op, summary; /* columns to add up; op is UINT_MAX for a count */
	bool max;		  /* maximum instead of sum */
	_Atomic bool outside;	  /* an id outside the arrays was seen */
	int64_t *old;		  /* versions whose sums were added to the newest */
	size_t old_count, old_cap;
};

/* A candidate for the result. */
struct pick {
	int64_t value, id; /* INT64_MAX: no file */
};

/* ---- conditions ---- */

static bool topk_files_is_file(const struct expr *e)
{
	return e->kind == EXPR_NAME && e->name == QNAME_FILE && e->column == OP_FILE_ID;
}

/* !(file is null) */
static bool says_file(const struct expr *e)
{
	return e->kind == EXPR_NOT && e->arg[0]->kind == EXPR_IS_NULL &&
	       topk_files_is_file(e->arg[0]->arg[0]);
}

struct expr *topk_files_where(const struct plan *p, size_t key)
{
	struct expr *e = p->where;

	if (!e || !topk_files_is_file(p->fields[key].expr))
		return e;
	if (says_file(e))
		return NULL;
	if (e->kind == EXPR_AND && says_file(e->arg[0]))
		return e->arg[1];
	if (e->kind == EXPR_AND && says_file(e->arg[1]))
		return e->arg[0];
	return e;
}

/* True if a call to be read was passed an address, which is not a property of its file. */
static bool has_addresses(const struct duck *e)
{
	for (size_t i = 0; i < e->pin; i++) {
		const struct store_block *b = store_block(e->store, i);

		if (b->table == TABLE_OP && b->min[OP_PEER_ID] <= b->max[OP_PEER_ID])
			return true;
	}
	return false;
}

/* True if the expression has the same value for all calls on one version of a file. */
static bool is_of_file(const struct duck *e, const struct expr *x)
{
	if (x->kind == EXPR_CONST)
		return true;
	if (x->kind == EXPR_COLUMN)
		return x->column == OP_FILE_ID;
	if (x->kind == EXPR_NAME)
		return x->name == QNAME_PEER ? !has_addresses(e) : x->column == OP_FILE_ID;
	for (unsigned int i = 0; i < x->arg_count; i++) {
		if (!is_of_file(e, x->arg[i]))
			return false;
	}
	return x->arg_count > 0;
}

struct expr *topk_files_rest(const struct duck *e, const struct plan *p, size_t key)
{
	struct expr *x = topk_files_where(p, key);

	if (!x || is_of_file(e, x))
		return NULL;
	if (x->kind == EXPR_AND && is_of_file(e, x->arg[0]))
		return x->arg[1];
	if (x->kind == EXPR_AND && is_of_file(e, x->arg[1]))
		return x->arg[0];
	return x;
}

/* Sets the columns of a field; NULL if it is not a plain sum. */
static const char *choose_value(struct topk_files *b, const struct plan_field *f)
{
	bool dur = f->expr && f->expr->kind == EXPR_COLUMN && f->expr->column == OP_DUR;
	bool bytes = f->expr && f->expr->kind == EXPR_COLUMN && f->expr->column == OP_BYTES;

	b->op = dur ? OP_DUR : bytes ? OP_BYTES : UINT_MAX;
	if (f->kind != FIELD_AGGREGATE)
		return NULL;
	if (f->aggregate == AGGREGATE_COUNT && !f->expr) {
		b->summary = SUMMARY_CALLS;
		return "row_calls";
	}
	if (f->aggregate == AGGREGATE_SUM && (dur || bytes)) {
		b->summary = dur ? SUMMARY_TIME : SUMMARY_BYTES;
		return dur ? "row_time" : "row_bytes";
	}
	if (f->aggregate == AGGREGATE_MAX && dur) {
		b->summary = SUMMARY_MAX;
		b->max = true;
		return "row_max";
	}
	return NULL;
}

bool topk_files_adds(const struct plan_field *f)
{
	struct topk_files b = {0};

	return choose_value(&b, f) != NULL;
}

/* ---- allocation ---- */

static int part_new(struct part *p, size_t count)
{
	p->count = count;
	p->sums = calloc(count + 1, sizeof(*p->sums));
	p->bits = calloc(count / 64 + 1, sizeof(*p->bits));
	return p->sums && p->bits ? 0 : -ENOMEM;
}

static void topk_files_part_free(struct part *p)
{
	free((void *)p->sums);
	free((void *)p->bits);
}

static void topk_files_free(struct topk_files *b)
{
	for (size_t i = 0; i < ID_RECORDINGS_MAX; i++)
		topk_files_part_free(&b->parts[i]);
	topk_files_part_free(&b->none);
	free(b->old);
	free(b);
}
DEFINE_CLEANUP(struct topk_files *, topk_files_free)

/* False if the arrays cannot hold such an id. */
static bool note_id(size_t *counts, int64_t id)
{
	uint64_t trace = id_recording(id);

	if (id < 0 || trace >= ID_RECORDINGS_MAX)
		return false;
	counts[trace] = MAX(counts[trace], (size_t)id_own(id) + 1);
	return true;
}

static bool note_column(const struct store_block *s, unsigned int column, size_t *counts)
{
	return s->min[column] > s->max[column] ||
	       (s->min[column] >= 0 && note_id(counts, s->max[column]));
}

/* Notes the range of ids from the headers of the blocks. */
static bool note_blocks(const struct topk_files *b, const struct rows_bind *bind, size_t *counts)
{
	__int128 most = 0;

	for (size_t i = bind->first_block; i < bind->pin; i++) {
		const struct store_block *s = store_block(bind->e->store, i);

		if (!rows_block_passes(bind, i))
			continue;
		if (!note_column(s, OP_FILE_ID, counts) ||
		    (bind->each_file && !note_column(s, OP_FILE2_ID, counts)))
			return false;
		if (b->op == UINT_MAX || s->min[b->op] > s->max[b->op])
			continue;
		most += (__int128)s->max[b->op] * s->rows;
		if (s->min[b->op] < 0)
			return false;
	}
	return most <= INT64_MAX >> bind->each_file;
}

/* 1; 0 if there are too many files for arrays, or the values could overflow a sum. */
static int topk_files_make_room(struct topk_files *b, const struct rows_bind *bind, bool names)
{
	_cleanup_free_ size_t *counts = calloc(ID_RECORDINGS_MAX, sizeof(*counts));
	const struct dims *d = store_dims_few(bind->e->store);
	uint64_t bytes = 0;
	int r = counts ? 1 : -ENOMEM;

	if (r > 0 && !note_blocks(b, bind, counts))
		return 0;
	for (size_t i = 0; names && r > 0 && i < dims_rows(d, TABLE_FILE); i++) {
		if (!note_id(counts, dims_id_at(d, TABLE_FILE, i)))
			return 0;
	}
	for (size_t i = 0; r > 0 && i < ID_RECORDINGS_MAX; i++)
		bytes += counts[i] * (sizeof(int64_t) + 1);
	if (bytes > TOPK_BYTES_MAX)
		return 0;
	for (size_t i = 0; r > 0 && i < ID_RECORDINGS_MAX; i++) {
		if (counts[i] && part_new(&b->parts[i], counts[i]) < 0)
			r = -ENOMEM;
	}
	return r > 0 && part_new(&b->none, 1) < 0 ? -ENOMEM : r;
}

/* ---- adding up ---- */

static struct part *topk_files_find(struct topk_files *b, int64_t id, size_t *at)
{
	struct part *p = &b->parts[id_recording(id) & (ID_RECORDINGS_MAX - 1)];

	*at = (size_t)id_own(id);
	return id >= 0 && *at < p->count ? p : NULL;
}

static void set_bit(struct part *p, size_t at)
{
	uint64_t bit = 1ull << (at % 64);

	if (!(atomic_load_explicit(&p->bits[at / 64], memory_order_relaxed) & bit))
		atomic_fetch_or_explicit(&p->bits[at / 64], bit, memory_order_relaxed);
}

static bool has_bit(const struct part *p, size_t at)
{
	return p->bits[at / 64] >> (at % 64) & 1;
}

static void topk_files_add(const struct topk_files *b, struct part *p, size_t at, int64_t value)
{
	_Atomic int64_t *to = &p->sums[at];
	int64_t old;

	if (value <= 0) {
		set_bit(p, at);
		return;
	}
	if (!b->max) {
		atomic_fetch_add_explicit(to, value, memory_order_relaxed);
		return;
	}
	old = atomic_load_explicit(to, memory_order_relaxed);
	while (old < value && !atomic_compare_exchange_weak_explicit(
				      to, &old, value, memory_order_relaxed, memory_order_relaxed))
		;
}

/* The slot of a file; NULL, which is noted, if there is none. INT64_MIN: no file. */
static struct part *topk_files_place(struct topk_files *b, int64_t id, size_t *at)
{
	struct part *p = id == INT64_MIN ? &b->none : topk_files_find(b, id, at);

	if (!p)
		atomic_store(&b->outside, true);
	return p;
}

static int topk_files_take(void *state, const struct walk_rows *rows)
{
	struct topk_files *b = state;
	bool sums = rows->batch->table == TABLE_SUMMARY;
	unsigned int file = sums ? SUMMARY_FILE_ID : OP_FILE_ID, column = sums ? b->summary : b->op;

	for (size_t i = 0; i < rows->count; i++) {
		size_t row = rows->rows[i], at = 0;
		struct part *p =
			topk_files_place(b, batch_get(rows->batch, file, row, INT64_MIN), &at);

		if (p)
			topk_files_add(b, p, at,
				       column == UINT_MAX ? 1
							  : batch_get(rows->batch, column, row, 0));
	}
	return 0;
}

static bool topk_files_stopped(const void *arg)
{
	return atomic_load(&((const struct duck *)arg)->interrupted);
}

static int topk_files_walk(struct topk_files *b, const struct rows_bind *bind, struct error *err)
{
	const uint64_t reads = b->op == UINT_MAX ? 0 : 1ull << b->op;
	struct sums_filter filter = {.eval = bind->x->filter ? bind->x->eval : NULL};
	struct walk w = {
		.ask = {.store = bind->e->store,
			.filter = &filter,
			.from = bind->from,
			.to = bind->to,
			.end = bind->pin,
			.summaries = true,
			.windowless = !(reads >> OP_START & 1),
			.files = true,
			.seconds = bind->each_file,
			.exact = 1ull << b->summary},
		.columns = 1ull << OP_FILE_ID | reads,
		.sums = 1ull << SUMMARY_FILE_ID | 1ull << b->summary,
		.stopped = topk_files_stopped,
		.stopped_arg = bind->e,
		.take = topk_files_take,
		.workers = walk_workers(bind->e->threads),
	};
	int r;

	sums_filter_describe(&filter, bind->x->filter);
	for (unsigned int i = 0; i < w.workers; i++)
		w.states[i] = b;
	r = walk_run(&w, err);
	return r == -EINTR ? error_set(err, r, "interrupted") : r;
}

/* ---- files, not versions ---- */

static bool is_there(const struct part *p, size_t at)
{
	return p->sums[at] > 0 || has_bit(p, at);
}

static void move(const struct topk_files *b, struct part *p, size_t at, struct part *to,
		 size_t to_at)
{
	topk_files_add(b, to, to_at, p->sums[at]);
	p->sums[at] = 0;
	p->bits[at / 64] &= ~(1ull << (at % 64));
}

/* Moves the sum of a version to the newest version, or to "no file" if the file is unknown. 0 or -ENOMEM. */
static int join_version(struct topk_files *b, const struct dims *d, struct part *p, size_t at,
			int64_t id)
{
	int64_t newest = dims_latest_file(d, id);
	struct part *to;
	size_t to_at;
	int r;

	if (newest == id) {
		if (!dims_has(d, TABLE_FILE, id))
			move(b, p, at, &b->none, 0);
		return 0;
	}
	to = topk_files_find(b, newest, &to_at);
	r = array_add(b->old, b->old_count, b->old_cap, id);
	if (r < 0)
		return r;
	if (to)
		move(b, p, at, to, to_at);
	else
		b->outside = true;
	return 0;
}

static int join_versions(struct topk_files *b, const struct dims *d)
{
	int r = 0;

	for (size_t k = 0; k < ID_RECORDINGS_MAX; k++) {
		struct part *p = &b->parts[k];

		for (size_t i = 0; i < p->count && r >= 0; i++) {
			if (is_there(p, i))
				r = join_version(b, d, p, i, id_compose((int64_t)i, k));
		}
	}
	return r;
}

/* ---- top files ---- */

static bool is_better(const struct pick *a, const struct pick *b)
{
	return a->value != b->value ? a->value > b->value : a->id < b->id;
}

/* Restores a heap whose root is the worst. */
static void sink(struct pick *heap, size_t count, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		struct pick swap = heap[at];

		if (child + 1 < count && is_better(&heap[child], &heap[child + 1]))
			child++;
		if (is_better(&heap[child], &swap))
			return;
		heap[at] = heap[child];
		heap[child] = swap;
	}
}

static size_t consider(struct pick *heap, size_t count, size_t max, struct pick one)
{
	if (count < max) {
		heap[count++] = one;
		if (count == max) {
			for (size_t i = max / 2 + 1; i > 0; i--)
				sink(heap, count, i - 1);
		}
	} else if (is_better(&one, &heap[0])) {
		heap[0] = one;
		sink(heap, count, 0);
	}
	return count;
}

static size_t topk_files_choose(const struct topk_files *b, struct pick *heap, size_t max,
				bool with_none, uint64_t *ret_files)
{
	size_t count = 0;

	for (size_t k = 0; k < ID_RECORDINGS_MAX; k++) {
		for (size_t i = 0; i < b->parts[k].count; i++) {
			const struct pick one = {b->parts[k].sums[i], id_compose((int64_t)i, k)};

			if (!is_there(&b->parts[k], i))
				continue;
			count = consider(heap, count, max, one);
			++*ret_files;
		}
	}
	if (with_none && is_there(&b->none, 0))
		count = consider(heap, count, max, (struct pick){b->none.sums[0], INT64_MAX});
	return count;
}

/* Adds the other versions of these files. */
static int topk_files_put_versions(const struct topk_files *b, const struct dims *d,
				   struct topk_files_found *ret)
{
	int r = 0;

	for (size_t i = 0; i < b->old_count && r >= 0; i++) {
		if (!map_get(&ret->ids, (uint64_t)dims_latest_file(d, b->old[i]), NULL))
			continue;
		ret->versions = true;
		r = map_set(&ret->ids, (uint64_t)b->old[i], 0);
	}
	return r;
}

/* 1; 0 if the order is ambiguous: a null sum sorts after a sum of 0, but arrays cannot tell them apart. */
static int topk_files_put_ids(const struct topk_files *b, const struct dims *d,
			      const struct pick *picks, size_t count, struct topk_files_found *ret)
{
	int r = 1;

	for (size_t i = 0; i < count; i++) {
		if (picks[i].value == 0)
			return 0;
	}
	for (size_t i = 0; i < count && r >= 0; i++) {
		if (picks[i].id == INT64_MAX)
			ret->null = true;
		else
			r = map_set(&ret->ids, (uint64_t)picks[i].id, 0);
	}
	if (r < 0)
		return r;
	r = topk_files_put_versions(b, d, ret);
	return r < 0 ? r : 1;
}

/* ---- complete query ---- */

static int bind_rows(struct duck *e, const struct plan *p, const struct expr *where,
		     const char *value, struct rows_bind *b, struct error *err)
{
	_cleanup_buf_ struct buf filter = {0}, column = {0};
	const char *columns[] = {"file_id", NULL};
	int r = where ? expr_text(where, TABLE_OP, &filter) : 0;

	if (r >= 0)
		r = buf_printf(&column, "%s", value);
	columns[1] = buf_str(&column);
	b->e = e;
	b->table = TABLE_OP;
	b->pin = e->pin;
	b->from = p->from;
	b->to = p->to;
	b->each_file = p->each_file;
	pthread_mutex_lock(&e->names_lock);
	if (r >= 0)
		r = rows_exprs_get(e, TABLE_OP, buf_str(&filter), false, columns, 2, &b->x, err);
	pthread_mutex_unlock(&e->names_lock);
	return MIN(r, 0);
}

static int topk_files_add_up(struct topk_files *b, const struct rows_bind *bind, bool names,
			     struct error *err)
{
	int r = names ? names_load_files(bind->e, err) : 0;

	if (r >= 0)
		r = topk_files_make_room(b, bind, names);
	if (r <= 0)
		return r;
	r = topk_files_walk(b, bind, err);
	if (r >= 0 && names)
		r = join_versions(b, store_dims_few(bind->e->store));
	return r < 0 ? r : !b->outside;
}

int topk_files_files(struct duck *e, const struct plan *p, size_t key, size_t value, size_t count,
		     struct topk_files_found *ret, struct error *err)
{
	_cleanup_(topk_files_freep) struct topk_files *b = calloc(1, sizeof(*b));
	_cleanup_free_ struct pick *heap = calloc(count + 1, sizeof(*heap));
	const struct expr *where = topk_files_where(p, key);
	struct rows_bind bind = {0};
	const char *column;
	int r = b && heap ? 1 : -ENOMEM;

	if (r < 0)
		return error_errno(err, r, "cannot sum up files");
	column = choose_value(b, &p->fields[value]);
	assert(column); /* ensured by topk_files_adds() */
	r = bind_rows(e, p, where, column, &bind, err);
	if (r >= 0)
		r = topk_files_add_up(b, &bind, topk_files_is_file(p->fields[key].expr), err);
	if (bind.x)
		rows_exprs_put(bind.x);
	if (r > 0)
		count = topk_files_choose(b, heap, count, where == p->where, &ret->files);
	return r > 0 ? topk_files_put_ids(b, store_dims_few(e->store), heap, count, ret) : r;
}
