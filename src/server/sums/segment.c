// SPDX-License-Identifier: Apache-2.0
#include "server/sums/segment.h"

#include <errno.h>
#include <string.h>

#include "analysis/rollup/rollup.h"
#include "base/saturate.h"
#include "batch/seconds.h"
#include "engine/held.h"
#include "hist/sparse.h"
#include "server/sums/segment_maker.h"
#include "server/sums/sums.h"

#define ID_MASK	   ((1ll << 40) - 1) /* an id within its trace */
#define RADIX_BITS 11
#define SUMS_KEYS  (ROLLUP_OP | ROLLUP_THREAD | ROLLUP_ERR | ROLLUP_CLASS | ROLLUP_WINDOW)

_Static_assert(HIST_PACKED_MAX <= UINT16_MAX, "the length of a packed histogram");
_Static_assert((SEGMENT_PART_FILES + 1) * CLASS_COUNT <= BATCH_ROWS_MAX, "a part is a batch");

/* The first byte of what calls of one class did to a file: the class, and what else there is. */
#define CLASS_MASK   7u
#define CLASS_ONE    8u /* it was one call */
#define CLASS_ERRORS 16u
#define CLASS_BYTES  32u
_Static_assert(CLASS_COUNT <= CLASS_MASK + 1, "a class fits");

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
	free(m->hot);
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
	batch_free(s->none);
	batch_free(s->hot);
	free(s->hot_ids);
	free(s->files);
	free(s->parts);
	free(s->failures);
	free(s);
}

bool segment_takes(const struct store *s, size_t block)
{
	static const uint8_t keys[] = {OP_OP,  OP_THREAD_ID, OP_FILE_ID, OP_FILE2_ID,
				       OP_ERR, OP_CLASS,     OP_DUR};
	const struct store_block *b = store_block(s, block);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (b->min[keys[i]] < 0)
			return false; /* a number that stands for null as well */
	}
	return !b->damaged && !b->long_calls && !b->nulls[OP_RET] && !b->nulls[OP_START] &&
	       !b->nulls[OP_DUR] && !b->nulls[OP_CLASS];
}

/* ---- taking summaries ---- */

static uint64_t get_sum(const struct batch *b, unsigned int column, size_t row)
{
	return (uint64_t)MAX(batch_get(b, column, row, 0), 0);
}

static int add_fact(struct segment_maker *m, const struct batch *b, size_t row, int64_t file,
		    size_t block)
{
	struct bytes hist = batch_get_bytes(b, SUMMARY_HIST, row);
	int64_t class = batch_get(b, SUMMARY_CLASS, row, -1);
	struct fact f = {.id = file,
			 .thread = batch_get(b, SUMMARY_THREAD_ID, row, -1),
			 .op = batch_get(b, SUMMARY_OP, row, -1),
			 .err = batch_get(b, SUMMARY_ERR, row, -1),
			 .calls = get_sum(b, SUMMARY_CALLS, row),
			 .bytes = get_sum(b, SUMMARY_BYTES, row),
			 .time = get_sum(b, SUMMARY_TIME, row),
			 .max = get_sum(b, SUMMARY_MAX, row),
			 .hist = (uint32_t)m->hists.len,
			 .hist_len = (uint16_t)hist.len,
			 .class = (uint8_t) class,
			 .block = (uint8_t)block};
	int r = grow((void **)&m->facts, &m->facts_cap, m->count + 1, sizeof(*m->facts));

	if (hist.len > HIST_PACKED_MAX || class < 0 || class >= CLASS_COUNT)
		return -EBADMSG;
	if (r >= 0)
		r = buf_append(&m->hists, hist.data, hist.len);
	if (r >= 0)
		m->facts[m->count++] = f;
	return r;
}

/* 0; -ENODATA where the summary is not the block's. */
static int segment_take_summary(struct segment_maker *m, struct rollup *sums, struct rollup *none,
				struct segment *s, const struct segment_source *from,
				struct error *err)
{
	const struct batch *b;
	int64_t *max = &s->io_max[s->count];
	uint64_t calls = 0;
	int r = store_decode(m->cursor, from->summary, ~(1ull << SUMMARY_BLOCK), &b, err);

