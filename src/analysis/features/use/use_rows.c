/* SPDX-License-Identifier: Apache-2.0 */
/* use_rows.c: writes the rows of the table. */
#include "analysis/features/use/use.h"
#include "base/saturate.h"

#include <errno.h>
#include <stdlib.h>

#include "names/names.h"

/* Bytes that a use was the last to write and that were not read. */
struct unread {
	int64_t bytes, first;
};

#define SET(column, value) row_set(row, USE_##column, (int64_t)(value))

struct use_row {
	struct use_state *s;
	struct unread *unread; /* by use */
	struct buf pattern;
};

static void use_put_hist(struct batch_row *row, unsigned int column, const struct hist *h)
{
	uint8_t packed[HIST_PACKED_MAX];

	row_set_bytes(row, column, packed, hist_pack(h, packed));
}

static void use_put_task(const struct use_state *s, const struct use *u, struct batch_row *row)
{
	const struct feature_world *w = s->world;

	SET(PROCESS_ID, feature_id(w->processes, u->process));
	if (u->task != USE_NONE)
		SET(THREAD_ID, dims_latest_thread(w->dims, feature_id(w->tasks, u->task)));
	SET(THREADS, u->threads);
}

static int use_put_file(struct use_row *x, const struct use *u, struct batch_row *row)
{
	const struct feature_world *w = x->s->world;
	int64_t id =
		u->file == USE_NONE ? -1 : dims_latest_file(w->dims, feature_id(w->files, u->file));
	struct bytes folder =
		u->folded ? intern_get(&x->s->fold_names, u->folder) : (struct bytes){NULL, 0};
	bool changed;
	int r = 0;

	if (id >= 0)
		SET(FILE_ID, id);
	SET(FILES, u->files);
	buf_clear(&x->pattern);
	if (!u->folded)
		r = names_pattern(dims_file_name(w->dims, id), &x->pattern, &changed);
	else if (folder.len)
		r = buf_append(&x->pattern, folder.data, folder.len);
	if (r < 0)
		return r;
	row_set_bytes(row, USE_PATTERN, x->pattern.data, x->pattern.len);
	return r < 0 ? r : row->r;
}

static void use_put_sums(const struct use *u, struct batch_row *row)
{

	/* null if the end of no call is known */
	row_set_if(row, u->first != INT64_MAX, USE_FIRST, u->first);
	row_set_if(row, u->last != 0, USE_LAST, u->last);
	SET(CALLS, u->calls);
	SET(BYTES, u->bytes);
	SET(TIME, u->time);
	SET(ERRORS, u->errors);
	SET(OPENS, u->opens);
	SET(OPEN_TIME, u->open_time);
	SET(OPEN_MOST, u->open_most);
	SET(MISSING, u->missing);
	SET(STATS, u->stats);
	SET(STAT_TIME, u->stat_time);
}

/* Adds the ranges of `from` to `to`; returns the number of new bytes. */
static int64_t use_unite(struct use_state *s, struct ranges *to, const struct ranges *from)
{
	struct range at = {0};
	int64_t sum = 0;

	while (ranges_next(from, at.to, &at))
		sum += ranges_put(to, &s->scratch, at.from, at.to, 0);
	to->inexact = to->inexact || from->inexact;
	return sum;
}

static bool use_is_empty(const struct ranges *r)
{
	return r->count == 0 && !r->pages;
}

/* The extent from its start to its end; 0 if it is empty. */
static struct range use_extent(const struct ranges *r)
{
	struct range all = {0}, at = {0};

	if (!ranges_next(r, 0, &at))
		return all;
	all.from = at.from;
	do
		all.to = at.to;
	while (ranges_next(r, at.to, &at));
	return all;
}

static void use_put_reads(struct use_state *s, const struct use *u, struct batch_row *row,
			  bool *inexact)
{
	static const struct use_read none = {.writer = USE_NONE};
	const struct use_read *read = u->read ? u->read : &none;
	const struct ranges *all = &read->fresh;
	struct ranges united = {0};
	int64_t mapped = 0, covered;
	struct range span;

	if (!use_is_empty(&read->stale) || (u->rest && !use_is_empty(&u->rest->mapped_read))) {
		use_unite(s, &united, &read->fresh);
		use_unite(s, &united, &read->stale);
		if (u->rest)
			mapped = use_unite(s, &united, &u->rest->mapped_read);
		all = &united;
	}
	covered = add_sat_signed(ranges_total(all), read->covered);
	span = use_extent(all);
	SET(READS, read->reads);
	SET(READ_BYTES, add_sat_signed(read->bytes, mapped));
	SET(READ_TIME, read->time);
	SET(SMALL_READS, read->small);
	SET(TINY_READS, read->tiny);
	SET(END_READS, read->ends);
	SET(PAST_READS, read->past);
	SET(NEXT_READS, read->next);
	SET(BACK_READS, read->back);
	SET(READ_RANGES, ranges_count(all));
	SET(READ_COVERED, covered);
	SET(REREAD, read->reread);
	SET(SKIPPED, read->skipped);
	SET(TORN, read->torn);
	if (read->any || span.to > 0) {
		SET(READ_FIRST, read->any ? read->first : span.from);
		SET(READ_STOP, span.to > 0 ? span.to : read->first);
	}
	if (read->writer != USE_NONE)
		SET(WRITER_ID, feature_id(s->world->processes, read->writer));
	*inexact = *inexact || all->inexact || read->missed;
	ranges_free(&united, &s->scratch);
	if (read->reads)
		use_put_hist(row, USE_READ_HIST, &read->hist);
}

