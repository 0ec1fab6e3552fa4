// SPDX-License-Identifier: Apache-2.0
#include "server/segment.h"

#include <errno.h>
#include <string.h>

#include "analysis/rollup/rollup.h"
#include "base/buf.h"
#include "base/varint.h"
#include "hist/sparse.h"
#include "server/failures.h"
#include "server/sums.h"

#define ID_MASK	     ((1ll << 40) - 1) /* an id within its trace */
#define RADIX_BITS   11
#define HISTS_MERGED 256u /* bytes of pieces, from which on they are made one */
#define SUMS_KEYS    (ROLLUP_OP | ROLLUP_THREAD | ROLLUP_ERR | ROLLUP_CLASS | ROLLUP_WINDOW)

/* What one row of a summary says of its file. */
struct fact {
	int64_t id;
	uint64_t all, errors, bytes, time, max;
	uint32_t hist, hist_len; /* in maker.hists */
	bool io;		 /* else only `all` is known */
};

struct segment_maker {
	const struct store *store;
	struct store_cursor *cursor;
	struct fact *facts;
	uint32_t *order, *spare; /* of facts */
	size_t count, facts_cap, order_cap, spare_cap;
	struct buf hists, files, one;
	struct failures failures;
};

int segment_maker_new(struct segment_maker **ret, const struct store *s)
{
	_cleanup_(segment_maker_freep) struct segment_maker *m = calloc(1, sizeof(*m));
	int r = m ? store_cursor_new(&m->cursor, s) : -ENOMEM;

	if (r < 0)
		return r;
	m->store = s;
	*ret = TAKE_PTR(m);
	return 0;
}

void segment_maker_free(struct segment_maker *m)
{
	if (m->cursor)
		store_cursor_free(m->cursor);
	free(m->facts);
	free(m->order);
	free(m->spare);
	buf_free(&m->hists);
	buf_free(&m->files);
	buf_free(&m->one);
	failures_free(&m->failures);
	free(m);
}

struct segment *segment_ref(struct segment *s)
{
	atomic_fetch_add(&s->refs, 1);
	return s;
}

void segment_unref(struct segment *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) > 1)
		return;
	batch_free(s->sums);
	free(s->files);
	free(s->failures);
	free(s);
}

bool segment_takes(const struct store *s, size_t block)
{
	static const uint8_t keys[] = {OP_OP, OP_THREAD_ID, OP_FILE_ID, OP_ERR, OP_CLASS, OP_DUR};
	const struct store_block *b = store_block(s, block);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (b->min[keys[i]] < 0)
			return false; /* a number that stands for null as well */
	}
	return !b->damaged && !b->long_calls && !b->nulls[OP_RET] && !b->nulls[OP_START] &&
	       !b->nulls[OP_DUR];
}

/* ---- taking summaries ---- */

static int add_fact(struct segment_maker *m, const struct batch *b, size_t row)
{
	int64_t id = batch_get(b, SUMMARY_FILE_ID, row, -1);
	struct fact f = {.id = id,
			 .all = (uint64_t)batch_get(b, SUMMARY_CALLS, row, 0),
			 .io = sums_is_io(batch_get(b, SUMMARY_CLASS, row, CLASS_OTHER))};
	int r = grow((void **)&m->facts, &m->facts_cap, m->count + 1, sizeof(*m->facts));

	if (r >= 0 && f.io) {
		struct bytes hist = batch_get_bytes(b, SUMMARY_HIST, row);

		f.errors = batch_get(b, SUMMARY_ERR, row, 0) > 0 ? f.all : 0;
		f.bytes = (uint64_t)MAX(batch_get(b, SUMMARY_BYTES, row, 0), 0);
		f.time = (uint64_t)MAX(batch_get(b, SUMMARY_TIME, row, 0), 0);
		f.max = (uint64_t)MAX(batch_get(b, SUMMARY_MAX, row, 0), 0);
		f.hist = (uint32_t)m->hists.len;
		f.hist_len = (uint32_t)hist.len;
		r = buf_append(&m->hists, hist.data, hist.len);
	}
	if (r >= 0)
		m->facts[m->count++] = f;
	return r;
}

