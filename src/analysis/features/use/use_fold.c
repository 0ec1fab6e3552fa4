/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_fold.c: when uses take too much memory, folds ended ones into one row per process and folder, which keeps all
 * sums, and no positions except those that are sums. Small ones that ended longest ago are folded first. A file used
 * again gets a new row.
 */
#include "analysis/features/use/use.h"
#include "base/array.h"
#include "base/saturate.h"

#include <errno.h>
#include <stdlib.h>

#include "names/names.h"

#define FOLD_CALLS_MAX 64 /* uses with more calls are kept as long as possible */
#define FOLDERS_MAX    (1u << 16)

void use_free_parts(struct use_state *s, struct use *u)
{
	if (u->read) {
		ranges_free(&u->read->fresh, &s->room);
		ranges_free(&u->read->stale, &s->room);
		hist_free(&u->read->hist);
		s->memory -= sizeof(*u->read);
	}
	if (u->write) {
		ranges_free(&u->write->covered_ranges, &s->room);
		hist_free(&u->write->hist);
		s->memory -= sizeof(*u->write);
	}
	if (u->rest) {
		ranges_free(&u->rest->mapped_read, &s->room);
		ranges_free(&u->rest->mapped_write, &s->room);
		s->memory -= sizeof(*u->rest);
	}
	free(u->read);
	free(u->write);
	free(u->rest);
	u->read = NULL;
	u->write = NULL;
	u->rest = NULL;
}

static int use_fold_reads(struct use_read *t, const struct use_read *f)
{
	t->bytes = add_sat_signed(t->bytes, f->bytes);
	t->time = add_sat_signed(t->time, f->time);
	t->reread = add_sat_signed(t->reread, f->reread);
	t->skipped = add_sat_signed(t->skipped, f->skipped);
	t->reads += f->reads;
	t->small += f->small;
	t->tiny += f->tiny;
	t->ends += f->ends;
	t->past += f->past;
	t->next += f->next;
	t->back += f->back;
	t->torn += f->torn;
	t->covered = add_sat_signed(
		t->covered, add_sat_signed(ranges_total(&f->fresh),
					   add_sat_signed(ranges_total(&f->stale), f->covered)));
	return hist_merge(&t->hist, &f->hist);
}

static int use_fold_writes(struct use_write *t, const struct use_write *f, int64_t dirty)
{
	t->bytes = add_sat_signed(t->bytes, f->bytes);
	t->time = add_sat_signed(t->time, f->time);
	t->writes += f->writes;
	t->small += f->small;
	t->next += f->next;
	t->appends += f->appends;
	t->covered = add_sat_signed(t->covered,
				    add_sat_signed(ranges_total(&f->covered_ranges), f->covered));
	t->dirty = add_sat_signed(t->dirty, dirty);
	return hist_merge(&t->hist, &f->hist);
}

static void use_fold_rest(struct use_rest *t, const struct use_rest *f, bool unsynced)
{
	t->sync_time = add_sat_signed(t->sync_time, f->sync_time);
	t->entries = add_sat_signed(t->entries, f->entries);
	t->syncs += f->syncs;
	t->renamed += f->renamed;
	t->unsynced += f->unsynced;
	t->truncated += f->truncated;
	t->direct += f->direct;
	t->misaligned += f->misaligned;
	t->shorts += f->shorts;
	t->ignored += f->ignored;
	t->created += f->created;
	t->removed += f->removed;
	t->folder_unsynced += unsynced;
}

static int use_fold_sums(struct use_state *s, struct use *to, const struct use *from)
{
	struct use_read *read = from->read ? use_reads(s, to) : NULL;
	struct use_write *write = from->write ? use_writes(s, to) : NULL;
	struct use_rest *rest = from->rest ? use_rests(s, to) : NULL;
	int r = 0;

	if ((from->read && !read) || (from->write && !write) || (from->rest && !rest))
		return -ENOMEM;
	to->files += from->files;
	to->first = MIN(to->first, from->first);
	to->last = MAX(to->last, from->last);
	to->bytes = add_sat_signed(to->bytes, from->bytes);
	to->time = add_sat_signed(to->time, from->time);
	to->open_time = add_sat_signed(to->open_time, from->open_time);
	to->stat_time = add_sat_signed(to->stat_time, from->stat_time);
	to->calls += from->calls;
	to->errors += from->errors;
	to->opens += from->opens;
	to->missing += from->missing;
	to->stats += from->stats;
	to->open_most = MAX(to->open_most, from->open_most);
	to->threads = MAX(to->threads, from->threads);
	if (from->task_time >= to->task_time) {
		to->task = from->task;
		to->task_time = from->task_time;
	}
	to->file = from->file;
	if (read)
		r = use_fold_reads(read, from->read);
	if (r >= 0 && write)
		r = use_fold_writes(write, from->write, use_dirty(s, from));
	if (rest)
		use_fold_rest(rest, from->rest, use_folder_unsynced(s, from));
	return r;
}

/* The use into which uses of the file's folder are folded. */
static struct use *use_fold_of(struct use_state *s, const struct use *u)
{
	struct dims_file room;
	const struct dims_file *d =
		dims_file(s->world->dims, feature_id(s->world->files, u->file), &room);
	struct bytes path = d ? d->path : (struct bytes){NULL, 0};
	uint64_t found;
	uint32_t folder;
	struct use *fold;