static void use_put_writes(struct use_state *s, const struct use *u, const struct unread *unread,
			   struct batch_row *row, bool *inexact)
{
	static const struct use_write none;
	const struct use_write *write = u->write ? u->write : &none;
	const struct ranges *all = &write->covered_ranges;
	const struct use_file *f = u->folded ? NULL : s->files[u->file].data;
	struct ranges united = {0};
	int64_t mapped = 0;
	struct range span;

	if (u->rest && !use_is_empty(&u->rest->mapped_write)) {
		use_unite(s, &united, &write->covered_ranges);
		mapped = use_unite(s, &united, &u->rest->mapped_write);
		all = &united;
	}
	span = use_extent(all);
	SET(WRITES, write->writes);
	SET(WRITE_BYTES, add_sat_signed(write->bytes, mapped));
	SET(WRITE_TIME, write->time);
	SET(SMALL_WRITES, write->small);
	SET(NEXT_WRITES, write->next);
	SET(APPENDS, write->appends);
	SET(WRITE_COVERED, add_sat_signed(ranges_total(all), write->covered));
	SET(UNREAD, unread->bytes);
	SET(DIRTY, add_sat_signed(use_dirty(s, u), u->folded ? write->dirty : 0));
	if (span.to > 0) {
		SET(WRITE_FIRST, write->any ? write->first : span.from);
		SET(WRITE_STOP, span.to);
	}
	if (unread->bytes > 0 && f && f->early < UINT32_MAX && unread->first >= f->early)
		SET(UNREAD_FIRST, unread->first);
	*inexact = *inexact || all->inexact;
	ranges_free(&united, &s->scratch);
	if (write->writes)
		use_put_hist(row, USE_WRITE_HIST, &write->hist);
}

static void use_put_rest(const struct use_state *s, const struct use *u, struct batch_row *row)
{
	static const struct use_rest none;
	const struct use_rest *rest = u->rest ? u->rest : &none;

	SET(DIRECT, rest->direct);
	SET(MISALIGNED, rest->misaligned);
	SET(SYNCS, rest->syncs);
	SET(SYNC_TIME, rest->sync_time);
	SET(RENAMED, rest->renamed);
	SET(UNSYNCED, rest->unsynced);
	SET(FOLDER_UNSYNCED, rest->folder_unsynced + (!u->folded && use_folder_unsynced(s, u)));
	SET(CREATED, rest->created);
	SET(REMOVED, rest->removed);
	SET(TRUNCATED, rest->truncated);
	SET(SHORT_WRITES, rest->shorts);
	SET(IGNORED, rest->ignored);
	SET(ENTRIES, rest->entries);
}

static int use_put_use(struct use_row *x, const struct use *u, struct feature_rows *out)
{
	struct use_state *s = x->s;
	bool inexact = u->folded || u->inexact;
	struct batch_row to = feature_row(out), *row = &to;
	int r = to.r < 0 ? to.r : use_put_file(x, u, row);

	if (r < 0)
		return r;
	use_put_task(s, u, row);
	use_put_sums(u, row);
	use_put_reads(s, u, row, &inexact);
	use_put_writes(s, u, &x->unread[u->index], row, &inexact);
	use_put_rest(s, u, row);
	if (!u->folded)
		SET(OTHERS, s->files[u->file].users - 1);
	SET(INEXACT, inexact);
	return to.r;
}

static void use_unread_of(struct use_row *x, const struct use_file *f)
{
	const struct range *v = ranges_array(&f->unread);

	for (uint32_t i = 0; i < f->unread.count; i++) {
		struct unread *to = &x->unread[v[i].owner];

		if (to->bytes == 0)
			to->first = v[i].from;
		to->bytes = add_sat_signed(to->bytes, v[i].to - v[i].from);
		if (f->unread.inexact)
			use_at(x->s, v[i].owner)->inexact = true;
	}
}

/* Finds, for each use, the thread with the most time. */
static void use_choose_threads(struct use_state *s)
{
	uint64_t key, time;
	size_t pos = 0;

	while (map_next(&s->others, &pos, &key, &time)) {
		struct use *u = use_at(s, (uint32_t)(key >> 32));
		uint32_t task = (uint32_t)key;

		if ((int64_t)time > u->task_time ||
		    ((int64_t)time == u->task_time && task < u->task)) {
			u->task = task;
			u->task_time = (int64_t)time;
		}
	}
}

static void use_row_free(struct use_row *x)
{
	free(x->unread);
	buf_free(&x->pattern);
}

int use_rows(struct use_state *s, struct feature_rows *out)
{
	_cleanup_(use_row_free) struct use_row x = {.s = s};
	int r = 0;

	x.unread = calloc(MAX(s->use_count, (size_t)1), sizeof(*x.unread));
	if (!x.unread)
		return -ENOMEM;
	use_choose_threads(s);
	for (size_t i = 0; i < s->file_cap; i++) {
		if (s->files[i].data)
			use_unread_of(&x, s->files[i].data);
	}
	for (uint32_t i = 0; i < s->use_count && r >= 0; i++) {
		const struct use *u = use_at(s, i);

		if (u->process != USE_NONE)
			r = use_put_use(&x, u, out);
	}
	return r;
}