/* 0; -ENODATA where the summary is not the block's. */
static int take_summary(struct segment_maker *m, struct rollup *sums, struct segment *s,
			const struct segment_source *from, struct error *err)
{
	const struct batch *b;
	int64_t *max = &s->io_max[s->count];
	uint64_t calls = 0;
	int r = store_decode(m->cursor, from->summary, ~(1ull << SUMMARY_BLOCK), &b, err);

	s->block[s->count] = from->block;
	*max = -1;
	for (size_t i = 0; r >= 0 && i < b->rows; i++) {
		int64_t n = batch_get(b, SUMMARY_CALLS, i, 0);

		calls += (uint64_t)MAX(n, 0);
		if (sums_is_io(batch_get(b, SUMMARY_CLASS, i, CLASS_OTHER)))
			*max = MAX(*max, batch_get(b, SUMMARY_MAX, i, 0));
		r = n < 0 ? -EBADMSG : rollup_add_summary(sums, b, i);
		if (r >= 0 && batch_get(b, SUMMARY_FILE_ID, i, -1) >= 0)
			r = add_fact(m, b, i);
		if (r >= 0 && batch_get(b, SUMMARY_ERR, i, -1) > 0)
			r = failures_add(&m->failures, batch_get(b, SUMMARY_OP, i, -1),
					 batch_get(b, SUMMARY_ERR, i, -1),
					 batch_get(b, SUMMARY_FILE_ID, i, -1), (uint64_t)n);
	}
	s->count++;
	if (r == -EBADMSG || (r >= 0 && calls != store_block(m->store, from->block)->rows)) {
		*err = (struct error){0};
		return -ENODATA;
	}
	return r;
}

/* ---- the sums without files ---- */

static int put_key(struct batch *b, unsigned int column, size_t row, int64_t value)
{
	return value == -1 ? 0 : batch_set(b, column, row, value);
}

static int64_t as_int(uint64_t v)
{
	return (int64_t)MIN(v, (uint64_t)INT64_MAX);
}

static int put_sum(struct batch *b, const struct rollup_row *sum, uint8_t *packed)
{
	ssize_t row = batch_add_row(b);
	size_t at = (size_t)row;
	int r = row < 0 ? (int)row : put_key(b, SUMMARY_WINDOW, at, sum->window);

	if (r >= 0)
		r = put_key(b, SUMMARY_OP, at, sum->op);
	if (r >= 0)
		r = put_key(b, SUMMARY_THREAD_ID, at, sum->thread_id);
	if (r >= 0)
		r = put_key(b, SUMMARY_ERR, at, sum->err);
	if (r >= 0)
		r = put_key(b, SUMMARY_CLASS, at, sum->class);
	if (r >= 0)
		r = batch_set(b, SUMMARY_CALLS, at, as_int(sum->calls));
	if (r >= 0)
		r = batch_set(b, SUMMARY_BYTES, at, as_int(sum->bytes));
	if (r >= 0)
		r = batch_set(b, SUMMARY_TIME, at, as_int(sum->time_ns));
	if (r >= 0)
		r = batch_set(b, SUMMARY_MAX, at, as_int(sum->max_ns));
	if (r >= 0)
		r = batch_set_bytes(b, SUMMARY_HIST, at, packed, hist_pack(&sum->hist, packed));
	return r;
}

static int put_sums(struct segment *s, const struct rollup *sums)
{
	_cleanup_free_ uint8_t *packed = malloc(HIST_PACKED_MAX);
	size_t n = rollup_count(sums);
	int r = packed ? batch_new(&s->sums, TABLE_SUMMARY) : -ENOMEM;

	if (n > BATCH_ROWS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n && r >= 0; i++)
		r = put_sum(s->sums, rollup_row(sums, i), packed);
	if (r >= 0)
		s->bytes += s->sums->cap * 10 * sizeof(int64_t) +
			    s->sums->columns[SUMMARY_HIST].data_cap;
	return r;
}

/* ---- files ---- */

