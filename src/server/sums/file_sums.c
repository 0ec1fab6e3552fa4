// SPDX-License-Identifier: Apache-2.0
/* file_sums.c: sums by file over all versions and, for the few that are shown, their histograms. */
#include <errno.h>
#include <string.h>

#include "server/sums/catalog.h"
#include "server/sums/file_pile.h"
#include "server/sums/file_sums.h"
#include "server/sums/file_tops.h"
#include "server/sums/who.h"

static int file_sums_by_time(const void *a, const void *b)
{
	const struct sums_file *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? 1 : -1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

/* ---- by id: files of segments ---- */

/* Room for the files of the segments; a trace whose ids lie too far apart gets none. */
static int memory_budget_for_segments(struct file_dense *d, const struct sums *s)
{
	size_t want[FILE_TRACES_MAX] = {0}, files[FILE_TRACES_MAX] = {0};

	for (size_t i = 0; i < s->segment_count; i++) {
		const struct segment *g = s->segments[i];
		uint64_t trace = (uint64_t)g->file_max >> FILE_TRACE_SHIFT;

		if (g->file_max < 0 || trace >= FILE_TRACES_MAX)
			continue;
		want[trace] = MAX(want[trace],
				  (size_t)(g->file_max & ((1ll << FILE_TRACE_SHIFT) - 1)) + 1);
		files[trace] += g->file_count;
	}
	return file_dense_make(d, want, files);
}

static int file_sums_add_segment(struct file_dense *d, struct sums *rest, const struct segment *g)
{
	struct segment_walk w = {0};
	struct segment_file f;
	int r = 0;

	while (r >= 0 && segment_file_next(g, &w)) {
		segment_file_read(&w, &f);
		r = file_dense_add(d, rest,
				   &(struct sums_file){.id = w.id,
						       .all = f.all,
						       .calls = f.calls,
						       .errors = f.errors,
						       .bytes = f.bytes,
						       .time = f.time,
						       .max = f.max});
	}
	return r;
}

/* Leaves the places empty of files that are told as others; those are put into `moved`. */
static int move_versions(const struct server *srv, struct file_dense *d, struct sums *moved)
{
	struct catalog_walk w = {0};
	int64_t id, file;
	int r = 0;

	while (r >= 0 && names_next_other(srv, &w, &id, &file)) {
		struct sums_file *f = file_dense_at(d, id);

		if (!f || !f->all || id == file)
			continue;
		f->id = file;
		r = sums_add_file(moved, f);
		*f = (struct sums_file){0};
	}
	return r;
}

/* The same of those without a place. */
static int move_rest(const struct server *srv, const struct sums *rest, struct sums *moved)
{
	int r = 0;

	for (size_t i = 0; i < rest->file_count && r >= 0; i++) {
		struct sums_file f = rest->files[i];

		f.id = names_one_file(srv, f.id);
		r = sums_add_file(moved, &f);
	}
	return r;
}

/* Adds what was moved to a file that has a place; how many have none. */
static size_t add_moved(struct file_dense *d, const struct sums *moved)
{
	size_t without = 0;

	for (size_t i = 0; i < moved->file_count; i++) {
		struct sums_file *to = file_dense_at(d, moved->files[i].id);

		if (to)
			file_sums_add(to, &moved->files[i]);
		else
			without++;
	}
	return without;
}

/* Moves the files of a trace that have calls to the front; how many they are. */
static size_t file_sums_pack(struct sums_file *files, size_t count, uint64_t trace)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (!files[i].all)
			continue;
		files[n] = files[i];
		files[n++].id = (int64_t)(trace << FILE_TRACE_SHIFT | i);
	}
	return n;
}

/*
 * Files that are told as one are added up; the others of `moved` come behind. The largest trace's places become the
 * answer: of millions of files there is no second copy.
 */
static int file_sums_collect(struct file_dense *d, const struct sums *moved, struct sums_file **ret,
			     size_t *ret_count)
{
	size_t without = add_moved(d, moved), packed[FILE_TRACES_MAX], n = 0, max = without,
	       base = 0;
	struct sums_file *files;

	for (size_t t = 0; t < FILE_TRACES_MAX; t++) {
		packed[t] = file_sums_pack(d->by_trace[t], d->count[t], t);
		max += packed[t];
		base = d->count[t] > d->count[base] ? t : base;
	}
	files = reallocarray(d->by_trace[base], max + 1, sizeof(*files));
	if (!files)
		return -ENOMEM;
	d->by_trace[base] = NULL;
	n = packed[base];
	for (size_t t = 0; t < FILE_TRACES_MAX; t++) {
		if (t == base || !packed[t])
			continue;
		memcpy(files + n, d->by_trace[t], packed[t] * sizeof(*files));
		n += packed[t];
	}
	for (size_t i = 0; i < moved->file_count; i++) {
		if (!file_dense_has(d, moved->files[i].id))
			files[n++] = moved->files[i];
	}
	assert(n == max);
	*ret = files;
	*ret_count = n;
	return 0;
}

