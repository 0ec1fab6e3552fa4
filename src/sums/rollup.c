/* SPDX-License-Identifier: Apache-2.0 */
#include "sums/rollup.h"

#include <errno.h>

#include "base/saturate.h"
#include "batch/seconds.h"

struct rollup {
	unsigned int keys;
	struct rollup_row *rows;
	size_t count, cap;
	uint32_t *slots; /* row + 1, 0: free; open addressing, at most half full */
	size_t slots_cap;
	size_t last; /* the row found last: equal keys come in runs */
	uint64_t running;
	int64_t window_ns;
	bool second;	       /* see rollup_seconds() */
	struct batch *seconds; /* scratch batch, allocated on first use */
	const int64_t *alias;  /* see rollup_alias() */
	uint8_t *seen;
	size_t alias_count;
};

const uint64_t rollup_op_columns = 1ull << OP_START | 1ull << OP_DUR | 1ull << OP_THREAD_ID |
				   1ull << OP_OP | 1ull << OP_CLASS | 1ull << OP_ERR |
				   1ull << OP_BYTES | 1ull << OP_FILE_ID | 1ull << OP_STATUS;

int rollup_new(struct rollup **ret, unsigned int keys)
{
	struct rollup *r = calloc(1, sizeof(*r));

	assert(!(keys & ~(ROLLUP_CPU * 2u - 1)));
	if (!r)
		return -ENOMEM;
	r->keys = keys;
	r->window_ns = SUMMARY_WINDOW_NS;
	*ret = r;
	return 0;
}

void rollup_free(struct rollup *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		hist_free(&r->rows[i].hist);
	batch_free(r->seconds);
	free(r->rows);
	free(r->slots);
	free(r);
}

size_t rollup_count(const struct rollup *r)
{
	return r->count;
}

const struct rollup_row *rollup_row(const struct rollup *r, size_t i)
{
	assert(i < r->count);
	return &r->rows[i];
}

int rollup_sorted(const struct rollup *r, bool (*take)(const struct rollup_row *row),
		  int (*order)(const void *a, const void *b), const struct rollup_row ***ret,
		  size_t *ret_count)
{
	const struct rollup_row **rows = calloc(rollup_count(r) + 1, sizeof(*rows));
	size_t count = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < rollup_count(r); i++) {
		if (!take || take(rollup_row(r, i)))
			rows[count++] = rollup_row(r, i);
	}
	qsort(rows, count, sizeof(*rows), order);
	*ret = rows;
	*ret_count = count;
	return 0;
}

uint64_t rollup_running(const struct rollup *r)
{
	return r->running;
}

void rollup_add_running(struct rollup *r, uint64_t count)
{
	r->running += count;
}

/* ---- finding the row of a key ---- */

static uint64_t key_hash(const struct rollup_row *k)
{
	uint64_t h =
		hash_u64((uint64_t)k->thread_id << 20 ^ (uint64_t)k->op << 4 ^ (uint64_t)k->class);

	return hash_u64(h ^ k->second ^ (uint64_t)k->file_id ^ (uint64_t)k->err << 48 ^
			(uint64_t)k->window << 8 ^ (uint64_t)k->cpu << 32);
}

static bool key_equal(const struct rollup_row *a, const struct rollup_row *b)
{
	return a->op == b->op && a->thread_id == b->thread_id && a->file_id == b->file_id &&
	       a->err == b->err && a->class == b->class && a->window == b->window &&
	       a->cpu == b->cpu && a->second == b->second;
}

static size_t rollup_slot(const struct rollup *r, const struct rollup_row *key)
{
	size_t i = key_hash(key) & (r->slots_cap - 1);

	while (r->slots[i] && !key_equal(&r->rows[r->slots[i] - 1], key))
		i = (i + 1) & (r->slots_cap - 1);
	return i;
}

static int rollup_resize(struct rollup *r)
{
	size_t cap = r->slots_cap ? r->slots_cap * 2 : 64;
	uint32_t *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(r->slots);
	r->slots = slots;
	r->slots_cap = cap;
	for (size_t i = 0; i < r->count; i++)
		slots[rollup_slot(r, &r->rows[i])] = (uint32_t)i + 1;
	return 0;
}