/* Sorts by id, those of one id in the order in which they came. */
static int sort_facts(struct segment_maker *m)
{
	uint64_t largest = 0;
	int r = grow((void **)&m->order, &m->order_cap, m->count + 1, sizeof(*m->order));

	if (r >= 0)
		r = grow((void **)&m->spare, &m->spare_cap, m->count + 1, sizeof(*m->spare));
	if (r < 0)
		return r;
	for (size_t i = 0; i < m->count; i++) {
		m->order[i] = (uint32_t)i;
		largest = MAX(largest, (uint64_t)(m->facts[i].id & ID_MASK));
	}
	for (unsigned int shift = 0; shift < 40 && largest >> shift; shift += RADIX_BITS) {
		uint32_t begin[(1 << RADIX_BITS) + 1] = {0}, *sorted = m->spare;

		for (size_t i = 0; i < m->count; i++)
			begin[(m->facts[i].id >> shift & ((1 << RADIX_BITS) - 1)) + 1]++;
		for (size_t i = 0; i < 1 << RADIX_BITS; i++)
			begin[i + 1] += begin[i];
		for (size_t i = 0; i < m->count; i++) {
			const struct fact *f = &m->facts[m->order[i]];

			sorted[begin[f->id >> shift & ((1 << RADIX_BITS) - 1)]++] = m->order[i];
		}
		m->spare = m->order;
		m->order = sorted;
	}
	return 0;
}

static int put_number(struct buf *to, uint64_t v)
{
	uint8_t packed[VARINT_MAX];

	return buf_append(to, packed, varint_put(packed, v));
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static int put_piece(struct segment_maker *m, const void *packed, size_t len)
{
	int r = put_number(&m->one, len);

	return r < 0 ? r : buf_append(&m->one, packed, len);
}

static int put_merged(struct segment_maker *m, const uint32_t *rows, size_t count)
{
	_cleanup_(hist_free) struct hist one = {0};
	uint8_t packed[HIST_PACKED_MAX];
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct fact *f = &m->facts[rows[i]];

		if (f->hist_len)
			r = hist_unpack(&one, m->hists.data + f->hist, f->hist_len);
	}
	return r < 0 ? r : put_piece(m, packed, hist_pack(&one, packed));
}

/* Many pieces become one, few stay as they are: most files have a handful of calls. */
static int put_hists(struct segment_maker *m, const uint32_t *rows, size_t count)
{
	size_t len = 0;
	int r = 0;

	for (size_t i = 0; i < count; i++)
		len += m->facts[rows[i]].hist_len;
	if (len > HISTS_MERGED)
		r = put_merged(m, rows, count);
	for (size_t i = 0; len <= HISTS_MERGED && i < count && r >= 0; i++) {
		const struct fact *f = &m->facts[rows[i]];

		if (f->hist_len)
			r = put_piece(m, m->hists.data + f->hist, f->hist_len);
	}
	return r;
}

/* The file of order[from .. to). */
static int describe_file(struct segment_maker *m, size_t from, size_t to)
{
	struct segment_file f = {0};
	int r;

	buf_clear(&m->one);
	for (size_t i = from; i < to; i++) {
		const struct fact *x = &m->facts[m->order[i]];

		f.all += x->all;
		if (!x->io)
			continue;
		f.calls += x->all;
		f.errors += x->errors;
		f.bytes = add_up(f.bytes, x->bytes);
		f.time = add_up(f.time, x->time);
		f.max = MAX(f.max, x->max);
	}
	r = put_number(&m->one, f.all);
	if (r >= 0)
		r = put_number(&m->one, f.calls);
	if (r < 0 || !f.calls)
		return r;
	r = put_number(&m->one, f.errors);
	if (r >= 0)
		r = put_number(&m->one, f.bytes);
	if (r >= 0)
		r = put_number(&m->one, f.time);
	if (r >= 0)
		r = put_number(&m->one, f.max);
	return r < 0 ? r : put_hists(m, m->order + from, to - from);
}

static int put_file(struct segment_maker *m, int64_t id, int64_t before)
{
	int r = put_number(&m->files, (uint64_t)(id - before));

	if (r >= 0)
		r = put_number(&m->files, m->one.len);
	return r < 0 ? r : buf_append(&m->files, m->one.data, m->one.len);
}

