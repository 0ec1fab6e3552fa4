// SPDX-License-Identifier: Apache-2.0
/* segment_hot.c: files that many blocks of a segment name: what was done to them, by operation, thread and error. */
#include <errno.h>

#include "base/saturate.h"
#include "server/sums/segment_maker.h"

#define KEYS	 (ROLLUP_FILE | ROLLUP_OP | ROLLUP_THREAD | ROLLUP_ERR | ROLLUP_CLASS)
#define ROWS_MAX 4096u /* of a segment */

/* ---- which ---- */

static int segment_hot_by_time(const void *a, const void *b)
{
	const struct hot *x = a, *y = b;

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static int segment_hot_by_id(const void *a, const void *b)
{
	const struct hot *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

int segment_often_look(struct segment_maker *m, size_t from, size_t to)
{
	struct hot found = {0, from, to};
	unsigned int blocks = 0;
	int r;

	for (size_t i = from; i < to; i++) {
		const struct fact *f = &m->facts[m->order[i]];

		found.time = add_sat(found.time, f->time);
		blocks += i == from || m->facts[m->order[i - 1]].block != f->block;
	}
	if (blocks < SEGMENT_OFTEN)
		return 0;
	r = grow((void **)&m->hot, &m->hot_cap, m->hot_count + 1, sizeof(*m->hot));
	if (r >= 0)
		m->hot[m->hot_count++] = found;
	return r;
}

/* Those with most time, by id. */
static void choose_often(struct segment_maker *m)
{
	if (m->hot_count > SEGMENT_OFTEN_FILES) {
		qsort(m->hot, m->hot_count, sizeof(*m->hot), segment_hot_by_time);
		m->hot_count = SEGMENT_OFTEN_FILES;
		qsort(m->hot, m->hot_count, sizeof(*m->hot), segment_hot_by_id);
	}
}

/* ---- what was done to them ---- */

static int sum_file(const struct segment_maker *m, const struct hot *o, struct batch *room,
		    struct rollup *to)
{
	int r = 0;

	batch_clear(room);
	for (size_t i = o->from; i < o->to && r >= 0; i++) {
		const struct fact *f = &m->facts[m->order[i]];
		struct rollup_row row = {.op = f->op,
					 .thread_id = f->thread,
					 .file_id = f->id,
					 .err = f->err,
					 .class = f->class,
					 .window = -1,
					 .calls = f->calls,
					 .bytes = f->bytes,
					 .time_ns = f->time,
					 .max_ns = f->max};

		r = segment_put_row(room, &row,
				    (struct bytes){m->hists.data + f->hist, f->hist_len});
	}
	return r < 0 ? r : rollup_add(to, room);
}

int segment_often_put(struct segment_maker *m, struct segment *s)
{
	_cleanup_(rollup_freep) struct rollup *sums = NULL;
	_cleanup_(batch_freep) struct batch *room = NULL;
	int r = batch_new(&room, TABLE_SUMMARY);

	choose_often(m);
	s->hot_ids = calloc(m->hot_count + 1, sizeof(*s->hot_ids));
	if (!s->hot_ids)
		return -ENOMEM;
	if (r >= 0)
		r = rollup_new(&sums, KEYS);
	for (size_t i = 0; i < m->hot_count && r >= 0; i++) {
		if (rollup_count(sums) + m->hot[i].to - m->hot[i].from > ROWS_MAX)
			continue;
		r = sum_file(m, &m->hot[i], room, sums);
		s->hot_ids[s->hot_count++] = m->facts[m->order[m->hot[i].from]].id;
	}
	s->bytes += (m->hot_count + 1) * sizeof(*s->hot_ids);
	return r < 0 ? r : segment_put_sums(s, sums, &s->hot);
}

/* ---- for who asks ---- */

static bool is_often(const struct segment *s, int64_t id)
{
	size_t low = 0, high = s->hot_count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (s->hot_ids[mid] < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->hot_count && s->hot_ids[low] == id;
}

bool segment_tells_file(const struct segment *s, const struct store *store, int64_t id)
{
	bool named = false;

	if (is_often(s, id))
		return true;
	for (unsigned int i = 0; i < s->count && !named; i++)
		named = store_block_has_id(store, s->block[i], OP_FILE_ID, id) ||
			store_block_has_seconds(store, s->block[i]);
	return !named;
}
