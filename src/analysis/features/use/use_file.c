/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_file.c: state of a file over all processes: its length, unread bytes and their writers, bytes that were rewritten
 * after readers had read them, and torn reads.
 *
 * A read is torn if it ended within the range of a write that had not returned, or if the reader closed the file at an
 * end beyond which another process, which had truncated the file and was rewriting it, continued later. A reader that
 * returns for the rest follows the file, and is not torn.
 */
#include "analysis/features/use/use.h"

#include <errno.h>

struct use_file *use_file(struct use_state *s, uint32_t file)
{
	struct use_file_state *state;
	struct use_file *f;

	if (use_file_state(s, file, &state) < 0)
		return NULL;
	if (likely(state->data))
		return state->data;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	s->memory += sizeof(*f);
	f->writer = f->writer_before = f->skippers = f->end_use = f->session = USE_NONE;
	f->size_exact = state->created;
	f->unread.owned = true;
	return state->data = f;
}

struct use_file *use_file_known(const struct use_state *s, uint32_t file)
{
	return file < s->file_cap ? s->files[file].data : NULL;
}

void use_file_free(struct use_state *s, struct use_file_state *state)
{
	struct use_file *f = state->data;

	if (!f)
		return;
	s->memory -= sizeof(*f) + (f->log ? USE_FILE_LOG * sizeof(*f->log) : 0);
	ranges_free(&f->unread, &s->room);
	free(f->log);
	free(f);
	state->data = NULL;
}

uint32_t use_file_epoch(const struct use_state *s, uint32_t file)
{
	const struct use_file *f = use_file_known(s, file);

	return f ? f->epoch : 0;
}

/* ---- syncs ---- */

/* Start of the last sync of its whole file system; INT64_MIN: none. */
int64_t use_system_synced(const struct use_state *s, uint32_t file)
{
	struct dims_file room;
	const struct dims_file *d;
	uint64_t at;

	if (s->devices.count == 0)
		return s->synced_all;
	d = dims_file(s->world->dims, feature_id(s->world->files, file), &room);
	if (!d || !map_get(&s->devices, (uint64_t)d->dev, &at))
		return s->synced_all;
	return MAX(s->synced_all, (int64_t)at);
}

int64_t use_dirty(const struct use_state *s, const struct use *u)
{
	const struct use_write *w = u->write;

	if (!w || !w->dirty || use_file_epoch(s, u->file) != w->dirty_epoch ||
	    use_system_synced(s, u->file) >= w->dirty_at)
		return 0;
	return w->dirty;
}

/* ---- reads ---- */

/* The process that wrote most of the unread bytes before `pos`, or wrote last. */
static uint32_t use_writer_of(const struct use_state *s, const struct use_file *f,
			      const struct use *u, int64_t pos)
{
	const struct range *v = ranges_array(&f->unread);
	uint32_t best = f->writer == u->index ? f->writer_before : f->writer;
	int64_t most = 0;

	for (uint32_t i = 0; i < f->unread.count && v[i].from < pos; i++) {
		if (v[i].owner != u->index && MIN(v[i].to, pos) - v[i].from > most) {
			most = MIN(v[i].to, pos) - v[i].from;
			best = v[i].owner;
		}
	}
	return best == USE_NONE ? USE_NONE : use_at(s, best)->process;
}

static void use_first_read(struct use_state *s, struct use_file *f, struct use *u, int64_t pos)
{
	struct use_read *r = u->read;

	r->any = true;
	r->first = pos;
	if ((f->writer != u->index || f->writer_before != USE_NONE) && f->size > f->early)
		f->early = (uint32_t)MIN(f->size, (int64_t)UINT32_MAX);
	r->seen = f->logged;
	r->writer = use_writer_of(s, f, u, pos);
	r->skipped = pos > 0 ? ranges_within(&f->unread, 0, pos, u->index) : 0;
	if (r->skipped > 0) {
		r->next_skipper = f->skippers;
		f->skippers = u->index;
	}
}

/* A process has read [from, to). */
void use_file_taken(struct use_state *s, struct use_file *f, int64_t from, int64_t to)
{
	f->read_stop = MAX(f->read_stop, to);
	if (f->unread.count == 0)
		return;
	for (uint32_t i = f->skippers; i != USE_NONE; i = use_at(s, i)->read->next_skipper) {
		struct use_read *r = use_at(s, i)->read;
		int64_t before = MIN(to, r->first), now;

		if (from >= before)
			continue;
		now = ranges_within(&f->unread, from, before, i);
		r->skipped -= MIN(r->skipped, now);
	}
	ranges_cut(&f->unread, &s->room, from, to, 0, NULL);
}

static void use_learn_size(struct use_file *f, const struct feature_call *c, int64_t pos,
			   int64_t want)
{
	int64_t end = pos + c->bytes;

	if (c->bytes == 0) {
		f->size_exact = f->size_exact || pos == f->size;
		return;
	}
	if (end < f->size)
		return;
	/* a file that grew without a known call is at least as long as what was read */
	f->size_exact = c->bytes < want || (f->size_exact && end == f->size);
	f->size = end;
}

