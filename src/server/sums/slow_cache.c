// SPDX-License-Identifier: Apache-2.0
#include "server/sums/slow_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "batch/seconds.h"
#include "engine/facts.h"
#include "hist/sparse.h"
#include "server/sums/sums.h"

#define PIECE_NS (50 * NSEC_PER_MSEC) /* of work, between which questions come first */

struct slow_cache {
	int64_t least; /* ns: no shorter call is among them, each that is not shorter is */
	size_t block_count;
	struct kept_block {
		bool known;
		struct batch *rows; /* NULL: none */
	} *blocks;		    /* by block */
};

void slow_cache_free(struct slow_cache *k)
{
	for (size_t i = 0; k && i < k->block_count; i++)
		batch_free(k->blocks[i].rows);
	if (k)
		free(k->blocks);
	free(k);
}

/* What is kept of a call. */
static uint64_t slow_cache_columns(void)
{
	return seconds_columns(TABLE_OP, sums_columns()) | 1ull << OP_TID | 1ull << OP_CPU;
}

/* ---- for who asks ---- */

const struct slow_cache *slow_cache_for(const struct server *s,
					const struct pass_filter *pass_filter, uint64_t columns)
{
	const struct slow_cache *k = atomic_load(&s->kept);

	if (!k || !pass_filter || !pass_filter->eval || pass_filter->names_rows ||
	    (pass_filter->columns | columns) & ~slow_cache_columns() ||
	    !facts_need_long(pass_filter->eval, k->least))
		return NULL;
	return k;
}

const struct slow_cache *slow_cache_all(const struct server *s, int64_t *least, uint64_t *columns)
{
	const struct slow_cache *k = atomic_load(&s->kept);

	*least = k ? k->least : 0;
	*columns = slow_cache_columns();
	return k;
}

bool slow_cache_rows(const struct slow_cache *k, size_t block, const struct batch **ret)
{
	if (block >= k->block_count || !k->blocks[block].known)
		return false;
	*ret = k->blocks[block].rows;
	return true;
}

/* ---- how long is long ---- */

static int slow_cache_add_segment(struct hist *to, const struct segment *s)
{
	int r = 0;

	for (size_t i = 0; i < s->sums->rows && r >= 0; i++) {
		struct bytes packed = batch_get_bytes(s->sums, SUMMARY_HIST, i);

		r = hist_unpack(to, packed.data, packed.len);
	}
	return r;
}

/* The shortest that is kept; 0: none is, there are too few. */
static int64_t least_of(const struct hist *h)
{
	uint64_t all = hist_total(h), most = MIN(all / KEPT_SHARE, (uint64_t)KEPT_CALLS_MAX);
	uint64_t n = 0;
	unsigned int i = hist_entries(h);

	if (all < KEPT_TRACE_MIN)
		return 0;
	while (i > 0 && n + hist_entry(h, i - 1).count <= most)
		n += hist_entry(h, --i).count;
	return n ? (int64_t)MIN(hist_lower(hist_entry(h, i).bucket), (uint64_t)INT64_MAX) : 0;
}

static bool slow_cache_is_stopped(const void *arg)
{
	return question_stopped(arg);
}

static int find_least(const struct question *q, int64_t *ret)
{
	struct index_view *view = index_view(q->server->index, slow_cache_is_stopped, q);
	struct hist all = {0};
	int r = view ? 0 : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < view->count; i++)
		r = slow_cache_add_segment(&all, view->segments[i]);
	*ret = r < 0 ? 0 : least_of(&all);
	hist_free(&all);
	index_view_free(view);
	return r;
}

/* ---- finding them ---- */

struct search {
	struct question q; /* of nobody: it lasts until the server stops */
	struct pass_filter pass_filter;
	struct slow_cache *kept;
	size_t *blocks, block_count, read;
	atomic_size_t calls;
};

static void slow_cache_search_free(struct search *s)
{
	pass_filter_free(&s->pass_filter);
	slow_cache_free(s->kept);
	free(s->blocks);
}

static int slow_cache_take(void *state, const struct pass_rows *rows)
{
	struct search *s = state;
	struct kept_block *to = &s->kept->blocks[rows->block];
	int r;

	/* the summaries that told how many there are need not be true */
	if (atomic_fetch_add(&s->calls, rows->count) > 2 * KEPT_CALLS_MAX)
		return -E2BIG;
	r = batch_new(&to->rows, TABLE_OP);
	return r < 0 ? r : batch_append_rows(to->rows, rows->batch, rows->rows, rows->count);
}

static int slow_cache_begin(struct search *s)
{
	const struct store *store = s->q.server->store;
	char filter[48];
	int64_t least;
	int r = find_least(&s->q, &least);

	if (r < 0 || !least)
		return r < 0 ? r : -ENODATA;
	s->kept = calloc(1, sizeof(*s->kept));
	if (!s->kept)
		return -ENOMEM;
	s->kept->least = least;
	s->kept->block_count = store_block_count(store);
	s->kept->blocks = calloc(s->kept->block_count + 1, sizeof(*s->kept->blocks));
	s->blocks = calloc(s->kept->block_count + 1, sizeof(*s->blocks));
	if (!s->kept->blocks || !s->blocks)
		return -ENOMEM;
	for (size_t i = 0; i < s->kept->block_count; i++) {
		if (store_block(store, i)->table == TABLE_OP && !store_block(store, i)->damaged)
			s->blocks[s->block_count++] = i;
	}
	snprintf(filter, sizeof(filter), "dur >= %" PRId64 "ns", least);
	return pass_filter_make(&s->q, filter, &s->pass_filter);
}

static int slow_cache_read_piece(struct search *s)
{
	struct pass p = {
		.q = &s->q,
		.pass_filter = &s->pass_filter,
		.from = INT64_MIN,
		.to = INT64_MAX,
		.columns = slow_cache_columns(),
		.only = s->blocks + s->read,
		.only_count = s->block_count - s->read,
		.until = clock_monotonic_ns() + PIECE_NS,
		.take = slow_cache_take,
		.workers = pass_workers(&s->q),
	};
	int r;

	for (unsigned int i = 0; i < p.workers; i++)
		p.states[i] = s;
	r = pass_run(&p);
	for (size_t i = 0; r >= 0 && i < p.taken; i++) {
		size_t block = s->blocks[s->read + i];

		s->kept->blocks[block].known = !store_block(s->q.server->store, block)->damaged;
	}
	s->read += p.taken;
	return r;
}

/* With the trace locked for reading. 1 where there is more to do, 0, or negative: there will be none. */
static int slow_cache_go_on(struct search *s)
{
	int r;

	/* a trace that grows is read by who asks, again and again */
	if (s->q.server->live)
		return -EAGAIN;
	r = s->blocks ? slow_cache_read_piece(s) : slow_cache_begin(s);
	return r < 0 ? r : s->read < s->block_count;
}

void slow_cache_ahead(struct server *s)
{
	_cleanup_(slow_cache_search_free) struct search search = {
		.q = {.server = s, .from = INT64_MIN, .to = INT64_MAX}};
	int more = 1;

	while (more > 0 && admission_idle(s)) {
		pthread_rwlock_rdlock(&s->lock);
		more = slow_cache_go_on(&search);
		pthread_rwlock_unlock(&s->lock);
	}
	if (more == 0)
		atomic_store(&s->kept, TAKE_PTR(search.kept));
}