int file_sums_merge(const struct server *srv, struct sums *s, struct sums_file **ret,
		    size_t *ret_count)
{
	_cleanup_(file_dense_free) struct file_dense d = {0};
	_cleanup_(sums_freep) struct sums *rest = NULL, *moved = NULL;
	const struct sums_want want = {.files = true};
	int r = sums_new(&rest, &want);

	if (r >= 0)
		r = sums_new(&moved, &want);
	if (r >= 0 && s->pile)
		file_pile_take(s->pile, &d, &rest);
	if (r >= 0 && !d.made)
		r = memory_budget_for_segments(&d, s);
	for (size_t i = 0; i < s->segment_count && r >= 0; i++)
		r = file_sums_add_segment(&d, rest, s->segments[i]);
	for (size_t i = 0; i < s->file_count && r >= 0; i++)
		r = file_dense_add(&d, rest, &s->files[i]);
	if (r >= 0)
		r = move_versions(srv, &d, moved);
	if (r >= 0)
		r = move_rest(srv, rest, moved);
	return r < 0 ? r : file_sums_collect(&d, moved, ret, ret_count);
}

/* Most time first, and so on: the order is that of file_sums_top(). */
size_t file_sums_top(struct sums_file *files, size_t count, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct sums_file f = files[i];
		size_t at = n;

		if (!f.calls || (n == max && file_sums_by_time(&f, &files[n - 1]) > 0))
			continue;
		while (at > 0 && file_sums_by_time(&f, &files[at - 1]) < 0)
			at--;
		/* the place i is free: f was there */
		if (n < max) {
			files[i] = files[n];
			memmove(&files[at + 1], &files[at], (n - at) * sizeof(f));
			n++;
		} else {
			files[i] = files[n - 1];
			memmove(&files[at + 1], &files[at], (n - 1 - at) * sizeof(f));
		}
		files[at] = f;
	}
	return n;
}

/* ---- histograms ---- */

struct wanted {
	int64_t id;
	size_t at; /* number of the histogram */
};

struct hists {
	const struct map *index; /* file_id -> number of the histogram */
	const struct wanted *sorted;
	size_t sorted_count; /* the same by id */
	struct hist *hists;
};

static int file_sums_by_id(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static struct wanted *sort_wanted(const struct map *index)
{
	struct wanted *sorted = calloc(index->count + 1, sizeof(*sorted));
	uint64_t id, at;
	size_t pos = 0, n = 0;

	while (sorted && map_next(index, &pos, &id, &at))
		sorted[n++] = (struct wanted){(int64_t)id, at};
	if (sorted)
		qsort(sorted, n, sizeof(*sorted), file_sums_by_id);
	return sorted;
}

/* The segment's files are sorted too. */
static int file_sums_take_segment(struct hists *h, const struct segment *g)
{
	struct segment_walk w = {0};
	size_t k = 0;
	int r = 0;

	while (r >= 0 && k < h->sorted_count && segment_file_next(g, &w)) {
		while (k < h->sorted_count && h->sorted[k].id < w.id)
			k++;
		if (k < h->sorted_count && h->sorted[k].id == w.id)
			r = segment_file_hist(&w, &h->hists[h->sorted[k].at]);
	}
	return r;
}

static int file_sums_take(void *state, const struct pass_rows *rows)
{
	struct hists *h = state;
	const struct batch *b = rows->batch;
	bool sums = b->table == TABLE_SUMMARY;
	unsigned int file = sums ? SUMMARY_FILE_ID : OP_FILE_ID;
	unsigned int class = sums ? SUMMARY_CLASS : OP_CLASS;
	int r = 0;

	if (rows->segment)
		return file_sums_take_segment(h, rows->segment);
	for (size_t k = 0; k < rows->count && r >= 0; k++) {
		size_t i = rows->rows[k];
		int64_t id = batch_get(b, file, i, -1);
		uint64_t at;

		if (id < 0 || !map_get(h->index, (uint64_t)id, &at) ||
		    !sums_is_io(batch_get(b, class, i, CLASS_OTHER)))
			continue;
		if (sums) {
			struct bytes packed = batch_get_bytes(b, SUMMARY_HIST, i);

			r = hist_unpack(&h->hists[at], packed.data, packed.len);
		} else if (!(batch_get(b, OP_STATUS, i, 0) & STATUS_UNFINISHED)) {
			r = hist_add(&h->hists[at], (uint64_t)MAX(batch_get(b, OP_DUR, i, 0), 0),
				     1);
		}
	}
	return r;
}

int file_sums_index(const struct server *srv, const struct sums_file *top, size_t count,
		    struct map *ret)
{
	_cleanup_(map_free) struct map one = {0};
	struct catalog_walk w = {0};
	int64_t id, file;
	uint64_t k;
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		r = map_set(&one, (uint64_t)top[i].id, i);
		if (r >= 0)
			r = map_set(ret, (uint64_t)top[i].id, i);
	}
	while (r >= 0 && names_next_other(srv, &w, &id, &file)) {
		if (map_get(&one, (uint64_t)file, &k))
			r = map_set(ret, (uint64_t)id, k);
	}
	return r;
}