void use_file_read(struct use_state *s, struct use_file *f, struct use *u,
		   const struct feature_call *c, int64_t pos, int64_t want)
{
	struct use_read *r = u->read;
	int64_t end = pos + c->bytes;

	if (!r->any)
		use_first_read(s, f, u, pos);
	r->past += c->ret == 0 && want > 0 && f->size_exact && pos > f->size;
	use_learn_size(f, c, pos, want);
	if (want > 0 && (c->bytes > 0 || f->end_use != u->index || f->end_pos != pos)) {
		f->end_pos = end;
		f->end_stop = c->stop;
		f->end_use = u->index;
		f->end_task = c->task;
		f->end_closed = f->end_more = false;
	}
	f->end_whole = c->bytes == want;
	if (c->bytes > 0)
		use_file_taken(s, f, pos, end);
}

static void use_mark_torn(struct use_state *s, struct use_file *f)
{
	use_at(s, f->end_use)->read->torn++;
	f->end_use = USE_NONE;
}

void use_file_closed(struct use_state *s, struct use *u)
{
	struct use_file *f = use_file_known(s, u->file);

	if (!f)
		return;
	if (f->session == u->index)
		f->session = USE_NONE;
	if (f->end_use != u->index)
		return;
	f->end_closed = true;
	if (f->end_more)
		use_mark_torn(s, f);
}

/* ---- writes ---- */

static void use_torn_by(struct use_state *s, struct use_file *f, const struct use *u,
			const struct feature_call *c, int64_t pos)
{
	bool running = c->start != FEATURE_NULL && c->start < f->end_stop;

	if (f->end_use == USE_NONE || f->end_task == c->task)
		return;
	if (running && pos < f->end_pos && f->end_pos < pos + c->bytes) {
		use_mark_torn(s, f);
		return;
	}
	if (f->session != u->index || f->end_use == u->index || f->end_whole || f->end_pos == 0 ||
	    pos != f->end_pos)
		return;
	f->end_more = true;
	if (f->end_closed)
		use_mark_torn(s, f);
}

/* Logs a write; readers apply it at their next read. */
static int use_put_log(struct use_state *s, struct use_file *f, int64_t from, int64_t to)
{
	if (from >= f->read_stop)
		return 0;
	if (!f->log) {
		f->log = calloc(USE_FILE_LOG, sizeof(*f->log));
		if (!f->log)
			return -ENOMEM;
		s->memory += USE_FILE_LOG * sizeof(*f->log);
	}
	f->log[f->logged++ % USE_FILE_LOG] = (struct use_wrote){from, to};
	return 0;
}

static void use_make_stale(struct use_state *s, struct use_read *r, int64_t from, int64_t to)
{
	struct range at = {.to = from};

	if (ranges_within(&r->fresh, from, to, USE_NONE) == 0)
		return;
	while (ranges_next(&r->fresh, at.to, &at) && at.from < to)
		ranges_put(&r->stale, &s->room, at.from, MIN(at.to, to), 0);
	ranges_cut(&r->fresh, &s->room, from, to, 0, NULL);
}

void use_file_catch_up(struct use_state *s, const struct use_file *f, struct use_read *r)
{
	if (likely(r->seen == f->logged))
		return;
	/* anything may have been written: none counts as `reread` */
	if (f->logged - r->seen > USE_FILE_LOG) {
		use_make_stale(s, r, 0, INT64_MAX);
		r->missed = true;
		r->seen = f->logged;
	}
	for (; r->seen != f->logged; r->seen++) {
		const struct use_wrote *w = &f->log[r->seen % USE_FILE_LOG];

		use_make_stale(s, r, w->from, w->to);
	}
}

int use_file_wrote(struct use_state *s, struct use_file *f, struct use *u,
		   const struct feature_call *c, int64_t pos)
{
	int64_t end = pos + c->bytes;

	assert(c->bytes > 0);
	use_torn_by(s, f, u, c, pos);
	if (f->writer != u->index) {
		f->writer_before = f->writer;
		f->writer = u->index;
	}
	ranges_put(&f->unread, &s->room, pos, end, u->index);
	f->size = MAX(f->size, end);
	return use_put_log(s, f, pos, end);
}

int use_file_cut(struct use_state *s, struct use_file *f, struct use *u, int64_t size)
{
	bool had = f->size > 0 || !f->size_exact;

	if (size < INT64_MAX)
		ranges_cut(&f->unread, &s->room, size, INT64_MAX, 0, NULL);
	if (size == 0 && had) {
		f->session = u->index;
		f->end_use = USE_NONE;
	}
	f->size = size;
	f->size_exact = true;
	f->early = (uint32_t)MIN(f->early, size);
	return use_put_log(s, f, size, INT64_MAX);
}
