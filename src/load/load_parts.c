// SPDX-License-Identifier: Apache-2.0
/* load_parts.c: follows a recording in several files while it is recorded. */
#include <errno.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "load/load.h"

#define PARTS_WAIT_NS \
	(2 *          \
	 NSEC_PER_SEC) /* maximum time between the end of a file and the beginning of the next one */
#define PARTS_RETRY_NS (100 * NSEC_PER_MSEC)
/* Blocks of a file to look for: calls are among the first. */
#define PARTS_PROBED 64u
/* How many files before the first to look for. */
#define PARTS_BACK 4096u

struct part {
	uint64_t key, number;
	int64_t began;
	char *path;
};

struct parts {
	struct part *list, *done; /* existing files, in order; loaded files (without paths) */
	size_t count, done_count, done_cap;
};

static void parts_drop_list(struct parts *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->list[i].path);
	free(p->list);
	p->list = NULL;
	p->count = 0;
}

static void parts_free(struct parts *p)
{
	parts_drop_list(p);
	free(p->done);
}

static int parts_compare(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->key == y->key ? ORDER(x->number, y->number)
				: ORDER(x->began, y->began) ?: ORDER(x->key, y->key);
}

/* Finds the existing files: those of the oldest recording first, each recording's in order. */
static int parts_find(struct parts *p, const char *path, struct error *err)
{
	_cleanup_(store_freep) struct store *s = NULL;
	int r = store_open(&s, &path, 1, err);

	parts_drop_list(p);
	if (r < 0)
		return r;
	p->list = calloc(store_trace_count(s) + 1, sizeof(*p->list));
	for (size_t i = 0; p->list && i < store_trace_count(s); i++) {
		struct part *f = &p->list[i];

		store_trace_identity(s, i, &f->key, &f->number);
		f->began = store_trace_began(s, i);
		f->path = strdup(store_trace_path(s, i));
		if (!f->path)
			return error_errno(err, -ENOMEM, "%.500s", path);
		p->count++;
	}
	if (!p->list)
		return error_errno(err, -ENOMEM, "%.500s", path);
	/* the files of one recording have different times of creation */
	for (size_t i = 1; i < p->count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (p->list[j].key == p->list[i].key)
				p->list[j].began = p->list[i].began =
					MIN(p->list[j].began, p->list[i].began);
		}
	}
	qsort(p->list, p->count, sizeof(*p->list), parts_compare);
	return 0;
}

/* The last loaded file of the recording; NULL: none. */
static const struct part *parts_last_done(const struct parts *p, uint64_t key)
{
	const struct part *last = NULL;

	for (size_t i = 0; i < p->done_count; i++) {
		if (p->done[i].key == key && (!last || last->number < p->done[i].number))
			last = &p->done[i];
	}
	return last;
}

static bool parts_is_done(const struct parts *p, const struct part *f)
{
	const struct part *last = parts_last_done(p, f->key);

	return last && last->number >= f->number;
}

/* True if the target has calls of the recording's file `number`. */
static int parts_has(struct load_target *t, const struct load_recording *rec, uint64_t number,
		     struct error *err)
{
	int r = t->ops->begin(t, rec, number, err);

	for (uint64_t seq = 0; r >= 0 && seq < PARTS_PROBED; seq++) {
		if (t->ops->has(t, TABLE_OP, seq))
			return 1;
	}
	return MIN(r, 0);
}

/*
 * Counts files before `f` that were removed before they were loaded: those between the last loaded file and this one.
 * If this loader has loaded none of the recording, an earlier one may have: the target is searched, backwards.
 */
static int parts_count_missing(const struct parts *p, const struct part *f, struct load_target *t,
			       const struct load_loop *loop, struct load_totals *totals,
			       struct error *err)
{
	const struct part *last = parts_last_done(p, f->key);
	uint64_t missing = 0;
	int r = 0;

	if (last) {
		missing = f->number - last->number - 1;
	} else {
		_cleanup_(store_freep) struct store *s = NULL;
		const char *path = f->path;
		struct load_recording rec;
		uint64_t number;

		r = f->number ? store_open(&s, &path, 1, err) : 0;
		if (s)
			load_describe(s, &rec, &number);
		/* if it has begun to load this one, they were counted then */
		if (r >= 0 && s)
			r = parts_has(t, &rec, f->number, err);
		while (r == 0 && s && missing < f->number && missing < PARTS_BACK) {
			r = parts_has(t, &rec, f->number - missing - 1, err);
			if (r != 0)
				break;
			missing++;
		}
	}
	atomic_fetch_add(&totals->missing, missing);
	if (missing && loop->missed)
		loop->missed(missing);
	return MIN(r, 0);
}

/* Loads the files not loaded yet, and follows the newest. Returns their number. */
static ssize_t parts_load(struct parts *p, struct load_target *t, const struct load_loop *loop,
			  struct load_totals *totals, struct error *err)
{
	ssize_t loaded = 0;

	for (size_t i = 0; i < p->count; i++) {
		struct part *f = &p->list[i];
		struct load_loop one = *loop;
		int r;

		if (parts_is_done(p, f))
			continue;
		one.follow = i + 1 == p->count;
		r = parts_count_missing(p, f, t, loop, totals, err);
		if (r >= 0)
			r = load_trace(t, f->path, &one, totals, err);
		if (r ==
		    -ENOENT) { /* the recorder removed it meanwhile; it is counted with the next file */
			*err = (struct error){0};
			continue;
		}
		if (r < 0)
			return r == -EINTR ? r : error_prefix(err, "%.300s", f->path);
		r = grow((void **)&p->done, &p->done_cap, p->done_count + 1, sizeof(*p->done));
		if (r < 0)
			return error_errno(err, r, "%.500s", f->path);
		p->done[p->done_count++] = (struct part){.key = f->key, .number = f->number};
		loaded++;
	}
	return loaded;
}

int load_growing(struct load_target *t, const char *path, const struct load_loop *loop,
		 struct load_totals *totals, struct error *err)
{
	_cleanup_(parts_free) struct parts p = {0};
	int64_t last = clock_monotonic_ns();

	while (!(loop->stopped && loop->stopped(loop->arg))) {
		ssize_t n = parts_find(&p, path, err);

		if (n >= 0)
			n = parts_load(&p, t, loop, totals, err);
		if (n < 0)
			return (int)n;
		if (n)
			last = clock_monotonic_ns();
		else if (clock_monotonic_ns() - last > PARTS_WAIT_NS)
			return 0;
		else
			nanosleep(&(struct timespec){.tv_nsec = PARTS_RETRY_NS}, NULL);
	}
	return error_set(err, -EINTR, "interrupted");
}
