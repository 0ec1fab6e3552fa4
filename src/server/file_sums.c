// SPDX-License-Identifier: Apache-2.0
/* file_sums.c: sums by file over all versions and, for the few that are shown, their histograms. */
#include <errno.h>
#include <string.h>

#include "server/file_sums.h"
#include "server/names.h"

static int by_time(const void *a, const void *b)
{
	const struct sums_file *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? 1 : -1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

int file_sums_merge(const struct server *srv, const struct sums *s, struct sums_file **ret,
		    size_t *ret_count)
{
	_cleanup_(sums_freep) struct sums *whole = NULL;
	const struct sums_want want = {.files = true};
	int r = sums_new(&whole, &want);

	for (size_t i = 0; i < s->file_count && r >= 0; i++) {
		struct sums_file f = s->files[i];

		f.id = names_one_file(srv, f.id);
		r = sums_add_file(whole, &f);
	}
	if (r < 0)
		return r;
	if (whole->file_count)
		qsort(whole->files, whole->file_count, sizeof(*whole->files), by_time);
	*ret_count = whole->file_count;
	*ret = TAKE_PTR(whole->files);
	return 0;
}

/* ---- histograms ---- */

struct hists {
	const struct map *index; /* file_id -> number of the histogram */
	struct hist *hists;
	size_t count;
};

static int take(void *state, const struct pass_rows *rows)
{
	struct hists *h = state;
	const struct batch *b = rows->batch;
	bool sums = b->table == TABLE_SUMMARY;
	unsigned int file = sums ? SUMMARY_FILE_ID : OP_FILE_ID;
	unsigned int class = sums ? SUMMARY_CLASS : OP_CLASS;
	int r = 0;

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

/* Every version of the files leads to its histogram. */
static int make_index(const struct server *srv, const struct sums *s, const struct sums_file *top,
		      size_t count, struct map *ret)
{
	int r = 0;

	for (size_t i = 0; i < s->file_count && r >= 0; i++) {
		int64_t one = names_one_file(srv, s->files[i].id);

		for (size_t k = 0; k < count && r >= 0; k++) {
			if (top[k].id == one)
				r = map_set(ret, (uint64_t)s->files[i].id, k);
		}
	}
	return r;
}

static int run_hists(struct question *q, const struct sieve *sieve, const struct map *index,
		     struct hist *hists, size_t count)
{
	struct hists workers[PASS_THREADS_MAX] = {0};
	struct pass p = {
		.q = q,
		.sieve = sieve,
		.from = q->from,
		.to = q->to,
		.columns = sums_columns(),
		.summaries = true,
		.take = take,
		.workers = pass_workers(q),
	};
	int r = 0;

	for (unsigned int i = 0; i < p.workers; i++) {
		workers[i] = (struct hists){index, calloc(count + 1, sizeof(*hists)), count};
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

int file_sums_hists(struct question *q, const struct sieve *sieve, const struct sums *s,
		    const struct sums_file *top, size_t count, struct hist *ret)
{
	_cleanup_(map_free) struct map index = {0};
	int r = make_index(q->server, s, top, count, &index);

	return r < 0 || !count ? r : run_hists(q, sieve, &index, ret, count);
}