/* Finds the row of a key, adding it if it is new. The sums in `key` are ignored. */
static int rollup_find(struct rollup *r, const struct rollup_row *key, struct rollup_row **ret)
{
	size_t slot;
	int e;

	if (r->count && key_equal(&r->rows[r->last], key)) {
		*ret = &r->rows[r->last];
		return 0;
	}
	if (r->count + 1 > r->slots_cap / 2) {
		e = rollup_resize(r);
		if (e < 0)
			return e;
	}
	slot = rollup_slot(r, key);
	if (!r->slots[slot]) {
		if (r->count == UINT32_MAX - 1)
			return -ENOMEM;
		e = grow((void **)&r->rows, &r->cap, r->count + 1, sizeof(*r->rows));
		if (e < 0)
			return e;
		r->rows[r->count] = (struct rollup_row){
			.op = key->op,
			.thread_id = key->thread_id,
			.file_id = key->file_id,
			.err = key->err,
			.class = key->class,
			.window = key->window,
			.cpu = key->cpu,
			.second = key->second,
		};
		r->slots[slot] = (uint32_t)++r->count;
	}
	r->last = r->slots[slot] - 1;
	*ret = &r->rows[r->last];
	return 0;
}

/* Gives fields that are not keys the same value in all rows. */
static void key_mask(struct rollup_row *k, unsigned int keys)
{
	k->op = keys & ROLLUP_OP ? k->op : -1;
	k->thread_id = keys & ROLLUP_THREAD ? k->thread_id : -1;
	k->file_id = keys & ROLLUP_FILE ? k->file_id : -1;
	k->err = keys & ROLLUP_ERR ? k->err : -1;
	k->class = keys & ROLLUP_CLASS ? k->class : -1;
	k->window = keys & ROLLUP_WINDOW ? k->window : -1;
	k->cpu = keys & ROLLUP_CPU ? k->cpu : -1;
}

/* ---- adding ---- */

void rollup_alias(struct rollup *r, const int64_t *alias, uint8_t *seen, size_t count)
{
	assert(!count || (alias && seen));
	r->alias = alias;
	r->seen = seen;
	r->alias_count = count;
}

void rollup_window(struct rollup *r, int64_t window_ns)
{
	assert(window_ns > 0);
	r->window_ns = window_ns;
}

static int64_t aliased(struct rollup *r, int64_t file)
{
	if (file < 0 || (uint64_t)file >= r->alias_count)
		return file;
	r->seen[file] = 1;
	return r->alias[file];
}

static uint64_t rollup_at_least_0(int64_t v)
{
	return v > 0 ? (uint64_t)v : 0;
}

int64_t rollup_end(const struct batch *op, size_t row)
{
	int64_t end;

	if (batch_is_null(op, OP_START, row))
		return INT64_MIN;
	if (__builtin_add_overflow(batch_get(op, OP_START, row, 0), batch_get(op, OP_DUR, row, 0),
				   &end))
		return INT64_MAX;
	return end;
}

static int64_t rollup_window_of(const struct rollup *r, int64_t end)
{
	int64_t rest = end % r->window_ns;

	/* in a crafted trace the window's beginning may lie before INT64_MIN */
	return end < INT64_MIN + r->window_ns ? -1 : end - (rest < 0 ? rest + r->window_ns : rest);
}

static void rollup_read_op(const struct batch *b, size_t row, struct rollup_row *ret)
{
	ret->op = batch_get(b, OP_OP, row, -1);
	ret->thread_id = batch_get(b, OP_THREAD_ID, row, -1);
	ret->file_id = batch_get(b, OP_FILE_ID, row, -1);
	ret->err = batch_get(b, OP_ERR, row, -1);
	ret->class = batch_get(b, OP_CLASS, row, -1);
	ret->window = rollup_end(b, row);
	ret->cpu = batch_get(b, OP_CPU, row, -1);
	ret->calls = 1;
	ret->bytes = rollup_at_least_0(batch_get(b, OP_BYTES, row, 0));
	ret->time_ns = ret->max_ns = rollup_at_least_0(batch_get(b, OP_DUR, row, 0));
}

static void rollup_read_summary(const struct batch *b, size_t row, struct rollup_row *ret)
{
	ret->op = batch_get(b, SUMMARY_OP, row, -1);
	ret->thread_id = batch_get(b, SUMMARY_THREAD_ID, row, -1);
	ret->file_id = batch_get(b, SUMMARY_FILE_ID, row, -1);
	ret->err = batch_get(b, SUMMARY_ERR, row, -1);
	ret->class = batch_get(b, SUMMARY_CLASS, row, -1);
	ret->window = batch_get(b, SUMMARY_WINDOW, row, INT64_MIN);
	ret->cpu = -1;
	ret->calls = rollup_at_least_0(batch_get(b, SUMMARY_CALLS, row, 0));
	ret->bytes = rollup_at_least_0(batch_get(b, SUMMARY_BYTES, row, 0));
	ret->time_ns = rollup_at_least_0(batch_get(b, SUMMARY_TIME, row, 0));
	ret->max_ns = rollup_at_least_0(batch_get(b, SUMMARY_MAX, row, 0));
}