	s->block[s->count] = from->block;
	*max = -1;
	for (size_t i = 0; r >= 0 && i < b->rows; i++) {
		int64_t n = batch_get(b, SUMMARY_CALLS, i, 0);
		int64_t file = batch_get(b, SUMMARY_FILE_ID, i, -1), second = seconds_file(b, i);

		calls += (uint64_t)MAX(n, 0);
		if (sums_is_io(batch_get(b, SUMMARY_CLASS, i, CLASS_OTHER)))
			*max = MAX(*max, batch_get(b, SUMMARY_MAX, i, 0));
		r = n < 0 ? -EBADMSG : rollup_add_summary(sums, b, i);
		if (r >= 0)
			r = file >= 0 ? add_fact(m, b, i, file, s->count)
				      : rollup_add_summary(none, b, i);
		if (r >= 0 && second >= 0)
			r = add_fact(m, b, i, second, s->count);
		s->seconds |= second >= 0;
		if (r >= 0 && batch_get(b, SUMMARY_ERR, i, -1) > 0)
			r = failures_add(&m->failures, batch_get(b, SUMMARY_OP, i, -1),
					 batch_get(b, SUMMARY_ERR, i, -1), file, (uint64_t)n);
	}
	s->count++;
	if (r == -EBADMSG || (r >= 0 && calls != store_block(m->store, from->block)->rows)) {
		*err = (struct error){0};
		return -ENODATA;
	}
	return r;
}

/* ---- the sums without files ---- */

static int segment_put_key(struct batch *b, unsigned int column, size_t row, int64_t value)
{
	return value == -1 ? 0 : batch_set(b, column, row, value);
}

static int64_t as_int(uint64_t v)
{
	return (int64_t)MIN(v, (uint64_t)INT64_MAX);
}

int segment_put_row(struct batch *b, const struct rollup_row *sum, struct bytes hist)
{
	ssize_t row = batch_add_row(b);
	size_t at = (size_t)row;
	int r = row < 0 ? (int)row : segment_put_key(b, SUMMARY_WINDOW, at, sum->window);

	if (r >= 0)
		r = segment_put_key(b, SUMMARY_OP, at, sum->op);
	if (r >= 0)
		r = segment_put_key(b, SUMMARY_THREAD_ID, at, sum->thread_id);
	if (r >= 0)
		r = segment_put_key(b, SUMMARY_FILE_ID, at, sum->file_id);
	if (r >= 0)
		r = segment_put_key(b, SUMMARY_ERR, at, sum->err);
	if (r >= 0)
		r = segment_put_key(b, SUMMARY_CLASS, at, sum->class);
	if (r >= 0)
		r = batch_set(b, SUMMARY_CALLS, at, as_int(sum->calls));
	if (r >= 0)
		r = batch_set(b, SUMMARY_BYTES, at, as_int(sum->bytes));
	if (r >= 0)
		r = batch_set(b, SUMMARY_TIME, at, as_int(sum->time_ns));
	if (r >= 0)
		r = batch_set(b, SUMMARY_MAX, at, as_int(sum->max_ns));
	return r < 0 ? r : batch_set_bytes(b, SUMMARY_HIST, at, hist.data, hist.len);
}