	while (path.len && path.data[path.len - 1] != '/')
		path.len--;
	if (!path.len || s->fold_names.count >= FOLDERS_MAX)
		path = (struct bytes){(const uint8_t *)"", 0};
	if (intern_add(&s->fold_names, path.data, path.len, &folder) < 0)
		return NULL;
	if (map_get(&s->folds, (uint64_t)u->process << 32 | folder, &found))
		return use_at(s, (uint32_t)found);
	fold = use_new(s);
	if (!fold || map_set(&s->folds, (uint64_t)u->process << 32 | folder, fold->index) < 0)
		return NULL;
	fold->process = u->process;
	fold->folded = true;
	fold->folder = folder;
	fold->files = 0;
	return fold;
}

/* Makes a file's references to a use refer to its fold. */
static void use_refer_to_fold(struct use_state *s, const struct use *u, uint32_t fold)
{
	struct use_file_state *state = &s->files[u->file];
	struct use_file *f = state->data;

	assert(state->live > 0);
	state->live--;
	if (state->recent == u->index)
		state->recent = USE_NONE;
	if (!f)
		return;
	ranges_give(&f->unread, u->index, fold);
	f->writer = f->writer == u->index ? fold : f->writer;
	f->writer_before = f->writer_before == u->index ? fold : f->writer_before;
	f->end_use = f->end_use == u->index ? USE_NONE : f->end_use;
	f->session = f->session == u->index ? USE_NONE : f->session;
	for (uint32_t *i = &f->skippers; *i != USE_NONE;) {
		struct use_read *r = use_at(s, *i)->read;

		if (*i == u->index)
			*i = r->next_skipper;
		else
			i = &r->next_skipper;
	}
	if (state->live == 0 && f->unread.count == 0)
		use_file_free(s, state);
}

static int use_fold_one(struct use_state *s, struct use *u)
{
	struct use *fold = use_fold_of(s, u);
	int r = fold ? use_fold_sums(s, fold, u) : -ENOMEM;

	if (r < 0)
		return r;
	use_refer_to_fold(s, u, fold->index);
	map_del(&s->by_key, (uint64_t)u->process << 32 | u->file);
	use_free_parts(s, u);
	u->process = USE_NONE;
	s->memory -= USE_COST;
	r = array_add(s->free_uses, s->free_count, s->free_cap, u->index);
	return r;
}

/* Removes references of tasks to uses that are folded. */
static int use_forget_tasks(struct use_state *s)
{
	int r = 0;

	for (uint32_t i = 0; i < s->task_cap && r >= 0; i++) {
		struct use_task *t = &s->tasks[i];

		r = use_task_finish(s, t, i);
		t->file = t->use = t->read_use = USE_NONE;
		if (t->short_use != USE_NONE && use_at(s, t->short_use)->open_now == 0)
			t->short_use = USE_NONE;
		for (unsigned int k = 0; k < USE_WATCHES; k++)
			t->watches[k].use = USE_NONE;
		t->watching = 0;
	}
	return r;
}

/* Removes entries of uses that no longer exist. */
static int use_forget_others(struct use_state *s)
{
	struct map kept = {0};
	uint64_t key, time;
	size_t pos = 0;
	int r = 0;

	while (map_next(&s->others, &pos, &key, &time) && r >= 0) {
		if (use_at(s, (uint32_t)(key >> 32))->process != USE_NONE)
			r = map_set(&kept, key, time);
	}
	map_free(&s->others);
	s->others = kept;
	return r;
}

static bool use_may_fold(const struct use *u, uint32_t calls_max)
{
	return u->process != USE_NONE && !u->folded && u->open_now == 0 && u->calls <= calls_max;
}

/* Folds the older half of the ended uses that have at most this many calls. */
static int use_fold_older(struct use_state *s, uint32_t calls_max)
{
	_cleanup_free_ int64_t *ends = malloc(MAX(s->use_count, (size_t)1) * sizeof(*ends));
	size_t n = 0;
	int64_t until;
	int r = 0;

	if (!ends)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->use_count; i++) {
		if (use_may_fold(use_at(s, i), calls_max))
			ends[n++] = use_at(s, i)->last;
	}
	if (n == 0)
		return 0;
	array_sort(ends, n, order_i64);
	until = ends[n / 2];
	for (uint32_t i = 0, count = (uint32_t)s->use_count; i < count && r >= 0; i++) {
		struct use *u = use_at(s, i);

		if (use_may_fold(u, calls_max) && u->last <= until)
			r = use_fold_one(s, u);
	}
	return r;
}

int use_fold(struct use_state *s)
{
	const size_t enough = s->memory_max / 4 * 3;
	int r = use_forget_tasks(s);

	if (r >= 0)
		r = use_fold_older(s, FOLD_CALLS_MAX);
	if (r >= 0 && s->memory > enough)
		r = use_fold_older(s, UINT32_MAX);
	if (r >= 0)
		r = use_forget_others(s);
	/* uses still active cannot be folded: try again at one and a half times the memory */
	s->fold_at = MAX(s->memory_max, s->memory + s->memory / 2);
	return r;
}
