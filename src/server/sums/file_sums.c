// SPDX-License-Identifier: Apache-2.0
/* file_sums.c: sums by file over all versions and, for the few files shown, their histograms. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/heap.h"
#include "batch/id_array.h"
#include "server/sums/catalog.h"
#include "server/sums/file_pile.h"
#include "server/sums/file_sums.h"
#include "server/sums/who.h"

static int file_sums_by_time(const void *a, const void *b)
{
	const struct sums_file *x = a, *y = b;

	return ORDER(y->time, x->time) ?: ORDER(y->calls, x->calls) ?: ORDER(x->id, y->id);
}

/* Moves files that are merged with others into `moved`, leaving their slots empty. */
static int move_versions(const struct server *srv, struct file_dense *d, struct sums *moved)
{
	struct file_lines_walk w = {0};
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

/* The same for files without a slot. */
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

/* Adds moved sums to files that have a slot. Returns how many have none. */
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

/* Moves the files of a trace that have calls to the front. Returns their number. */
static size_t file_sums_pack(struct sums_file *files, size_t count, uint64_t trace)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (!files[i].all)
			continue;
		files[n] = files[i];
		files[n++].id = id_compose((int64_t)i, trace);
	}
	return n;
}

/*
 * Collects the sums of all files, followed by those of `moved` that have no slot. The array of the largest trace
 * becomes the answer, so that millions of files are not copied.
 */
static int file_sums_collect(struct file_dense *d, const struct sums *moved, struct sums_file **ret,
			     size_t *ret_count)
{
	size_t without = add_moved(d, moved), packed[ID_RECORDINGS_MAX], n = 0, max = without,
	       base = 0;
	struct sums_file *files;

	for (size_t t = 0; t < ID_RECORDINGS_MAX; t++) {
		packed[t] = file_sums_pack(d->by_trace[t], d->count[t], t);
		max += packed[t];
		base = d->count[t] > d->count[base] ? t : base;
	}
	files = reallocarray(d->by_trace[base], max + 1, sizeof(*files));
	if (!files)
		return -ENOMEM;
	d->by_trace[base] = NULL;
	n = packed[base];
	for (size_t t = 0; t < ID_RECORDINGS_MAX; t++) {
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
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->file_count; i++) {
		r = file_dense_add(&d, rest, &s->files[i]);
		if (r < 0)
			return r;
	}
	r = move_versions(srv, &d, moved);
	if (r < 0)
		return r;
	r = move_rest(srv, rest, moved);
	return r < 0 ? r : file_sums_collect(&d, moved, ret, ret_count);
}

/* The index of the line in files[0 .. n), found or added. */
static int find_line(struct map *at, int64_t line, struct sums_file *files, size_t *n, size_t *ret)
{
	uint64_t known;
	int r;

	if (map_get(at, (uint64_t)line, &known)) {
		*ret = known;
		return 0;
	}
	r = map_set(at, (uint64_t)line, *n);
	if (r < 0)
		return r;
	*ret = *n;
	files[(*n)++] = (struct sums_file){.id = line};
	return 0;
}

int file_sums_lines(const struct server *srv, struct sums_file *files, size_t *count,
		    struct map *members)
{
	_cleanup_(map_free) struct map at = {0};
	size_t n = 0, line = 0;
	uint64_t several = 0; /* number of files of the line */
	int r = 0;

	for (size_t i = 0; i < *count && r >= 0; i++) {
		struct sums_file f = files[i];
		int64_t id = f.id;

		if (!file_lines_is_shared(srv->lines, id)) {
			files[n++] = f;
			continue;
		}
		id = names_one_line(srv, id);
		if (!several || files[line].id != id) { /* else the same file as the previous one */
			r = several ? map_set(members, (uint64_t)files[line].id, several) : 0;
			several = 0;
			map_get(members, (uint64_t)id, &several);
			if (r >= 0)
				r = find_line(&at, id, files, &n, &line);
		}
		several += !file_lines_is_listener(srv->lines, f.id);
		file_sums_add(&files[line], &f);
	}
	if (r >= 0 && several)
		r = map_set(members, (uint64_t)files[line].id, several);
	*count = n;
	return r;
}

size_t file_sums_top(struct sums_file *files, size_t count, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct sums_file f = files[i];

		if (!f.calls)
			continue;
		files[i] = files[n];
		files[n++] = f;
	}
	heap_first(files, n, max, sizeof(*files), file_sums_by_time);
	return MIN(n, max);
}

/* ---- histograms ---- */

/* Lines with more files do not use a filter by file: hardly any block could be skipped. */
#define FILES_NAMED_MAX 4096

/* The number of the histogram for each version of a file; with a million files, each call must find its own quickly. */
struct hist_numbers {
	struct id_array at;
	struct map others; /* for ids without a slot there */
	int64_t ids[FILES_NAMED_MAX];
	size_t count; /* number of ids, at most FILES_NAMED_MAX; at the maximum the list is incomplete */
};

struct hists {
	const struct hist_numbers *numbers;
	struct hist *hists;
};

static void hist_numbers_free(struct hist_numbers *n)
{
	id_array_free(&n->at);
	map_free(&n->others);
	free(n);
}
DEFINE_CLEANUP(struct hist_numbers *, hist_numbers_free)