void rollup_read(const struct batch *b, size_t row, struct rollup_row *ret)
{
	assert(b->table == TABLE_OP || b->table == TABLE_SUMMARY);
	if (b->table == TABLE_SUMMARY)
		rollup_read_summary(b, row, ret);
	else
		rollup_read_op(b, row, ret);
	ret->errors = ret->err > 0 ? ret->calls : 0;
	ret->second = false;
	ret->hist = (struct hist){0};
}

bool rollup_is_running(const struct batch *b, size_t row)
{
	return b->table == TABLE_OP && batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED;
}

static void rollup_add_sums(struct rollup_row *to, const struct rollup_row *sums)
{
	to->calls = add_sat(to->calls, sums->calls);
	to->errors = add_sat(to->errors, sums->errors);
	to->bytes = add_sat(to->bytes, sums->bytes);
	to->time_ns = add_sat(to->time_ns, sums->time_ns);
	to->max_ns = MAX(to->max_ns, sums->max_ns);
}

int rollup_add_row(struct rollup *r, const struct batch *b, size_t row)
{
	struct rollup_row key, *to;
	struct bytes hist;
	int e;

	rollup_read(b, row, &key);
	key.file_id = aliased(r, key.file_id);
	key.second = r->second;
	if (rollup_is_running(b, row)) {
		r->running += !r->second;
		return 0;
	}
	if (r->keys & ROLLUP_WINDOW)
		key.window = rollup_window_of(r, key.window);
	key_mask(&key, r->keys);
	e = rollup_find(r, &key, &to);
	if (e < 0)
		return e;
	rollup_add_sums(to, &key);
	if (b->table == TABLE_OP)
		return hist_add(&to->hist, key.time_ns, 1);
	hist = batch_get_bytes(b, SUMMARY_HIST, row);
	return hist_unpack(&to->hist, hist.data, hist.len);
}

void rollup_seconds(struct rollup *r, bool second)
{
	r->second = second;
}

static int add_all(struct rollup *r, const struct batch *b)
{
	int e = 0;

	for (size_t i = 0; i < b->rows && e >= 0; i++)
		e = rollup_add_row(r, b, i);
	return e;
}

int rollup_add(struct rollup *r, const struct batch *b)
{
	int e = add_all(r, b);

	assert(b->table == TABLE_OP || b->table == TABLE_SUMMARY);
	if (e < 0 || !(r->keys & ROLLUP_FILE))
		return e;
	if (r->seconds && r->seconds->table != b->table) {
		batch_free(r->seconds);
		r->seconds = NULL;
	}
	if (!r->seconds)
		e = batch_new(&r->seconds, b->table);
	if (e >= 0)
		e = batch_seconds(b, r->seconds);
	r->second = true;
	if (e >= 0)
		e = add_all(r, r->seconds);
	r->second = false;
	return e;
}

/* ---- regrouping ---- */

static int rollup_add_group(struct rollup *r, const struct rollup_row *key,
			    const struct rollup_row *sums)
{
	struct rollup_row *to;
	int e = rollup_find(r, key, &to);

	if (e < 0)
		return e;
	rollup_add_sums(to, sums);
	return hist_merge(&to->hist, &sums->hist);
}

int rollup_merge(struct rollup *r, const struct rollup *other)
{
	assert(r->keys == other->keys && r != other);
	for (size_t i = 0; i < other->count; i++) {
		int e = rollup_add_group(r, &other->rows[i], &other->rows[i]);

		if (e < 0)
			return e;
	}
	r->running += other->running;
	return 0;
}

int rollup_regroup(const struct rollup *r, unsigned int keys,
		   bool (*map)(void *arg, struct rollup_row *key), void *arg, struct rollup **ret)
{
	_cleanup_(rollup_freep) struct rollup *out = NULL;
	int e = rollup_new(&out, keys);

	for (size_t i = 0; i < r->count && e >= 0; i++) {
		struct rollup_row key = r->rows[i];

		if (key.second && !(keys & ROLLUP_FILE))
			continue;
		if (map && !map(arg, &key))
			continue;
		key.second = false;
		key_mask(&key, keys);
		e = rollup_add_group(out, &key, &r->rows[i]);
	}
	if (e < 0)
		return e;
	out->running = r->running;
	*ret = TAKE_PTR(out);
	return 0;
}

int rollup_project(const struct rollup *r, unsigned int keys, struct rollup **ret)
{
	assert((keys & ~r->keys) == 0);
	return rollup_regroup(r, keys, NULL, NULL, ret);
}