int segment_put_sums(struct segment *s, const struct rollup *sums, struct batch **ret)
{
	_cleanup_free_ uint8_t *packed = malloc(HIST_PACKED_MAX);
	size_t n = rollup_count(sums);
	int r = packed ? batch_new(ret, TABLE_SUMMARY) : -ENOMEM;

	if (n > BATCH_ROWS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n && r >= 0; i++) {
		const struct rollup_row *row = rollup_row(sums, i);

		r = segment_put_row(*ret, row,
				    (struct bytes){packed, hist_pack(&row->hist, packed)});
	}
	if (r >= 0)
		s->bytes +=
			(*ret)->cap * 10 * sizeof(int64_t) + (*ret)->columns[SUMMARY_HIST].data_cap;
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

/* The histogram of facts of one class, with its length before it. */
static int segment_put_hist(struct segment_maker *m, unsigned int class, const uint32_t *rows,
			    size_t count, size_t facts)
{
	_cleanup_(hist_free) struct hist one = {0};
	uint8_t merged[HIST_PACKED_MAX];
	struct bytes packed = {merged, 0};
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct fact *f = &m->facts[rows[i]];

		if (f->class != class)
			continue;
		packed = (struct bytes){m->hists.data + f->hist, f->hist_len};
		if (facts > 1)
			r = hist_unpack(&one, packed.data, packed.len);
	}
	if (facts > 1)
		packed = (struct bytes){merged, hist_pack(&one, merged)};
	if (r >= 0)
		r = buf_varint(&m->one, packed.len);
	return r < 0 ? r : buf_append(&m->one, packed.data, packed.len);
}

/*
 * What calls of one class did to a file: the class and what follows, calls, errors, bytes, time and, where the calls are
 * several, the longest time and their histogram: of a single call its time says both.
 */
static int segment_put_class(struct segment_maker *m, unsigned int class, const uint32_t *rows,
			     size_t count)
{
	struct segment_file f = {0};
	unsigned int head = class;
	size_t facts = 0;
	int r;

	for (size_t i = 0; i < count; i++) {
		const struct fact *x = &m->facts[rows[i]];

		if (x->class != class)
			continue;
		f.calls += x->calls;
		f.errors += x->err > 0 ? x->calls : 0;
		f.bytes = add_sat(f.bytes, x->bytes);
		f.time = add_sat(f.time, x->time);
		f.max = MAX(f.max, x->max);
		facts++;
	}
	head |= (f.calls == 1 ? CLASS_ONE : 0) | (f.errors ? CLASS_ERRORS : 0) |
		(f.bytes ? CLASS_BYTES : 0);
	r = buf_varint(&m->one, head);
	if (r >= 0 && f.calls != 1)
		r = buf_varint(&m->one, f.calls);
	if (r >= 0 && f.errors)
		r = buf_varint(&m->one, f.errors);
	if (r >= 0 && f.bytes)
		r = buf_varint(&m->one, f.bytes);
	if (r >= 0)
		r = buf_varint(&m->one, f.time);
	if (r < 0 || f.calls == 1)
		return r;
	r = buf_varint(&m->one, f.max);
	return r < 0 ? r : segment_put_hist(m, class, rows, count, facts);
}

/* The file of order[from .. to). */
static int describe_file(struct segment_maker *m, size_t from, size_t to, size_t *rows)
{
	unsigned int classes = 0;
	int r = 0;

	buf_clear(&m->one);
	for (size_t i = from; i < to; i++)
		classes |= 1u << m->facts[m->order[i]].class;
	for (unsigned int class = 0; class < CLASS_COUNT && r >= 0; class ++) {
		if (!(classes >> class & 1))
			continue;
		r = segment_put_class(m, class, m->order + from, to - from);
		++*rows;
	}
	return r;
}

static int segment_put_file(struct segment_maker *m, int64_t id, int64_t before)
{
	int r = buf_varint(&m->files, (uint64_t)(id - before));

	if (r >= 0)
		r = buf_varint(&m->files, m->one.len);
	return r < 0 ? r : buf_append(&m->files, m->one.data, m->one.len);
}

/* Notes where the next file will stand, behind that of `before`. */
static int put_part(const struct segment_maker *m, struct segment *s, size_t *cap, int64_t before)
{
	int r = grow((void **)&s->parts, cap, s->part_count + 1, sizeof(*s->parts));

	if (r >= 0)
		s->parts[s->part_count++] = (struct segment_part){m->files.len, 0, before};
	return r;
}