static int put_files(struct segment_maker *m, struct segment *s)
{
	int64_t before = 0;
	int r = sort_facts(m);

	s->file_max = -1;
	buf_clear(&m->files);
	for (size_t i = 0, end; i < m->count && r >= 0; i = end) {
		int64_t id = m->facts[m->order[i]].id;

		for (end = i + 1; end < m->count && m->facts[m->order[end]].id == id; end++)
			;
		r = describe_file(m, i, end);
		if (r >= 0)
			r = put_file(m, id, before);
		before = s->file_max = id;
		s->file_count++;
	}
	if (r < 0 || !m->files.len)
		return r;
	s->files = malloc(m->files.len);
	if (!s->files)
		return -ENOMEM;
	memcpy(s->files, m->files.data, m->files.len);
	s->files_len = m->files.len;
	s->bytes += s->files_len;
	return 0;
}

static uint64_t take_number(const uint8_t **p, const uint8_t *end)
{
	uint64_t v = 0;
	bool good = varint_get(p, end, &v);

	assert(good);
	return v;
}

bool segment_file_next(const struct segment *s, struct segment_walk *w)
{
	const uint8_t *p = s->files + w->at, *end = s->files + s->files_len;

	if (w->at >= s->files_len)
		return false;
	w->id += (int64_t)take_number(&p, end);
	w->packed.len = take_number(&p, end);
	w->packed.data = p;
	w->at = (size_t)(p - s->files) + w->packed.len;
	return true;
}

void segment_file_read(const struct segment_walk *w, struct segment_file *ret)
{
	const uint8_t *p = w->packed.data, *end = p + w->packed.len;

	*ret = (struct segment_file){0};
	ret->all = take_number(&p, end);
	ret->calls = take_number(&p, end);
	if (!ret->calls)
		return;
	ret->errors = take_number(&p, end);
	ret->bytes = take_number(&p, end);
	ret->time = take_number(&p, end);
	ret->max = take_number(&p, end);
	ret->hists = (struct bytes){p, (size_t)(end - p)};
}

int segment_file_hist(const struct segment_file *f, struct hist *to)
{
	const uint8_t *p = f->hists.data, *end = f->hists.len ? p + f->hists.len : p;
	uint64_t len;
	int r = 0;

	while (r >= 0 && p < end && varint_get(&p, end, &len)) {
		r = hist_unpack(to, p, len);
		p += len;
	}
	return r;
}

/* ---- failures ---- */

static int put_failures(struct segment_maker *m, struct segment *s)
{
	struct segment_failure *f;
	size_t pos = 0;

	if (m->failures.too_many)
		return -E2BIG;
	if (!m->failures.calls.count)
		return 0;
	f = s->failures = calloc(m->failures.calls.count, sizeof(*f));
	if (!f)
		return -ENOMEM;
	while (map_next(&m->failures.calls, &pos, &f->key, &f->calls))
		f++;
	s->failure_count = m->failures.calls.count;
	s->bytes += s->failure_count * sizeof(*f);
	return 0;
}

/* ---- all of it ---- */

/* When calls of the blocks ran, as their headers know it: never too narrow. */
static void set_times(const struct store *store, struct segment *s)
{
	s->start = INT64_MAX;
	s->end = INT64_MIN;
	for (unsigned int i = 0; i < s->count; i++) {
		const struct store_block *b = store_block(store, s->block[i]);
		int64_t end;

		if (__builtin_add_overflow(b->max[OP_START], b->max[OP_DUR], &end))
			end = INT64_MAX;
		s->start = MIN(s->start, b->min[OP_START]);
		s->end = MAX(s->end, end);
	}
}

int segment_make(struct segment_maker *m, const struct segment_source *sources, size_t count,
		 struct segment **ret, struct error *err)
{
	_cleanup_(rollup_freep) struct rollup *sums = NULL;
	struct segment *s = calloc(1, sizeof(*s));
	int r = s ? rollup_new(&sums, SUMS_KEYS) : -ENOMEM;

	assert(count > 0 && count <= SEGMENT_BLOCKS);
	m->count = 0;
	buf_clear(&m->hists);
	map_clear(&m->failures.calls);
	m->failures.too_many = false;
	for (size_t i = 0; i < count && r >= 0; i++)
		r = take_summary(m, sums, s, &sources[i], err);
	if (r >= 0) {
		s->refs = 1;
		s->bytes = sizeof(*s);
		set_times(m->store, s);
		r = put_sums(s, sums);
	}
	if (r >= 0)
		r = put_files(m, s);
	if (r >= 0)
		r = put_failures(m, s);
	if (r < 0) {
		segment_unref(s);
		return r;
	}
	*ret = s;
	return 0;
}