static bool hist_numbers_find(const struct hist_numbers *n, int64_t id, uint64_t *ret)
{
	const uint32_t *at = id_array_at(&n->at, id);

	if (at)
		*ret = *at;
	return at ? *at != ID_ARRAY_NONE : map_get(&n->others, (uint64_t)id, ret);
}

static int hist_numbers_add(struct hist_numbers *n, const struct dims *d, int64_t id,
			    uint64_t number)
{
	uint32_t *at;
	int r = id_array_need(&n->at, d, TABLE_FILE, id, &at);

	if (r < 0)
		return r;
	if (n->count < FILES_NAMED_MAX)
		n->ids[n->count++] = id;
	if (!at)
		return map_set(&n->others, (uint64_t)id, number);
	*at = (uint32_t)number;
	return 0;
}

static int file_sums_take(void *state, const struct walk_rows *rows)
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

		if (id < 0 || !hist_numbers_find(h->numbers, id, &at) ||
		    !class_is_io(batch_get(b, class, i, CLASS_OTHER)))
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

/* Maps each line to its number. */
static int file_sums_index(const struct sums_file *top, size_t count, struct map *ret)
{
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = map_set(ret, (uint64_t)top[i].id, i);
	return r;
}

static int file_sums_number(const struct server *srv, const struct sums_file *top, size_t count,
			    const struct map *index, struct hist_numbers **ret)
{
	_cleanup_(hist_numbers_freep) struct hist_numbers *n = calloc(1, sizeof(*n));
	const struct dims *d = store_dims(srv->store);
	struct file_lines_walk w = {0};
	int64_t id, line;
	uint64_t number;
	int r = n ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = hist_numbers_add(n, d, top[i].id, i);
	while (r >= 0 && names_next_line(srv, &w, &id, &line)) {
		if (id != line && map_get(index, (uint64_t)line, &number))
			r = hist_numbers_add(n, d, id, number);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(n);
	return 0;
}

static int run_hists(struct question *q, const struct sums_filter *filter,
		     const struct hist_numbers *numbers, size_t count, struct hist *hists)
{
	struct sums_filter of_files = *filter;
	struct hists workers[WALK_THREADS_MAX] = {0};
	struct walk p = {
		.ask = question_ask(q, &of_files),
		.columns =
			1ull << OP_FILE_ID | 1ull << OP_CLASS | 1ull << OP_DUR | 1ull << OP_STATUS,
		.sums = 1ull << SUMMARY_FILE_ID | 1ull << SUMMARY_CLASS | 1ull << SUMMARY_HIST,
		.take = file_sums_take,
		.workers = question_workers(q),
	};
	int r = 0;

	of_files.files = NULL;
	of_files.file_count = 0;
	p.ask.summaries = p.ask.windowless = p.ask.seconds = true;
	p.ask.of_files = numbers->count < FILES_NAMED_MAX;
	if (p.ask.of_files)
		r = sums_filter_name_files(&of_files, numbers->ids, numbers->count);
	for (unsigned int i = 0; i < p.workers; i++) {
		workers[i] = (struct hists){numbers, calloc(count + 1, sizeof(*hists))};
		p.states[i] = &workers[i];
		if (!workers[i].hists)
			r = -ENOMEM;
	}
	if (r >= 0)
		r = question_walk(q, &p);
	for (unsigned int i = 0; i < p.workers; i++) {
		for (size_t k = 0; k < count && workers[i].hists; k++) {
			if (r >= 0)
				r = hist_merge(&hists[k], &workers[i].hists[k]);
			hist_free(&workers[i].hists[k]);
		}
		free(workers[i].hists);
	}
	free(of_files.files);
	return r;
}

/* Takes the histograms that the first pass kept. */
static int file_sums_take_kept(const struct server *srv, const struct sums *s,
			       const struct sums_file *top, size_t count, struct hist *ret)
{
	_cleanup_(map_free) struct map one = {0};
	int r = file_sums_index(top, count, &one);

	for (size_t i = 0; i < s->file_count && r >= 0; i++) {
		uint64_t k;

		if (map_get(&one, (uint64_t)names_one_line(srv, s->files[i].id), &k))
			r = hist_merge(&ret[k], &s->file_hists[i]);
	}
	return r;
}

int file_sums_hists(struct question *q, const struct sums_filter *filter, const struct sums *s,
		    const struct sums_file *top, size_t count, struct hist *ret)
{
	_cleanup_(map_free) struct map index = {0};
	_cleanup_(hist_numbers_freep) struct hist_numbers *numbers = NULL;
	int r;

	if (s->file_hists)
		return file_sums_take_kept(q->server, s, top, count, ret);
	r = file_sums_index(top, count, &index);
	if (r < 0 || !count)
		return r;
	r = file_sums_number(q->server, top, count, &index, &numbers);
	return r < 0 ? r : run_hists(q, filter, numbers, count, ret);
}

void file_sums_put(struct js *j, const struct sums_file *f, const struct hist *h)
{
	js_key_uint(j, "calls", f->calls);
	js_key_uint(j, "errors", f->errors);
	js_key_uint(j, "bytes", f->bytes);
	js_key_uint(j, "time", f->time);
	sums_put_quantile(j, "p50", h, 0.5, f->max);
	sums_put_quantile(j, "p99", h, 0.99, f->max);
	js_key_uint(j, "max", f->max);
}