static bool has_file(void *arg, const struct store_block *b, size_t block)
{
	return b->min[OP_FILE_ID] <= b->max[OP_FILE_ID] ||
	       b->min[OP_FILE2_ID] <= b->max[OP_FILE2_ID];
}

static int run_hists(struct question *q, const struct pass_filter *pass_filter,
		     const struct map *index, struct hist *hists, size_t count)
{
	_cleanup_free_ struct wanted *sorted = sort_wanted(index);
	struct hists workers[PASS_THREADS_MAX] = {0};
	struct pass p = {
		.q = q,
		.pass_filter = pass_filter,
		.from = q->from,
		.to = q->to,
		.columns =
			1ull << OP_FILE_ID | 1ull << OP_CLASS | 1ull << OP_DUR | 1ull << OP_STATUS,
		.summaries = true,
		.sums = 1ull << SUMMARY_FILE_ID | 1ull << SUMMARY_CLASS | 1ull << SUMMARY_HIST,
		.segments = true,
		.seconds = true,
		.whole_segments = pass_filter->eval,
		.wants = has_file,
		.arg = (void *)index,
		.kept = true,
		.take = file_sums_take,
		.workers = pass_workers(q),
	};
	int r = sorted ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < p.workers; i++) {
		workers[i] = (struct hists){index, sorted, index->count,
					    calloc(count + 1, sizeof(*hists))};
		p.states[i] = &workers[i];
		if (!workers[i].hists)
			r = -ENOMEM;
	}
	if (r >= 0)
		r = pass_run(&p);
	for (unsigned int i = 0; i < p.workers; i++) {
		for (size_t k = 0; k < count && workers[i].hists; k++) {
			if (r >= 0)
				r = hist_merge(&hists[k], &workers[i].hists[k]);
			hist_free(&workers[i].hists[k]);
		}
		free(workers[i].hists);
	}
	return r;
}

/* Those that the first pass has kept. */
static int file_sums_take_kept(const struct server *srv, const struct sums *s,
			       const struct sums_file *top, size_t count, struct hist *ret)
{
	_cleanup_(map_free) struct map one = {0};
	int r = 0;

	for (size_t k = 0; k < count && r >= 0; k++)
		r = map_set(&one, (uint64_t)top[k].id, k);
	for (size_t i = 0; i < s->file_count && r >= 0; i++) {
		uint64_t k;

		if (map_get(&one, (uint64_t)names_one_file(srv, s->files[i].id), &k))
			r = hist_merge(&ret[k], &s->file_hists[i]);
	}
	return r;
}

/* True where the first pass has kept all that are wanted. */
static bool take_tops(const struct sums *s, const struct sums_file *top, size_t count,
		      struct hist *ret, int *ret_error)
{
	uint64_t at;

	*ret_error = 0;
	for (size_t k = 0; k < count; k++) {
		if (!s->top_hists || !map_get(&s->tops->index, (uint64_t)top[k].id, &at))
			return false;
	}
	for (size_t k = 0; k < count && *ret_error >= 0; k++) {
		if (map_get(&s->tops->index, (uint64_t)top[k].id, &at))
			*ret_error = hist_merge(&ret[k], &s->top_hists[at]);
	}
	return true;
}

/* And what segments tell of those. */
static int take_segments(const struct server *srv, const struct sums *s,
			 const struct sums_file *top, size_t count, struct hist *ret)
{
	_cleanup_(map_free) struct map index = {0};
	_cleanup_free_ struct wanted *sorted = NULL;
	struct hists h = {.index = &index, .hists = ret};
	int r = s->segment_count ? file_sums_index(srv, top, count, &index) : 0;

	if (r < 0 || !s->segment_count)
		return r;
	h.sorted = sorted = sort_wanted(&index);
	h.sorted_count = index.count;
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < s->segment_count && r >= 0; i++)
		r = file_sums_take_segment(&h, s->segments[i]);
	return r;
}

int file_sums_hists(struct question *q, const struct pass_filter *pass_filter, const struct sums *s,
		    const struct sums_file *top, size_t count, struct hist *ret)
{
	_cleanup_(map_free) struct map index = {0};
	int r;

	if (s->file_hists)
		return file_sums_take_kept(q->server, s, top, count, ret);
	if (take_tops(s, top, count, ret, &r))
		return r < 0 ? r : take_segments(q->server, s, top, count, ret);
	r = file_sums_index(q->server, top, count, &index);
	return r < 0 || !count ? r : run_hists(q, pass_filter, &index, ret, count);
}