static int segment_do_put_files(struct segment_maker *m, struct segment *s)
{
	int64_t before = 0;
	size_t cap = 0;
	int r = sort_facts(m);

	s->file_max = -1;
	buf_clear(&m->files);
	for (size_t i = 0, end; i < m->count && r >= 0; i = end) {
		int64_t id = m->facts[m->order[i]].id;

		for (end = i + 1; end < m->count && m->facts[m->order[end]].id == id; end++)
			;
		r = s->file_count % SEGMENT_PART_FILES ? 0 : put_part(m, s, &cap, before);
		if (r >= 0)
			r = segment_often_look(m, i, end);
		if (r >= 0)
			r = describe_file(m, i, end, &s->parts[s->part_count - 1].rows);
		if (r >= 0)
			r = segment_put_file(m, id, before);
		before = s->file_max = id;
		s->file_count++;
	}
	if (r >= 0 && !s->part_count)
		r = put_part(m, s, &cap, 0);
	s->bytes += cap * sizeof(*s->parts);
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

bool segment_file_next(const struct segment *s, struct segment_walk *w)
{
	const uint8_t *p = s->files + w->at, *end = s->files + s->files_len;

	if (w->at >= s->files_len)
		return false;
	w->id += (int64_t)varint_known(&p, end);
	w->packed.len = varint_known(&p, end);
	w->packed.data = p;
	w->at = (size_t)(p - s->files) + w->packed.len;
	return true;
}

/* What calls of one class did to a file. */
struct by_class {
	unsigned int class;
	uint64_t calls, errors, bytes, time, max;
	struct bytes hist; /* nothing where there is one call */
};

static inline bool next_class(struct bytes *left, struct by_class *ret)
{
	const uint8_t *p = left->data, *end = p + left->len;
	unsigned int head;

	if (!left->len)
		return false;
	head = (unsigned int)varint_known(&p, end);
	ret->class = head & CLASS_MASK;
	ret->calls = head & CLASS_ONE ? 1 : varint_known(&p, end);
	ret->errors = head & CLASS_ERRORS ? varint_known(&p, end) : 0;
	ret->bytes = head & CLASS_BYTES ? varint_known(&p, end) : 0;
	ret->time = ret->max = varint_known(&p, end);
	ret->hist = (struct bytes){NULL, 0};
	if (!(head & CLASS_ONE)) {
		ret->max = varint_known(&p, end);
		ret->hist.len = varint_known(&p, end);
		ret->hist.data = p;
		p += ret->hist.len;
	}
	*left = (struct bytes){p, (size_t)(end - p)};
	return true;
}

void segment_file_read(const struct segment_walk *w, struct segment_file *ret)
{
	struct bytes left = w->packed;
	struct by_class c;

	*ret = (struct segment_file){0};
	while (next_class(&left, &c)) {
		ret->all += c.calls;
		if (!sums_is_io(c.class))
			continue;
		ret->calls += c.calls;
		ret->errors += c.errors;
		ret->bytes = add_sat(ret->bytes, c.bytes);
		ret->time = add_sat(ret->time, c.time);
		ret->max = MAX(ret->max, c.max);
	}
}

int segment_file_hist(const struct segment_walk *w, struct hist *to)
{
	struct bytes left = w->packed;
	struct by_class c;
	int r = 0;

	while (r >= 0 && next_class(&left, &c)) {
		if (sums_is_io(c.class))
			r = c.calls == 1 ? hist_add(to, c.time, 1)
					 : hist_unpack(to, c.hist.data, c.hist.len);
	}
	return r;
}

/* ---- files as a batch ---- */

/* Where the values go to; NULL: they are not wanted. */
struct file_columns {
	int64_t *id, *class, *calls, *bytes, *time, *max;
	struct column *hist;
};

static int make_columns(struct batch *b, uint64_t columns, struct file_columns *ret)
{
	int r = 0;

	for (unsigned int i = 0; i < SUMMARY_COLUMNS && r >= 0; i++) {
		if (columns >> i & 1)
			r = batch_make_column(b, i, false);
	}
	*ret = (struct file_columns){
		.id = b->columns[SUMMARY_FILE_ID].val,
		.class = b->columns[SUMMARY_CLASS].val,
		.calls = b->columns[SUMMARY_CALLS].val,
		.bytes = b->columns[SUMMARY_BYTES].val,
		.time = b->columns[SUMMARY_TIME].val,
		.max = b->columns[SUMMARY_MAX].val,
		.hist = columns >> SUMMARY_HIST & 1 ? &b->columns[SUMMARY_HIST] : NULL,
	};
	return r;
}

static int set_hist(struct column *to, size_t row, const struct by_class *c)
{
	_cleanup_(hist_free) struct hist one = {0};
	uint8_t packed[2 * VARINT_MAX];
	struct bytes hist = c->hist;
	int r = 0;

	if (c->calls == 1) {
		r = hist_add(&one, c->time, 1); /* needs no memory of its own */
		hist = (struct bytes){packed, hist_pack(&one, packed)};
	}
	if (r >= 0)
		r = grow((void **)&to->data, &to->data_cap, to->data_len + hist.len + 1, 1);
	if (r < 0)
		return r;
	memcpy(to->data + to->data_len, hist.data, hist.len);
	to->data_len += hist.len;
	to->ends[row] = (uint32_t)to->data_len;
	return 0;
}

static inline int set_row(const struct file_columns *to, size_t row, int64_t id,
			  const struct by_class *c)
{
	if (to->id)
		to->id[row] = id;
	if (to->class)
		to->class[row] = c->class;
	if (to->calls)
		to->calls[row] = as_int(c->calls);
	if (to->bytes)
		to->bytes[row] = as_int(c->bytes);
	if (to->time)
		to->time[row] = as_int(c->time);
	if (to->max)
		to->max[row] = as_int(c->max);
	return to->hist ? set_hist(to->hist, row, c) : 0;
}

int segment_put_files(const struct segment *s, size_t part, uint64_t columns, struct batch *to)
{
	const struct segment_part *p = &s->parts[part];
	struct segment_walk w = {.at = p->at, .id = p->id};
	struct file_columns c;
	size_t row = 0;
	int r;

	assert(part < s->part_count && !(columns & ~HELD_FILE_COLUMNS));
	batch_resize(to, p->rows);
	r = make_columns(to, columns, &c);
	while (row < p->rows && r >= 0 && segment_file_next(s, &w)) {
		struct bytes left = w.packed;
		struct by_class one;

		while (r >= 0 && next_class(&left, &one))
			r = set_row(&c, row++, w.id, &one);
	}
	assert(r < 0 || row == p->rows);
	return r < 0 || part ? r : batch_append(to, s->none, 0, s->none->rows);
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
	_cleanup_(rollup_freep) struct rollup *sums = NULL, *none = NULL;
	struct segment *s = calloc(1, sizeof(*s));
	int r = s ? rollup_new(&sums, SUMS_KEYS) : -ENOMEM;

	assert(count > 0 && count <= SEGMENT_BLOCKS);
	m->count = m->hot_count = 0;
	buf_clear(&m->hists);
	map_clear(&m->failures.calls);
	m->failures.too_many = false;
	if (r >= 0)
		r = rollup_new(&none, ROLLUP_CLASS);
	for (size_t i = 0; i < count && r >= 0; i++)
		r = segment_take_summary(m, sums, none, s, &sources[i], err);
	if (r >= 0) {
		s->refs = 1;
		s->bytes = sizeof(*s);
		set_times(m->store, s);
		r = segment_put_sums(s, sums, &s->sums);
	}
	if (r >= 0)
		r = segment_put_sums(s, none, &s->none);
	if (r >= 0)
		r = segment_do_put_files(m, s);
	if (r >= 0)
		r = segment_often_put(m, s);
	if (r >= 0)
		r = put_failures(m, s);
	if (r < 0) {
		segment_unref(s);
		return r;
	}
	*ret = s;
	return 0;
}
